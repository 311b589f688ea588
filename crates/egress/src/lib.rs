//! The ways out of a boundary, and only those that a grant lists.
//!
//! A boundary has no network but its own loopback. What leads out is made by the supervisor's side,
//! from the grant: [`HeldPorts`] publishes ports inside on the loopback outside (B10).
//!
//! # Invariants
//! - Nothing inside can ask for a way out: the supervisor makes it or there is none.
//! - Ports are bound on 127.0.0.1 and nowhere else.

mod ports;

pub use ports::{HeldPorts, PublishedPorts};
