//! The scout as a model: which turn comes next.

use serde_json::json;

use super::answer::answer;
use super::question::Question;
use super::transcript::{Place, SEARCH_ID, Search, Transcript};
use crate::{
    ModelClient, ModelLabel, ModelName, Price, Stop, ToolUse, Turn, TurnFuture, TurnRequest, Usage,
    UsageSource, Watch,
};

/// How many places the search is asked for.
const PLACES_WANTED: u64 = 12;

/// How many pieces of files are read.
const PIECES_READ: usize = 5;

/// How many lines of a piece stand before its place, and how many there are in all.
const LINES_BEFORE: u64 = 40;
const LINES_READ: u64 = 80;

/// How many lines are read of a file that the question names.
const LINES_OF_NAMED: u64 = 200;

/// The model named `scout`: code search in a model's place, for questions that only look.
///
/// It keeps nothing between turns; see the module for what a turn is made of.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scout;

impl Scout {
    /// Makes a scout. It has no settings.
    #[must_use]
    pub fn new() -> Self {
        Self
    }

    fn next(request: &TurnRequest) -> Turn {
        let transcript = Transcript::of(&request.messages);
        let question = Question::read(transcript.prompt());
        let has = |tool: &str| request.tools.iter().any(|spec| spec.name == tool);
        let (text, calls) = match (transcript.turns(), transcript.search()) {
            (0, _) if has("grep") => first(&question, has("read")),
            (1, Search::Done(_, places)) if has("read") => {
                ("Reading the best places.", reads(&places))
            }
            _ => ("", Vec::new()),
        };
        if calls.is_empty() {
            return turn(answer(&question, &transcript), calls);
        }
        turn(text.to_owned(), calls)
    }
}

/// Searches, and reads what the question names.
fn first(question: &Question, can_read: bool) -> (&'static str, Vec<ToolUse>) {
    let mut calls = Vec::new();
    if !question.terms.is_empty() {
        calls.push(ToolUse {
            id: SEARCH_ID.to_owned(),
            name: "grep".to_owned(),
            arguments: json!({"terms": question.terms, "limit": PLACES_WANTED}),
        });
    }
    if can_read {
        let named = (1..).zip(&question.files).map(|(number, path)| ToolUse {
            id: format!("scout-named-{number}"),
            name: "read".to_owned(),
            arguments: json!({"path": path, "offset": 1, "limit": LINES_OF_NAMED}),
        });
        calls.extend(named);
    }
    ("Searching the code.", calls)
}

/// Reads around the best places; places that lie together are read together.
fn reads(places: &[Place]) -> Vec<ToolUse> {
    let mut pieces: Vec<(&str, u64)> = Vec::new();
    for place in places {
        let known = pieces.iter().any(|(path, first)| {
            *path == place.path && (*first..first + LINES_READ).contains(&place.line)
        });
        if !known && pieces.len() < PIECES_READ {
            let first = place.line.saturating_sub(LINES_BEFORE).max(1);
            pieces.push((&place.path, first));
        }
    }
    (1..)
        .zip(pieces)
        .map(|(number, (path, first))| ToolUse {
            id: format!("scout-read-{number}"),
            name: "read".to_owned(),
            arguments: json!({"path": path, "offset": first, "limit": LINES_READ}),
        })
        .collect()
}

fn turn(text: String, calls: Vec<ToolUse>) -> Turn {
    Turn {
        text,
        stop: if calls.is_empty() {
            Stop::Finished
        } else {
            Stop::ToolCalls
        },
        calls,
        usage: Usage::NONE,
        model: ModelName::Scout.to_string(),
        opaque: None,
        usage_source: UsageSource::Reported,
        cost_micros: None,
        price: None,
    }
}

impl ModelClient for Scout {
    fn name(&self) -> &ModelName {
        &ModelName::Scout
    }

    fn label(&self) -> ModelLabel {
        ModelLabel::Scout
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }

    fn turn<'a>(&'a self, request: &'a TurnRequest, _: &'a dyn Watch) -> TurnFuture<'a> {
        Box::pin(std::future::ready(Ok(Self::next(request))))
    }
}
