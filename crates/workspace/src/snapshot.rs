//! What a folder was before a run that writes to it directly, so that this can be undone too (C4).
//!
//! # Life
//! [`WorkingCopy::create`] with [`CopyKind::Snapshot`] keeps the folder; nothing mounts it. When the run
//! has ended, [`WorkingCopy::seal`] compares the two, keeps the old content of what changed, and writes
//! the journal as an apply would have: from then on an undo is that of any copy. What didn't change
//! isn't kept any longer.
//!
//! # Limits
//! Whatever changed in the folder meanwhile counts as the run's; nothing tells it apart. Folders that
//! the person's ignore rules name, and what can't be read, are neither kept nor taken back.

use std::collections::BTreeSet;
use std::path::PathBuf;

use deputize_authority::Refusal;

use crate::CopyError;
use crate::apply::{Action, End, Few, Journal, Kept, Line, Step, Store};
use crate::bases::Basis;
use crate::beneath::Anchor;
use crate::copy::{CopyKind, INDEX, TREE, WorkingCopy};
use crate::error::Doing as _;
use crate::held::is_placeholder;
use crate::manifest::{Change, ChangeKind, Disposition, Manifest};
use crate::mirror::{self, Compared, Since};
use crate::rel_path::RelPath;

/// What a run wrote to the folder itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Every change, each of which can be undone.
    pub manifest: Manifest,
    /// What wasn't kept and isn't there any more as it was: an undo doesn't bring it back.
    pub unkept: Vec<RelPath>,
}

impl WorkingCopy {
    /// Whether it is what the folder was before a run wrote to it directly.
    #[must_use]
    pub fn is_snapshot(&self) -> bool {
        self.record().kind == CopyKind::Snapshot
    }

    /// Whether it still holds all of the folder: the run goes on, or was cut off.
    #[must_use]
    pub fn is_unsealed(&self) -> bool {
        self.is_snapshot() && !self.journal_path().exists()
    }

    /// What the run changed in the folder, written down so that it can be undone. Only when the run has
    /// ended; a second call changes nothing.
    ///
    /// # Errors
    /// When the folder or what was kept can't be read, or the disk is full: all that was kept is still
    /// there then.
    pub fn seal(&mut self) -> Result<Sealed, CopyError> {
        let mut unkept = Vec::new();
        if self.is_unsealed() {
            let compared = self.since()?;
            unkept = compared.unkept;
            let found = compared.found;
            let manifest = manifest(&found);
            self.keep(&found)?;
            let stage = String::new();
            let mut lines = vec![Line::Begin {
                action: Action::Apply,
                manifest: manifest.digest.clone(),
                stage,
                left: Vec::new(),
            }];
            lines.extend(found.into_iter().enumerate().map(|(number, one)| {
                let step = Step {
                    path: one.path,
                    from: one.was,
                    to: one.is,
                };
                Line::Step { number, step }
            }));
            lines.push(Line::Commit);
            lines.push(Line::End {
                how: End::Done,
                left: Vec::new(),
            });
            Journal::whole(&self.journal_path(), &lines)?;
        }
        // A kill may have left these behind.
        crate::removal::remove(&self.tree())?;
        let index = self.folder().join(INDEX);
        match std::fs::remove_file(&index) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).doing("remove", &index)
            }
            _ => Ok(()),
        }?;
        self.index = None;
        let manifest = self.written()?;
        Ok(Sealed { manifest, unkept })
    }

    /// What the run wrote to the folder and wasn't taken back.
    pub(crate) fn written(&self) -> Result<Manifest, CopyError> {
        if self.is_unsealed() {
            return Ok(manifest(&self.since()?.found));
        }
        let net = Journal::read(&self.journal_path())?.applied();
        let net = net.into_iter();
        let found = net.map(|(path, (was, is))| Since { path, was, is });
        Ok(manifest(&found.collect::<Vec<_>>()))
    }

    fn since(&self) -> Result<Compared, CopyError> {
        let tree = self.tree();
        let kept = Anchor::open(&tree).doing("open what was kept", &tree)?;
        let index = self.index.as_ref().ok_or_else(|| CopyError::Record {
            path: self.folder().join(INDEX),
            why: "it isn't there".to_owned(),
        })?;
        let compared = mirror::since(&self.base()?, &kept, index)?;
        Ok(Compared {
            found: without_placeholders(compared.found),
            ..compared
        })
    }

    /// Keeps the old content of what changed.
    fn keep(&self, found: &[Since]) -> Result<(), CopyError> {
        let tree = self.tree();
        let kept = Anchor::open(&tree).doing("open what was kept", &tree)?;
        let store = Store::open(self.folder())?;
        let few = Few::of(found.len());
        for one in found {
            let done = store.keep(&kept, &one.path, one.was.as_ref(), few);
            if done.doing("keep what was", one.path.as_path())? == Kept::Changed {
                return Err(altered(&one.path).into());
            }
        }
        store.sync(few).doing("keep on the disk", "undo")
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.folder().join(TREE)
    }
}

/// What a boundary put there to keep a place free is nobody's change: it goes by itself.
fn without_placeholders(found: Vec<Since>) -> Vec<Since> {
    let mut used: BTreeSet<RelPath> = BTreeSet::new();
    // From the end: what lies in a folder comes before the folder.
    let mut kept: Vec<Since> = found
        .into_iter()
        .rev()
        .filter(|one| {
            let holds = used.contains(&one.path);
            // Of another boundary, it may have been there at the beginning and be gone now.
            let keeps = match (&one.was, &one.is) {
                (None, Some(one_side)) | (Some(one_side), None) => {
                    is_placeholder(&one.path, one_side.what, one_side.size, holds)
                }
                _ => false,
            };
            if !keeps {
                used.extend(one.path.folder());
            }
            !keeps
        })
        .collect();
    kept.reverse();
    kept
}

fn manifest(found: &[Since]) -> Manifest {
    let changes = found.iter().map(|one| Change {
        path: one.path.clone(),
        kind: match (&one.was, &one.is) {
            (None, _) => ChangeKind::Created,
            (Some(_), None) => ChangeKind::Deleted,
            (Some(_), Some(_)) => ChangeKind::Modified,
        },
        old: one.was.clone(),
        new: one.is.clone(),
        basis: Basis::Sure,
        disposition: Disposition::Apply,
    });
    Manifest::of(changes.collect())
}

fn altered(path: &RelPath) -> Refusal {
    Refusal::new(
        "snapshot_changed",
        "run",
        format!(
            "what was kept of `{}` isn't what it was any more",
            path.shown()
        ),
        "take what you want from the run's folder by hand",
    )
}

/// Why there is nothing to apply.
pub(crate) fn written_directly() -> Refusal {
    Refusal::new(
        "written_directly",
        "run",
        "the run wrote to the folder itself, so there is nothing to apply",
        "`deputize diff RUN` shows what it changed, `deputize undo RUN` takes it back",
    )
}
