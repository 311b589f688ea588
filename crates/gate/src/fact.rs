//! What the gate asks to be looked up, and the answers.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::exact;

/// Something that must be looked up before a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// What is at a path, below the granted roots.
    Path {
        /// Absolute and in normal form.
        #[serde(with = "exact")]
        path: PathBuf,
    },
    /// Which file a program name stands for.
    Program {
        /// The name: with a slash it is a path from `cwd`, without one it is looked up.
        #[serde(with = "exact")]
        name: OsString,
        /// The working folder, absolute and in normal form.
        #[serde(with = "exact")]
        cwd: PathBuf,
        /// Where to look a bare name up, in order.
        #[serde(with = "exact::list")]
        search: Vec<PathBuf>,
    },
}

/// The answer to one [`Query`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// What is at a path.
    Path(PathFact),
    /// Which file a program name stands for.
    Program(ProgramFact),
}

/// What is at a path. For something missing, `device` and `inode` are those of the deepest folder
/// that exists; for anything else that wasn't resolved, all numbers are 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathFact {
    /// The path that was asked about: an answer to another question is no answer.
    #[serde(with = "exact")]
    pub asked: PathBuf,
    /// How the look-up ended.
    pub outcome: Outcome,
    /// The path without symlinks; for something missing, that of the deepest folder that exists.
    #[serde(with = "exact::option")]
    pub canonical: Option<PathBuf>,
    /// The names below `canonical` that are missing; empty for what was resolved.
    #[serde(default, with = "exact")]
    pub rest: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Names that this inode has.
    pub links: u64,
    /// Bytes.
    pub size: u64,
}

/// Which file a program name stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFact {
    /// The name that was asked about.
    #[serde(with = "exact")]
    pub asked: OsString,
    /// The executable file without symlinks; `None` when there is none.
    #[serde(with = "exact::option")]
    pub canonical: Option<PathBuf>,
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// How a look-up ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Something is there, inside a granted root.
    Resolved,
    /// Nothing is there, and the way to it stays inside.
    Missing,
    /// The path, or a symlink on the way, leads out of the granted roots.
    Escapes,
    /// Symlinks lead round in a circle, or there are too many of them.
    Loop,
    /// The kernel refuses the look-up.
    Denied,
    /// The look-up failed otherwise.
    Failed,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A named pipe: reading it would wait for a writer.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
    /// Nothing.
    Missing,
    /// Not known.
    Other,
}

impl Kind {
    /// The word for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Missing => "missing",
            Self::Other => "of an unknown kind",
        }
    }
}
