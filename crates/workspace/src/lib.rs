//! A child's copy of a workspace, and how what it changed comes back to the person (C2, C4).
//!
//! # Life of a copy
//! [`WorkingCopy::create`] makes it below the run's folder; the boundary mounts its
//! [`Layers`]; the supervisor calls [`WorkingCopy::observe`] after each call that may have written.
//! When the run has ended, [`WorkingCopy::changes`] is the manifest that a person reviews.
//!
//! # Invariants
//! - The person's folder is only read here.
//! - What the base was is recorded when a path is first touched; the record only grows.
//! - Ignore rules count as the base has them, never as the child wrote them; no git is run.
//!
//! # Trust
//! Everything in a copy was written by a child: names, contents, links, attributes. Nothing in it is
//! followed or executed, and what configures programs of the person is held back.

mod bases;
mod beneath;
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
mod manifest;
mod mirror;
mod observe;
mod overlay;
mod rel_path;
mod removal;
mod view;

pub use bases::Basis;
pub use copy::{BaseFolder, CopyKind, CopyRecord, Layers, WorkingCopy};
pub use entry::What;
pub use error::CopyError;
pub use manifest::{Change, ChangeKind, Disposition, Manifest, State};
pub use observe::Observed;
pub use rel_path::RelPath;
