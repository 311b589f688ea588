//! The two clocks of the edge: how long something took, and what time it is.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since an instant.
pub(crate) fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds since 1970, for the ledger.
pub(crate) fn wall_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}
