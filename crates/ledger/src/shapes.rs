//! What tokens look like when nobody told us about them.
//!
//! A shape is a fixed start and a rule for how far the token goes. Rules are kept narrow: a log that
//! redacts ordinary words is a log that nobody believes.

use std::ops::Range;

/// The longest text that is looked at for the end of a key block, in bytes: an RSA key of 16,384
/// bits in PEM has about 12 KiB.
const MAX_KEY_BLOCK: usize = 16 * 1024;

/// A kind of token.
pub(crate) struct Shape {
    /// The text that it starts with.
    pub(crate) start: &'static str,
    rule: Rule,
}

#[derive(Clone, Copy)]
enum Rule {
    /// At least so many letters, digits, `_` or `-` after the start.
    Word(usize),
    /// The same, and one of them is a digit: the start is found in ordinary names too.
    WordWithDigit(usize),
    /// Exactly so many capitals and digits after the start.
    Capitals(usize),
    /// Three parts of base64url, with dots between.
    WebToken,
    /// From `-----BEGIN … PRIVATE KEY-----` to the end of the block, or of the text.
    KeyBlock,
    /// What follows the start, when it is long and has a digit; the start stays.
    After(usize),
    /// The password of a URL: what is between `:` and `@`.
    UrlPassword,
}

const fn shape(start: &'static str, rule: Rule) -> Shape {
    Shape { start, rule }
}

/// The table.
pub(crate) const SHAPES: &[Shape] = &[
    shape("sk-", Rule::WordWithDigit(16)),
    shape("sk_live_", Rule::Word(16)),
    shape("rk_live_", Rule::Word(16)),
    shape("ghp_", Rule::Word(20)),
    shape("gho_", Rule::Word(20)),
    shape("ghu_", Rule::Word(20)),
    shape("ghs_", Rule::Word(20)),
    shape("ghr_", Rule::Word(20)),
    shape("github_pat_", Rule::Word(20)),
    shape("glpat-", Rule::Word(16)),
    shape("npm_", Rule::Word(30)),
    shape("pypi-", Rule::Word(32)),
    shape("hf_", Rule::Word(30)),
    shape("AIza", Rule::Word(30)),
    shape("AKIA", Rule::Capitals(16)),
    shape("ASIA", Rule::Capitals(16)),
    shape("xoxa-", Rule::Word(10)),
    shape("xoxb-", Rule::Word(10)),
    shape("xoxe-", Rule::Word(10)),
    shape("xoxo-", Rule::Word(10)),
    shape("xoxp-", Rule::Word(10)),
    shape("xoxr-", Rule::Word(10)),
    shape("xoxs-", Rule::Word(10)),
    shape("xapp-", Rule::Word(10)),
    shape("eyJ", Rule::WebToken),
    shape("-----BEGIN ", Rule::KeyBlock),
    shape("Bearer ", Rule::After(16)),
    shape("bearer ", Rule::After(16)),
    shape("BEARER ", Rule::After(16)),
    shape("://", Rule::UrlPassword),
];

