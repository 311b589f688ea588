//! Begins runs, listens to them, and ends them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deputize_agent::CancelReason;
use deputize_authority::{Budget, Channel, Refusal, Scope, escape};
use serde::Serialize;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::fanout::{Again, Counted, FanOut, Twin};
use super::slot::Slot;
use super::standing::StandingAnswers;
use super::status::{About, Kept, Outcome, RunState, RunStatus};
use crate::{Boundaries, Child, Event, Finished, RunError, RunId, Word};

/// Events that a slow listener may be behind; it misses the oldest beyond.
const BEHIND: usize = 1_024;

/// Runs that ended and are kept in memory; older ones are in their folders.
const MAX_ENDED: usize = 64;

/// Characters of a task that are shown.
const TASK: usize = 120;

/// The runs of this process.
#[derive(Clone)]
pub struct Live {
    shared: Arc<Shared>,
    boundaries: Boundaries,
}

pub(super) struct Shared {
    runs: Mutex<BTreeMap<RunId, Arc<Hosted>>>,
    counted: Mutex<Counted>,
    standing: Mutex<StandingAnswers>,
    events: broadcast::Sender<LiveEvent>,
}

/// Something that happened in a run.
#[derive(Debug, Clone, Serialize)]
pub struct LiveEvent {
    /// The run.
    pub run: RunId,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What came of a word to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// It was taken.
    Taken,
    /// The run has ended, or is making its result.
    TooLate,
    /// Too many wait already.
    Full,
    /// It is empty or too long.
    Invalid,
}

struct Hosted {
    kept: Mutex<Kept>,
    words: mpsc::UnboundedSender<Word>,
    ended: watch::Receiver<bool>,
}

impl Live {
    /// No runs yet. They will start their processes by `boundaries`.
    #[must_use]
    pub fn new(boundaries: Boundaries, limits: FanOut) -> Self {
        let (events, _) = broadcast::channel(BEHIND);
        Self {
            shared: Arc::new(Shared {
                runs: Mutex::default(),
                counted: Mutex::new(Counted::new(limits)),
                standing: Mutex::default(),
                events,
            }),
            boundaries,
        }
    }

    /// What happens from now on in every run.
    #[must_use]
    pub fn watch(&self) -> broadcast::Receiver<LiveEvent> {
        self.shared.events.subscribe()
    }

    /// Takes a place for a child, before anybody is asked about it.
    ///
    /// # Errors
    /// `too_many_runs`, `too_many_spawns`, `twin`.
    pub fn admit(&self, child: &Child, again: Again) -> Result<Slot, Refusal> {
        let planned = child.planned();
        let twin = Twin {
            preset: planned.grant.preset().name(),
            prompt: planned.prompt.raw().to_owned(),
            workspace: planned.grant.workspace().path().to_owned(),
        };
        let run = child.id().clone();
        self.shared
            .counted()
            .take(Instant::now(), &run, twin, again)?;
        Ok(Slot {
            run,
            shared: Arc::clone(&self.shared),
            succeeded: None,
            begun: false,
        })
    }

    /// Answers what a person answered before for this preset.
    pub fn recall(&self, child: &mut Child) {
        let (preset, workspace) = standing_of(child);
        let standing = lock(&self.shared.standing);
        let now = Instant::now();
        child.cover(|ask| standing.about(preset, &workspace, ask, now));
    }

    /// Takes a person's yes to what is open, and remembers it where it reaches further than this run.
    pub fn accept(&self, child: &mut Child, by: &Channel) {
        if by.scope() == Scope::Preset {
            let (preset, workspace) = standing_of(child);
            let asks = child.settled().open().cloned().collect();
            lock(&self.shared.standing).remember(
                preset,
                workspace,
                asks,
                by.clone(),
                Instant::now(),
            );
        }
        child.accept(by);
    }

    /// Begins a child in its place, once `consent` gave it back: there a person may be asked. Its id can
    /// be asked about at once; until there is an answer it waits, and a stop ends that. Must be called
    /// within the runtime.
    pub fn begin<C, F>(&self, mut slot: Slot, child: Child, consent: C) -> RunId
    where
        C: FnOnce(Child) -> F,
        F: Future<Output = Result<Child, Refusal>> + Send + 'static,
    {
        slot.begun = true;
        let run = child.id().clone();
        let (words, heard) = mpsc::unbounded_channel();
        let (tell_end, ended) = watch::channel(false);
        let hosted = Arc::new(Hosted {
            kept: Mutex::new(Kept::new(about(&child))),
            words,
            ended,
        });
        self.shared.keep(run.clone(), Arc::clone(&hosted));
        let shared = Arc::clone(&self.shared);
        let boundaries = self.boundaries.clone();
        let consented = consent(child);
        let hosting = Hosting {
            shared,
            hosted,
            slot,
            tell_end,
        };
        tokio::spawn(hosting.host(consented, boundaries, heard));
        run
    }

