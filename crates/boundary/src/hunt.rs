//! Ending processes where no pid namespace does it: a subreaper kills its children until no orphan
//! arrives any more. What this can't do is said in the promise `process_kill`.

use std::os::fd::OwnedFd;

use crate::sys::{self, Block};

/// Kills and reaps every child of this process, and theirs as they arrive.
pub(crate) fn children() {
    if let Ok(list) = std::fs::File::open("/proc/thread-self/children") {
        listed(&list.into());
    }
}

/// As [`children`], with the list opened before confinement made that impossible.
pub(crate) fn listed(list: &OwnedFd) {
    loop {
        let mut text = [0u8; 4096];
        let count = rustix::io::pread(list, &mut text, 0).unwrap_or(0);
        let shown = String::from_utf8_lossy(&text[..count]);
        let pids: Vec<i32> = shown
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect();
        if pids.is_empty() {
            return;
        }
        for pid in pids {
            // It may have ended by itself.
            let _ = sys::signal(pid, libc::SIGKILL);
        }
        if sys::reap(Block::Yes).is_err() {
            return;
        }
    }
}
