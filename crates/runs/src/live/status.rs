//! What is known of a run, for whoever asks (A4).

use std::time::Instant;

use deputize_agent::{RunResult, Status};
use deputize_authority::{Refusal, WorkspaceMode};
use serde::Serialize;

use crate::clock::millis;
use crate::{Event, RunId, Snapshot};

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It does.
    Running,
    /// A person is asked whether it may start, or about one of its calls.
    Waiting,
    /// It has ended.
    Ended,
}

/// How a run ended: with a result, or before it could begin.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its result.
    Result(Box<RunResult>),
    /// Why there is none.
    Refused(Refusal),
}

impl Outcome {
    /// The word for how it ended.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Result(result) => result.status.name(),
            Self::Refused(_) => "refused",
        }
    }

    pub(super) fn is_success(&self) -> bool {
        matches!(self, Self::Result(result) if result.status == Status::Ok)
    }
}

/// What a run is, from its plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct About {
    /// Its id.
    pub run: RunId,
    /// Its preset.
    pub preset: &'static str,
    /// Its folder, escaped.
    pub workdir: String,
    /// Where its writes go.
    pub workspace: WorkspaceMode,
    /// Its model.
    pub model: String,
    /// What kind of thing that is, where it is no language model.
    pub label: Option<&'static str>,
    /// The beginning of its task, escaped, in one line.
    pub task: String,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunStatus {
    /// What it is.
    #[serde(flatten)]
    pub about: About,
    /// Whether it goes on.
    pub state: RunState,
    /// Its level, once a boundary stands.
    pub boundary: Option<String>,
    /// Milliseconds since it began.
    pub age_ms: u64,
    /// Its counters, what it does, and how long it has been silent.
    pub now: Option<Snapshot>,
    /// How it ended.
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    NotYet,
    Yes,
}

/// What changes of it.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) about: About,
    since: Instant,
    begun: Begun,
    boundary: Option<String>,
    now: Option<Snapshot>,
    pub(super) outcome: Option<Outcome>,
}

impl Kept {
    pub(super) fn new(about: About) -> Self {
        Self {
            about,
            since: Instant::now(),
            begun: Begun::NotYet,
            boundary: None,
            now: None,
            outcome: None,
        }
    }

    pub(super) fn begin(&mut self) {
        self.begun = Begun::Yes;
        self.since = Instant::now();
    }

    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::Status(snapshot) => self.now = Some(snapshot.clone()),
            Event::Boundary { level, .. } => self.boundary = Some(level.to_string()),
            Event::Started { .. }
            | Event::Call { .. }
            | Event::Notice { .. }
            | Event::Ended { .. } => {}
        }
    }

    pub(super) fn status(&self) -> RunStatus {
        let waits = |snapshot: &Snapshot| {
            matches!(
                snapshot.activity,
                deputize_agent::Activity::WaitingForApproval { .. }
            )
        };
        let state = match (&self.outcome, &self.now) {
            (Some(_), _) => RunState::Ended,
            (None, Some(now)) if waits(now) => RunState::Waiting,
            (None, _) if self.begun == Begun::NotYet => RunState::Waiting,
            (None, _) => RunState::Running,
        };
        RunStatus {
            about: self.about.clone(),
            state,
            boundary: self.boundary.clone(),
            age_ms: millis(self.since),
            now: self.now.clone(),
            outcome: self.outcome.clone(),
        }
    }
}
