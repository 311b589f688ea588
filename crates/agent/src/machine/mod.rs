//! The machine itself: one value, one step per event.
//!
//! `turns` asks the model, `calls` runs what it asks for, `proving` holds the answer against
//! schema and check, `steering` takes what the principal adds, `ending` makes the result, `snapshot`
//! shows where it stands. A run is in one [`Phase`] at a time; what doesn't fit the phase (an answer
//! that comes after it was given up) is ignored.

mod calls;
mod ending;
mod proving;
mod snapshot;
mod steering;
mod turns;

use std::collections::{BTreeSet, VecDeque};

use deputize_authority::{Budget, Dimension};
use deputize_model::{Message, ToolUse, Usage};

use crate::clock::{Clock, Idle, Millis, Silence};
use crate::contract::Draft;
use crate::guard::LoopGuard;
use crate::{
    Brief, CallKind, CancelReason, Check, Effect, Event, Meter, Notice, Refused, Reservation,
    Spent, system_prompt,
};

pub use calls::{MAX_CALLS_PER_TURN, MAX_INVALID_IN_A_ROW};
pub use proving::{MAX_CHECK_OUTPUT_BYTES, MAX_FAILED_CHECKS, MAX_INVALID_ANSWERS};
pub use snapshot::{Activity, Snapshot};
pub use steering::{MAX_STEER_BYTES, MAX_STEERS};

/// How long writing the result, and looking its evidence up, may take once the clocks ran out.
pub const GRACE_MS: u64 = 30_000;

/// A run. See the crate's documentation for what holds.
#[derive(Debug)]
pub struct State {
    brief: Brief,
    system: String,
    meter: Meter,
    clock: Clock,
    messages: Vec<Message>,
    phase: Phase,
    /// Set once the run ends otherwise than by an answer.
    ending: Option<Ending>,
    /// When writing the result must be over.
    deadline: Option<Millis>,
    /// What the principal added and the child hasn't heard yet.
    steers: VecDeque<String>,
    /// Dimensions that the child was told about.
    told: BTreeSet<Dimension>,
    guard: LoopGuard,
    turns: u64,
    calls: u64,
    answered_calls: u64,
    refused_calls: u64,
    refusals: Vec<Refused>,
    invalid_in_a_row: u64,
    invalid_answers: usize,
    /// The answer, valid by the schema.
    answer: Option<serde_json::Value>,
    /// The rounds of the check, first to last.
    checks: Vec<Check>,
    usage: Usage,
    /// Whether any of it is an estimate.
    usage_estimated: bool,
    warnings: Vec<String>,
    effects: Vec<Effect>,
}

#[derive(Debug)]
enum Phase {
    New,
    Asking(Asking),
    Calling(Calling),
    /// The check runs.
    Proving(Draft),
    /// Evidence is looked up.
    Checking(Draft),
    Done,
}

/// A turn that is asked for.
#[derive(Debug)]
struct Asking {
    reservation: Reservation,
    input_tokens: u64,
    stream: Stream,
    purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Pending,
    Open,
}

/// What a turn is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To go on with the task.
    Working,
    /// To write the result, without tools.
    Closing,
}

/// The calls of one turn, in order.
#[derive(Debug)]
struct Calling {
    queue: VecDeque<ToolUse>,
    /// How many more of them may run.
    left: usize,
    current: Option<Current>,
}

#[derive(Debug)]
struct Current {
    number: u64,
    tool: ToolUse,
    kind: CallKind,
    reservation: Reservation,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Deciding,
    Running,
}

/// Why a run ends without an answer of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ending {
    Exhausted(Dimension),
    /// A stable code; the warning that goes with it says more.
    Failed(&'static str),
    Cancelled(CancelReason),
}

impl State {
    /// A run that has not begun.
    #[must_use]
    pub fn new(brief: Brief) -> Self {
        Self {
            system: system_prompt(&brief),
            meter: Meter::new(brief.budget, brief.price),
            clock: Clock::default(),
            messages: vec![Message::User(brief.prompt.clone())],
            phase: Phase::New,
            ending: None,
            deadline: None,
            steers: VecDeque::new(),
            told: BTreeSet::new(),
            guard: LoopGuard::default(),
            turns: 0,
            calls: 0,
            answered_calls: 0,
            refused_calls: 0,
            refusals: Vec::new(),
            invalid_in_a_row: 0,
            invalid_answers: 0,
            answer: None,
            checks: Vec::new(),
            usage: Usage::NONE,
            usage_estimated: false,
            warnings: Vec::new(),
            effects: Vec::new(),
            brief,
        }
    }

    /// Takes an event and says what to do, in that order. After [`Effect::Finish`] there is nothing
    /// more to do, whatever comes.
    pub fn step(&mut self, event: Event, now: Millis) -> Vec<Effect> {
        self.clock.advance(now);
        if matches!(self.phase, Phase::Done) {
            return Vec::new();
        }
        self.take(event);
        self.look_at_clocks();
        std::mem::take(&mut self.effects)
    }

