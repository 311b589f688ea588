//! The manifest: every change of a copy, with what is to become of it.

use serde::{Deserialize, Serialize};

use crate::bases::Basis;
use crate::digest;
use crate::entry::What;
use crate::rel_path::RelPath;

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The base had nothing there.
    Created,
    /// Content, type or permissions are others.
    Modified,
    /// The copy has nothing there.
    Deleted,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Its type.
    pub what: What,
    /// SHA-256 of a file's content or of a link's target, in lower-case hexadecimal; absent for
    /// others, and where it couldn't be known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<String>,
    /// Bytes of a file.
    pub size: u64,
    /// Permission bits of a file or a folder; 0 for a link, which has none.
    pub mode: u32,
}

impl State {
    /// Whether a file can be executed by its owner.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.what == What::File && self.mode & 0o100 != 0
    }

    /// Whether two states have the same content, whoever may read it.
    pub(crate) fn same_content(&self, other: &Self) -> bool {
        let known = self.digest.is_some() || self.what == What::Folder;
        known && self.what == other.what && self.digest == other.digest
    }
}

/// What is to become of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do", content = "why")]
pub enum Disposition {
    /// It is applied.
    Apply,
    /// It is left out: the person's ignore rules name it.
    Skip,
    /// It is applied only when the person names it.
    Hold(String),
    /// It is never applied.
    Refuse(String),
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Where.
    pub path: RelPath,
    /// What happened.
    pub kind: ChangeKind,
    /// What the base had.
    pub old: Option<State>,
    /// What the copy has.
    pub new: Option<State>,
    /// Whether `old` is what the child began from.
    pub basis: Basis,
    /// What is to become of it.
    pub disposition: Disposition,
}

impl Change {
    /// Whether only permissions changed.
    #[must_use]
    pub fn is_mode_only(&self) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => old.same_content(new),
            _ => false,
        }
    }
}

/// Every change of a copy, in the order of the paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// The changes.
    pub changes: Vec<Change>,
    /// SHA-256 over the changes in their canonical form, in lower-case hexadecimal.
    pub digest: String,
}

impl Manifest {
    pub(crate) fn of(changes: Vec<Change>) -> Self {
        // Fields are written in the order of their declaration and no map is among them, so equal
        // changes have equal bytes. Strings, numbers and enums always can be written; were it to
        // fail, the empty bytes would match no manifest that anybody reviewed.
        let bytes = serde_json::to_vec(&changes).unwrap_or_default();
        Self {
            digest: digest::of_bytes(&bytes),
            changes,
        }
    }

    /// Whether there is nothing to apply, hold or refuse.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes
            .iter()
            .all(|change| change.disposition == Disposition::Skip)
    }
}