    /// Tells the listeners something about a run, without writing it down.
    pub fn tell(&self, run: &RunId, code: &str, message: String) {
        let code = code.to_owned();
        self.shared.tell(run, Event::Notice { code, message });
    }

    /// Where a run stands; `None` for one that this process doesn't know any more.
    #[must_use]
    pub fn status(&self, run: &RunId) -> Option<RunStatus> {
        let hosted = self.shared.find(run)?;
        let status = lock(&hosted.kept).status();
        Some(status)
    }

    /// Every run that this process knows, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<RunStatus> {
        let runs = lock(&self.shared.runs);
        runs.values()
            .map(|hosted| lock(&hosted.kept).status())
            .collect()
    }

    /// The run that is meant: by its whole id, or by an end or beginning that no other has here.
    #[must_use]
    pub fn find(&self, typed: &str) -> Option<RunId> {
        let part = RunId::typed(typed)?;
        let runs = lock(&self.shared.runs);
        let mut found = runs.keys().filter(|id| id.is_meant_by(&part));
        match (found.next(), found.next()) {
            (Some(one), None) => Some(one.clone()),
            _ => None,
        }
    }

    /// Waits for a run's end, and no longer than this.
    pub async fn wait(&self, run: &RunId, most: Duration) -> Option<RunStatus> {
        let hosted = self.shared.find(run)?;
        let mut ended = hosted.ended.clone();
        // Whether it ended or the time did: the status says which.
        let _ = tokio::time::timeout(most, ended.wait_for(|ended| *ended)).await;
        self.status(run)
    }

    /// Waits for a run's end, and gives how it ended.
    pub async fn ended(&self, run: &RunId) -> Option<Outcome> {
        let hosted = self.shared.find(run)?;
        let mut ended = hosted.ended.clone();
        // An error is a host that is gone, and then it has ended too.
        let _ = ended.wait_for(|ended| *ended).await;
        lock(&hosted.kept).outcome.clone()
    }

    /// Stops a run and waits until it has ended, which is when none of its processes is left.
    pub async fn stop(&self, run: &RunId, reason: CancelReason) -> Option<RunStatus> {
        let hosted = self.shared.find(run)?;
        // One that has ended hears nothing any more.
        let _ = hosted.words.send(Word::Cancel(reason));
        let mut ended = hosted.ended.clone();
        // An error is a host that is gone, and then it has ended too.
        let _ = ended.wait_for(|ended| *ended).await;
        self.status(run)
    }

    /// Stops every run, for as long as `most`; what is left then ends with the process.
    pub async fn end_all(&self, reason: CancelReason, most: Duration) {
        let going = |status: &RunStatus| status.state != RunState::Ended;
        let runs: Vec<RunId> = self
            .all()
            .into_iter()
            .filter(going)
            .map(|status| status.about.run)
            .collect();
        let stops = runs.into_iter().map(|run| {
            let live = self.clone();
            tokio::spawn(async move { live.stop(&run, reason).await })
        });
        let stops: Vec<_> = stops.collect();
        let all = async {
            for stop in stops {
                // One that panicked has nothing to wait for.
                let _ = stop.await;
            }
        };
        let _ = tokio::time::timeout(most, all).await;
    }

    /// Gives a run more, as a person said. Adds to limits that there are.
    #[must_use]
    pub fn extend(&self, run: &RunId, more: Budget, by: &Channel) -> Said {
        let Some(hosted) = self.going(run) else {
            return Said::TooLate;
        };
        let note = Word::Note {
            code: "extension_approved",
            message: format!("a person gave it more: {by}"),
        };
        let said = hosted.words.send(note).is_ok() && hosted.words.send(Word::Extend(more)).is_ok();
        if said { Said::Taken } else { Said::TooLate }
    }

    /// Writes something about a run into its ledger, and shows it.
    pub fn note(&self, run: &RunId, code: &'static str, message: String) {
        if let Some(hosted) = self.going(run) {
            // One that has just ended takes no notes.
            let _ = hosted.words.send(Word::Note { code, message });
        }
    }

    /// Adds something to a run's task, to be heard at its next turn.
    pub async fn steer(&self, run: &RunId, text: String) -> Said {
        let Some(hosted) = self.going(run) else {
            return Said::TooLate;
        };
        let (tell, told) = oneshot::channel();
        if hosted.words.send(Word::Steer { text, tell }).is_err() {
            return Said::TooLate;
        }
        // A run that ends before it answers has dropped the other end.
        told.await.unwrap_or(Said::TooLate)
    }

    fn going(&self, run: &RunId) -> Option<Arc<Hosted>> {
        let hosted = self.shared.find(run)?;
        let going = lock(&hosted.kept).outcome.is_none();
        going.then_some(hosted)
    }
}

