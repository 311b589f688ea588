//! Boundaries and their workers, shared by runs that were granted the same.
//!
//! Read-only runs of equal grant and root use one worker: an idle child costs a task, not a process.
//! The last run that lets go of it ends it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use deputize_authority::{Grant, GrantDigest};
use deputize_boundary::{Boundary, BoundaryPlan, HostFacts, PinnedProgram, Purpose, SelfTest};
use deputize_tools::{Request, Response};
use tokio::sync::Mutex;

use crate::boundary::{Chosen, Probe, Weaker, start};
use crate::worker::{Silent, WorkerLink};
use crate::{RunError, Spawner};

/// The boundaries of one process.
#[derive(Clone)]
pub struct Boundaries {
    spawner: Spawner,
    program: Arc<PinnedProgram>,
    known: Arc<Mutex<HashMap<GrantDigest, Weak<Hosted>>>>,
}

/// A boundary with its worker.
pub(super) struct Hosted {
    pub(super) plan: BoundaryPlan,
    pub(super) self_test: SelfTest,
    pub(super) weaker: Option<Weaker>,
    inside: Mutex<Inside>,
    /// What the self-test tries; gone with the boundary.
    _probe: Probe,
}

struct Inside {
    /// `None` once it was stopped.
    boundary: Option<Boundary>,
    /// `None` while a request is under way, and after one that was given up in the middle.
    link: Option<WorkerLink>,
}

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
        probe_folder: &std::path::Path,
    ) -> Result<Arc<Hosted>, RunError> {
        // Held during the start, so that equal grants that come together start one boundary.
        let mut known = self.known.lock().await;
        let digest = grant.digest();
        if let Some(hosted) = known.get(&digest).and_then(Weak::upgrade) {
            return Ok(hosted);
        }
        known.retain(|_, hosted| hosted.strong_count() > 0);
        let probe = Probe::new(probe_folder)?;
        let (spawner, program) = (self.spawner.clone(), Arc::clone(&self.program));
        let (grant, host) = (grant.clone(), host.clone());
        let begun = tokio::task::spawn_blocking(move || {
            spawner.run(move || -> Result<_, RunError> {
                let Chosen {
                    mut boundary,
                    plan,
                    weaker,
                } = start(&program, &grant, &host, &probe, None, Purpose::Serve)?;
                let (socket, self_test) = boundary.open_worker()?;
                Ok((boundary, plan, weaker, socket, self_test, probe))
            })
        });
        let (boundary, plan, weaker, socket, self_test, probe) =
            begun.await.map_err(|_| RunError::Ending)???;
        let link = WorkerLink::new(socket).map_err(|source| {
            RunError::Boundary(deputize_boundary::BoundaryError::Supervisor {
                doing: "use the worker's socket",
                source,
            })
        })?;
        let inside = Mutex::new(Inside {
            boundary: Some(boundary),
            link: Some(link),
        });
        let hosted = Arc::new(Hosted {
            plan,
            self_test,
            weaker,
            inside,
            _probe: probe,
        });
        known.insert(digest, Arc::downgrade(&hosted));
        Ok(hosted)
    }
}

impl Hosted {
    /// Asks the worker. A request that is given up in the middle leaves its worker to end by itself,
    /// and the next one gets a new worker.
    pub(super) async fn ask(&self, request: &Request) -> Result<Response, Lost> {
        let mut inside = self.inside.lock().await;
        let mut link = match inside.link.take() {
            Some(link) => link,
            None => {
                let boundary = inside.boundary.as_mut().ok_or(Lost::Stopped)?;
                let (socket, _) = boundary.open_worker()?;
                WorkerLink::new(socket).map_err(Silent::Socket)?
            }
        };
        let answer = link.ask(request).await?;
        inside.link = Some(link);
        Ok(answer)
    }

    /// Ends the boundary and waits until nothing of it is left.
    pub(super) async fn stop(self) -> Result<(), RunError> {
        let mut inside = self.inside.into_inner();
        inside.link = None;
        let Some(boundary) = inside.boundary.take() else {
            return Ok(());
        };
        let stopped = tokio::task::spawn_blocking(move || boundary.stop());
        stopped.await.map_err(|_| RunError::Ending)??;
        Ok(())
    }
}

/// Why the worker gave no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
    #[error("the boundary was stopped")]
    Stopped,
    #[error("no worker can be started")]
    Boundary(#[from] deputize_boundary::BoundaryError),
    #[error("the worker gave no answer")]
    Silent(#[from] Silent),
}
