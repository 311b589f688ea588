//! What goes into the machine and what comes out of it.

use std::fmt;

use deputize_authority::{Budget, Untrusted};
use deputize_model::{ModelError, ToolUse, Turn, TurnRequest};

use crate::{CheckOutcome, Claim, Finding, Notice, RunResult};

/// Something that happened outside.
///
/// Turns and calls carry their number, so that an answer that comes after it was given up is known
/// as such and ignored.
#[derive(Debug, Clone)]
pub enum Event {
    /// The run may begin. Counted from here are both clocks.
    Start,
    /// The model is answering turn number `turn`: a stream opened, or a part of it came.
    ModelStreaming {
        /// The number of the turn.
        turn: u64,
    },
    /// The model answered.
    ModelReplied {
        /// The number of the turn.
        turn: u64,
        /// Its answer.
        reply: Turn,
    },
    /// The model gave no answer.
    ModelFailed {
        /// The number of the turn.
        turn: u64,
        /// Why.
        error: ModelError,
    },
    /// A call waits for a person's approval: clocks stop.
    ApprovalAsked {
        /// The number of the call.
        call: u64,
    },
    /// The gate decided about a call.
    CallDecided {
        /// The number of the call.
        call: u64,
        /// What it said.
        decision: Decision,
    },
    /// A running call gave a sign of life.
    CallProgressed {
        /// The number of the call.
        call: u64,
    },
    /// An allowed call ended.
    CallFinished {
        /// The number of the call.
        call: u64,
        /// What came of it.
        outcome: CallOutcome,
    },
    /// Claims were looked up; one finding per claim, in their order.
    EvidenceChecked(Vec<Finding>),
    /// The check ended ([`Effect::RunCheck`]), or could not be run.
    CheckFinished {
        /// How it went.
        outcome: CheckOutcome,
        /// What it wrote, or why it could not be run.
        output: Untrusted,
    },
    /// Time passed. Comes at [`crate::State::next_deadline`], or more often.
    Tick,
    /// A person, or the host's end, stops the run.
    Cancel(CancelReason),
    /// Something that the run can't do without broke down: its boundary, its ledger.
    HostFailed {
        /// A stable code.
        code: &'static str,
        /// What happened, in one sentence without a final stop.
        message: String,
    },
    /// A person gives more: each limit that is set is added to the run's own.
    Extend(Budget),
    /// The principal adds something to the task. It is queued for the next turn.
    Steer(String),
}

/// Why a run is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReason {
    /// A person stopped it.
    Person,
    /// The process that it belongs to ends.
    HostEnds,
}

impl fmt::Display for CancelReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Person => "it was stopped",
            Self::HostEnds => "the process that it belongs to ends",
        })
    }
}

/// What the gate, or a person that it asked, said about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Allowed,
    /// It doesn't run.
    Denied {
        /// The rule, for the record.
        rule: String,
        /// Why, and what to do instead: for the model, and for the result.
        message: String,
    },
    /// It is no call: no such tool, or arguments that can't be read.
    Invalid {
        /// What is wrong and how to call it, for the model.
        message: String,
    },
}

/// What came of a call that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOutcome {
    /// What the tool said.
    pub content: Untrusted,
    /// Whether it did what it should.
    pub finished: Finished,
    /// Files that it changed, as observed.
    pub changed_files: u64,
}

/// How a call that ran ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// It did what it should.
    Answered,
    /// It failed.
    Failed,
}

/// Something to do outside.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Ask the model. The answer is [`Event::ModelReplied`] or [`Event::ModelFailed`].
    AskModel {
        /// The number of the turn; the first is 1.
        turn: u64,
        /// The request.
        request: TurnRequest,
    },
    /// Give up the turn that is asked for. No answer is expected any more.
    DropModel {
        /// The number of the turn.
        turn: u64,
    },
    /// Put a call to the gate ([`Event::CallDecided`]) and run it when it is allowed
    /// ([`Event::CallFinished`]).
    Call {
        /// The number of the call in its run; the first is 1.
        call: u64,
        /// What the model asks for.
        tool: ToolUse,
    },
    /// Give up a call. No answer is expected any more.
    DropCall {
        /// The number of the call.
        call: u64,
    },
    /// Run the check, as the child's commands run and with what they wrote. The answer is
    /// [`Event::CheckFinished`]. It is the runtime's own: no call, and not the child's budget.
    RunCheck {
        /// The command, as the principal gave it.
        command: String,
    },
    /// Stop the check. No answer is expected any more.
    DropCheck,
    /// Look claims up. The answer is [`Event::EvidenceChecked`].
    CheckEvidence(Vec<Claim>),
    /// Show and record something.
    Notice(Notice),
    /// The run ended. Nothing comes after this.
    Finish(Box<RunResult>),
}
