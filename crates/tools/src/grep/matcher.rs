//! From a pattern as it was written to a matcher, in bounded memory.

use deputize_authority::escape;
use deputize_gate::{Case, GrepOptions, Syntax};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::limits::{PATTERN_MEMORY, PATTERN_NESTING};
use crate::output::ToolFailure;

/// Compiles a pattern.
pub(super) fn compile(pattern: &str, options: &GrepOptions) -> Result<RegexMatcher, ToolFailure> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .line_terminator(Some(b'\n'))
        .multi_line(true)
        .size_limit(PATTERN_MEMORY)
        .dfa_size_limit(PATTERN_MEMORY)
        .nest_limit(PATTERN_NESTING);
    match options.case {
        Case::Smart => builder.case_smart(true),
        Case::Sensitive => &mut builder,
        Case::Insensitive => builder.case_insensitive(true),
    };
    match options.syntax {
        Syntax::Regex => builder.build(pattern),
        Syntax::Literal => builder.fixed_strings(true).build(pattern),
    }
    .map_err(|error| {
        let hint = match (options.syntax, pattern.contains('\n')) {
            (_, true) => "search for one line at a time",
            (Syntax::Regex, false) => "to search for plain text, set `literal` to true",
            (Syntax::Literal, false) => "use a shorter text",
        };
        let lines: Vec<String> = error.to_string().lines().map(escape).collect();
        ToolFailure::new(
            "invalid_pattern",
            format!("the pattern can't be used: {}; {hint}", lines.join("\n")),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use grep_matcher::Matcher as _;

    fn options(case: Case, syntax: Syntax) -> GrepOptions {
        GrepOptions {
            case,
            syntax,
            ..GrepOptions::default()
        }
    }

    fn matches(pattern: &str, case: Case, syntax: Syntax, line: &str) -> bool {
        compile(pattern, &options(case, syntax))
            .unwrap()
            .is_match(line.as_bytes())
            .unwrap()
    }

    #[test]
    fn case_is_smart_unless_said_otherwise() {
        for (pattern, case, line, expected) in [
            ("budget", Case::Smart, "Budget", true),
            ("Budget", Case::Smart, "budget", false),
            ("budget", Case::Sensitive, "Budget", false),
            ("Budget", Case::Insensitive, "budget", true),
        ] {
            assert_eq!(
                matches(pattern, case, Syntax::Regex, line),
                expected,
                "{pattern} {line}"
            );
        }
        assert!(matches("a.b(", Case::Smart, Syntax::Literal, "xa.b(c"));
        assert!(!matches("a.b(", Case::Smart, Syntax::Literal, "axb("));
    }

    #[test]
    fn g10_bad_and_hostile_patterns_are_errors_with_a_hint() {
        let deep = format!("{}a{}", "(".repeat(2_000), ")".repeat(2_000));
        for pattern in [
            "foo(",
            "[a",
            "*",
            r"(?:(?:\w{1000}){1000}){1000}",
            r"((a{0,1000}){0,1000}){0,1000}",
            deep.as_str(),
        ] {
            let failure = compile(pattern, &GrepOptions::default()).unwrap_err();
            assert_eq!(failure.code, "invalid_pattern");
            assert!(
                failure.message.contains("set `literal` to true"),
                "{pattern}"
            );
        }
        let failure = compile("a\nb", &GrepOptions::default()).unwrap_err();
        assert!(failure.message.contains("one line at a time"));
        let failure = compile("a\nb", &options(Case::Smart, Syntax::Literal)).unwrap_err();
        assert!(failure.message.contains("one line at a time"));
    }
}
