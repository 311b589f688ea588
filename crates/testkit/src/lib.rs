//! What tests of every room share. It never ships: only `[dev-dependencies]` may name it.
//!
//! - [`TestEnv`] runs the real program in a home, a workspace and an environment of its own.
//! - [`Terminal`] runs it on a terminal of a given size and reads the screen.
//! - [`Tree`] and [`large_tree`] lay out workspaces, friendly and hostile.
//! - [`Canary`] is a secret that must not turn up; [`search_every_byte`] looks for it.
//! - [`Provider`] is a model's provider on loopback, in the wire formats of the real ones.
//! - [`cage`] takes mechanisms away from a command, as a container or an old kernel would.
//! - [`OrdinaryUser`] is somebody else for a test that runs as root.
//!
//! # Invariants
//! - Nothing here waits for a fixed time: it polls, and a deadline ends the test with what was seen.
//! - It kills only processes that it started itself, and writes only below folders that it made.
//! - It panics where a test would: a scene that can't be set is a failed test, never a skipped one.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a scene that can't be set fails the test that asked for it"
)]

mod cage;
mod canary;
mod disk;
mod environment;
mod listed;
mod patience;
mod processes;
mod provider;
mod redaction;
mod running;
mod terminal;
mod tree;
mod user;

pub use cage::{Missing, cage};
pub use canary::{Canary, Leak, search_every_byte};
pub use disk::{OverlayDisk, SmallDisk};
pub use environment::{Invocation, TestEnv};
pub use listed::forgotten_test_files;
pub use patience::{PATIENCE, until};
pub use processes::{alive, descendants, processes_naming};
pub use provider::{Asked, Provider, Reply, Said, Speech};
pub use running::{Outcome, Running};
pub use terminal::{Size, Terminal};
pub use tree::{LargeTree, Tree, large_tree, odd_names};
pub use user::{OrdinaryUser, is_root};
