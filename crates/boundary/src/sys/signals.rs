//! Signals, and the children that end.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::ptr;

/// Undoes what our own runtime did to signals, and unblocks all of them, as a new program expects.
/// What the person's shell has set to be ignored stays so, as for any command.
pub(crate) fn reset_signals() {
    // SAFETY: SIG_DFL is valid for SIGPIPE, the one signal that the runtime ignores; handlers are
    // reset by exec. The set is filled by sigemptyset before use.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// Sends a signal to every process of this pid namespace but ourselves.
pub(crate) fn signal_everyone(number: i32) {
    // SAFETY: kill has no memory effects; -1 addresses what this namespace holds.
    unsafe { libc::kill(-1, number) };
}

/// Sends a signal to one process of ours by the number that this namespace knows.
pub(crate) fn signal(pid: i32, number: i32) -> io::Result<()> {
    // SAFETY: kill has no memory effects.
    if unsafe { libc::kill(pid, number) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Waits for a child, or takes one that has ended; `None` when there is nothing (left) to take.
pub(crate) fn reap(block: Block) -> io::Result<Option<(i32, i32)>> {
    let mut status = 0;
    let flags = if block == Block::No { libc::WNOHANG } else { 0 };
    // SAFETY: `status` is valid for writing.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, flags | libc::__WALL) };
    match pid {
        0 => Ok(None),
        pid if pid > 0 => Ok(Some((pid, status))),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ECHILD) => Ok(None),
            error => Err(error),
        },
    }
}

/// Whether [`reap`] waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    Yes,
    No,
}

/// A descriptor from which these signals are read; they no longer interrupt anything.
pub(crate) fn signals(numbers: &[i32]) -> io::Result<OwnedFd> {
    // SAFETY: the set is filled before use and outlives both calls; the descriptor is new and ours.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for number in numbers {
            libc::sigaddset(&raw mut set, *number);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) == -1 {
            return Err(io::Error::last_os_error());
        }
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd == -1 {
            Err(io::Error::last_os_error())
        } else {
            Ok(OwnedFd::from_raw_fd(fd))
        }
    }
}

/// The next signal that waits on a descriptor of [`signals`].
pub(crate) fn next_signal(fd: &OwnedFd) -> Option<i32> {
    let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
    match rustix::io::read(fd, &mut info) {
        Ok(count) if count == info.len() => {
            // The record begins with the number, in the machine's byte order.
            Some(i32::from_ne_bytes([info[0], info[1], info[2], info[3]]))
        }
        _ => None,
    }
}