/// One run's host.
struct Hosting {
    shared: Arc<Shared>,
    hosted: Arc<Hosted>,
    slot: Slot,
    tell_end: watch::Sender<bool>,
}

impl Hosting {
    /// Hosts the run from its first word to its last.
    async fn host(
        mut self,
        consented: impl Future<Output = Result<Child, Refusal>> + Send + 'static,
        boundaries: Boundaries,
        mut heard: mpsc::UnboundedReceiver<Word>,
    ) {
        // Tasks of their own: a fault in one run mustn't leave its waiters without an answer.
        let mut asking = tokio::spawn(consented);
        let consented = tokio::select! {
            consented = &mut asking => Some(consented),
            () = cancelled(&mut heard) => None,
        };
        asking.abort();
        let outcome = match consented {
            None => Outcome::Refused(stopped()),
            Some(Err(_)) => Outcome::Refused(RunError::Ending.refusal()),
            Some(Ok(Err(refusal))) => Outcome::Refused(refusal),
            Some(Ok(Ok(child))) => self.run(child, boundaries, heard).await,
        };
        self.slot.succeeded = outcome.is_success().then(Instant::now);
        let status = outcome.word().to_owned();
        lock(&self.hosted.kept).outcome = Some(outcome);
        let run = self.slot.run.clone();
        // Its place is free before anybody hears that it ended.
        drop(self.slot);
        self.shared.tell(&run, Event::Ended { status });
        // Nobody may be waiting.
        let _ = self.tell_end.send(true);
    }

    async fn run(
        &self,
        child: Child,
        boundaries: Boundaries,
        heard: mpsc::UnboundedReceiver<Word>,
    ) -> Outcome {
        lock(&self.hosted.kept).begin();
        let (tell, mut events) = mpsc::unbounded_channel();
        let running = tokio::spawn(child.run(boundaries, tell, heard));
        while let Some(event) = events.recv().await {
            lock(&self.hosted.kept).take(&event);
            self.shared.tell(&self.slot.run, event);
        }
        match running.await {
            Ok(Ok(Finished { result, .. })) => Outcome::Result(Box::new(result)),
            Ok(Err(error)) => Outcome::Refused(error.refusal()),
            Err(_) => Outcome::Refused(RunError::Ending.refusal()),
        }
    }
}

/// Hears until the run is stopped. What else is said to a run that hasn't begun comes too early.
async fn cancelled(heard: &mut mpsc::UnboundedReceiver<Word>) {
    while let Some(word) = heard.recv().await {
        if let Word::Cancel(_) = word {
            return;
        }
    }
    std::future::pending().await
}

fn stopped() -> Refusal {
    Refusal::new(
        "unanswered",
        "start",
        "the run was stopped before anybody answered whether it may start",
        "ask again; nothing was started",
    )
}

impl Shared {
    pub(super) fn counted(&self) -> MutexGuard<'_, Counted> {
        lock(&self.counted)
    }

    fn find(&self, run: &RunId) -> Option<Arc<Hosted>> {
        lock(&self.runs).get(run).cloned()
    }

    fn tell(&self, run: &RunId, event: Event) {
        // Nobody may be listening.
        let _ = self.events.send(LiveEvent {
            run: run.clone(),
            event,
        });
    }

    /// Keeps a run, and lets go of those that ended longest ago.
    fn keep(&self, run: RunId, hosted: Arc<Hosted>) {
        let mut runs = lock(&self.runs);
        runs.insert(run, hosted);
        let ended: Vec<RunId> = runs
            .iter()
            .filter(|(_, hosted)| lock(&hosted.kept).outcome.is_some())
            .map(|(id, _)| id.clone())
            .collect();
        let beyond = ended.len().saturating_sub(MAX_ENDED);
        for id in ended.iter().take(beyond) {
            runs.remove(id);
        }
    }
}

fn about(child: &Child) -> About {
    let planned = child.planned();
    About {
        run: child.id().clone(),
        preset: planned.grant.preset().name(),
        workdir: escape(&planned.grant.workspace().path().to_string_lossy()),
        workspace: planned.grant.workspace().mode,
        model: planned.model,
        label: planned.label,
        task: planned.prompt.preview(TASK),
    }
}

fn standing_of(child: &Child) -> (&'static str, std::path::PathBuf) {
    let planned = child.planned();
    let workspace = planned.grant.workspace().path().to_owned();
    (planned.grant.preset().name(), workspace)
}

/// What a fault left behind is whole all the same: every value is replaced at once.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
