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

use deputize_authority::{Grant, GrantDigest, Root};
use deputize_boundary::{
    Boundary, BoundaryPlan, CommandSpec, HostFacts, PinnedProgram, Placeholders, Purpose, SelfTest,
};
use deputize_egress::{HeldPorts, PublishedPorts};
use deputize_tools::{Request, Response};
use tokio::sync::Mutex;

use crate::boundary::{Chosen, Probe, Site, Weaker, start};
use crate::capture::{Captured, Patience, capture};
use crate::error::Doing as _;
use crate::folder::private_folders;
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

/// What a run wants a boundary for.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) grant: Grant,
    pub(super) host: HostFacts,
    /// What it shows beside what the grant names by path.
    pub(super) site: Site,
    /// The run's folder.
    pub(super) run: PathBuf,
    /// Where records of placeholders are kept.
    pub(super) records: PathBuf,
    /// Held while a clone is made for the run.
    pub(super) cloning: Arc<Mutex<()>>,
}

/// What runs must have in common to share a boundary.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    grant: GrantDigest,
    /// The run itself, where it writes: nobody works in another's boundary.
    run: Option<PathBuf>,
}

impl Wanted {
    fn key(&self) -> Key {
        Key {
            grant: self.grant.digest(),
            run: self.writes().then(|| self.run.clone()),
        }
    }

    fn writes(&self) -> bool {
        !self.grant.bounds().write.is_none()
    }

    /// A record for mount points, where the person's folder itself is writable.
    fn placeholders(&self) -> Result<Option<Placeholders>, RunError> {
        if !self.writes() || self.grant.workspace().mode.is_copy() {
            return Ok(None);
        }
        private_folders(&self.records)?;
        let roots = self.grant.bounds().write.items().map(Root::path);
        Placeholders::begin(&self.records, roots)
            .map(Some)
            .doing("keep a record in", &self.records)
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
    /// Mount points in the person's folder, to be taken away after the boundary.
    placeholders: Option<Placeholders>,
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

    /// The boundary that is wanted: one that stands already, or a new one.
    pub(super) async fn get(&self, wanted: Wanted) -> Result<Arc<Hosted>, RunError> {
        // Held during the start, so that equal grants that come together start one boundary.
        let mut known = Arc::clone(&self.known).lock_owned().await;
        let key = wanted.key();
        if let Some(hosted) = known.get(&key).and_then(Weak::upgrade) {
            return Ok(hosted);
        }
        known.retain(|_, hosted| hosted.strong_count() > 0);
        let (spawner, program) = (self.spawner.clone(), Arc::clone(&self.program));
        let begun = tokio::task::spawn_blocking(move || -> Result<_, RunError> {
            let hosted = Arc::new(Hosted::begin(&spawner, program, wanted)?);
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
        wanted: Wanted,
    ) -> Result<Self, RunError> {
        let probe = Probe::new(&wanted.run)?;
        let placeholders = wanted.placeholders()?;
        let (chosen, probe, placeholders) = spawner.run(move || {
            let chosen = start(
                &program,
                &wanted.grant,
                &wanted.host,
                &wanted.site,
                &probe,
                placeholders.as_ref(),
                Purpose::Serve,
            );
            (chosen, probe, placeholders)
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
            placeholders,
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

    /// Runs a command and captures its output; `disk` is a folder on the disk that it writes to. Where
    /// nobody waits for it any more, it is ended.
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
        self.standing.stop().await?;
        let Some(placeholders) = self.placeholders else {
            return Ok(());
        };
        // Another command may have its turn with the records: it is waited for where it may block.
        let finished = tokio::task::spawn_blocking(|| placeholders.finish());
        let finished = finished.await.map_err(|_| RunError::Ending)?;
        finished.doing("clean up by the records of", "placeholders".as_ref())
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
