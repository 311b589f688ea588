//! Removal, replacement and case in known text.

use super::scan;
use crate::glob;

/// Removal, replacement and case, on known text.
pub(super) fn changed(op: &str, text: &str, pattern: &str, new: &str) -> String {
    let ends: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let fits = |from: usize, to: usize| {
        text.get(from..to)
            .is_some_and(|part| glob::matches(pattern, part))
    };
    match op {
        "#" => ends
            .iter()
            .find(|end| fits(0, **end))
            .map_or(text, |end| &text[*end..])
            .to_owned(),
        "##" => ends
            .iter()
            .rev()
            .find(|end| fits(0, **end))
            .map_or(text, |end| &text[*end..])
            .to_owned(),
        "%" => ends
            .iter()
            .rev()
            .find(|at| fits(**at, text.len()))
            .map_or(text, |at| &text[..*at])
            .to_owned(),
        "%%" => ends
            .iter()
            .find(|at| fits(**at, text.len()))
            .map_or(text, |at| &text[..*at])
            .to_owned(),
        "/#" => match ends.iter().rev().find(|end| fits(0, **end)) {
            Some(end) => format!("{new}{}", &text[*end..]),
            None => text.to_owned(),
        },
        "/%" => match ends.iter().find(|at| fits(**at, text.len())) {
            Some(at) => format!("{}{new}", &text[..*at]),
            None => text.to_owned(),
        },
        "/" | "//" => replaced(op == "//", text, pattern, new, &ends),
        "^^" => text.to_uppercase(),
        ",," => text.to_lowercase(),
        "^" | "," => {
            let mut chars = text.chars();
            let Some(first) = chars.next() else {
                return String::new();
            };
            let first = if op == "^" {
                first.to_uppercase().to_string()
            } else {
                first.to_lowercase().to_string()
            };
            first + chars.as_str()
        }
        _ => text.to_owned(),
    }
}

fn replaced(all: bool, text: &str, pattern: &str, new: &str, ends: &[usize]) -> String {
    if pattern.is_empty() || text.len() > 2_000 {
        return text.to_owned();
    }
    let plain = !glob::is_pattern(pattern) && !pattern.contains('\\');
    if plain {
        return if all {
            text.replace(pattern, new)
        } else {
            text.replacen(pattern, new, 1)
        };
    }
    let mut out = String::new();
    let mut at = 0;
    let mut left = if all { 64 } else { 1 };
    while at < text.len() {
        let hit = (left > 0)
            .then(|| {
                ends.iter()
                    .rev()
                    .take(512)
                    .find(|end| **end > at && glob::matches(pattern, &text[at..**end]))
            })
            .flatten();
        match hit {
            Some(end) => {
                out.push_str(new);
                at = *end;
                left -= 1;
            }
            None => {
                let Some(c) = text[at..].chars().next() else {
                    break;
                };
                out.push(c);
                at += c.len_utf8();
            }
        }
    }
    out
}

/// Pattern and replacement at the first `/` outside quotes.
pub(super) fn split_slash(argument: &str) -> (&str, &str) {
    let bytes = argument.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        at = match bytes[at] {
            b'/' => return (&argument[..at], &argument[at + 1..]),
            b'\\' => at + 2,
            b'\'' => scan::find(bytes, at + 1, b'\'').map_or(bytes.len(), |end| end + 1),
            b'"' => scan::double_end(bytes, at + 1).unwrap_or(bytes.len()),
            b'$' if bytes.get(at + 1) == Some(&b'(') => {
                scan::close_paren(bytes, at + 2).map_or(bytes.len(), |end| end + 1)
            }
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                scan::close_brace(bytes, at + 2).map_or(bytes.len(), |end| end + 1)
            }
            _ => at + 1,
        };
    }
    (argument, "")
}
