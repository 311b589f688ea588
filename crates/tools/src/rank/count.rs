//! The first pass: how often which term stands in a file.

use std::ops::Range;

use memchr::memmem;

use super::matcher::{Hit, Matcher};
use super::terms::MAX_TERMS;

/// Counts are kept in tenths: an alternative or an inflection is less than one.
const TENTHS: f32 = 10.0;

/// What a mention counts in a file's own tests.
const IN_TESTS: f32 = 0.3;

/// The longest identifier whose definition is recognised.
const MAX_IDENTIFIER: usize = 80;

/// What a file holds of the terms.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Counts {
    /// Per term, in tenths.
    tenths: [u16; MAX_TERMS],
    /// Per term: definitions whose name holds it.
    definitions: [u8; MAX_TERMS],
    /// A bit per term that stands there itself, not as an alternative alone.
    own: u32,
    /// Length of the file in bytes.
    pub(super) length: u32,
}

impl Counts {
    /// Counts a file's terms; `None` if there are none.
    pub(super) fn of(matcher: &Matcher, bytes: &[u8]) -> Option<Self> {
        let mut counts = Self {
            length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            ..Self::default()
        };
        let mut hits = matcher.hits(bytes).peekable();
        hits.peek()?;
        let tests = tests_start(bytes);
        for hit in hits {
            counts.add(bytes, &hit, tests);
        }
        Some(counts)
    }

    fn add(&mut self, bytes: &[u8], hit: &Hit, tests: usize) {
        let in_tests = hit.start >= tests;
        let share = if in_tests { IN_TESTS } else { 1.0 };
        let slot = &mut self.tenths[hit.term];
        *slot = slot.saturating_add(tenths(hit.strength * share));
        if hit.strength > 0.5 {
            self.own |= 1 << hit.term;
        }
        if !in_tests && definition(bytes, hit.start).is_some() {
            let slot = &mut self.definitions[hit.term];
            *slot = slot.saturating_add(1);
        }
    }

    /// How often a term stands there.
    pub(super) fn frequency(&self, term: usize) -> f32 {
        f32::from(self.tenths[term]) / TENTHS
    }

    /// How many definitions are named after it.
    pub(super) fn definitions(&self, term: usize) -> f32 {
        f32::from(self.definitions[term])
    }

    /// Whether the term itself stands there.
    pub(super) fn has_own(&self, term: usize) -> bool {
        self.own & (1 << term) != 0
    }

    /// Whether the term or an alternative stands there.
    pub(super) fn has(&self, term: usize) -> bool {
        self.tenths[term] > 0
    }
}

/// Where Rust's inline tests start; the end where there are none.
fn tests_start(bytes: &[u8]) -> usize {
    const MARK: &[u8] = b"#[cfg(test)]\nmod ";
    memmem::find(bytes, MARK).unwrap_or(bytes.len())
}

/// Strengths lie between 0 and 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a strength is at least 0 and at most 1, so its tenths fit"
)]
fn tenths(strength: f32) -> u16 {
    (strength * TENTHS).ceil() as u16
}

/// Words that stand before the name of what they define, in the languages that people use most.
const KEYWORDS: [&str; 25] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "mod",
    "const",
    "static",
    "union",
    "macro_rules!",
    "class",
    "def",
    "interface",
    "func",
    "function",
    "object",
    "record",
    "protocol",
    "module",
    "namespace",
    "#define",
    "sub",
    "proc",
    "defmodule",
    "defp",
];

/// A definition, as far as the words before its name tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Definition<'a> {
    /// The keyword.
    pub(super) keyword: &'static str,
    /// The whole name.
    pub(super) name: &'a [u8],
}

