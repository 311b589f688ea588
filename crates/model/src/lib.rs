//! Who answers a turn: one trait, the models that need no network, and all that can be known about the
//! others without touching one.
//!
//! The loop asks a [`ModelClient`] for the next [`Turn`] of a conversation and never learns what
//! stands behind it. Here live the [`Scout`], which answers read-only questions by searching the
//! code, and the [`ScriptedModel`], which says what a file tells it to; neither is a language model,
//! and both say so ([`ModelLabel`]). A [`ServedModel`] is the host's own. For providers there is what they speak ([`wire`]), where they are
//! ([`Endpoint`]), what they cost ([`Prices`]) and which one is meant ([`choose`]); the process that
//! speaks to them is in `egress`.
//!
//! # Invariants
//! - No key, file, clock or network is touched here. Texts and the means to wait arrive from the edge
//!   ([`Edge`]).
//! - No model stands in silently for another: [`choose`] gives what was named or refuses, and a
//!   [`Chain`] tells each substitution (D6).
//! - What tools and files said is data. It decides which places are shown, never what is allowed.

mod chain;
mod choose;
mod client;
mod config;
mod conversation;
mod endpoint;
mod error;
mod name;
mod opaque;
mod price;
mod provider;
mod scout;
mod script;
mod select;
mod served;
mod usage;
pub mod wire;

pub use chain::Chain;
pub use choose::{Choice, Dearer, HostModels, Wanted, choose};
pub use client::{ModelClient, ModelLabel, ReadyFuture, TurnFuture, Unwatched, Watch};
pub use config::{Config, ConfigError, MAX_CONFIG_BYTES, PresetConfig, ProviderConfig, RunsConfig};
pub use conversation::{Message, Stop, ToolOutcome, ToolSpec, ToolUse, Turn, TurnRequest};
pub use endpoint::{BaseUrl, Endpoint, KeyNeed, KeySource, Plain, Scheme, UrlError};
pub use error::ModelError;
pub use name::{ModelName, NameError};
pub use opaque::{Opaque, Part};
pub use price::Prices;
pub use provider::Known;
pub use scout::Scout;
pub use script::{MAX_SCRIPT_BYTES, Script, ScriptError, ScriptedModel, Sleeper};
pub use select::{Edge, open};
pub use served::{HostFault, ModelHost, Sampled, ServedModel};
pub use usage::{Allowance, Price, Usage, UsageSource};