impl Shape {
    /// The bytes of `text` that are to be hidden, when the token that starts at `at` is one.
    pub(crate) fn extent(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let tail = at + self.start.len();
        let begins_word = !at
            .checked_sub(1)
            .is_some_and(|before| bytes[before].is_ascii_alphanumeric());
        let word = run(bytes, tail, is_word);
        let end = match self.rule {
            Rule::Word(least) => (begins_word && word.len() >= least).then_some(word.end),
            Rule::WordWithDigit(least) => (begins_word
                && word.len() >= least
                && bytes[word.clone()].iter().any(u8::is_ascii_digit))
            .then_some(word.end),
            Rule::Capitals(count) => {
                let capitals = run(bytes, tail, |byte| {
                    byte.is_ascii_uppercase() || byte.is_ascii_digit()
                });
                (begins_word && capitals.len() == count && word.len() == count)
                    .then_some(capitals.end)
            }
            Rule::WebToken => web_token(bytes, at).filter(|_| begins_word),
            Rule::KeyBlock => key_block(text, at),
            Rule::After(least) => {
                let value = run(bytes, tail, |byte| {
                    is_word(byte) || b".~+/=".contains(&byte)
                });
                let is_token = begins_word
                    && value.len() >= least
                    && bytes[value.clone()].iter().any(u8::is_ascii_digit);
                return is_token.then_some(value);
            }
            Rule::UrlPassword => return url_password(bytes, tail),
        };
        end.map(|end| at..end)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn run(bytes: &[u8], from: usize, belongs: impl Fn(u8) -> bool) -> Range<usize> {
    let length = bytes[from..]
        .iter()
        .take_while(|byte| belongs(**byte))
        .count();
    from..from + length
}

fn web_token(bytes: &[u8], at: usize) -> Option<usize> {
    let header = run(bytes, at, is_word);
    let after_dot = |part: &Range<usize>| {
        (bytes.get(part.end) == Some(&b'.')).then(|| run(bytes, part.end + 1, is_word))
    };
    let claims = after_dot(&header)?;
    let signature = after_dot(&claims)?;
    (header.len() >= 10 && claims.len() >= 8).then_some(signature.end)
}

fn key_block(text: &str, at: usize) -> Option<usize> {
    let limit = text.floor_char_boundary(text.len().min(at + MAX_KEY_BLOCK));
    let block = &text[at..limit];
    let title_end = block[11..].find("-----")? + 11;
    let title = &block[11..title_end];
    if title.len() > 64 || !title.ends_with("PRIVATE KEY") {
        return None;
    }
    let end = block[title_end..].find("-----END ").map(|end| {
        let end = title_end + end + 9;
        block[end..]
            .find("-----")
            .map_or(block.len(), |more| end + more + 5)
    });
    Some(at + end.unwrap_or(block.len()))
}

fn url_password(bytes: &[u8], tail: usize) -> Option<Range<usize>> {
    let user = run(bytes, tail, |byte| {
        byte.is_ascii_graphic() && !b"/:@?#\"'<>`".contains(&byte)
    });
    if bytes.get(user.end) != Some(&b':') {
        return None;
    }
    let password = run(bytes, user.end + 1, |byte| {
        byte.is_ascii_graphic() && !b"/@?#\"'<>`".contains(&byte)
    });
    (!password.is_empty() && bytes.get(password.end) == Some(&b'@')).then_some(password)
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    /// A3: tokens are known by their shape, whoever holds them.
    #[test]
    fn tokens_are_hidden() {
        let redactor = Redactor::none();
        for (text, expected) in [
            (
                "key sk-ant-api03-AbCdEf0123456789 end",
                "key [redacted] end",
            ),
            ("ghp_0123456789abcdefghijABCDEFGHIJ456789.", "[redacted]."),
            ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
            ("xoxb-1234567890-abcdefghij", "[redacted]"),
            (
                "t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P&x",
                "t=[redacted]&x",
            ),
            (
                "Authorization: Bearer abc.def-0123456789/xyz==",
                "Authorization: Bearer [redacted]",
            ),
            (
                "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\nAAAA\n-----END OPENSSH PRIVATE KEY-----\nb",
                "a\n[redacted]\nb",
            ),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE torn", "[redacted]"),
            (
                "postgres://app:hunter2@db/x",
                "postgres://app:[redacted]@db/x",
            ),
        ] {
            assert_eq!(redactor.redact(text), expected);
        }
    }

    #[test]
    fn ordinary_text_stays() {
        let redactor = Redactor::none();
        for text in [
            "task-list-of-many-different-things-2024",
            "sk-folding-cube-with-a-long-class-name",
            "the bearer of a verylongwordwithoutdigits",
            "Bearer tokens are parsed in src/auth.rs",
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            "https://example.org:8080/a@b",
            "http://[::1]:3000/",
            "AKIAIOSFODNN7EXAMPLEandmore",
            "eyJ is how a header starts",
            "ghp_short",
            "-----BEGIN ",
            "://",
            "",
        ] {
            assert_eq!(redactor.redact(text), text);
        }
    }
}
