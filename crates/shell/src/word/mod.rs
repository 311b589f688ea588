//! From the raw text of a word to the fields that a shell makes of it.
//!
//! The parser gives words as they stand in the source. Quoting, expansion and splitting are done
//! here, on that text, so that no string field of the parser's tree is left unread.

mod arith;
mod braces;
mod builder;
mod escape;
mod expand;
mod param;
mod patterns;
mod scan;

pub(crate) use braces::braces;
pub(crate) use builder::{Builder, How};
pub(crate) use escape::ansi_c;
pub(crate) use scan::{close_paren, split_words};
