//! Keeps secrets out of what is written (A3).
//!
//! Two nets: the secrets that the runtime holds are looked for verbatim and in the spellings that
//! text commonly gives them; and tokens that nobody told us about are known by their shape
//! (`shapes`). Neither is a proof against an adversary who encodes a secret some other way; the
//! first line is that a child never holds one.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError, MatchKind};

use crate::canonical::write_string;
use crate::shapes::{SHAPES, Shape};

/// The shortest secret that is looked for, in bytes: anything shorter is found in ordinary words.
pub const MIN_SECRET: usize = 6;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// A line of a secret that has several is looked for on its own from this length on: keys are shown
/// line by line by tools that search.
const MIN_SECRET_LINE: usize = 16;

/// Replaces secrets in text. Cheap to use, not cheap to make: one per run.
///
/// `Debug` shows how many secrets it holds, never which.
pub struct Redactor {
    automaton: AhoCorasick,
    patterns: Vec<Pattern>,
    secrets: usize,
    skipped: usize,
}

/// A redactor that couldn't be made.
#[derive(Debug, thiserror::Error)]
pub enum RedactorError {
    /// The secrets are more or longer than a search automaton holds.
    #[error("the secrets to look for don't fit a search automaton")]
    Build(#[source] BuildError),
}

#[derive(Clone, Copy)]
enum Pattern {
    Secret,
    Shape(&'static Shape),
}

impl Redactor {
    /// Looks for the given secrets and for every known shape of token.
    ///
    /// Secrets shorter than [`MIN_SECRET`] can't be looked for; [`Redactor::skipped`] counts them.
    ///
    /// # Errors
    /// When the secrets together are too large to search for.
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Result<Self, RedactorError> {
        let mut needles: Vec<String> = Vec::new();
        let (mut held, mut skipped) = (0, 0);
        for secret in secrets {
            let secret = secret.as_ref();
            if secret.len() < MIN_SECRET {
                skipped += 1;
                continue;
            }
            held += 1;
            spellings(secret, &mut needles);
            if secret.contains('\n') {
                secret
                    .lines()
                    .filter(|line| line.len() >= MIN_SECRET_LINE)
                    .for_each(|line| spellings(line, &mut needles));
            }
        }
        needles.sort_unstable();
        needles.dedup();
        let patterns = needles
            .iter()
            .map(|_| Pattern::Secret)
            .chain(SHAPES.iter().map(Pattern::Shape))
            .collect();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(
                needles
                    .iter()
                    .map(String::as_str)
                    .chain(SHAPES.iter().map(|shape| shape.start)),
            )
            .map_err(RedactorError::Build)?;
        Ok(Self {
            automaton,
            patterns,
            secrets: held,
            skipped,
        })
    }

    /// Looks for shapes of tokens only.
    #[must_use]
    pub fn none() -> Self {
        // The table of shapes is a constant of a few hundred bytes, and a test builds it.
        #[expect(clippy::expect_used, reason = "fixed input, built by every test")]
        Self::new::<&str>([]).expect("the table of shapes fits an automaton")
    }

