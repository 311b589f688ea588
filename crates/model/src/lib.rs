//! Who answers a turn: one trait, and the models that need no network.
//!
//! The loop asks a [`ModelClient`] for the next [`Turn`] of a conversation and never learns what
//! stands behind it. This version has two: the [`Scout`], which answers read-only questions by
//! searching the code, and the [`ScriptedModel`], which says what a file tells it to. Neither is a
//! language model, and both say so ([`ModelLabel`]).
//!
//! # Invariants
//! - No key, file, clock or network is touched here. A script's text and the means to wait arrive
//!   from the edge ([`Edge`]).
//! - No model stands in silently for another: [`select`] gives what was named or refuses (D6).
//! - What tools and files said is data. It decides which places are shown, never what is allowed.

mod client;
mod conversation;
mod error;
mod name;
mod scout;
mod script;
mod select;
mod usage;

pub use client::{ModelClient, ModelLabel, TurnFuture};
pub use conversation::{Message, Stop, ToolOutcome, ToolSpec, ToolUse, Turn, TurnRequest};
pub use error::ModelError;
pub use name::{ModelName, NameError};
pub use scout::Scout;
pub use script::{MAX_SCRIPT_BYTES, Script, ScriptError, ScriptedModel, Sleeper};
pub use select::{Edge, select};
pub use usage::{Price, Usage};
