//! From a grant to a wall that the kernel holds.
//!
//! [`plan::compile`] turns a [`Grant`](deputize_authority::Grant) and the facts about this kernel
//! into a [`BoundaryPlan`]: mounts, Landlock rules, seccomp filter, limits, environment, and the
//! promises that they hold. It is pure, so that a plan can be printed, compared and tested.
//! [`Boundary::start`] makes it real, in processes of these roles:
//!
//! ```text
//! supervisor            spawns from its main thread; holds the control socket and a pidfd of init
//!  └ __init             pid 1 of the namespaces: tiny, capabilities in its own user namespace only
//!      ├ worker         confined; answers file tool requests on a socket of its own
//!      └ mini-init      one per command: nested pid namespace, confined
//!          └ command
//! ```
//!
//! # Invariants
//! - What touches a model's bytes is confined: Landlock forbids mounts afterwards and the filter
//!   forbids namespaces, so only init, which parses nothing but fixed frames, stays privileged.
//! - A stage that fails ends the start; nothing is used at less than what the plan says.
//! - [`Boundary::stop`] returns only when every process inside is gone.
//! - The only unsafe code that ships is in `sys.rs` and says why each call is sound.
//!
//! This room uses neither threads nor an async runtime and imports nothing of ours but `authority`.

mod command;
mod confine;
mod cover;
mod devices;
mod dial;
mod doctor;
mod enter;
mod error;
mod frame;
mod git_names;
mod host;
mod hunt;
mod init;
mod launch;
mod placeholders;
pub mod plan;
mod root;
mod selftest;
mod supervise;
mod sys;
mod toolchain;
mod worker;

pub use command::{CommandEnd, CommandSpec};
pub use dial::Dialer;
pub use doctor::{Feature, Report, Trial, examine};
pub use error::{BoundaryError, Step};
pub use host::{HostFacts, NamespaceRefusal};
pub use init::init_main;
pub use launch::Purpose;
pub use placeholders::Placeholders;
pub use plan::BoundaryPlan;
pub use selftest::{Attempt, SelfTest};
pub use supervise::{
    Boundary, Command, Outside, PinnedProgram, Signals, Stopped, Woken, harden_supervisor,
    take_inherited,
};
pub use toolchain::Toolchain;
pub use worker::{Handler, WorkerEntry};
