//! One spelling per JSON value, so that equal payloads have equal hashes.
//!
//! The spelling is fixed for ever: a change here would break every ledger that was ever written. It
//! leans on nothing that a library could change: not on the order in which `serde_json` keeps keys
//! (a feature that any dependency can switch), not on its number or string writer, and not on the
//! Unicode tables of the standard library.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Writes `value` in its one canonical spelling.
///
/// Keys are sorted by their UTF-8 bytes, there is no white space, integers are in decimal, and any
/// other number becomes a string. Control, direction-changing and invisible characters are written
/// as `\uXXXX`, so the text can be shown on a terminal as it is.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

pub(crate) fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| key.as_bytes());
            out.push('{');
            for (index, (key, item)) in fields.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(out, key);
                out.push(':');
                write_value(out, item);
            }
            out.push('}');
        }
    }
}

/// A float has many spellings, so it is kept as text; what is counted here is counted in integers.
fn write_number(out: &mut String, number: &Number) {
    if let Some(integer) = number.as_u64() {
        let _ = write!(out, "{integer}");
    } else if let Some(integer) = number.as_i64() {
        let _ = write!(out, "{integer}");
    } else {
        write_string(out, &number.to_string());
    }
}

pub(crate) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if misleads(character) => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    // Writing to a String can't fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Characters that are escaped. The list is part of the format and never changes.
fn misleads(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value: Value =
            serde_json::from_str(r#"{"b":1,"a":{"z":[{"y":2,"x":-3}],"é":null},"B":true}"#)
                .unwrap();
        assert_eq!(
            canonical(&value),
            r#"{"B":true,"a":{"z":[{"x":-3,"y":2}],"é":null},"b":1}"#
        );
    }

    #[test]
    fn floats_become_text() {
        assert_eq!(canonical(&json!([1.5, -0.0, 3])), r#"["1.5","-0.0",3]"#);
        assert_eq!(
            canonical(&json!([u64::MAX, i64::MIN])),
            "[18446744073709551615,-9223372036854775808]"
        );
    }

    #[test]
    fn what_could_mislead_a_terminal_is_escaped() {
        let text = "a\u{1b}[31m\u{202e}\"\\\n\u{7f}\u{9b}\u{e0041}é🦀";
        assert_eq!(
            canonical(&json!(text)),
            r#""a\u001b[31m\u202e\"\\\n\u007f\u009b\udb40\udc41é🦀""#
        );
        let back: String = serde_json::from_str(&canonical(&json!(text))).unwrap();
        assert_eq!(back, text);
    }
}
