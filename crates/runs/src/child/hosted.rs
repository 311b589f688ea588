//! Boundaries and their workers, shared by runs that were granted the same.
//!
//! Read-only runs of equal grant and root use one worker: an idle child costs a task, not a process.
//! The last run that lets go of it ends it.
//!
//! The boundary's own calls block, and wait for processes that may be stuck. So each is made on a
//! thread for such calls, and no task waits for one in a way that it can't be dropped from: a run
//! ends by its budget or by its person, whatever a worker does.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as Blocking, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use deputize_authority::{Grant, GrantDigest};
use deputize_boundary::plan::CopyPlace;
use deputize_boundary::{
    Boundary, BoundaryPlan, CommandSpec, HostFacts, PinnedProgram, Purpose, SelfTest,
};
use deputize_egress::{HeldPorts, PublishedPorts};
use deputize_tools::{Request, Response};
use tokio::sync::Mutex;

use crate::boundary::{Chosen, Probe, Weaker, start};
use crate::capture::{Captured, Patience, capture};
use crate::worker::{Silent, WorkerLink};
use crate::{RunError, Spawner};

/// The boundaries of one process.
#[derive(Clone)]
pub struct Boundaries {
    spawner: Spawner,
    program: Arc<PinnedProgram>,
    known: Arc<Mutex<Known>>,
}

type Known = HashMap<Key, Weak<Hosted>>;

/// What runs must have in common to share a boundary.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    grant: GrantDigest,
    /// Where the copy lies that is written to: each run has its own.
    copy: Option<PathBuf>,
}

impl Key {
    fn new(grant: &Grant, copy: &CopyPlace) -> Self {
        let copy = match copy {
            CopyPlace::Planned => None,
            CopyPlace::Overlay { layers } => Some(layers.clone()),
            CopyPlace::Mirror { tree } => Some(tree.clone()),
        };
        Self {
            grant: grant.digest(),
            copy,
        }
    }
}

/// A boundary with its worker.
pub(super) struct Hosted {
    pub(super) plan: BoundaryPlan,
    pub(super) self_test: SelfTest,
    pub(super) weaker: Option<Weaker>,
    standing: Standing,
    /// `None` while a request is under way, and after one that was given up in the middle.
    link: Mutex<Option<WorkerLink>>,
    /// What the self-test tries; gone with the boundary.
    _probe: Probe,
}

/// A boundary for threads that may block; `None` once it was stopped.
#[derive(Clone)]
struct Standing(Arc<Blocking<Option<Boundary>>>);

impl Boundaries {
    /// Starts processes with `spawner`, from the pinned program.
    #[must_use]
    pub fn new(spawner: Spawner, program: PinnedProgram) -> Self {
        Self {
            spawner,
            program: Arc::new(program),
            known: Arc::default(),
        }
    }

    /// The boundary of a grant: one that stands already, or a new one.
    pub(super) async fn get(
        &self,
        grant: &Grant,
        host: &HostFacts,
        copy: &CopyPlace,
        probe_folder: &std::path::Path,
    ) -> Result<Arc<Hosted>, RunError> {
        // Held during the start, so that equal grants that come together start one boundary.
        let mut known = Arc::clone(&self.known).lock_owned().await;
        let key = Key::new(grant, copy);
        if let Some(hosted) = known.get(&key).and_then(Weak::upgrade) {
            return Ok(hosted);
        }
        known.retain(|_, hosted| hosted.strong_count() > 0);
        let probe = Probe::new(probe_folder)?;
        let (spawner, program) = (self.spawner.clone(), Arc::clone(&self.program));
        let (grant, host, copy) = (grant.clone(), host.clone(), copy.clone());
        let begun = tokio::task::spawn_blocking(move || -> Result<_, RunError> {
            let hosted = Arc::new(Hosted::begin(&spawner, program, grant, host, copy, probe)?);
            known.insert(key, Arc::downgrade(&hosted));
            // Where nobody waits for it any more, it ends here, and the lock is let go of after that.
            Ok((hosted, known))
        });
        let (hosted, _known) = begun.await.map_err(|_| RunError::Ending)??;
        Ok(hosted)
    }

    /// Waits until no start is under way: one whose caller was dropped goes on until it can be ended.
    pub(super) async fn settled(&self) {
        drop(self.known.lock().await);
    }
}

