//! What is looked at before the parser sees a text.

use crate::limits::{
    MAX_BYTES, MAX_COMMANDS, MAX_COMPOUND, MAX_HERE, MAX_NESTING, MAX_OPENINGS, MAX_OPERATORS,
    MAX_SUBSTITUTIONS,
};

/// A text that may be parsed. There is no other way to the parser: without the look before it, a line of
/// brackets takes it minutes, and a longer one ends the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checked<'a>(&'a str);

impl Checked<'_> {
    /// Its nodes; `None` where it isn't complete syntax.
    #[expect(clippy::disallowed_methods, reason = "this is the one way to it")]
    pub(crate) fn parse(self) -> Option<Vec<rable::Node>> {
        let plain = rable::parse(self.0, false);
        // Patterns such as `!(x)` are only syntax where a shell was told so, which can't be ruled out.
        let extended = ["!(", "?(", "@(", "+(", "*("];
        match plain {
            Err(_) if extended.iter().any(|open| self.0.contains(open)) => {
                rable::parse(self.0, true).ok()
            }
            plain => plain.ok(),
        }
    }
}

/// Whether a text may be parsed. Nesting is counted without regard to quotes, and closing brackets
/// count only as far as they can't hide an opening one.
pub(crate) fn check(text: &str) -> Result<Checked<'_>, &'static str> {
    if text.len() > MAX_BYTES {
        return Err("longer than is parsed");
    }
    let bytes = text.as_bytes();
    if bytes.contains(&0) {
        return Err("a NUL byte");
    }
    let (mut substitutions, mut backticks, mut openings, mut words) = (0, 0, 0, 0);
    let (mut brackets, mut depth, mut deepest) = (0_usize, 0_usize, 0_usize);
    let (mut commands, mut operators) = (0_usize, 0_usize);
    let mut start = true;
    for (at, byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| bytes[at]);
        match byte {
            b'(' => {
                openings += 1;
                depth += 1;
                brackets += 1;
                deepest = deepest.max(depth);
                if matches!(before, Some(b'$' | b'<' | b'>')) {
                    substitutions += 1;
                }
            }
            b')' => depth = depth.saturating_sub(1),
            b'`' => backticks += 1,
            b';' | b'\n' => commands += 1,
            b'&' | b'|' => {
                commands += 1;
                operators += 1;
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'^' | b'<' | b'>' | b'=' | b'!' | b'~' | b'?'
            | b':' | b',' => {
                operators += 1;
            }
            b'{' => {
                openings += 1;
                brackets += 1;
            }
            b'}' => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        if start
            && matches!(
                byte,
                b'i' | b'w' | b'u' | b'f' | b'c' | b's' | b't' | b'!' | b'n'
            )
        {
            words += usize::from(opens_compound(&bytes[at..]));
        }
        start = !byte.is_ascii_alphanumeric() && *byte != b'_' && *byte != b'-';
    }
    // Shifts and here-strings count as well: no line holds so many.
    if text.matches("<<").count() > MAX_HERE {
        return Err("more here-documents than are parsed");
    }
    if commands > MAX_COMMANDS {
        return Err("more commands than are parsed");
    }
    if operators > MAX_OPERATORS
        && (text.contains("((") || text.contains("$[") || text.contains("[["))
    {
        return Err("a longer expression than is parsed");
    }
    if deepest > MAX_NESTING || substitutions + backticks / 2 > MAX_SUBSTITUTIONS {
        return Err("more nested than is parsed");
    }
    if brackets > MAX_COMPOUND && openings > MAX_COMPOUND {
        return Err("more open brackets than are parsed");
    }
    if openings + words > MAX_OPENINGS {
        return Err("more brackets than are parsed");
    }
    Ok(Checked(text))
}

fn opens_compound(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 11] = [
        b"if",
        b"while",
        b"until",
        b"for",
        b"case",
        b"select",
        b"time",
        b"!",
        b"function",
        b"coproc",
        b"then",
    ];
    WORDS.iter().any(|word| {
        text.starts_with(word)
            && text
                .get(word.len())
                .is_none_or(|next| !next.is_ascii_alphanumeric())
    })
}

/// Whether a text holds characters that aren't shown, or that turn what is shown around.
pub(super) fn has_hidden(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let mut before = ' ';
    text.chars().any(|c| {
        let hidden = match c {
            // Joiners belong between letters of some scripts and in pictures of several signs.
            '\u{200c}' | '\u{200d}' => before.is_ascii(),
            _ => is_hidden(c),
        };
        before = c;
        hidden
    })
}

fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        | '\u{fe00}'..='\u{fe0e}' | '\u{80}'..='\u{9f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_seen_and_joined_pictures_are_none() {
        assert!(
            has_hidden("ca\u{200b}t")
                && has_hidden("ls \u{202e}/ fr- mr")
                && has_hidden("a\u{200d}b")
        );
        assert!(!has_hidden("\u{1f469}\u{200d}\u{1f4bb} \u{e9}") && !has_hidden("plain"));
    }

    #[test]
    fn what_would_be_slow_to_parse_is_not_parsed() {
        assert!(check("echo $(a $(b $(c)))").is_ok());
        for text in [
            "$(".repeat(17),
            "(".repeat(10_000),
            "`".repeat(200),
            "{ ".repeat(600),
            "if ".repeat(600),
            "<<E\n".repeat(100),
            "x".repeat(MAX_BYTES + 1),
            "a\0b".to_owned(),
        ] {
            assert!(check(&text).is_err(), "{}", &text[..3]);
        }
    }
}
