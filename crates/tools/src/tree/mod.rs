//! Walks a tree the way a person would look through it.
//!
//! Hidden files are visited, version control folders, secrets and ignored files are not; symlinks
//! are named, never followed. Ignore files are those of the granted root and below: nothing of the
//! user's own configuration and nothing above the root is read. A folder that the call itself names
//! is walked even if a rule ignores it.
//!
//! The walk is our own, and only the patterns are the `ignore` library's: a library walk opens
//! ignore files by path, so a named pipe called `.gitignore` would stop it for good, a link would
//! lead it outside, and a huge one would fill the memory.
//!
//! # Invariants
//! - Folders and ignore files are opened below a handle, through no symlink.
//! - The walk ends by its limits on entries, depth (a path's length) and time, and says so.

mod ignores;
mod summary;
mod walk;

pub(crate) use summary::{Found, Summary};
pub(crate) use walk::{Flow, walk};
