//! Ways out of this machine, and what stands in each.
//!
//! The *relay* is a process of its own that speaks to one model of one provider. It alone holds the
//! credential. The supervisor's end is [`Relayed`], a model client like any other; the
//! relay's is [`relay_main`]; between them go typed requests and typed answers (N3).
//!
//! [`HeldPorts`] publishes ports inside a boundary on the loopback outside (B10). The supervisor makes
//! that way, on 127.0.0.1 and nowhere else; nothing inside can ask for one.
//!
//! # Invariants
//! - Only the relay reads a key, and nothing that it says holds one.
//! - A relay is pinned to one provider, endpoint and model when it starts. A request has no field for
//!   anything else: no header, no path, no tool of the provider.
//! - The relay counts what is used while it comes, and stops what passes the run's rest.
//! - A relay ends with the process that started it: at the end of its standard input.
//!
//! # Trust
//! The provider's bytes are hostile; they are decoded in the relay, which is confined before the first
//! of them comes. The supervisor takes the relay's frames by type and within limits.

mod client;
mod confine;
mod frame;
mod http;
mod key;
mod keyring;
pub mod limits;
mod local;
mod ports;
mod protocol;
mod relay;
mod retry;
mod store;

pub use client::{Launch, Relayed};
pub use key::KeyError;
pub use local::model_on_this_machine;
pub use ports::{HeldPorts, PublishedPorts};
pub use protocol::{KeyPlace, Standing};
pub use relay::relay_main;
pub use store::{KeyStore, StoreError, Wanted};
