//! Which descriptors a process of the boundary holds.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

/// Closes every descriptor from a number on. Only for a process that owns none of them yet, or that
/// gives all of them up.
pub(crate) fn close_from(first: RawFd) -> io::Result<()> {
    // SAFETY: the caller owns nothing there that it will use again.
    done(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) })
}

/// Makes standard output and error what standard input is: the null device, in every process that
/// `__init` forks.
pub(crate) fn silence_streams() -> io::Result<()> {
    for target in [1, 2] {
        // SAFETY: nothing in this process owns the standard numbers.
        if unsafe { libc::dup2(0, target) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Closes every descriptor above the standard ones but this one. Owners of the others, in a process
/// that ends by [`exit`], are never dropped and must not be used any more.
pub(crate) fn close_all_but(kept: &OwnedFd) -> io::Result<()> {
    let kept = kept.as_raw_fd().unsigned_abs();
    if kept > 3 {
        // SAFETY: the caller gives these numbers up.
        done(unsafe { libc::syscall(libc::SYS_close_range, 3u32, kept - 1, 0) })?;
    }
    // SAFETY: as above.
    done(unsafe { libc::syscall(libc::SYS_close_range, kept + 1, u32::MAX, 0) })
}

/// Takes one of the descriptors that this process was started with.
pub(crate) fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: a number is only looked up; a closed one is an error.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: called once per number, before anything else could own it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Puts the three standard streams in place and marks every other descriptor close-on-exec.
pub(crate) fn arrange_streams(streams: [OwnedFd; 3]) -> io::Result<()> {
    let high: Vec<OwnedFd> = streams
        .iter()
        .map(|fd| rustix::io::fcntl_dupfd_cloexec(fd, 100))
        .collect::<Result<_, _>>()?;
    drop(streams);
    for (target, fd) in (0..).zip(&high) {
        // SAFETY: the targets are the standard numbers, which nothing in this process owns as an
        // OwnedFd; dup2 clears close-on-exec on them.
        if unsafe { libc::dup2(fd.as_raw_fd(), target) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    // SAFETY: only sets a flag on descriptors 3 and above.
    done(unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    })
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
