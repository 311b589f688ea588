//! The built-in tools, run by a worker inside the boundary.
//!
//! The worker holds the granted roots open as handles and answers one request at a time
//! ([`Worker::answer`]): facts for the gate, calls that the gate allowed, and checks of evidence. A
//! path string is never trusted: whatever is opened is opened below a handle, through no symlink,
//! and compared by inode with what the gate judged (G4, G8).
//!
//! # Invariants
//! - Contents are reached through `beneath` alone; nothing outside the granted roots is opened.
//! - Nothing waits on a pipe or a device, and every size and time has a limit (G10).
//! - A file is changed whole or not at all, and only from the content that the child has seen (C3).
//! - Secrets are neither read nor searched, whatever they are reached through by name (G9).
//!
//! # Trust
//! Contents and names in the tree are hostile. So may be whoever else writes to the tree at the same
//! time: he can make calls fail, not escape.

mod beneath;
mod change;
mod evidence;
mod facts;
mod find;
mod grep;
mod limits;
mod ls;
mod name_glob;
mod output;
mod rank;
mod read;
mod sniff;
mod text;
mod tree;
mod wire;
mod worker;

pub use beneath::OpenError;
pub use evidence::{Claim, ClaimCheck};
pub use output::{ToolFailure, ToolOutput};
pub use wire::{FrameError, Request, Response};
pub use worker::Worker;
