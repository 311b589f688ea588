//! One system call: open below a handle, through no symlink.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

/// How often a look-up is repeated that the kernel broke off because something was renamed
/// meanwhile. Whoever renames without pause can make an opening fail, not escape.
const RETRIES: usize = 64;

/// What a handle is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To look at what is there, a symlink included; it reads nothing.
    Look,
    /// To read a file's content. Opening never waits, whatever took the file's place.
    Content,
    /// To list a folder.
    List,
}

/// Opens a relative path below a folder. No component may be a symlink, but for the last one when
/// it is only looked at.
pub(crate) fn open(folder: impl AsFd, relative: &Path, purpose: Purpose) -> Result<OwnedFd, Errno> {
    let flags = OFlags::CLOEXEC
        | match purpose {
            Purpose::Look => OFlags::PATH | OFlags::NOFOLLOW,
            Purpose::Content => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
            Purpose::List => OFlags::RDONLY | OFlags::DIRECTORY,
        };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let relative = match relative.as_os_str().is_empty() {
        true => Path::new("."),
        false => relative,
    };
    let mut left = RETRIES;
    loop {
        match openat2(folder.as_fd(), relative, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if left > 0 => left -= 1,
            result => return result,
        }
    }
}

/// Makes a file that isn't there, for writing. The mode meets the umask.
pub(crate) fn create(folder: impl AsFd, name: &OsStr, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut left = RETRIES;
    loop {
        match openat2(folder.as_fd(), name, flags, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) if left > 0 => left -= 1,
            result => return result,
        }
    }
}
