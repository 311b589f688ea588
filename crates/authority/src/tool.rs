//! The tools that exist. A name that isn't here is unknown, and what is unknown is denied (G1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Covers;

/// A built-in tool that a child can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Reads a text file, or a part of it.
    Read,
    /// Lists a folder.
    Ls,
    /// Finds files by name.
    Find,
    /// Searches file contents.
    Grep,
    /// Looks at a repository's history and state.
    Git,
    /// Runs a shell command.
    Bash,
    /// Creates or replaces a file.
    Write,
    /// Changes a part of a file.
    Edit,
    /// Runs one program with literal arguments; what `deputize exec` asks for.
    Exec,
}

impl Tool {
    /// Every tool, in the order that help texts show.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::Ls,
        Self::Find,
        Self::Grep,
        Self::Git,
        Self::Bash,
        Self::Write,
        Self::Edit,
        Self::Exec,
    ];

    /// The name that models and people use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Ls => "ls",
            Self::Find => "find",
            Self::Grep => "grep",
            Self::Git => "git",
            Self::Bash => "bash",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Exec => "exec",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A tool name that nothing here answers to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tool is named `{}`", crate::escape(.0))]
pub struct UnknownTool(pub String);

impl FromStr for Tool {
    type Err = UnknownTool;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|tool| tool.name() == name)
            .ok_or_else(|| UnknownTool(name.to_owned()))
    }
}

impl Covers for Tool {
    fn covers(&self, other: &Self) -> bool {
        self == other
    }
}
