//! Waiting for something to become true, without sleeping for a guessed time.

use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for what should happen at once: long enough for a busy machine, short
/// against the limit of the test runner.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often is looked.
pub(crate) const POLL: Duration = Duration::from_millis(5);

/// Looks again and again until there is a value.
///
/// # Panics
/// After [`PATIENCE`], with `what` was waited for.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = look() {
            return value;
        }
        assert!(
            started.elapsed() < PATIENCE,
            "waited {PATIENCE:?} in vain: {what}"
        );
        thread::sleep(POLL);
    }
}
