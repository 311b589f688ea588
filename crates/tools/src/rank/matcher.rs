//! Finds the terms of a search in bytes, as parts of words.
//!
//! `limit` is found in `limits`, `RateLimit` and `check_limit(`, a little in `limitless`, and not
//! in `delimiter`.

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind};

use super::terms::{Term, is_ending};

/// How much a word counts that only begins like the term.
const BEGINS_ALIKE: f32 = 0.35;

/// How much an inflection counts.
const INFLECTED: f32 = 0.9;

/// The shortest term that a longer word may begin with.
const SHORTEST_BEGINNING: usize = 4;

/// The longest ending that is looked at.
const MAX_ENDING: usize = 8;

/// One place where a term stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hit {
    /// Index of the term.
    pub(super) term: usize,
    /// Where the match starts.
    pub(super) start: usize,
    /// Where the stem ends.
    pub(super) end: usize,
    /// From 0 to 1.
    pub(super) strength: f32,
}

/// An automaton over all spellings of all terms.
pub(super) struct Matcher {
    automaton: AhoCorasick,
    /// Per pattern.
    patterns: Vec<Pattern>,
}

struct Pattern {
    term: usize,
    strength: f32,
    stem: Vec<u8>,
    /// What the word has beyond its stem.
    own_ending: Vec<u8>,
}

impl Matcher {
    /// Builds the automaton.
    ///
    /// # Errors
    /// Where it would be too large, which the limits on terms rule out.
    pub(super) fn new(terms: &[Term]) -> Result<Self, BuildError> {
        let patterns: Vec<Pattern> = terms
            .iter()
            .enumerate()
            .flat_map(|(term, of)| {
                of.spellings.iter().map(move |spelling| Pattern {
                    term,
                    strength: spelling.strength,
                    stem: spelling.stem.clone().into_bytes(),
                    own_ending: spelling
                        .word
                        .get(spelling.stem.len()..)
                        .unwrap_or_default()
                        .to_owned()
                        .into_bytes(),
                })
            })
            .collect();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(patterns.iter().map(|pattern| &pattern.stem))?;
        Ok(Self {
            automaton,
            patterns,
        })
    }

    /// Every place where a term stands, in order of where the matches end.
    pub(super) fn hits<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = Hit> + 'a {
        self.automaton
            .find_overlapping_iter(bytes)
            .filter_map(move |found| {
                let pattern = &self.patterns[found.pattern().as_usize()];
                let (start, end) = (found.start(), found.end());
                if !starts_part(bytes, start) {
                    return None;
                }
                let fit = pattern.fit(rest_of_part(bytes, end))?;
                Some(Hit {
                    term: pattern.term,
                    start,
                    end,
                    strength: pattern.strength * fit,
                })
            })
    }
}

impl Pattern {
    /// How well a word fits whose part goes on with `rest`.
    fn fit(&self, rest: &[u8]) -> Option<f32> {
        let rest = rest.to_ascii_lowercase();
        let rest = rest.as_slice();
        if rest == self.own_ending {
            Some(1.0)
        } else if is_ending(&self.stem, rest) {
            Some(INFLECTED)
        } else {
            (self.stem.len() >= SHORTEST_BEGINNING && self.own_ending.len() < 2)
                .then_some(BEGINS_ALIKE)
        }
    }
}

/// Whether a part of a word starts at `at`: after anything that is no letter or digit, at a hump, and
/// where letters follow digits.
fn starts_part(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|at| bytes[at]) else {
        return true;
    };
    let Some(&here) = bytes.get(at) else {
        return false;
    };
    if is_joint(before) || is_joint(here) {
        return true;
    }
    if before.is_ascii_digit() != here.is_ascii_digit() {
        return true;
    }
    here.is_ascii_uppercase()
        && (before.is_ascii_lowercase() || bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase))
}

/// What follows `at` within the same part of the word, or a bit more than any ending.
fn rest_of_part(bytes: &[u8], at: usize) -> &[u8] {
    let mut end = at;
    while end < bytes.len() && end - at <= MAX_ENDING {
        // After the last byte of the stem, and between later ones, a new part ends this one. All
        // capitals are one part.
        if is_joint(bytes[end]) || (end > 0 && starts_part(bytes, end)) {
            break;
        }
        end += 1;
    }
    &bytes[at..end]
}

fn is_joint(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::terms::parse;

    fn strengths(term: &str, text: &str) -> Vec<f32> {
        let matcher = Matcher::new(&parse(&[term.to_owned()])).unwrap();
        matcher
            .hits(text.as_bytes())
            .map(|hit| hit.strength)
            .collect()
    }

    #[test]
    fn words_are_found_as_parts_of_identifiers() {
        for text in [
            "limit",
            "limits",
            "RateLimits",
            "check_limit(",
            "MAX_LIMIT",
            "LIMITS",
            "x.limiting",
            "HTTPLimit",
            "v2limit",
        ] {
            assert_eq!(strengths("limits", text).len(), 1, "{text}");
            assert!(strengths("limits", text)[0] >= INFLECTED, "{text}");
        }
        for text in ["delimiter", "unlimited", "lim it", "sublimit"] {
            assert_eq!(strengths("limits", text), Vec::<f32>::new(), "{text}");
        }
        assert_eq!(strengths("limit", "limitless"), [BEGINS_ALIKE]);
    }

    #[test]
    fn identifiers_are_found_in_every_spelling() {
        for text in [
            "SecretRules",
            "secret_rules",
            "secret-rules",
            "SECRET_RULES",
            "secret rules",
        ] {
            assert!(!strengths("SecretRules", text).is_empty(), "{text}");
            assert!(!strengths("secret_rules", text).is_empty(), "{text}");
        }
    }

    #[test]
    fn hostile_bytes_are_searched_too() {
        let mut bytes = vec![0xff; 100];
        bytes.extend(b"limit");
        bytes.extend([0xc3, 0x28, 0]);
        let matcher = Matcher::new(&parse(&["limit".to_owned(), "ünïcode".to_owned()])).unwrap();
        assert_eq!(matcher.hits(&bytes).count(), 0, "part of a foreign word");
        assert_eq!(matcher.hits(b"\0limit\0").count(), 1);
        assert_eq!(matcher.hits("x ünïcode".as_bytes()).count(), 1);
    }
}