impl Hosted {
    /// Starts a boundary and its worker. Blocks; the main thread is needed for the first part only.
    fn begin(
        spawner: &Spawner,
        program: Arc<PinnedProgram>,
        grant: Grant,
        host: HostFacts,
        copy: CopyPlace,
        probe: Probe,
    ) -> Result<Self, RunError> {
        let (chosen, probe) = spawner.run(move || {
            let chosen = start(&program, &grant, &host, &copy, &probe, None, Purpose::Serve);
            (chosen, probe)
        })?;
        let Chosen {
            mut boundary,
            plan,
            weaker,
        } = chosen?;
        let (socket, self_test) = boundary.open_worker()?;
        let link = WorkerLink::new(socket).map_err(|source| {
            RunError::Boundary(deputize_boundary::BoundaryError::Supervisor {
                doing: "use the worker's socket",
                source,
            })
        })?;
        Ok(Self {
            plan,
            self_test,
            weaker,
            standing: Standing(Arc::new(Blocking::new(Some(boundary)))),
            link: Mutex::new(Some(link)),
            _probe: probe,
        })
    }

    /// Asks the worker. A request that is given up in the middle leaves its worker to end by itself,
    /// and the next one gets a new worker.
    pub(super) async fn ask(&self, request: &Request) -> Result<Response, Lost> {
        let mut kept = self.link.lock().await;
        let mut link = match kept.take() {
            Some(link) => link,
            None => WorkerLink::new(self.standing.open_worker().await?).map_err(Silent::Socket)?,
        };
        let answer = link.ask(request).await?;
        *kept = Some(link);
        Ok(answer)
    }

    /// Runs a command and captures its output; `disk` is a folder on the disk that it writes to. Where nobody waits for it any more, it is ended.
    pub(super) async fn command(
        &self,
        spec: CommandSpec,
        timeout: Duration,
        disk: Option<PathBuf>,
    ) -> Result<Captured, Lost> {
        self.standing.command(spec, timeout, disk).await
    }

    /// Leads ports that are held outside into the boundary.
    pub(super) async fn publish(&self, held: HeldPorts) -> Result<PublishedPorts, Lost> {
        let standing = self.standing.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let mut boundary = standing.boundary();
            Ok::<_, Lost>(boundary.as_mut().ok_or(Lost::Stopped)?.open_dialer()?)
        });
        let dialer = opened.await.map_err(|_| Lost::Stopped)??;
        Ok(held.lead(dialer).map_err(Silent::Socket)?)
    }

    /// Ends the boundary and waits until nothing of it is left.
    pub(super) async fn stop(self) -> Result<(), RunError> {
        drop(self.link);
        self.standing.stop().await
    }
}

impl Standing {
    /// Opens a worker. Where nobody waits for it any more, its socket is closed when it comes, and
    /// the worker ends.
    async fn open_worker(&self) -> Result<OwnedFd, Lost> {
        let standing = self.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let mut boundary = standing.boundary();
            let (socket, _) = boundary.as_mut().ok_or(Lost::Stopped)?.open_worker()?;
            Ok(socket)
        });
        opened.await.map_err(|_| Lost::Stopped)?
    }

    async fn command(
        &self,
        spec: CommandSpec,
        timeout: Duration,
        disk: Option<PathBuf>,
    ) -> Result<Captured, Lost> {
        let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
        let (given_up, held) = pipe.map_err(|error| Silent::Socket(error.into()))?;
        let standing = self.clone();
        let ran = tokio::task::spawn_blocking(move || {
            let mut boundary = standing.boundary();
            let boundary = boundary.as_mut().ok_or(Lost::Stopped)?;
            let patience = Patience {
                timeout,
                disk: disk.as_deref(),
                given_up: &given_up,
            };
            Ok(capture(boundary, &spec, &patience)?)
        });
        let ran = ran.await.map_err(|_| Lost::Stopped)?;
        // Until here: where this future is dropped, the command learns of it by the pipe.
        drop(held);
        ran
    }

    async fn stop(self) -> Result<(), RunError> {
        let stopped = tokio::task::spawn_blocking(move || match self.boundary().take() {
            Some(boundary) => boundary.stop().map(drop),
            None => Ok(()),
        });
        Ok(stopped.await.map_err(|_| RunError::Ending)??)
    }

    fn boundary(&self) -> MutexGuard<'_, Option<Boundary>> {
        // A boundary is of use as long as its processes live, whatever became of who asked it last.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why the worker gave no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
    #[error("the boundary was stopped")]
    Stopped,
    #[error("the boundary failed")]
    Boundary(#[from] deputize_boundary::BoundaryError),
    #[error("the worker gave no answer")]
    Silent(#[from] Silent),
}
