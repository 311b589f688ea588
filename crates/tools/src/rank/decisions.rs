//! Lines where code decides: it compares, refuses or gives up.
//!
//! Whoever asks where something is enforced, checked or refused asks for such lines, and few of them
//! hold the question's own verb.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::lines::{Lines, is_comment};

/// Beginnings of the verbs for keeping something from happening.
const VERBS: [&str; 18] = [
    "enforc", "check", "reject", "refus", "deny", "deni", "validat", "verif", "prevent", "forbid",
    "restrict", "prohibit", "disallow", "exceed", "allow", "permit", "guard", "limited",
];

/// What stands on a line that decides, in the languages that people use most.
const MARKS: [&str; 17] = [
    " > ",
    " >= ",
    " < ",
    " <= ",
    "Err(",
    ".ok_or",
    "bail!(",
    "ensure!(",
    "panic!(",
    "raise ",
    "throw ",
    "abort(",
    "reject(",
    "errors.New(",
    "fmt.Errorf(",
    "return -E",
    "exit(",
];

/// Whether a word asks for a decision.
pub(super) fn asks_for_one(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    VERBS.iter().any(|verb| word.starts_with(verb))
}

/// Whether a comparison is with zero: `> 0` asks whether there is any, not whether it is too much.
fn is_zero(operand: &[u8]) -> bool {
    operand.strip_prefix(b"0").is_some_and(|rest| {
        let next = rest.first();
        !next.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'))
    })
}

/// The lines of a file that decide, in order.
#[derive(Debug, Default)]
pub(super) struct Decisions(Vec<usize>);

impl Decisions {
    /// Looks at every line.
    pub(super) fn of(bytes: &[u8], lines: &Lines<'_>) -> Self {
        // Seventeen short patterns always make an automaton; without one, nothing decides.
        let Ok(marks) = AhoCorasick::new(MARKS) else {
            return Self::default();
        };
        let mut found: Vec<usize> = Vec::new();
        for mark in marks.find_iter(bytes) {
            if bytes[mark.range()] == *b" > " && is_zero(&bytes[mark.end()..]) {
                continue;
            }
            let line = lines.at(mark.start());
            if found.last() != Some(&line) && !is_comment(lines.text(line)) {
                found.push(line);
            }
        }
        Self(found)
    }

    /// Whether one of these lines decides.
    pub(super) fn any(&self, lines: Range<usize>) -> bool {
        let next = self.0.partition_point(|line| *line < lines.start);
        self.0.get(next).is_some_and(|line| *line < lines.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_ask_in_every_form() {
        for word in ["enforced", "Checks", "validated", "refuse", "denied"] {
            assert!(asks_for_one(word), "{word}");
        }
        for word in ["limits", "parsed", "started", "SecretRules"] {
            assert!(!asks_for_one(word), "{word}");
        }
    }

    #[test]
    fn lines_that_compare_or_refuse_decide() {
        let text = b"// a > b\nif a > b {\n    return Err(x);\n}\nlet c: Vec<u8> = d;\nraise E\n";
        let decisions = Decisions::of(text, &Lines::new(text));
        assert_eq!(decisions.0, [1, 2, 5]);
        let text = b"a > 0\na > 0x10\na >= 0.5\nn > 0)\n";
        assert_eq!(Decisions::of(text, &Lines::new(text)).0, [1, 2]);
        assert!(decisions.any(0..2) && !decisions.any(3..5));
    }
}
