//! Tool calls with typed arguments.

use deputize_authority::Tool;
use serde::{Deserialize, Serialize};

use crate::{GitLook, Launch};

/// A call as a model or a person made it. Paths are as written; the gate resolves them.
///
/// [`Call::parse`] is how foreign arguments become one. [`crate::decide`] checks the limits again,
/// so a call made in code gains nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Reads a text file, or a part of it.
    Read {
        /// The file.
        path: String,
        /// The first line, counted from 1.
        offset: Option<u64>,
        /// How many lines at most.
        limit: Option<u64>,
    },
    /// Lists a folder.
    Ls {
        /// The folder; the workspace when absent.
        path: Option<String>,
    },
    /// Finds files by name.
    Find {
        /// A glob: on the name, or on the path below the folder when it holds a slash.
        pattern: String,
        /// Where to look; the workspace when absent.
        path: Option<String>,
        /// How many results at most.
        limit: Option<u64>,
    },
    /// Searches file contents.
    Grep {
        /// What to look for.
        pattern: String,
        /// A folder or one file; the workspace when absent.
        path: Option<String>,
        /// Only files that match this glob.
        glob: Option<String>,
        /// How to look.
        options: GrepOptions,
        /// What to show.
        output: GrepOutput,
    },
    /// Searches for the places that matter most to some terms: `grep` called with `terms`.
    Rank {
        /// Words and identifiers.
        terms: Vec<String>,
        /// Where to look; the workspace when absent.
        path: Option<String>,
        /// How many results at most.
        limit: Option<u64>,
    },
    /// Creates a file or replaces its content.
    Write {
        /// The file.
        path: String,
        /// All of its content.
        content: String,
    },
    /// Changes parts of a file.
    Edit {
        /// The file.
        path: String,
        /// The changes, made in this order, all or none.
        edits: Vec<Replacement>,
    },
    /// Runs a shell command in the workspace.
    Bash {
        /// The command line.
        command: String,
        /// How long it may take.
        timeout_seconds: Option<u64>,
    },
    /// Looks at a repository's history and state.
    Git(GitLook),
    /// Runs one program with literal arguments.
    Exec(Launch),
}

/// One change of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replacement {
    /// The text that is there.
    pub old: String,
    /// The text that takes its place.
    pub new: String,
    /// How often `old` may be there.
    pub occurrences: Occurrences,
}

/// How often a replaced text may be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occurrences {
    /// Once: anything else is an error.
    #[default]
    One,
    /// At least once, and each is replaced.
    All,
}

/// How `grep` looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GrepOptions {
    /// Whether letter case counts.
    pub case: Case,
    /// What the pattern is.
    pub syntax: Syntax,
    /// Lines shown before and after a match.
    pub context: u64,
    /// How many matches (or files) at most.
    pub limit: Option<u64>,
}

/// Whether letter case counts in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// It counts when the pattern holds an upper-case letter.
    #[default]
    Smart,
    /// It counts.
    Sensitive,
    /// It doesn't.
    Insensitive,
}

/// What a search pattern is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    /// A regular expression (Rust syntax).
    #[default]
    Regex,
    /// Plain text.
    Literal,
}

/// What `grep` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrepOutput {
    /// Matching lines with file and line number.
    #[default]
    Lines,
    /// Only the files that hold a match.
    Files,
    /// The number of matching lines per file.
    Count,
}

impl Call {
    /// The tool that was called.
    #[must_use]
    pub fn tool(&self) -> Tool {
        match self {
            Self::Read { .. } => Tool::Read,
            Self::Ls { .. } => Tool::Ls,
            Self::Find { .. } => Tool::Find,
            Self::Grep { .. } | Self::Rank { .. } => Tool::Grep,
            Self::Write { .. } => Tool::Write,
            Self::Edit { .. } => Tool::Edit,
            Self::Bash { .. } => Tool::Bash,
            Self::Git(_) => Tool::Git,
            Self::Exec(_) => Tool::Exec,
        }
    }

    /// The path that a file tool opens, as it was written: `.` where the workspace is meant. A
    /// program start has none.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Read { path, .. } | Self::Write { path, .. } | Self::Edit { path, .. } => {
                Some(path)
            }
            Self::Ls { path }
            | Self::Find { path, .. }
            | Self::Grep { path, .. }
            | Self::Rank { path, .. } => Some(path.as_deref().unwrap_or(".")),
            Self::Bash { .. } | Self::Git(_) | Self::Exec(_) => None,
        }
    }
}
