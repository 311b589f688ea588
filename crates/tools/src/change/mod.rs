//! The tools `write` and `edit`: one file gets another content, whole or not at all.
//!
//! The new content is written under a temporary name in the file's own folder and then exchanged
//! with the old one, so whoever reads sees one or the other. What was exchanged is looked at before
//! it is removed: if it isn't what the change was made from, it goes back (C3).
//!
//! # Invariants
//! - Everything happens below the handle of a folder whose identity the gate judged, through no
//!   symlink.
//! - A change that fails leaves the old file whole and no file of ours behind.
//! - Nothing is given set-id bits.

mod edit;
mod fresh;
mod hash;
mod known;
mod replace;
mod text;
mod window;
mod write;

pub(crate) use edit::edit;
pub(crate) use hash::Hash;
pub(crate) use known::{Known, LastSeen};
pub(crate) use write::{create, write};
