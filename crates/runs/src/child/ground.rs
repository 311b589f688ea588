//! What a run stands on: its boundary, and the copy of the workspace where it writes to one.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use deputize_authority::{Grant, Refusal};
use deputize_boundary::plan::CopyPlace;
use deputize_boundary::{BoundaryError, Step};
use deputize_workspace::{
    BaseFolder, CopyKind, CopyRecord, Layers, Manifest, Observed, WorkingCopy,
};

use super::hosted::{Boundaries, Hosted, Wanted};
use crate::RunError;

/// A boundary that stands, with the copy that it shows.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) hosted: Arc<Hosted>,
    pub(super) copy: Option<RunCopy>,
}

/// The copy of one run.
#[derive(Clone)]
pub(super) struct RunCopy {
    copy: Arc<Mutex<WorkingCopy>>,
    record: CopyRecord,
    /// Why it is no overlay, where it isn't.
    pub(super) instead: Option<String>,
}

impl Ground {
    /// Starts the boundary that is wanted, on a copy where the grant's writes go to one.
    pub(super) async fn find(boundaries: &Boundaries, wanted: Wanted) -> Result<Self, RunError> {
        if !writes_to_copy(&wanted.grant) {
            let hosted = boundaries.get(wanted).await?;
            return Ok(Self { hosted, copy: None });
        }
        let copy = RunCopy::make(&wanted, CopyKind::Overlay, None).await?;
        match boundaries.get(copy.shown_by(&wanted)).await {
            Ok(hosted) => Ok(Self {
                hosted,
                copy: Some(copy),
            }),
            Err(RunError::Boundary(error)) if no_overlay(&error) => {
                copy.remove().await?;
                let why = Some(error.to_string());
                let copy = RunCopy::make(&wanted, CopyKind::Mirror, why).await?;
                match boundaries.get(copy.shown_by(&wanted)).await {
                    Ok(hosted) => Ok(Self {
                        hosted,
                        copy: Some(copy),
                    }),
                    Err(error) => {
                        copy.remove().await?;
                        Err(unmappable(error))
                    }
                }
            }
            Err(error) => {
                copy.remove().await?;
                Err(error)
            }
        }
    }
}

/// As root a copy belongs to the person on disk and to nobody inside, which some file systems can't
/// show.
fn unmappable(error: RunError) -> RunError {
    match error {
        RunError::Boundary(error) if no_overlay(&error) => RunError::Refused(Refusal::new(
            "copy_unmappable",
            "workspace",
            format!("no copy of the folder can be shown inside: {error}"),
            "run it as an ordinary user, or set XDG_STATE_HOME to a folder on a file system that can \
             map owners (ext4, xfs, btrfs, tmpfs)",
        )),
        other => other,
    }
}

pub(super) fn writes_to_copy(grant: &Grant) -> bool {
    let workspace = grant.workspace();
    workspace.mode.is_copy() && grant.bounds().write.permits(&workspace.root)
}

/// Whether a start failed because no overlay can be had here.
fn no_overlay(error: &BoundaryError) -> bool {
    matches!(
        error,
        BoundaryError::Step {
            step: Step::Copy,
            ..
        }
    )
}

impl RunCopy {
    async fn make(
        wanted: &Wanted,
        kind: CopyKind,
        instead: Option<String>,
    ) -> Result<Self, RunError> {
        let workspace = wanted.grant.workspace();
        let base = BaseFolder {
            path: workspace.path().to_owned(),
            device: workspace.device,
            inode: workspace.inode,
        };
        let run = wanted.run.clone();
        let made = blocking(move || WorkingCopy::create(&run, base, kind)).await?;
        let record = made.record().clone();
        Ok(Self {
            copy: Arc::new(Mutex::new(made)),
            record,
            instead,
        })
    }

    /// The boundary that is wanted, with this copy in it.
    fn shown_by(&self, wanted: &Wanted) -> Wanted {
        Wanted {
            copy: self.place(),
            ..wanted.clone()
        }
    }

    /// What the boundary mounts.
    fn place(&self) -> CopyPlace {
        match self.lock().layers() {
            Layers::Overlay { upper, .. } => CopyPlace::Overlay {
                layers: upper.parent().map(Path::to_owned).unwrap_or_default(),
            },
            Layers::Mirror { tree } => CopyPlace::Mirror { tree },
        }
    }

    /// What is known of it.
    pub(super) fn record(&self) -> &CopyRecord {
        &self.record
    }

    /// Records what the base of every newly touched path was, and says what the copy came to.
    pub(super) async fn observe(&self) -> Result<Observed, RunError> {
        let copy = self.clone();
        blocking(move || copy.lock().observe()).await
    }

    /// Every change.
    pub(super) async fn changes(&self) -> Result<Manifest, RunError> {
        let copy = self.clone();
        blocking(move || copy.lock().changes()).await
    }

    /// Removes it with all that is in it.
    pub(super) async fn remove(&self) -> Result<(), RunError> {
        let copy = self.clone();
        blocking(move || copy.lock().remove()).await
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WorkingCopy> {
        // Its records are on disk; one that was left in the middle is read from there.
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs what reads or writes many files where it may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, deputize_workspace::CopyError> + Send + 'static,
) -> Result<T, RunError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| RunError::Ending)?
        .map_err(|error| RunError::Refused(error.refusal()))
}
