//! What a run stands on: its boundary, and the copy of the workspace where it writes to one.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use deputize_authority::{Grant, Refusal, WorkspaceMode};
use deputize_boundary::plan::{CopyPlace, Sealed};
use deputize_boundary::{BoundaryError, BoundaryPlan, HostFacts, SelfTest, Step};
use deputize_egress::{HeldPorts, PublishedPorts};
use deputize_workspace::{
    BaseFolder, CopyKind, CopyRecord, Layers, Manifest, Observed, WorkingCopy,
};

use super::cloning;
use super::hosted::{Boundaries, Hosted, Wanted};
use crate::RunError;

/// A boundary that stands, with the copy that it shows.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) hosted: Arc<Hosted>,
    pub(super) copy: Option<RunCopy>,
}

/// What a run stands on: nothing before the first call that needs it, then one boundary after another.
pub(super) struct Footing {
    boundaries: Boundaries,
    wanted: Wanted,
    /// One start, or end, at a time.
    turn: tokio::sync::Mutex<()>,
    ground: Mutex<Option<Ground>>,
    /// The copy, whatever became of the boundary that showed it.
    copy: Mutex<Option<RunCopy>>,
    /// What the folder was, where the child writes to it directly.
    snapshot: Mutex<Option<RunCopy>>,
    /// How the first boundary stood.
    stood: OnceLock<Stood>,
    ports: Mutex<Ports>,
}

/// How a boundary stood, for record and receipt.
pub(super) struct Stood {
    pub(super) plan: BoundaryPlan,
    pub(super) self_test: SelfTest,
}

/// Ports of a run.
enum Ports {
    /// They lead nowhere as long as no boundary stands.
    Held(HeldPorts),
    /// They lead inside.
    Published(#[expect(dead_code, reason = "held for what dropping it does")] PublishedPorts),
    /// There are none, or they couldn't be had again.
    None,
}

impl Footing {
    pub(super) fn new(boundaries: Boundaries, wanted: Wanted, ports: HeldPorts) -> Self {
        Self {
            boundaries,
            wanted,
            turn: tokio::sync::Mutex::default(),
            ground: Mutex::default(),
            copy: Mutex::default(),
            snapshot: Mutex::default(),
            stood: OnceLock::new(),
            ports: Mutex::new(Ports::Held(ports)),
        }
    }

    /// The boundary, started if it isn't yet.
    pub(super) async fn hosted(&self) -> Result<Arc<Hosted>, RunError> {
        Ok(self.ground().await?.hosted)
    }

    /// The boundary and the copy.
    pub(super) async fn ground(&self) -> Result<Ground, RunError> {
        let _turn = self.turn.lock().await;
        match self.started() {
            Some(ground) => Ok(ground),
            None => self.begin().await,
        }
    }

    /// The boundary and the copy, if a call needed them.
    pub(super) fn started(&self) -> Option<Ground> {
        held(&self.ground).clone()
    }

    /// How the first boundary stood.
    pub(super) fn stood(&self) -> Option<&Stood> {
        self.stood.get()
    }

    /// The copy, if there is one.
    pub(super) fn copy(&self) -> Option<RunCopy> {
        held(&self.copy).clone()
    }

    /// What the folder was before the child wrote to it directly, if it does and a call needed the
    /// boundary.
    pub(super) fn snapshot(&self) -> Option<RunCopy> {
        held(&self.snapshot).clone()
    }

    /// Ends the boundary that stands and starts another on the same copy: of what commands left beside
    /// the workspace (a home, temporary files, caches, shared memory) nothing is there any more.
    pub(super) async fn renew(&self) -> Result<Arc<Hosted>, RunError> {
        let _turn = self.turn.lock().await;
        let ground = held(&self.ground).take();
        if let Some(ground) = ground {
            // Its port is free again only when nothing leads from it.
            *held(&self.ports) = Ports::None;
            let hosted = Arc::into_inner(ground.hosted).ok_or(RunError::Ending)?;
            hosted.stop().await?;
            let ports = self.wanted.grant.bounds().ports.items().copied();
            *held(&self.ports) = Ports::Held(HeldPorts::take(ports)?);
        }
        Ok(self.begin().await?.hosted)
    }

