//! Answers read-only questions by searching the code, without a language model (N4).
//!
//! The words of the question become one ranked search ([`question`]); the best places are read
//! through the same tools and the same gate as any model's calls; the answer lists them as evidence
//! ([`answer`]). It claims no more than that these places hold those words.
//!
//! # Invariants
//! - A turn is a pure function of the request: what was done is read off the conversation
//!   ([`transcript`]), so a scout can be shared, resumed and replayed.
//! - At most three turns: search, read, answer. A tool-less turn answers with what there is.
//! - Every answer says first that no language model was used, and no answer is empty.
//!
//! # Trust
//! Results of tools are foreign. A file that looks like a result of search can at worst add places,
//! which the runtime checks like all evidence (D2).

mod answer;
mod client;
mod question;
mod transcript;
mod vocabulary;

pub use client::Scout;
