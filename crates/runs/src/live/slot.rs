//! A run's place among those that may go on at a time.

use std::sync::Arc;
use std::time::Instant;

use super::Shared;
use crate::RunId;

/// A place that was taken for a run (S7). Dropping it gives it back, and forgets the run as one that
/// did not succeed.
#[must_use = "a place that nobody uses is given back"]
pub struct Slot {
    pub(super) run: RunId,
    pub(super) shared: Arc<Shared>,
    pub(super) succeeded: Option<Instant>,
    /// Whether it was used: only then does it count as a spawn.
    pub(super) begun: bool,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut counted = self.shared.counted();
        counted.free(&self.run, self.succeeded);
        if !self.begun {
            counted.uncount();
        }
    }
}
