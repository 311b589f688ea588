//! The protocol server (MCP, over standard streams): the tools of a run for any host.
//!
//! It translates and decides nothing: what a child may do is decided by preflight, what a person is
//! asked by the grant, and `runs::live` hosts the runs.
//!
//! # Invariants
//! - No parameter of a tool allows anything: allowances, rules and budgets come from the person's own
//!   command line ([`Settings`]), and questions go to a person (S4).
//! - A question is answered by the client that it was put to, once; a host that was given a secret has
//!   to prove each answer, and an answer without the proof leaves the question open (S9).
//! - When the client is gone, every run ends before the process does.
//!
//! # Trust
//! Whoever writes into the server's input can call tools and answer questions of a client without a
//! proof. What a child wrote is data in every answer (D8).

mod answer;
mod calls;
mod gate;
mod input;
mod notify;
mod paths;
mod proof;
mod question;
mod sampling;
mod schema;
mod server;
mod settings;
mod taken_back;
mod tools;
mod wire;

pub use proof::HostSecret;
pub use server::serve;
pub use settings::{HostIdentity, Limits, Outside, Settings};
