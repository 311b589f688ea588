//! What a ranked search says.
//!
//! The text is the only channel to whoever asked, model or scout, so it is made for both: one JSON
//! object a line. The first line is about the search, each further one is a place, best first:
//!
//! ```json
//! {"files_searched":120,"files_matched":17,"terms":{"store":9,"load":12}}
//! {"path":"src/store.rs","line":40,"kind":"fn","name":"Store::load","matched":["store","load"],"text":"pub fn load("}
//! ```
//!
//! `terms` says in how many files a term stands. `kind` and `name` are of the definition that starts
//! at the line, or in which the line lies: then `within` is true. `text` is a piece of the line, as
//! it stands there: JSON escapes what a line or a path could mislead by.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use deputize_authority::escape;
use serde::Serialize;

/// The longest piece of a line that is shown.
pub(super) const MAX_TEXT_BYTES: usize = 200;

/// The first line.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    pub(super) files_searched: usize,
    pub(super) files_matched: usize,
    pub(super) terms: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) skipped_binary: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) skipped_large: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) skipped_unreadable: usize,
}

/// A further line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Place {
    pub(super) path: String,
    /// From 1.
    pub(super) line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// Whether the line lies within the definition, and doesn't start it.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) within: bool,
    pub(super) matched: Vec<String>,
    pub(super) text: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Writes one line.
pub(super) fn line(of: &impl Serialize) -> String {
    // Maps with string keys, numbers and strings always serialise.
    let json = serde_json::to_string(of).unwrap_or_default();
    let mut line = String::with_capacity(json.len());
    for character in json.chars() {
        // Whoever shows the line would escape what misleads, in a way that is no JSON.
        if character.is_ascii_graphic() || character == ' ' || !is_escaped(character) {
            line.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a String can't fail.
                let _ = write!(line, "\\u{unit:04x}");
            }
        }
    }
    line
}

fn is_escaped(character: char) -> bool {
    let mut bytes = [0; 4];
    let text: &str = character.encode_utf8(&mut bytes);
    escape(text) != text
}

/// A piece of a line that stands there exactly so: without the space around it, and up to the first
/// byte that is no UTF-8.
pub(super) fn piece(line: &[u8]) -> String {
    let line = line.trim_ascii();
    let text = match str::from_utf8(line) {
        Ok(text) => text,
        // What was found valid is valid.
        Err(error) => str::from_utf8(&line[..error.valid_up_to()]).unwrap_or_default(),
    };
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    text[..end].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_stands_in_the_line_as_it_is() {
        let long = "é".repeat(MAX_TEXT_BYTES);
        for line in ["\t a  b \r", &long, "x \u{202e}y", ""] {
            let piece = piece(line.as_bytes());
            assert!(line.contains(&piece));
            assert!(piece.len() <= MAX_TEXT_BYTES);
        }
        assert_eq!(piece(b"  ab\xff cd"), "ab");
    }

    fn place() -> Place {
        Place {
            path: "src/store.rs".to_owned(),
            line: 40,
            kind: Some("fn"),
            name: Some("Store::load".to_owned()),
            within: false,
            matched: vec!["store".to_owned(), "load".to_owned()],
            text: "pub fn load(".to_owned(),
        }
    }

    /// D8: what shows the output escapes what misleads; the lines must survive that as JSON.
    #[test]
    fn hostile_text_stays_one_line_of_json() {
        let hostile = "a\nb: \u{1b}[31m\u{202e}\u{7f}\u{9b}\u{e0041}é";
        let place = Place {
            path: hostile.to_owned(),
            text: hostile.to_owned(),
            ..place()
        };
        let line = line(&place);
        assert_eq!(deputize_authority::Untrusted::new(&line).shown(), line);
        assert_eq!(line.lines().count(), 1);
        let back: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(back["path"], hostile);
        assert_eq!(back["text"], hostile);
    }

    /// N4: the scout reads this form back; its own test reads the same sample.
    #[test]
    fn the_form_is_that_of_the_sample() {
        let summary = Summary {
            files_searched: 120,
            files_matched: 17,
            terms: [("load".to_owned(), 12), ("store".to_owned(), 9)].into(),
            ..Summary::default()
        };
        let within = Place {
            path: "src/a \"b\".rs".to_owned(),
            line: 7,
            within: true,
            ..place()
        };
        let outside = Place {
            path: "README.md".to_owned(),
            line: 1,
            kind: None,
            name: None,
            matched: vec!["store".to_owned()],
            text: "# Store".to_owned(),
            ..place()
        };
        let lines = [
            line(&summary),
            line(&place()),
            line(&within),
            line(&outside),
        ];
        assert_eq!(lines.join("\n") + "\n", include_str!("sample.jsonl"));
    }
}