    /// When [`Event::Tick`] is due, if nothing else happens before; `None` when nothing waits for
    /// time.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Millis> {
        let clocks = match self.phase {
            Phase::New | Phase::Done => return None,
            // Whoever writes or checks the result has a deadline of its own.
            Phase::Checking(_) => None,
            _ if self.deadline.is_some() => None,
            _ => self.clock.next(self.meter.budget(), self.idle()),
        };
        [clocks, self.deadline].into_iter().flatten().min()
    }

    /// The conversation so far, for the transcript.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The meter, for showing.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Tick => {}
            Event::Start => {
                if matches!(self.phase, Phase::New) {
                    self.clock.start();
                    self.alive();
                    self.begin_turn();
                }
            }
            Event::ModelStreaming { turn } => {
                if turn == self.turns
                    && let Phase::Asking(asking) = &mut self.phase
                {
                    asking.stream = Stream::Open;
                    self.alive();
                }
            }
            Event::ModelReplied { turn, reply } => self.model_replied(turn, reply),
            Event::ModelFailed { turn, error } => self.model_failed(turn, &error),
            Event::ApprovalAsked { call } => {
                if self.current(call, Stage::Deciding).is_some() {
                    self.clock.wait();
                }
            }
            Event::CallDecided { call, decision } => self.call_decided(call, decision),
            Event::CallProgressed { call } => {
                if self.current(call, Stage::Running).is_some() {
                    self.alive();
                }
            }
            Event::CallFinished { call, outcome } => self.call_finished(call, outcome),
            Event::CheckFinished { outcome, output } => self.check_finished(outcome, &output),
            Event::EvidenceChecked(findings) => self.evidence_checked(findings),
            Event::Cancel(reason) => self.cancel(reason),
            Event::HostFailed { code, message } => self.fail(code, &message),
            Event::Extend(more) => self.extend(&more),
            Event::Steer(text) => self.steer(&text),
        }
    }

    fn extend(&mut self, more: &Budget) {
        let is_too_late = self.ending.is_some() || matches!(self.phase, Phase::Checking(_));
        if is_too_late {
            self.notice(Notice::ExtendedTooLate);
            return;
        }
        self.meter.extend(more);
        let meter = &self.meter;
        self.told
            .retain(|dimension| meter.gauge(*dimension).is_nearly_used_up());
        self.notice(Notice::Extended);
    }

    /// A sign of life: the idle clock begins anew.
    fn alive(&mut self) {
        self.clock.life();
    }

    fn notice(&mut self, notice: Notice) {
        self.effects.push(Effect::Notice(notice));
    }

    /// Whether the idle clock runs.
    fn idle(&self) -> Idle {
        match &self.phase {
            Phase::Asking(asking) if asking.stream == Stream::Open => Idle::Excused,
            Phase::Calling(calling)
                if calling
                    .current
                    .as_ref()
                    .is_some_and(|current| current.stage == Stage::Running) =>
            {
                Idle::Excused
            }
            Phase::Proving(_) => Idle::Excused,
            _ => Idle::Counts,
        }
    }

    fn look_at_clocks(&mut self) {
        if matches!(self.phase, Phase::New | Phase::Done) {
            return;
        }
        match self.clock.changed_silence() {
            Some(Silence::Awake) => self.notice(Notice::Awake),
            Some(Silence::Slow) => self.notice(Notice::Slow),
            Some(Silence::Stalled) => self.notice(Notice::Stalled),
            None => {}
        }
        if let Some(deadline) = self.deadline {
            if self.clock.now() >= deadline {
                self.deadline_passed();
            }
        } else if let Some(dimension) = self.clock.run_out(self.meter.budget(), self.idle()) {
            self.exhausted(dimension);
        }
    }

    /// What is used so far.
    fn spent(&self) -> Spent {
        Spent {
            turns: self.meter.used(Dimension::Turns),
            tool_calls: self.meter.used(Dimension::ToolCalls),
            refused_calls: self.refused_calls,
            commands: self.meter.used(Dimension::Commands),
            input_tokens: self.usage.input_tokens,
            cached_input_tokens: self.usage.cached_input_tokens,
            output_tokens: self.usage.output_tokens,
            cost_micros: self
                .meter
                .knows_cost()
                .then(|| self.meter.used(Dimension::CostMicros)),
            wall_ms: self.clock.wall_ms(),
            output_bytes: self.meter.used(Dimension::OutputBytes),
            changed_files: self.meter.used(Dimension::ChangedFiles),
            exhausted: match self.ending {
                Some(Ending::Exhausted(dimension)) => Some(dimension),
                _ => None,
            },
            limits: *self.meter.budget(),
        }
    }
}
