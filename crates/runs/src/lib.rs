//! Runs: one child's life from request to result, without knowing which screen is watching.
//!
//! # Life of a run
//! [`Look`] gathers facts about the outside, preflight (in `authority`) decides, [`Child`]
//! drives the loop of `agent`, asks the gate about every call, sends allowed ones to the worker
//! inside the boundary, and writes the ledger. A face (CLI, later MCP and others) gets [`Event`]s
//! and the result.
//!
//! # Invariants
//! - Nothing starts before preflight and before the ledger took the grant.
//! - The boundary starts at the first call that needs it, from a thread that never ends
//!   ([`on_main_thread`]).
//! - One approval path, one way to end a run: its processes are gone before its result is.

mod asking;
mod boundary;
mod capture;
mod child;
mod clock;
mod command;
mod copies;
mod error;
mod event;
mod folder;
mod live;
mod look;
mod model;
mod own_call;
mod record;
mod review;
mod rules;
mod spawn;
mod store;
pub mod words;
mod worker;

pub use asking::{AnswerFuture, Asker, CallAnswer, CallQuestion};
pub use boundary::{Chosen, Probe, Weaker, choose_dry};
pub use deputize_agent::{CancelReason, MAX_STEER_BYTES, MAX_STEERS, RunResult, Status};
pub use deputize_gate::SecondOpinion;
pub use deputize_model::{HostFault, ModelHost, Sampled};
pub use deputize_workspace::{
    ApplyRequest, Change, Conflicts, CopyState, Disposition, Plan, RelPath,
};

pub use child::{Boundaries, Child, ChildRequest, Finished, Planned, Principal, Word};
pub use command::{Executed, Execution, execute, plan as plan_command};
pub use copies::{Fate, Sweep, Swept, TakenCopy, discard, recover_unfinished, sweep};
pub use error::RunError;
pub use event::{Event, Snapshot};
pub use folder::{RunFolder, RunId};
pub use live::{
    About, Again, FanOut, Live, LiveEvent, Outcome, RunState, RunStatus, Said, Slot, StoredState,
};
pub use look::{Look, folder_fact};
pub use model::{ModelRequest, ModelSettings};
pub use own_call::{OwnSeat, OwnVerdict, judge_own_call};
pub use review::{Lines, Review, Reviewed, chosen, lines};
pub use rules::{RulesText, open_unwaiting};
pub use spawn::{Spawner, on_main_thread};
pub use store::{Store, StoredRun};
pub use worker::worker_entry;
