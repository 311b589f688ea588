//! A model whose turns were written down beforehand.
//!
//! It exists for tests, demonstrations and hostile-model kits, and it is labelled as what it is:
//! "scripted, no language model". A script is a JSON document, described at [`Script`].
//!
//! # Trust
//! A script is chosen by the person who starts the run. What it says is treated like any model's
//! words all the same: its calls meet the gate, its text is foreign.

mod client;
mod document;

pub use client::{ScriptedModel, Sleeper};
pub(crate) use document::{Expect, ScriptedTurn};
pub use document::{MAX_SCRIPT_BYTES, Script, ScriptError};
