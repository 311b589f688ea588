//! The tool `grep`: searches file contents with ripgrep's libraries.
//!
//! Files are listed first and then searched by a few threads, in batches, so that results stand in
//! the order of the walk whatever thread was faster. Contents are streamed: memory is bounded by
//! the longest line that is searched and by the output.

mod matcher;
mod one_file;
mod search;

pub(crate) use search::{Pattern, grep};
