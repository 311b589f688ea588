//! Locks on what is open, which end with the process that holds them.

use std::os::fd::AsFd;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::limits::{LOCK_PAUSE, LOCK_TRIES};

/// Whether a lock was had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    Had,
    /// Somebody else has it.
    Taken,
}

/// Asks for a lock; doesn't wait for somebody who works.
pub(crate) fn try_lock(file: impl AsFd) -> rustix::io::Result<Lock> {
    for _ in 0..LOCK_TRIES {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Lock::Had),
            Err(Errno::WOULDBLOCK) => std::thread::sleep(LOCK_PAUSE),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Lock::Taken)
}
