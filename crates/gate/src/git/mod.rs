//! The tool `git`: five looks at a repository, and how each is put to git.
//!
//! A repository is hostile: its configuration and its attributes name programs that git runs while
//! it looks. [`arguments`] and `neutral.sh` switch off every one of them.

mod lower;
mod parse;

use serde::{Deserialize, Serialize};

pub(crate) use lower::{arguments, variables};
pub(crate) use parse::parse;

/// A look at a repository. Revisions and paths are as written; the gate resolves the paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitLook {
    /// What changed since the last commit, by name.
    Status {
        /// Only these files and folders.
        paths: Vec<String>,
    },
    /// Differences: of the working files, of what is staged, or between revisions.
    Diff {
        /// A revision or a range; the index when absent.
        rev: Option<String>,
        /// Which side is compared.
        side: Side,
        /// What to show.
        output: GitOutput,
        /// Unchanged lines around each change.
        context: Option<u64>,
        /// Only these files and folders.
        paths: Vec<String>,
    },
    /// Commits, the newest first.
    Log {
        /// A revision or a range; HEAD when absent.
        rev: Option<String>,
        /// How many commits at most.
        limit: Option<u64>,
        /// What to show of each.
        output: GitOutput,
        /// Only commits that touch these files and folders.
        paths: Vec<String>,
    },
    /// One commit, or a file as it was at a revision.
    Show {
        /// The revision; HEAD when absent.
        rev: Option<String>,
        /// The file, whose content is then shown instead of the commit.
        path: Option<String>,
        /// What to show of a commit.
        output: GitOutput,
    },
    /// Who last changed each line of a file.
    Blame {
        /// The file.
        path: String,
        /// The revision; HEAD when absent.
        rev: Option<String>,
        /// The first line, counted from 1.
        start: Option<u64>,
        /// The last line.
        end: Option<u64>,
    },
}

/// Which side a difference shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The working files.
    #[default]
    Work,
    /// What is staged for the next commit.
    Staged,
}

/// How much of a change is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitOutput {
    /// The commits themselves.
    Summary,
    /// And the names of the files.
    Names,
    /// And how many lines changed in each.
    Stat,
    /// And the changed lines.
    Patch,
}

impl GitLook {
    /// The look as it is spelled.
    #[must_use]
    pub fn op(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::Diff { .. } => "diff",
            Self::Log { .. } => "log",
            Self::Show { .. } => "show",
            Self::Blame { .. } => "blame",
        }
    }

    /// The paths as they were written.
    #[must_use]
    pub fn paths(&self) -> &[String] {
        match self {
            Self::Status { paths } | Self::Diff { paths, .. } | Self::Log { paths, .. } => paths,
            Self::Show { path, .. } => path.as_slice(),
            Self::Blame { path, .. } => std::slice::from_ref(path),
        }
    }

    /// Whether lines of files are shown that no path in the call names.
    pub(crate) fn shows_lines(&self) -> bool {
        match self {
            Self::Diff { output, .. } | Self::Log { output, .. } => *output == GitOutput::Patch,
            Self::Show { path, output, .. } => path.is_none() && *output == GitOutput::Patch,
            Self::Status { .. } | Self::Blame { .. } => false,
        }
    }

    pub(crate) fn rev(&self) -> Option<&str> {
        match self {
            Self::Status { .. } => None,
            Self::Diff { rev, .. }
            | Self::Log { rev, .. }
            | Self::Show { rev, .. }
            | Self::Blame { rev, .. } => rev.as_deref(),
        }
    }
}
