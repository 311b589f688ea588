//! A child's copy of a workspace, and how what it changed comes back to the person (C2, C4).
//!
//! # Life of a copy
//! [`WorkingCopy::create`] makes it below the run's folder; the boundary mounts its
//! [`Layers`]; the supervisor calls [`WorkingCopy::observe`] after each call that may have written.
//! When the run has ended, [`WorkingCopy::changes`] is the manifest that a person reviews;
//! [`WorkingCopy::plan_apply`] and [`WorkingCopy::carry_out`] bring it to the person's folder,
//! [`WorkingCopy::plan_undo`] takes it back. A run that writes to the folder itself has a
//! [`CopyKind::Snapshot`] instead, so that an undo takes that back too.
//!
//! # Invariants
//! - The person's folder changes only by a plan that is carried out: all of it, or nothing.
//! - What was replaced is kept until the copy is thrown away.
//! - What the base was is recorded when a path is first touched; the record only grows.
//! - Ignore rules count as the base has them, never as the child wrote them; no git is run.
//!
//! # Trust
//! Everything in a copy was written by a child: names, contents, links, attributes. Nothing in it is
//! followed or executed, and what configures programs of the person is held back.

mod apply;
mod applying;
mod bases;
mod beneath;
mod clone;
mod copy;
mod differences;
mod digest;
mod duplicate;
mod entry;
mod error;
mod held;
mod ignores;
mod judge;
mod limits;
mod lock;
mod manifest;
mod mirror;
mod mounts;
mod named;
mod observe;
mod overlay;
mod rel_path;
mod removal;
mod snapshot;
mod sweep;
mod text;
mod view;

pub use apply::{Action, ApplyRequest, Conflict, Conflicts, Outcome, Plan, Recovered};
pub use applying::CopyState;
pub use bases::Basis;
pub use clone::{EmptyClone, cloneable};
pub use copy::{BaseFolder, CopyKind, CopyRecord, Layers, WorkingCopy};
pub use entry::What;
pub use error::CopyError;
pub use manifest::{Change, ChangeKind, Disposition, Manifest, State};
pub use observe::Observed;
pub use rel_path::RelPath;
pub use snapshot::Sealed;
pub use sweep::{
    Holds, Policy, Surveyed, Unapplied, clear_leftovers, discard_unmade, discard_unreadable,
};
pub use text::{Body, DiffLine, Hunk, Sign};
