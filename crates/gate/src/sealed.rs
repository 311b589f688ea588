//! The proof that a call passed the gate, bound to what was checked (G8).

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{Call, CallError, exact};

/// A call that the gate allowed, with the identity of what was looked at.
///
/// # Invariants
/// - [`crate::decide`] alone makes one; there is no public constructor.
/// - What runs is what was sealed: the path by device and inode, or the arguments, working folder,
///   environment names and program.
///
/// [`Sealed::received`] takes one back in another process of ours. Whoever can write to that
/// process's pipe is trusted already, so the bytes are checked for shape and limits only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sealed<C> {
    call: C,
    bound: Bound,
}

/// What a sealed call is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A path that a file tool opens.
    Path(BoundPath),
    /// A program start.
    Launch(BoundLaunch),
}

/// The path that was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundPath {
    /// The path that is meant: absolute, in normal form, symlinks not followed.
    #[serde(with = "exact")]
    pub path: PathBuf,
    /// What was there; `None` when nothing was.
    pub found: Option<Identity>,
    /// Where something new would come to be; `None` when something was there, or nothing is made.
    #[serde(default)]
    pub fresh: Option<Fresh>,
}

/// Where a new file would come to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fresh {
    /// The deepest folder that was there.
    pub folder: Identity,
    /// The names below it, the file's last; none of them was there.
    #[serde(with = "exact")]
    pub rest: PathBuf,
}

/// The start that was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundLaunch {
    /// The working folder.
    pub cwd: Identity,
    /// The program's file; `None` when it wasn't found, so that the start fails honestly.
    pub program: Option<Identity>,
    /// How the call becomes arguments for that program.
    #[serde(default)]
    pub means: Means,
}

/// How a call becomes the arguments of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// They are in the call.
    #[default]
    Literal,
    /// It is a command line for bash.
    Bash,
    /// It is a command line for the plain shell of a machine without bash.
    Sh,
    /// It is a look at a repository, through a script of ours for the plain shell.
    Git(Box<GitMeans>),
}

/// What was judged of a look at a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitMeans {
    /// Git's file.
    pub git: Identity,
    /// The paths of the look, relative to the workspace, in the call's order.
    #[serde(with = "exact::list")]
    pub paths: Vec<PathBuf>,
    /// Globs of secrets that changed lines are not shown of.
    pub hidden: Vec<String>,
}

/// A file or folder by what it is, not by what it is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The path without symlinks at the time of the look-up.
    #[serde(with = "exact")]
    pub canonical: PathBuf,
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// Why bytes were not taken as a sealed call.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// They don't have its shape.
    #[error("the sealed call can't be read")]
    Shape(#[source] serde_json::Error),
    /// The call exceeds a limit.
    #[error("the sealed call exceeds a limit")]
    Limit(#[source] CallError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    call: Call,
    bound: Bound,
}

impl<C> Sealed<C> {
    pub(crate) fn new(call: C, bound: Bound) -> Self {
        Self { call, bound }
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &C {
        &self.call
    }

    /// What it is bound to.
    #[must_use]
    pub fn bound(&self) -> &Bound {
        &self.bound
    }
}

impl Sealed<Call> {
    /// The bytes that travel to the worker.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // A sealed call holds only strings, numbers and lists: writing it as JSON can't fail. Were
        // it to, the empty bytes are refused on the other side.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Takes back what [`Sealed::encode`] wrote.
    ///
    /// # Errors
    /// When the bytes aren't a sealed call, or the call exceeds a limit.
    pub fn received(bytes: &[u8]) -> Result<Self, ReceiveError> {
        let Wire { call, bound } = serde_json::from_slice(bytes).map_err(ReceiveError::Shape)?;
        call.check().map_err(ReceiveError::Limit)?;
        Ok(Self { call, bound })
    }

    /// SHA-256 of the sealed bytes in lower-case hexadecimal, for records.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(self.encode()) {
            // Writing to a String can't fail.
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }
}
