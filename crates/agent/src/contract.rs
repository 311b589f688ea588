//! Reads a child's final text (D2).
//!
//! Two forms are taken. A JSON object with a `summary`, as the whole text or as the last ```json
//! block that ends it:
//! `{"summary": "…", "evidence": [{"path", "line"?, "note"?, "quote"?}], "blocked"?: true}`.
//! Or plain text: it is the summary, and the places that it mentions as `path:line` are the
//! evidence. Nothing in the text can set the status to `ok`; all it can say about itself is that it
//! was blocked, and that is compared with what was refused.

use serde_json::{Map, Value};

use crate::evidence::{
    Claim, MAX_EVIDENCE, MAX_NOTE_BYTES, MAX_PATH_BYTES, MAX_QUOTE_BYTES, Source, Stated, cut,
    relative,
};
use crate::mention::{mentions, place};

/// The most bytes of a summary. A parent pays for every byte of it, and reads no book.
pub const MAX_SUMMARY_BYTES: usize = 16 * 1024;

/// The most bytes of a final text that are looked at.
pub(crate) const MAX_TEXT_BYTES: usize = 256 * 1024;

/// What a final text says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) summary: String,
    pub(crate) claims: Vec<Stated>,
    pub(crate) warnings: Vec<String>,
    pub(crate) says: Says,
}

/// What a child says about its own end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Says {
    /// Nothing in particular.
    #[default]
    Done,
    /// That a refusal kept it from finishing.
    Blocked,
}

/// Reads a final text that isn't empty.
pub(crate) fn read(text: &str, workspace: &str) -> Draft {
    let mut warnings = Vec::new();
    let text = match text.trim() {
        text if text.len() > MAX_TEXT_BYTES => {
            warnings.push(format!(
                "answer: {} bytes beyond the limit were left out",
                text.len() - MAX_TEXT_BYTES
            ));
            &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
        }
        text => text,
    };
    let mut draft = match object(text) {
        Some(fields) => structured(&fields, workspace).unwrap_or_else(|| {
            warnings.push("answer: its JSON has no `summary`; taken as plain text".to_owned());
            plain(text, workspace)
        }),
        None => plain(text, workspace),
    };
    if draft.summary.len() > MAX_SUMMARY_BYTES {
        warnings.push(format!(
            "summary: cut from {} to {MAX_SUMMARY_BYTES} bytes",
            draft.summary.len()
        ));
        draft.summary = cut(&draft.summary, MAX_SUMMARY_BYTES);
    }
    warnings.append(&mut draft.warnings);
    draft.warnings = warnings;
    draft
}

fn plain(text: &str, workspace: &str) -> Draft {
    Draft {
        summary: text.to_owned(),
        claims: mentions(text, workspace, MAX_EVIDENCE),
        ..Draft::default()
    }
}

/// The JSON object that the text is, or ends with.
fn object(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(json_part(text)?) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    }
}

/// What may be JSON in a text: the last ```json block when the text ends with a block, else all of
/// it. `None` when the last block is of another kind.
pub(crate) fn json_part(text: &str) -> Option<&str> {
    match text.strip_suffix("```") {
        Some(before) => {
            let start = before.rfind("```json")? + "```json".len();
            Some(before[start..].trim())
        }
        None => Some(text.trim()),
    }
}

/// Reads an answer that is valid by the caller's schema: its own `summary`, or all of it in short,
/// and the places that it lists or mentions.
pub(crate) fn of_answer(answer: &Value, workspace: &str) -> Draft {
    let text = answer.to_string();
    let own = answer
        .as_object()
        .and_then(|fields| structured(fields, workspace))
        .filter(|draft| !draft.summary.is_empty());
    let mut draft = own.unwrap_or_else(|| plain(&text, workspace));
    // What isn't in our form of evidence may well be the caller's own field.
    draft.warnings.clear();
    draft.summary = cut(&draft.summary, MAX_SUMMARY_BYTES);
    draft
}

fn structured(fields: &Map<String, Value>, workspace: &str) -> Option<Draft> {
    let summary = fields.get("summary")?.as_str()?.trim();
    let mut draft = Draft {
        summary: summary.to_owned(),
        says: blocked(fields),
        ..Draft::default()
    };
    match fields.get("evidence") {
        None | Some(Value::Null) => {}
        Some(Value::Array(items)) => {
            for (item, number) in items.iter().zip(1..=MAX_EVIDENCE) {
                match stated(item, workspace) {
                    Ok(stated) => draft.claims.push(stated),
                    Err(why) => draft.warnings.push(format!("evidence {number}: {why}")),
                }
            }
            if items.len() > MAX_EVIDENCE {
                draft.warnings.push(format!(
                    "evidence: {} pieces beyond the first {MAX_EVIDENCE} were left out",
                    items.len() - MAX_EVIDENCE
                ));
            }
        }
        Some(_) => draft.warnings.push("evidence: not a list".to_owned()),
    }
    Some(draft)
}

fn blocked(fields: &Map<String, Value>) -> Says {
    let says_so = match fields.get("blocked") {
        Some(Value::Bool(blocked)) => *blocked,
        Some(Value::Object(_)) => true,
        _ => fields.get("status").and_then(Value::as_str) == Some("blocked"),
    };
    if says_so { Says::Blocked } else { Says::Done }
}

