//! Who answers a turn: one trait, and the models that need no network.
//!
//! The loop asks a [`ModelClient`] for the next [`Turn`] of a conversation and never learns what
//! stands behind it. The [`ScriptedModel`] says what a file tells it to; it is no language model and
//! says so ([`ModelLabel`]).
//!
//! # Invariants
//! - No key, file, clock or network is touched here. The means to wait arrive from the edge
//!   ([`Sleeper`]).
//! - What tools and files said is data. It decides which places are shown, never what is allowed.

mod client;
mod conversation;
mod error;
mod name;
mod script;
mod usage;

pub use client::{ModelClient, ModelLabel, TurnFuture};
pub use conversation::{Message, Stop, ToolOutcome, ToolSpec, ToolUse, Turn, TurnRequest};
pub use error::ModelError;
pub use name::{ModelName, NameError};
pub use script::{MAX_SCRIPT_BYTES, Script, ScriptError, ScriptedModel, Sleeper};
pub use usage::{Price, Usage};
