//! From a copy to the person's folder and back, as one change that a kill can't cut in two.
//!
//! # How
//! A [`Plan`] says what will be done and what is in the way. Carrying it out has three parts:
//! 1. *Prepare*: what will be replaced is kept beside the copy, what will be put in its place is
//!    staged in a folder of its own in the workspace, all of it is written down in the journal, and
//!    the disk is asked to keep it. A disk that is full, or content that isn't what was reviewed, ends
//!    it here: nothing of the person's was touched.
//!    A folder that its owner closed to himself is opened, which the journal names first.
//! 2. *Commit*: names are exchanged, one after the other; nothing is written any more.
//! 3. *Finish*: permissions of folders, the staging folder, the last line of the journal.
//!
//! A kill in the first part is taken back, one in the second or third is finished, by whoever comes
//! next ([`crate::WorkingCopy::recover`]). Each step can be told from the folder itself: what is there
//! is the old state, the new one, or the person's own work, which is left alone.
//!
//! # Trust
//! The person may write at the same time. A name is exchanged, not overwritten, and what came out is
//! looked at: if it isn't what the plan saw, it goes back and the whole change is taken back.

mod closed;
mod file;
mod journal;
mod plan;
mod recover;
mod request;
mod site;
mod store;
#[cfg(test)]
mod tests;
mod transaction;

pub(crate) use closed::closed;
pub(crate) use file::{state_at, state_of};
pub use journal::Action;
pub(crate) use journal::{End, Journal, Line, Step};
pub use plan::{Conflict, Plan};
pub(crate) use plan::{Planner, Wanted, staying, umask};
pub use recover::Recovered;
pub(crate) use recover::recover;
pub use request::ApplyRequest;
pub(crate) use store::{Few, Kept, Store};
pub use transaction::{Conflicts, Outcome};
pub(crate) use transaction::{Stops, Transaction, left_out, take_turn};
