//! The runs that one process hosts (D9).
//!
//! Every face with more than one run uses this: it takes a place for a planned [`Child`], begins it,
//! keeps what is known of it, passes words on, and ends all of them with the process.
//!
//! # Invariants
//! - Nothing begins without a [`Slot`], and a slot is refused before anything happened (S7).
//! - A run that is stopped has no process left when its result is there.
//! - What a person agreed to beyond one run reaches the same questions, in the same folder, for its
//!   time, and ends with the process (S9).

mod fanout;
mod host;
mod slot;
mod standing;
mod status;
mod stored;

pub use fanout::{Again, FanOut};
pub use host::{Live, LiveEvent, Said};
pub use slot::Slot;
pub use status::{About, Outcome, RunState, RunStatus};
pub use stored::StoredState;

use host::Shared;