    /// How many of the secrets given were too short to look for.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// The text with every secret replaced by [`REDACTED`].
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut found: Vec<Range<usize>> = self
            .automaton
            .find_overlapping_iter(text)
            .filter_map(|hit| match self.patterns[hit.pattern().as_usize()] {
                Pattern::Secret => Some(hit.start()..hit.end()),
                Pattern::Shape(shape) => shape.extent(text, hit.start()),
            })
            .collect();
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable_by_key(|range| range.start);
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for range in found {
            if range.start >= done {
                out.push_str(&text[done..range.start]);
                out.push_str(REDACTED);
            }
            done = done.max(range.end);
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("secrets", &self.secrets)
            .field("skipped", &self.skipped)
            .finish_non_exhaustive()
    }
}

/// The spellings of a secret that are looked for.
fn spellings(secret: &str, out: &mut Vec<String>) {
    let bytes = secret.as_bytes();
    out.push(secret.to_owned());
    // Inside JSON inside a string: as our own writer and as common libraries escape it.
    let mut escaped = String::new();
    write_string(&mut escaped, secret);
    out.push(escaped[1..escaped.len() - 1].to_owned());
    let library = serde_json::Value::from(secret).to_string();
    out.push(library[1..library.len() - 1].to_owned());
    for hex in ["0123456789abcdef", "0123456789ABCDEF"] {
        let digit = |value: u8| char::from(hex.as_bytes()[usize::from(value)]);
        let (mut whole, mut percent) = (String::new(), String::new());
        for &byte in bytes {
            whole.extend([digit(byte >> 4), digit(byte & 15)]);
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                percent.push(char::from(byte));
            } else {
                // Writing to a String can't fail.
                let _ = write!(percent, "%{}{}", digit(byte >> 4), digit(byte & 15));
            }
        }
        out.extend([whole, percent]);
    }
    for last_two in ["+/", "-_"] {
        for offset in 0..3 {
            let inner = base64_inside(bytes, offset, last_two);
            if inner.len() >= MIN_SECRET {
                out.push(inner);
            }
        }
    }
}

/// The digits of base64 that depend on `bytes` alone, when `offset` bytes precede them in a group.
fn base64_inside(bytes: &[u8], offset: usize, last_two: &str) -> String {
    let bit = |index: usize| {
        index
            .checked_sub(offset * 8)
            .and_then(|index| bytes.get(index / 8).map(|byte| byte >> (7 - index % 8) & 1))
    };
    let end = (offset + bytes.len()) * 8 / 6;
    ((offset * 8).div_ceil(6)..end)
        .map(|group| {
            let value = (0..6).fold(0, |value, place| {
                value << 1 | bit(group * 6 + place).unwrap_or(0)
            });
            match value {
                0..26 => char::from(b'A' + value),
                26..52 => char::from(b'a' + value - 26),
                52..62 => char::from(b'0' + value - 52),
                _ => char::from(last_two.as_bytes()[usize::from(value - 62)]),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "p\"ss/wörd+42";

    fn redactor() -> Redactor {
        Redactor::new([
            SECRET,
            "123",
            "line one of the secret\nline two of the secret",
        ])
        .unwrap()
    }

    #[test]
    fn each_common_spelling_is_found() {
        for spelling in [
            SECRET,
            r#"p\"ss/wörd+42"#,
            "p%22ss%2Fw%C3%B6rd%2B42",
            "p%22ss%2fw%c3%b6rd%2b42",
            "702273732f77c3b672642b3432",
            "702273732F77C3B672642B3432",
        ] {
            let text = format!("before {spelling} after");
            assert_eq!(redactor().redact(&text), "before [redacted] after");
        }
    }

    /// Every alignment of base64, in both alphabets, leaves less than a group of the secret.
    #[test]
    fn base64_is_found_at_each_alignment() {
        for before in ["", "x", "xy", "xyz"] {
            let whole = format!("{before}{SECRET} tail");
            for last_two in ["+/", "-_"] {
                let encoded = base64_inside(whole.as_bytes(), 0, last_two);
                let clean = redactor().redact(&encoded).into_owned();
                assert!(clean.contains(REDACTED), "{encoded} -> {clean}");
                assert!(clean.len() < encoded.len(), "{clean}");
            }
        }
    }

    #[test]
    fn lines_of_a_secret_are_found_alone_and_touching_secrets_are_one() {
        assert_eq!(
            redactor().redact("12:line two of the secret\n"),
            "12:[redacted]\n"
        );
        let overlapping = Redactor::new(["abcdefgh", "efghijkl"]).unwrap();
        assert_eq!(overlapping.redact("-abcdefghijkl-"), "-[redacted]-");
    }

    #[test]
    fn what_is_too_short_is_counted_and_ordinary_text_is_borrowed() {
        assert_eq!(redactor().skipped(), 1);
        assert!(matches!(
            redactor().redact("123 is a number"),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn debug_tells_no_secret() {
        assert_eq!(
            format!("{:?}", redactor()),
            "Redactor { secrets: 2, skipped: 1, .. }"
        );
    }
}
