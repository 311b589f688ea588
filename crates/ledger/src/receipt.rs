//! The receipt of a run: asked -> granted -> enforced by -> used (X2).
//!
//! It is data first: a result carries it as JSON, and [`Receipt::text`] shows it to people. Every
//! word about enforcement comes from what was enforced (S12): a promise names the mechanism that
//! holds it and who stands behind it, or says that nothing does.

mod text;

use serde::{Deserialize, Serialize};

use crate::{Head, Tokens};

/// What a run asked for, got, was held to and used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The run's id.
    pub run: String,
    /// What the request said.
    pub asked: Asked,
    /// What was granted of it.
    pub granted: Granted,
    /// What holds the grant.
    pub enforced: Enforced,
    /// What was used of it.
    pub used: Used,
    /// The head of the ledger when the receipt was made; `None` when none was kept.
    pub ledger: Option<Head>,
}

/// What the request said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The preset.
    pub preset: String,
    /// The agent definition.
    pub agent: String,
    /// `independent` or `fork`.
    pub context: String,
    /// The model, as it was named; empty when none was.
    pub model: String,
    /// The folder to work in.
    pub workdir: String,
    /// The limits that a person set.
    pub budget: Vec<Limit>,
}

/// What was granted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// The digest of the grant.
    pub digest: String,
    /// Tools.
    pub tools: Vec<String>,
    /// Folders that can be read.
    pub read: Vec<String>,
    /// Folders that can be written.
    pub write: Vec<String>,
    /// Hosts that can be reached.
    pub hosts: Vec<String>,
    /// Names of environment variables that are passed in.
    pub env: Vec<String>,
    /// Which resources of the host are loaded (S13).
    pub resources: String,
    /// Where the trust in the definition comes from.
    pub trust: String,
    /// Limits, per dimension.
    pub budget: Vec<Limit>,
    /// The steps that narrowed it, first to last.
    pub narrowed: Vec<Narrowing>,
}

/// The limit of one dimension of a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The dimension, e.g. `turns`.
    pub dimension: String,
    /// The limit.
    pub limit: u64,
}

/// One step that narrowed a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narrowing {
    /// The layer that narrowed it, e.g. `preset`.
    pub by: String,
    /// The axes on which it did.
    pub axes: Vec<String>,
}

/// What holds the grant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforced {
    /// The label of the boundary's level; `none` where there is none.
    pub level: String,
    /// Each promise.
    pub promises: Vec<Enforcement>,
    /// What the self-test tried (B4).
    pub self_test: Vec<Probe>,
}

/// One promise with what holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// The promise, e.g. `write`.
    pub promise: String,
    /// Who stands behind it.
    pub by: Enforcer,
    /// The mechanism; empty where nothing holds it.
    pub mechanism: String,
}

/// Who stands behind a promise, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcer {
    /// The kernel: it holds even when this program is wrong.
    Kernel,
    /// This program: it holds for every call that passes it.
    Host,
    /// The child was told, and may do otherwise.
    Advice,
    /// Nobody: it isn't promised.
    Nobody,
}

/// One attempt of a self-test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// What was tried, e.g. `write outside`.
    pub tried: String,
    /// How it went.
    pub outcome: ProbeOutcome,
}

/// How an attempt of a self-test went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeOutcome {
    /// It was stopped, as it should be.
    Stopped,
    /// It went through: the promise doesn't hold.
    WentThrough,
    /// It couldn't be tried.
    NotTried,
}

/// What was used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Model calls.
    pub turns: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Commands run.
    pub commands: u64,
    /// Tokens.
    pub tokens: Tokens,
    /// Millionths of a US dollar; `None` where no price is known.
    pub cost_micros: Option<u64>,
    /// Milliseconds from start to end.
    pub wall_ms: u64,
    /// Calls that the gate refused.
    pub refused: u64,
    /// Files that were changed, as observed.
    pub changed_files: u64,
    /// Bytes of text handed back.
    pub output_bytes: u64,
}
