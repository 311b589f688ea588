//! Results of tools, bounded in bytes while they are written.

use std::time::Instant;

use deputize_authority::Untrusted;
use serde::{Deserialize, Serialize};

use crate::limits::OUTPUT_BYTES;

/// What a tool hands back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The result. Contents and names in it are foreign; names are escaped already.
    pub text: Untrusted,
    /// What the runtime says about the result, in its own words.
    pub notes: Vec<String>,
    /// How to get the rest, when there is more.
    pub truncated: Option<String>,
    /// Files whose content was looked at.
    pub files_seen: u64,
    /// Files that were made or changed: relative to the workspace where they lie in it, names
    /// escaped.
    #[serde(default)]
    pub changed: Vec<String>,
    /// How long it took, in microseconds.
    pub elapsed_us: u64,
}

impl ToolOutput {
    /// The result as a model gets it: the text, misleading characters visible, then the notes.
    #[must_use]
    pub fn rendered(&self) -> String {
        let mut out = self.text.shown();
        for note in self.notes.iter().chain(&self.truncated) {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(&format!("({note})\n"));
        }
        out
    }
}

/// Why a tool has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFailure {
    /// Stable snake_case identifier.
    pub code: String,
    /// What went wrong and what to do, in sentences without foreign control characters.
    pub message: String,
}

impl ToolFailure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
        }
    }
}

/// Whether there was room for a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// It was added.
    Added,
    /// It wasn't: the output is full.
    Full,
}

/// A result in the making.
#[derive(Debug)]
pub(crate) struct Draft {
    text: String,
    pub(crate) notes: Vec<String>,
    pub(crate) truncated: Option<String>,
    pub(crate) files_seen: u64,
    pub(crate) changed: Vec<String>,
    started: Instant,
}

impl Draft {
    pub(crate) fn new() -> Self {
        Self {
            text: String::new(),
            notes: Vec::new(),
            truncated: None,
            files_seen: 0,
            changed: Vec::new(),
            started: Instant::now(),
        }
    }

    /// Adds a line, if it fits.
    pub(crate) fn line(&mut self, line: &str) -> Room {
        if self.text.len() + line.len() + 1 > OUTPUT_BYTES {
            return Room::Full;
        }
        self.text.push_str(line);
        self.text.push('\n');
        Room::Added
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(crate) fn finish(self) -> ToolOutput {
        ToolOutput {
            text: Untrusted::new(self.text),
            notes: self.notes,
            truncated: self.truncated,
            files_seen: self.files_seen,
            changed: self.changed,
            elapsed_us: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
        }
    }
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