    /// Starts a boundary; the caller has the turn.
    async fn begin(&self) -> Result<Ground, RunError> {
        if writes_directly(&self.wanted.grant) && self.snapshot().is_none() {
            // Nothing is shown writable before what it was is kept.
            let made = RunCopy::make(&self.wanted, CopyKind::Snapshot, None).await?;
            *held(&self.snapshot) = Some(made);
        }
        let known = self.copy();
        let ground = match known {
            None => Ground::find(&self.boundaries, self.wanted.clone()).await?,
            Some(copy) => Ground {
                hosted: self.boundaries.get(copy.shown_by(&self.wanted)).await?,
                copy: Some(copy),
            },
        };
        held(&self.copy).clone_from(&ground.copy);
        // Only the first is told: the others are built from the same plan.
        let _ = self.stood.set(Stood {
            plan: ground.hosted.plan.clone(),
            self_test: ground.hosted.self_test.clone(),
        });
        let ports = std::mem::replace(&mut *held(&self.ports), Ports::None);
        if let Ports::Held(ports) = ports
            && !ports.is_empty()
        {
            let published = ground.hosted.publish(ports).await;
            let published = published.map_err(|error| super::toolbox::lost(&error))?;
            *held(&self.ports) = Ports::Published(published);
        }
        *held(&self.ground) = Some(ground.clone());
        Ok(ground)
    }

    /// Ends the boundary, unless another run still uses it.
    pub(super) async fn close(self) -> Result<(), RunError> {
        drop(self.wanted.cloning.lock().await);
        self.boundaries.settled().await;
        let hosted = held(&self.ground).take().map(|ground| ground.hosted);
        match hosted.and_then(Arc::into_inner) {
            Some(hosted) => hosted.stop().await,
            None => Ok(()),
        }
    }
}

/// What is behind a lock, whatever became of who held it last: it is replaced whole.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
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
        if wanted.grant.workspace().mode == WorkspaceMode::Worktree {
            let copy = RunCopy::of(cloning::make(boundaries, &wanted).await?, None);
            return copy.shown(boundaries, &wanted).await;
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
                copy.shown(boundaries, &wanted).await
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
pub(super) fn unmappable(error: RunError) -> RunError {
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

/// Whether what is written is in the person's folder at once.
pub(super) fn writes_directly(grant: &Grant) -> bool {
    let workspace = grant.workspace();
    !workspace.mode.is_copy() && grant.bounds().write.permits(&workspace.root)
}

/// The folder that a copy is of.
pub(super) fn base_of(grant: &Grant, host: &HostFacts) -> BaseFolder {
    let words = host.git_names.iter().map(|(_, word)| word.clone());
    let workspace = grant.workspace();
    BaseFolder {
        path: workspace.path().to_owned(),
        device: workspace.device,
        inode: workspace.inode,
        named: words.collect(),
    }
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
        let base = base_of(&wanted.grant, &wanted.host);
        let run = wanted.run.clone();
        let made = blocking(move || WorkingCopy::create(&run, base, kind)).await?;
        Ok(Self::of(made, instead))
    }

    fn of(made: WorkingCopy, instead: Option<String>) -> Self {
        let record = made.record().clone();
        Self {
            copy: Arc::new(Mutex::new(made)),
            record,
            instead,
        }
    }

    /// The ground on this copy, a whole one; where it can't be shown it is removed.
    async fn shown(self, boundaries: &Boundaries, wanted: &Wanted) -> Result<Ground, RunError> {
        match boundaries.get(self.shown_by(wanted)).await {
            Ok(hosted) => Ok(Ground {
                hosted,
                copy: Some(self),
            }),
            Err(error) => {
                self.remove().await?;
                Err(unmappable(error))
            }
        }
    }

    /// The boundary that is wanted, with this copy in it.
    fn shown_by(&self, wanted: &Wanted) -> Wanted {
        let mut wanted = wanted.clone();
        wanted.site.copy = self.place();
        wanted
    }

    /// What the boundary mounts.
    fn place(&self) -> CopyPlace {
        match self.lock().layers() {
            Layers::Overlay { upper, .. } => CopyPlace::Overlay {
                layers: upper.parent().map(Path::to_owned).unwrap_or_default(),
            },
            Layers::Mirror { tree } => CopyPlace::Mirror { tree },
            Layers::Clone { tree, objects } => CopyPlace::Clone {
                tree,
                objects: Sealed {
                    path: objects.path,
                    device: objects.device,
                    inode: objects.inode,
                },
            },
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

    /// Ends a snapshot: what the run wrote, from now on to be undone.
    pub(super) async fn seal(&self) -> Result<deputize_workspace::Sealed, RunError> {
        let copy = self.clone();
        blocking(move || copy.lock().seal()).await
    }

    /// Removes it with all that is in it.
    pub(super) async fn remove(&self) -> Result<(), RunError> {
        let copy = self.clone();
        blocking(move || copy.lock().remove()).await
    }

    fn lock(&self) -> MutexGuard<'_, WorkingCopy> {
        // Its records are on disk; one that was left in the middle is read from there.
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs what reads or writes many files where it may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, deputize_workspace::CopyError> + Send + 'static,
) -> Result<T, RunError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| RunError::Ending)?
        .map_err(|error| RunError::Refused(error.refusal()))
}
