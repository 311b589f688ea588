//! The events that every run has, as types (A1).
//!
//! Words of other rooms (presets, promises, verdicts) are plain strings here: a ledger must stay
//! readable when those rooms change. Any other kind can be written with [`crate::Ledger::append`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Narrowing, Probe, receipt::Enforcement};

/// A payload that belongs to one kind of event.
pub trait Record: Serialize {
    /// The kind, as the ledger spells it.
    const KIND: &'static str;
}

/// The first event of every ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerOpened {
    /// The version of the format; 1.
    pub format: u64,
    /// The run's id.
    pub run: String,
}

/// A ledger was opened again after its last event was only partly written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// The bytes of the torn event, which were dropped.
    pub dropped_bytes: u64,
}

/// A run began. There is no prompt in it: a ledger holds decisions, not conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run's id.
    pub run: String,
    /// The agent definition.
    pub agent: String,
    /// `independent` or `fork`.
    pub context: String,
    /// The folder that it works in.
    pub cwd: String,
    /// The model, as `provider:model`.
    pub model: String,
    /// The preset.
    pub preset: String,
    /// The tools that it has in effect.
    pub tools: Vec<String>,
    /// Which resources of the host it loads (S13).
    pub resources: String,
    /// Where the trust in the definition comes from.
    pub trust: String,
    /// The digest of its grant.
    pub grant: String,
}

/// What was granted, and what narrowed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRecorded {
    /// The digest of the grant.
    pub digest: String,
    /// The steps that narrowed it, first to last.
    pub trail: Vec<Narrowing>,
    /// What is left, on every axis.
    pub bounds: Value,
}

/// A boundary stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundaryStarted {
    /// The label of its level.
    pub level: String,
    /// Each promise with what holds it.
    pub promises: Vec<Enforcement>,
    /// What the self-test tried, and how it went.
    pub self_test: Vec<Probe>,
}

/// What the gate said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// A person is asked.
    Ask,
    /// The call is refused.
    Deny,
}

/// The gate decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallDecided {
    /// The number of the call in its run; the first is 1.
    pub call: u64,
    /// The tool, as the model named it.
    pub tool: String,
    /// The arguments, as the model gave them.
    pub arguments: Value,
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decided.
    pub rule: String,
    /// Why, in one sentence; empty where the rule says it all.
    pub reason: String,
}

/// A call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFinished {
    /// The number of the call in its run.
    pub call: u64,
    /// `ok`, or the code of the failure.
    pub outcome: String,
    /// Bytes of output before any cut.
    pub bytes: u64,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

/// Tokens of one or more model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input, without what was read from a cache.
    pub input: u64,
    /// Input read from a cache.
    pub cached: u64,
    /// Output.
    pub output: u64,
}

/// A model answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTurn {
    /// The number of the turn in its run; the first is 1.
    pub turn: u64,
    /// The model that answered, as it names itself.
    pub model: String,
    /// What it used.
    pub tokens: Tokens,
    /// What it cost in millionths of a US dollar; `None` where no price is known.
    pub cost_micros: Option<u64>,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// The tool calls that it asked for.
    pub calls: u64,
}

/// Something that people should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noticed {
    /// A stable code, e.g. `wrap_up` or `stalled`.
    pub code: String,
    /// What it is about, for people.
    pub message: String,
}

/// Somebody who may agreed to what a run does (S9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approved {
    /// The effects that it covers, by name.
    pub effects: Vec<String>,
    /// Who agreed: a channel, or a rule with its file and line.
    pub by: String,
    /// How far it goes, e.g. `run`.
    pub scope: String,
}

/// A person was asked about a call that the gate had asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAnswered {
    /// The number of the call in its run.
    pub call: u64,
    /// `yes`, `no`, or `nobody` where none came.
    pub answer: String,
    /// Who answered: a channel; empty where nobody did.
    pub by: String,
    /// How far a yes goes, e.g. `once`; empty without one.
    pub scope: String,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

/// A run works on a copy of its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyMade {
    /// How it is made, e.g. `overlay`.
    pub method: String,
    /// Why it isn't made in the best way, and what is missing in it; empty where nothing is.
    pub notes: Vec<String>,
}

/// What a run left in its copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesObserved {
    /// The hash of the list of changes: applying is bound to it.
    pub manifest: String,
    /// Files and folders that would be applied.
    pub applies: u64,
    /// Those that are held back until somebody names them.
    pub held: u64,
    /// Those that are never applied.
    pub refused: u64,
}

/// The runtime ran a command to check a run's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The command.
    pub command: String,
    /// How it went: `passed`, `failed (1)`, `not run`.
    pub outcome: String,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

/// A run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFinished {
    /// The status of its result.
    pub status: String,
    /// The beginning of its summary.
    pub summary: String,
    /// Pieces of evidence that held.
    pub evidence: u64,
    /// Warnings in the result.
    pub warnings: u64,
    /// What was used, per dimension.
    pub usage: Value,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

impl Record for LedgerOpened {
    const KIND: &'static str = "ledger.opened";
}

impl Record for Recovered {
    const KIND: &'static str = "ledger.recovered";
}

impl Record for RunStarted {
    const KIND: &'static str = "run.started";
}

impl Record for GrantRecorded {
    const KIND: &'static str = "grant";
}

impl Record for BoundaryStarted {
    const KIND: &'static str = "boundary";
}

impl Record for CallDecided {
    const KIND: &'static str = "call.decided";
}

impl Record for CallFinished {
    const KIND: &'static str = "call.finished";
}

impl Record for ModelTurn {
    const KIND: &'static str = "model.turn";
}

impl Record for Noticed {
    const KIND: &'static str = "notice";
}

impl Record for Approved {
    const KIND: &'static str = "approval";
}

impl Record for CallAnswered {
    const KIND: &'static str = "call.answered";
}

impl Record for CopyMade {
    const KIND: &'static str = "copy.made";
}

impl Record for ChangesObserved {
    const KIND: &'static str = "changes";
}

impl Record for Checked {
    const KIND: &'static str = "check";
}

impl Record for RunFinished {
    const KIND: &'static str = "run.finished";
}
