//! The loop of a child: what to ask next, what to run next, when to stop, and what the result is.
//!
//! [`State::step`] takes an [`Event`] and the time, and says what to do as [`Effect`]s. Whoever
//! drives it (the supervisor) asks the model, the gate and the worker, and comes back with the next
//! event. Nothing here waits, reads or writes, so every path can be tested by a list of events.
//!
//! # Invariants
//! - Every dimension of the budget is reserved before a call and settled after it ([`Meter`]); the
//!   model is asked at most once more than the budget has turns, and that last time without tools.
//! - Every call that a model asks for gets exactly one result, and a run ends with exactly one
//!   [`Effect::Finish`].
//! - An empty final text is never `ok`; a run that is cut short salvages what it has (D5).
//! - A run with a check is `ok` only after [`Event::CheckFinished`] said that it passed, and one with
//!   a [`Schema`] only with an answer that is valid by it.
//! - Evidence is in a result only after somebody looked ([`Effect::CheckEvidence`]).
//! - Text has no power (D8): only typed events allow, refuse, extend or cancel.
//!
//! # Trust
//! Turns come from a model and tool results from files: both are foreign. They are framed, capped
//! and kept as data ([`deputize_authority::Untrusted`]).

mod brief;
mod clock;
mod contract;
mod evidence;
mod frame;
mod guard;
mod machine;
mod mention;
mod meter;
mod notice;
mod prompt;
mod protocol;
mod result;
mod schema;

pub use brief::{Brief, CallKind, OfferedTool};
pub use clock::{Millis, SLOW_MS, STALLED_MS, Silence};
pub use contract::MAX_SUMMARY_BYTES;
pub use evidence::{Claim, Finding, MAX_EVIDENCE};
pub use frame::{MAX_RESULT_BYTES, framed_child};
pub use machine::{
    Activity, GRACE_MS, MAX_CALLS_PER_TURN, MAX_CHECK_OUTPUT_BYTES, MAX_FAILED_CHECKS,
    MAX_INVALID_ANSWERS, MAX_INVALID_IN_A_ROW, MAX_STEER_BYTES, MAX_STEERS, Snapshot, State,
};
pub use meter::{Amounts, Exhausted, Gauge, Meter, Reservation};
pub use notice::Notice;
pub use prompt::system_prompt;
pub use protocol::{CallOutcome, CancelReason, Decision, Effect, Event, Finished};
pub use result::{
    Blocked, Change, ChangeKind, Check, CheckOutcome, Evidence, Refused, RunResult, Spent, Status,
};
pub use schema::{MAX_ANSWER_BYTES, MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, Schema};
