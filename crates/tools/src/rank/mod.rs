//! Ranked search: which places of a tree have to do with a handful of words.
//!
//! Two passes. The first reads every file once and counts words
//! ([`tally`], [`count`]); files are then ordered
//! by BM25 with the file's name, its path and its definitions as fields of their own ([`order`]).
//! The second reads the best few again ([`view`]), finds their definitions ([`symbols`]) and picks
//! lines ([`places`]): where the words ask what is enforced or refused, those where code decides
//! ([`decisions`]). The answer is one JSON object a line ([`report`]): readable by a model, and by the
//! scout.
//!
//! # Invariants
//! - Names come from the walk that all tools share, contents through handles below the granted root.
//! - Secrets and ignored files are neither counted nor shown.
//! - Memory and time are bounded by constants; what a bound left out is said in the output. No
//!   content is held beyond the file being looked at.
//!
//! # Trust
//! Everything read is foreign: contents, names, ignore files. They decide what is found, and can
//! make results poor; they can't make a search leave the root, fail or run on.

mod count;
mod decisions;
mod language;
mod lines;
mod listing;
mod matcher;
mod open;
mod order;
mod path_kind;
mod places;
mod report;
mod search;
mod symbols;
mod tally;
mod terms;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use search::rank;
