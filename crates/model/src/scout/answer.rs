//! The scout's last words: places, why they were found, and how far that goes.

use std::fmt::Write as _;

use deputize_authority::escape;
use serde_json::{Value, json};

use super::question::Question;
use super::transcript::{Place, Search, Summary, Transcript};
use crate::ToolOutcome;

/// The most places of an answer.
const MAX_PLACES: usize = 8;

/// The places that the summary names itself; the evidence has them all.
const FIRST_PLACES: usize = 3;

/// The longest piece of a comment.
const MAX_COMMENT_CHARS: usize = 160;

/// What every answer begins with.
const OPENING: &str = "Found by code search; no language model was used.";
const OPENING_WITHOUT: &str = "Code search only; no language model was used.";

/// The text of the last turn: a JSON object with `summary` and `evidence`.
pub(super) fn answer(question: &Question, transcript: &Transcript<'_>) -> String {
    let named = named_files(question, transcript);
    let (summary, evidence) = match transcript.search() {
        Search::Done(searched, places) => found(&searched, &seen(places, transcript), named),
        Search::Lost => without(
            "The search did not run or failed, so there is no answer.",
            named,
        ),
        Search::Unasked if question.terms.is_empty() => without(
            "The question has no words to search for. Name an identifier, a file, or words that \
             stand in the code.",
            named,
        ),
        Search::Unasked => without(
            "There was no turn left to search in, so there is no answer.",
            named,
        ),
    };
    json!({"summary": summary, "evidence": evidence}).to_string()
}

/// A place, and what reading it added.
struct Seen {
    place: Place,
    comment: Option<String>,
}

/// The places that still stand where they were found.
fn seen(places: Vec<Place>, transcript: &Transcript<'_>) -> Vec<Seen> {
    places
        .into_iter()
        .filter_map(|place| {
            let Some(text) = read_around(&place, transcript) else {
                return Some(Seen {
                    place,
                    comment: None,
                });
            };
            let at = text.lines().position(|line| line.contains(&place.text))?;
            let comment = comment_above(text, at);
            Some(Seen { place, comment })
        })
        .take(MAX_PLACES)
        .collect()
}

/// What was read of the file around a place.
fn read_around<'a>(place: &Place, transcript: &Transcript<'a>) -> Option<&'a str> {
    transcript
        .calls()
        .filter(|call| call.name == "read" && call.arguments["path"] == *place.path)
        .filter(|call| {
            let first = call.arguments["offset"].as_u64();
            let count = call.arguments["limit"].as_u64();
            first.zip(count).is_some_and(|(first, count)| {
                (first..first.saturating_add(count)).contains(&place.line)
            })
        })
        .find_map(|call| match transcript.result(&call.id) {
            Some((text, ToolOutcome::Answered)) => Some(text),
            _ => None,
        })
}

/// The first sentence of the comment right above a line.
fn comment_above(text: &str, at: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(at).map(without_number).collect();
    let is_attribute = |line: &&&str| line.starts_with("#[") || line.starts_with('@');
    let attributes = lines.iter().rev().take_while(is_attribute).count();
    let comment: Vec<&str> = lines[..lines.len() - attributes]
        .iter()
        .rev()
        .map_while(|line| {
            ["///", "//", "/**", "*/", "* ", "# "]
                .iter()
                .find_map(|mark| line.strip_prefix(mark))
        })
        .collect();
    // A comment that starts before what was read has lost its first sentence.
    if comment.len() + attributes == lines.len() {
        return None;
    }
    let words: Vec<&str> = comment
        .into_iter()
        .rev()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let words = words.join(" ");
    let sentence = words.split_inclusive(". ").next()?.trim();
    sentence
        .starts_with(char::is_alphabetic)
        .then(|| shorten(sentence))
}

/// A line without the number that tools put before it.
fn without_number(line: &str) -> &str {
    let rest = line
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit());
    rest.trim_start_matches(['\t', ' ', ':', '|', '→', '│'])
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_COMMENT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Files that the question names and that could be read.
fn named_files(question: &Question, transcript: &Transcript<'_>) -> Vec<Value> {
    question
        .files
        .iter()
        .filter(|path| {
            transcript.calls().any(|call| {
                call.name == "read"
                    && call.arguments["path"] == ***path
                    && matches!(
                        transcript.result(&call.id),
                        Some((_, ToolOutcome::Answered))
                    )
            })
        })
        .map(|path| json!({"path": path, "note": "the question names this file"}))
        .collect()
}

fn without(why: &str, named: Vec<Value>) -> (String, Vec<Value>) {
    (format!("{OPENING_WITHOUT} {why}"), named)
}

fn found(searched: &Summary, seen: &[Seen], named: Vec<Value>) -> (String, Vec<Value>) {
    let words: Vec<&str> = searched.terms.keys().map(String::as_str).collect();
    if seen.is_empty() {
        let why = format!(
            "Nothing matched: {} ({} files searched). Try other words, such as identifiers, file \
             names or an error message as they stand in the code.",
            list(&words),
            searched.files_searched
        );
        return without(&why, named);
    }
    let mut summary = format!("{OPENING} Look here first:");
    for (number, Seen { place, .. }) in (1..=FIRST_PLACES).zip(seen) {
        // Writing to a String can't fail.
        let _ = write!(
            summary,
            "\n{number}. {}:{} {}",
            escape(&place.path),
            place.line,
            symbol(place)
        );
    }
    let mut evidence: Vec<Value> = seen
        .iter()
        .map(|Seen { place, comment }| entry(place, &note(place, comment.as_deref())))
        .collect();
    evidence.extend(named);
    let _ = write!(
        summary,
        "\nThe evidence says why, and has {} places in all. {} of {} files matched.",
        seen.len(),
        searched.files_matched,
        searched.files_searched
    );
    let absent: Vec<&str> = searched
        .terms
        .iter()
        .filter(|(word, files)| **files == 0 && !word.contains(' '))
        .map(|(word, _)| word.as_str())
        .collect();
    if !absent.is_empty() {
        let _ = write!(summary, " In no file: {}.", list(&absent));
    }
    summary.push_str(" These are places that match the words; nobody has understood them.");
    (summary, evidence)
}

fn entry(place: &Place, note: &str) -> Value {
    let mut entry = json!({"path": place.path, "line": place.line, "note": note});
    if !place.text.is_empty() {
        entry["quote"] = Value::from(place.text.as_str());
    }
    entry
}

/// What is at a place.
fn symbol(place: &Place) -> String {
    let (Some(kind), Some(name)) = (&place.kind, &place.name) else {
        return "line".to_owned();
    };
    let within = if place.within { "in " } else { "" };
    format!("{within}{} `{}`", escape(kind), escape(name))
}

/// Why a place was found.
fn note(place: &Place, comment: Option<&str>) -> String {
    let what = symbol(place);
    let words: Vec<&str> = place.matched.iter().map(String::as_str).collect();
    let mut note = format!("{what}, matches {}", list(&words));
    if let Some(comment) = comment {
        let _ = write!(note, "; its comment: {}", escape(comment));
    }
    note
}

fn list(words: &[&str]) -> String {
    if words.is_empty() {
        return "nothing by name".to_owned();
    }
    words
        .iter()
        .map(|word| format!("`{}`", escape(word)))
        .collect::<Vec<_>>()
        .join(", ")
}
