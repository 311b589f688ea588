//! Models that the host serves, on its own account (N5).
//!
//! A turn is a request for sampling to the program that the parent agent lives in; no key comes here.
//! What the host says of a turn's tokens and cost is its word: it is labelled so wherever it is shown,
//! and the run's other limits hold whatever it says.

mod client;
mod sampling;

use std::fmt;
use std::pin::Pin;

use serde_json::Value;

pub use client::ServedModel;

/// What a request for sampling comes to. Dropping it takes the request back.
pub type Sampled<'a> = Pin<Box<dyn Future<Output = Result<Value, HostFault>> + Send + 'a>>;

/// A host that serves its own model.
pub trait ModelHost: fmt::Debug + Send + Sync {
    /// Asks for a turn. `alive` is called at each sign of life on the way.
    fn sample<'a>(&'a self, params: Value, alive: &'a (dyn Fn() + Send + Sync)) -> Sampled<'a>;
}

/// Why a host gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostFault {
    /// It said why: its own code and words.
    Refused {
        /// The code.
        code: i32,
        /// The words, foreign text.
        message: String,
    },
    /// It gave no sign of life for so many seconds.
    Silent(u64),
    /// It is gone.
    Gone,
}