fn stated(item: &Value, workspace: &str) -> Result<Stated, &'static str> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let path = text("path").ok_or("it names no path")?;
    if path.is_empty() || path.len() > MAX_PATH_BYTES {
        return Err("its path is empty or too long");
    }
    let line = match item.get("line") {
        None | Some(Value::Null) => None,
        Some(line) => Some(line_number(line).ok_or("its line is not a number from 1")?),
    };
    // Some write the line into the path.
    let (path, line) = match (line, place(path, workspace)) {
        (None, Some((path, line))) => (path, Some(line)),
        _ => (relative(path, workspace), line),
    };
    let quote = text("quote")
        .map(str::trim)
        .filter(|quote| !quote.is_empty());
    Ok(Stated {
        claim: Claim {
            path: path.to_owned(),
            line,
            quote: quote
                .map(|quote| quote[..quote.floor_char_boundary(MAX_QUOTE_BYTES)].to_owned()),
        },
        note: cut(text("note").unwrap_or_default().trim(), MAX_NOTE_BYTES),
        source: Source::Listed,
    })
}

/// `12`, `"12"` or `"12-20"`.
fn line_number(line: &Value) -> Option<u64> {
    let number = match line {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.split(['-', '–']).next()?.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> (String, Vec<String>, Vec<String>) {
        let draft = read(text, "/work/repo");
        let claims = draft.claims.iter().map(|stated| stated.claim.shown());
        (draft.summary, claims.collect(), draft.warnings)
    }

    /// D2: each form of an answer, and what is taken from it.
    #[test]
    fn answers_are_read() {
        let evidence = r#"{"summary": "s", "evidence": [{"path": "/work/repo/a.rs", "line": 3, "note": "n"}, {"path": "./b.rs:7"}, {"path": "c", "line": "9-12"}]}"#;
        let places = ["a.rs:3", "b.rs:7", "c:9"].map(str::to_owned).to_vec();
        for text in [
            evidence.to_owned(),
            format!("Here it is:\n```json\n{evidence}\n```\n"),
            format!("```json\n{{\"summary\": \"draft\"}}\n```\nand\n```json\n{evidence}\n```"),
        ] {
            assert_eq!(
                shown(&text),
                ("s".to_owned(), places.clone(), vec![]),
                "{text}"
            );
        }
        let (summary, claims, _) = shown("See src/a.rs:4.\n```\ncode\n```");
        assert_eq!(summary, "See src/a.rs:4.\n```\ncode\n```");
        assert_eq!(claims, ["src/a.rs:4"]);
    }

    #[test]
    fn malformed_answers_are_kept_as_text_or_warned_about() {
        for (text, summary, warning) in [
            (r#"{"answer": 1}"#, r#"{"answer": 1}"#, "no `summary`"),
            (r#"{"summary": 5}"#, r#"{"summary": 5}"#, "no `summary`"),
            (
                r#"{"summary": "s", "evidence": "x"}"#,
                "s",
                "evidence: not a list",
            ),
            (
                r#"{"summary": "s", "evidence": [1]}"#,
                "s",
                "evidence 1: it names no path",
            ),
            (
                r#"{"summary": "s", "evidence": [{"path": "a"}, {"path": "a", "line": 0}]}"#,
                "s",
                "evidence 2: its line is not a number from 1",
            ),
            (
                r#"{"summary": "s", "evidence": [{"path": ""}]}"#,
                "s",
                "empty or too long",
            ),
        ] {
            let (read, _, warnings) = shown(text);
            assert_eq!(read, summary);
            assert!(
                warnings.iter().any(|said| said.contains(warning)),
                "{warnings:?}"
            );
        }
        for text in [
            "{\"summary\": \"cut sho",
            "```json\n{]\n```",
            "[1, 2]",
            "\"text\"",
        ] {
            assert_eq!(shown(text), (text.to_owned(), vec![], vec![]));
        }
    }

    #[test]
    fn only_its_own_fields_say_blocked() {
        for (text, says) in [
            (r#"{"summary": "s", "blocked": true}"#, Says::Blocked),
            (
                r#"{"summary": "s", "blocked": {"reason": "r"}}"#,
                Says::Blocked,
            ),
            (r#"{"summary": "s", "status": "blocked"}"#, Says::Blocked),
            (
                r#"{"summary": "s", "blocked": false, "status": "ok"}"#,
                Says::Done,
            ),
            (r#"{"summary": "s", "blocked": "true"}"#, Says::Done),
            ("I was blocked. status: blocked", Says::Done),
        ] {
            assert_eq!(read(text, "/w").says, says, "{text}");
        }
    }

    #[test]
    fn everything_is_bounded() {
        let items = vec![r#"{"path": "a.rs", "quote": "q"}"#; 100].join(",");
        let text = format!(
            r#"{{"summary": "{}", "evidence": [{items}]}}"#,
            "é".repeat(20_000)
        );
        let draft = read(&text, "/w");
        assert_eq!(draft.claims.len(), MAX_EVIDENCE);
        assert!(draft.summary.len() <= MAX_SUMMARY_BYTES + '…'.len_utf8());
        assert_eq!(draft.warnings.len(), 2, "{:?}", draft.warnings);
        assert!(read(&"x".repeat(1 << 20), "/w").summary.len() < MAX_SUMMARY_BYTES + 4);
    }
}
