//! What a conversation holds of the scout's own work.

use serde::Deserialize;

use crate::{Message, ToolOutcome, ToolUse};

/// The most lines of a search's result that are read; a search shows fewer.
const MAX_LINES: usize = 200;

/// The id of the search's call. A conversation has one.
pub(super) const SEARCH_ID: &str = "scout-search";

/// One place that ranked search found: a line of its result.
///
/// The form is that of the `grep` tool called with `terms`: one JSON object a line, of which the
/// first is a [`Summary`]. Unknown keys are ignored, for the form may grow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) line: u64,
    #[serde(default)]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    /// Whether the line lies within the definition, and doesn't start it.
    #[serde(default)]
    pub(super) within: bool,
    #[serde(default)]
    pub(super) matched: Vec<String>,
    #[serde(default)]
    pub(super) text: String,
}

/// What a search says of itself.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(super) struct Summary {
    pub(super) files_searched: u64,
    pub(super) files_matched: u64,
    /// In how many files each term stands.
    #[serde(default)]
    pub(super) terms: std::collections::BTreeMap<String, u64>,
}

/// How the search went.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Search {
    /// It was not asked for.
    Unasked,
    /// It did not run, or failed.
    Lost,
    /// It answered.
    Done(Summary, Vec<Place>),
}

/// A conversation, seen by the scout.
pub(super) struct Transcript<'a> {
    messages: &'a [Message],
}

impl<'a> Transcript<'a> {
    pub(super) fn of(messages: &'a [Message]) -> Self {
        Self { messages }
    }

    /// The question: what the principal said first. Later words of the runtime are no question.
    pub(super) fn prompt(&self) -> &'a str {
        self.messages
            .iter()
            .find_map(|message| match message {
                Message::User(text) => Some(text.as_str()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// The calls of all turns.
    pub(super) fn calls(&self) -> impl Iterator<Item = &'a ToolUse> {
        self.messages.iter().flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            _ => &[],
        })
    }

    /// How many turns the scout has had.
    pub(super) fn turns(&self) -> usize {
        self.messages
            .iter()
            .filter(|message| matches!(message, Message::Assistant { .. }))
            .count()
    }

    /// What came of a call.
    pub(super) fn result(&self, id: &str) -> Option<(&'a str, ToolOutcome)> {
        self.messages
            .iter()
            .rev()
            .find_map(|message| match message {
                Message::ToolResult {
                    id: of,
                    content,
                    outcome,
                } if of == id => Some((content.as_str(), *outcome)),
                _ => None,
            })
    }

    /// How the search went.
    pub(super) fn search(&self) -> Search {
        if !self.calls().any(|call| call.id == SEARCH_ID) {
            return Search::Unasked;
        }
        match self.result(SEARCH_ID) {
            Some((content, ToolOutcome::Answered)) => {
                let lines = || content.lines().take(MAX_LINES);
                let summary = lines().find_map(|line| serde_json::from_str(line).ok());
                let places = lines()
                    .filter_map(|line| serde_json::from_str(line).ok())
                    .filter(|place: &Place| !repeats(&place.text, self.prompt()));
                Search::Done(summary.unwrap_or_default(), places.collect())
            }
            _ => Search::Lost,
        }
    }
}

/// The fewest words that make a sentence recognisable.
const SENTENCE_WORDS: usize = 4;

/// Whether a line holds a sentence of the prompt word for word: then it is about the question, as a
/// manual's or a test's example is, and not about what was asked.
fn repeats(line: &str, prompt: &str) -> bool {
    let line = format!(" {} ", words(line));
    prompt
        .split(['.', '?', '!', '\n'])
        .map(words)
        .filter(|sentence| sentence.split(' ').count() >= SENTENCE_WORDS)
        .any(|sentence| line.contains(&format!(" {sentence} ")))
}

/// The words of a text in lower case, with one space between.
fn words(text: &str) -> String {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect::<Vec<_>>()
        .join(" ")
}
