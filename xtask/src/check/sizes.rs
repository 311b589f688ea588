//! How long a file may be. A long file is a room that nobody cleaned up.

use crate::sources::Source;

/// Above this many lines a file is named, and somebody looks twice.
const LOOK_TWICE: usize = 400;

/// Above this many lines a file fails the check. Tests in it are counted apart, by the same limit.
const TOO_LONG: usize = 600;

/// Files that may be longer, each with its reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

/// Files that are too long; those that are only long are printed.
pub(super) fn findings(sources: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for source in sources {
        let path = source.path.display().to_string();
        let (code, tests) = source.lines();
        for (what, lines) in [("code", code), ("tests", tests)] {
            let finding = format!("{path}: {lines} lines of {what}");
            match EXCEPTIONS.iter().find(|(exception, _)| *exception == path) {
                _ if lines <= LOOK_TWICE => {}
                Some((_, reason)) => println!("  {finding}; accepted: {reason}"),
                None if lines <= TOO_LONG => println!("  {finding}; look twice"),
                None => findings.push(format!("{finding}, more than {TOO_LONG}")),
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: usize) -> Source {
        Source {
            path: "crates/a/src/x.rs".into(),
            text: "f();\n".repeat(lines),
        }
    }

    #[test]
    fn only_a_file_past_the_limit_fails() {
        assert_eq!(findings(&[file(LOOK_TWICE + 1), file(TOO_LONG)]), [""; 0]);
        assert_eq!(findings(&[file(TOO_LONG + 1)]).len(), 1);
    }
}
