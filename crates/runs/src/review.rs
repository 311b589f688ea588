//! What a run left in its copy, for a screen or a program that reviews it (C2).

use deputize_workspace::{Body, Change, CopyKind, CopyState, Manifest, RelPath, WorkingCopy};
use serde::Serialize;

use crate::RunError;

/// The manifest, with what a reviewer wants beside it.
#[derive(Debug, Clone, Serialize)]
pub struct Review {
    /// The run.
    pub run: String,
    /// The hash of the whole manifest, also where only some of it is listed.
    pub manifest: String,
    /// What became of the copy so far.
    pub state: CopyState,
    /// How the copy is made.
    pub copy: CopyKind,
    /// The folder that it is of.
    pub base: String,
    /// What is to be known of the copy.
    pub notes: Vec<String>,
    /// The changes.
    pub changes: Vec<Reviewed>,
}

/// A change, with its size.
#[derive(Debug, Clone, Serialize)]
pub struct Reviewed {
    /// The change.
    #[serde(flatten)]
    pub change: Change,
    /// Lines, where the change is one of text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
}

/// Lines that a change adds and takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lines {
    /// Added.
    pub added: usize,
    /// Taken away.
    pub removed: usize,
}

impl Review {
    /// Reviews these changes of a copy.
    ///
    /// # Errors
    /// When the copy can't be read.
    pub fn of(run: &str, copy: &WorkingCopy, chosen: &Manifest) -> Result<Self, RunError> {
        let mut changes = Vec::with_capacity(chosen.changes.len());
        for change in &chosen.changes {
            let lines = match lines(&copy.body(change)?) {
                (0, 0) => None,
                (added, removed) => Some(Lines { added, removed }),
            };
            changes.push(Reviewed {
                change: change.clone(),
                lines,
            });
        }
        Ok(Self {
            run: run.to_owned(),
            manifest: chosen.digest.clone(),
            state: copy.state()?,
            copy: copy.record().kind,
            base: copy.record().base.path.to_string_lossy().into_owned(),
            notes: copy.record().notes.clone(),
            changes,
        })
    }
}

/// Lines that are added and removed; none where the change isn't one of text.
#[must_use]
pub fn lines(body: &Body) -> (usize, usize) {
    match body {
        Body::Text { added, removed, .. } => (*added, *removed),
        _ => (0, 0),
    }
}

/// The part of a manifest that lies in these paths; all of it where none is named. The hash stays that
/// of the whole.
///
/// # Errors
/// The path in which nothing changed.
pub fn chosen(manifest: Manifest, wanted: &[RelPath]) -> Result<Manifest, RelPath> {
    let Manifest { digest, changes } = manifest;
    for path in wanted {
        if !changes.iter().any(|change| change.path.lies_in(path)) {
            return Err(path.clone());
        }
    }
    let named = |change: &Change| wanted.iter().any(|path| change.path.lies_in(path));
    let changes = match wanted.is_empty() {
        true => changes,
        false => changes.into_iter().filter(named).collect(),
    };
    Ok(Manifest { digest, changes })
}
