//! Text that somebody else wrote, and values that must not be shown.

use std::fmt;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// Text from outside: a child, a file, a command. It is data, never an instruction (D8).
///
/// There is no `Display`: whoever shows it goes through [`Untrusted::shown`], the one escaper.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted(String);

impl Untrusted {
    /// Marks text as foreign.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as it came, for parsing and hashing; not for a screen.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// The text as it may be shown: controls and direction-changing characters are visible, line
    /// breaks and tabs stay.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut out = String::with_capacity(self.0.len());
        for character in self.0.chars() {
            match character {
                '\n' | '\t' => out.push(character),
                _ => push_escaped(&mut out, character),
            }
        }
        out
    }

    /// The text in one line for a status line or a list: line breaks are escaped too, and no more
    /// than `max_chars` characters of the source are shown, with `…` where some were left out.
    #[must_use]
    pub fn preview(&self, max_chars: usize) -> String {
        let mut out = String::new();
        for (index, character) in self.0.chars().enumerate() {
            if index == max_chars {
                out.push('…');
                break;
            }
            match character {
                '\n' | '\t' | '\r' => out.push(' '),
                _ => push_escaped(&mut out, character),
            }
        }
        out
    }
}

/// Escapes every character that a terminal or a reader could be misled by.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars()
        .for_each(|character| push_escaped(&mut out, character));
    out
}

fn push_escaped(out: &mut String, character: char) {
    if misleads(character) {
        // Writing to a String can't fail.
        let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
    } else {
        out.push(character);
    }
}

/// Escapes the same characters in a JSON text, in JSON's own way: it reads back as it was.
///
/// Outside strings a JSON text has no such character but line breaks and tabs, which stay.
#[must_use]
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if misleads(character) && !matches!(character, '\n' | '\t') {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a String can't fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    out
}

/// Controls, bidirectional overrides, zero-width characters and other invisibles.
fn misleads(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A value that must never be printed, logged or serialised.
///
/// There is no `Display` and no `Serialize`; `Debug` shows a placeholder.
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a secret value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself, for the one place that needs it.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_direction_changes_are_shown_not_obeyed() {
        let text = Untrusted::new("a\u{1b}[31m\u{202e}b\u{200b}\nc\td\r\u{9b}x");
        assert_eq!(
            text.shown(),
            "a\\u{1b}[31m\\u{202e}b\\u{200b}\nc\td\\u{d}\\u{9b}x"
        );
        assert_eq!(text.preview(3), "a\\u{1b}[…");
    }

    #[test]
    fn json_is_escaped_and_reads_back() {
        let value = serde_json::json!({ "a": "x\u{202e}\u{9b}\u{e0001}\n é" });
        let shown = escape_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(shown.contains("\\u202e\\u009b\\udb40\\udc01"), "{shown}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }

    #[test]
    fn ordinary_unicode_stays() {
        assert_eq!(escape("naïve 日本 🦀"), "naïve 日本 🦀");
    }
}