/// The definition in whose name `at` lies, if it lies in one.
pub(super) fn definition(bytes: &[u8], at: usize) -> Option<Definition<'_>> {
    let name = name_around(bytes, at)?;
    let gap = bytes[..name.start]
        .iter()
        .rev()
        .take(4)
        .take_while(|byte| **byte == b' ')
        .count();
    if gap == 0 {
        return None;
    }
    let mut head = &bytes[..name.start - gap];
    // Go puts the receiver between: `func (s *Store) Load`.
    if head.ends_with(b")") {
        let near = head.iter().rev().take(MAX_IDENTIFIER);
        let open = near.clone().position(|byte| *byte == b'(')?;
        head = head[..head.len() - open - 1].trim_ascii_end();
        if !head.ends_with(b"func") {
            return None;
        }
    }
    let keyword = KEYWORDS.into_iter().find(|keyword| {
        head.strip_suffix(keyword.as_bytes())
            .is_some_and(|rest| rest.last().is_none_or(|byte| !in_name(*byte)))
    })?;
    Some(Definition {
        keyword,
        name: &bytes[name],
    })
}

/// The C function in whose name `at` lies: told by its shape, at the start of a line, with a type
/// before its name and no `;` after its parameters.
pub(super) fn c_function(bytes: &[u8], at: usize) -> Option<Definition<'_>> {
    let name = name_around(bytes, at)?;
    let before = &bytes[name.start.saturating_sub(MAX_IDENTIFIER)..name.start];
    let line = before.rsplit(|byte| *byte == b'\n').next()?;
    let after = &bytes[name.end..bytes.len().min(name.end + 2 * MAX_IDENTIFIER)];
    let rest = after.split(|byte| *byte == b'\n').next()?;
    let shaped = line.first().is_some_and(u8::is_ascii_alphabetic)
        && line
            .iter()
            .all(|byte| in_name(*byte) || matches!(byte, b' ' | b'*'))
        && !line.starts_with(b"return ")
        && rest.starts_with(b"(")
        && !rest.contains(&b';');
    shaped.then(|| Definition {
        keyword: "function",
        name: &bytes[name],
    })
}

/// The identifier around `at`.
fn name_around(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let part = |bytes: &mut dyn Iterator<Item = &u8>| {
        bytes
            .take(MAX_IDENTIFIER)
            .take_while(|byte| in_name(**byte))
            .count()
    };
    let (before, after) = bytes.split_at_checked(at)?;
    let start = at - part(&mut before.iter().rev());
    Some(start..at + part(&mut after.iter()))
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::terms::parse;

    fn defined(text: &str, name: &str) -> Option<(&'static str, String)> {
        let at = text.find(name).unwrap();
        definition(text.as_bytes(), at).map(|definition| {
            let name = String::from_utf8_lossy(definition.name).into_owned();
            (definition.keyword, name)
        })
    }

    #[test]
    fn definitions_are_told_by_the_word_before() {
        for (text, part, keyword, name) in [
            ("pub fn check_limit(", "limit", "fn", "check_limit"),
            ("export class RateStore {", "Store", "class", "RateStore"),
            ("func (s *Store) Load(n int)", "Load", "func", "Load"),
            ("  def limit_of(self)", "limit", "def", "limit_of"),
            ("#define MAX_LIMIT 3", "LIMIT", "#define", "MAX_LIMIT"),
        ] {
            assert_eq!(
                defined(text, part),
                Some((keyword, name.to_owned())),
                "{text}"
            );
        }
        for (text, part) in [
            ("let limit = 1", "limit"),
            ("limit", "limit"),
            ("undef limit", "limit"),
            ("call(x) limit", "limit"),
            (") limit", "limit"),
        ] {
            assert_eq!(defined(text, part), None, "{text}");
        }
    }

    #[test]
    fn c_functions_are_told_by_their_shape() {
        let told = |text: &str| c_function(text.as_bytes(), text.find("limit").unwrap()).is_some();
        assert!(told("static int check_limit(int a,\n    int b)\n{"));
        assert!(told("x;\nchar *limit_of(void) {"));
        for text in [
            "int limit(int);",
            "  limit(1)",
            "limit(1)",
            "return limit(1)",
            "a = limit(",
        ] {
            assert!(!told(text), "{text}");
        }
    }

    #[test]
    fn counts_saturate() {
        let matcher = Matcher::new(&parse(&["ab".to_owned()])).unwrap();
        let counts = Counts::of(&matcher, "ab ".repeat(40_000).as_bytes()).unwrap();
        assert!(counts.frequency(0) >= 6_000.0);
        assert!(counts.has_own(0));
        assert!(Counts::of(&matcher, b"nothing").is_none());
    }
}
