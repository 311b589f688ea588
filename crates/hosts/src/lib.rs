//! Makes Deputize known to a host, and takes that back: the few lines of the host's own configuration
//! that it needs, shown before they are written.
//!
//! [`plan`] and [`plan_removal`] read and compute; [`Plan::write`] is the only thing that changes a
//! file. What was written is recorded in the state folder, so that a removal gives exactly the bytes
//! that were there before.
//!
//! # Invariants
//! - Nothing but the entry changes: every other byte of a file stays, comments and order too.
//! - An entry of somebody else under the same name is never replaced.
//! - A file is replaced whole or not at all, and only as long as it is what was shown.
//! - Only a person's own configuration is written, never a project's.

mod entry;
mod fault;
mod file;
mod host;
mod json;
mod plan;
mod record;
mod toml;

pub use host::{Around, Host, Wish, snippet};
pub use plan::{Edit, Plan, plan, plan_removal};
