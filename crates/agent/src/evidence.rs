//! What a child claims about files, and what came of looking.

use deputize_authority::escape;
use serde::{Deserialize, Serialize};

/// The most pieces of evidence of one result; a reader follows no more.
pub const MAX_EVIDENCE: usize = 64;

/// The longest path that is worth looking up: what Linux takes.
pub(crate) const MAX_PATH_BYTES: usize = 4096;

/// The most bytes of a quote. Longer ones are cut: their beginning must still be in the file.
pub(crate) const MAX_QUOTE_BYTES: usize = 1024;

/// The most bytes of a note.
pub(crate) const MAX_NOTE_BYTES: usize = 1024;

/// A claim to check: that a file is there, with that line, and that it says that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The path, as the child wrote it.
    pub path: String,
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// Text that should be there.
    pub quote: Option<String>,
}

/// What came of checking a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// It is as claimed.
    Holds,
    /// The quote is in the file, on another line.
    Moved {
        /// The line it is on.
        line: u64,
    },
    /// It isn't so.
    Fails {
        /// Why, in a few words without a final stop.
        why: String,
    },
}

/// Where a claim comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The child listed it as evidence.
    Listed,
    /// It is mentioned in a text as `path:line`.
    Mentioned,
    /// The run looked at it.
    Observed,
}

/// A claim with the child's note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stated {
    pub(crate) claim: Claim,
    pub(crate) note: String,
    pub(crate) source: Source,
}

impl Stated {
    /// Whether a failed check says something about the child. A name with a colon and a number in
    /// prose can be anything (`example.org:443`), and a file that was read may be gone.
    pub(crate) fn is_worth_a_warning(&self) -> bool {
        match self.source {
            Source::Listed => true,
            Source::Mentioned => self.claim.path.contains('/'),
            Source::Observed => false,
        }
    }
}

impl Claim {
    /// The claim for people: `src/lib.rs:12`.
    #[must_use]
    pub fn shown(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", escape(&self.path)),
            None => escape(&self.path),
        }
    }
}

/// A text of at most so many bytes; `…` where it was cut.
pub(crate) fn cut(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max_bytes)])
}

/// The path of a claim relative to the workspace, where that can be told from the text alone.
pub(crate) fn relative<'p>(path: &'p str, workspace: &str) -> &'p str {
    let path = path
        .strip_prefix(workspace.trim_end_matches('/'))
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(path);
    path.strip_prefix("./").unwrap_or(path)
}
