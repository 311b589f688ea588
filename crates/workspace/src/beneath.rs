//! Opening below a folder's handle: no way leads through a link or out.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use rustix::fs::{CWD, Dir, Mode, OFlags, ResolveFlags, openat2, readlinkat};
use rustix::io::Errno;

use crate::entry::{Seen, look};
use crate::rel_path::RelPath;

/// How often a look-up is repeated that the kernel broke off because something was renamed meanwhile.
const RETRIES: usize = 64;

/// A folder below which everything is looked up.
#[derive(Debug)]
pub(crate) struct Anchor(OwnedFd);

impl Anchor {
    /// Opens a folder by its path, which may hold links.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_MAGICLINKS;
        Ok(Self(openat2(CWD, path, flags, Mode::empty(), resolve)?))
    }

    /// The folder itself.
    pub(crate) fn handle(&self) -> &OwnedFd {
        &self.0
    }

    /// What is at a path; `None` where nothing is, or where a link or a file is on the way.
    pub(crate) fn look(&self, path: &RelPath) -> io::Result<Option<Seen>> {
        let Some(folder) = path.folder() else {
            return look(&self.0, path.name());
        };
        match self.folder(&folder) {
            Ok(folder) => look(&folder, path.name()),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A folder's handle, for what lies in it.
    pub(crate) fn folder(&self, path: &RelPath) -> io::Result<OwnedFd> {
        self.open_at(path, OFlags::PATH | OFlags::DIRECTORY)
    }

    /// A folder's handle, to be listed.
    pub(crate) fn listing(&self, path: &RelPath) -> io::Result<OwnedFd> {
        self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// A file, to be read. Opening never waits, whatever took the file's place.
    pub(crate) fn file(&self, path: &RelPath) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(File::from(self.open_at(path, flags)?))
    }

    /// Where a link leads, as it is written.
    pub(crate) fn target(&self, path: &RelPath) -> io::Result<Vec<u8>> {
        let folder = self.folder(&path.folder().unwrap_or_default())?;
        target(&folder, path.name())
    }

    fn open_at(&self, path: &RelPath, flags: OFlags) -> io::Result<OwnedFd> {
        let path = match path.is_top() {
            true => Path::new("."),
            false => path.as_path(),
        };
        below(&self.0, path, flags)
    }
}

/// Opens what a relative path names below a folder.
pub(crate) fn below(folder: impl AsFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC;
    let mut left = RETRIES;
    loop {
        match openat2(folder.as_fd(), path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if left > 0 => left -= 1,
            result => return Ok(result?),
        }
    }
}

/// Where a link leads, as it is written.
pub(crate) fn target(folder: impl AsFd, name: &std::ffi::OsStr) -> io::Result<Vec<u8>> {
    Ok(readlinkat(folder, name, Vec::new())?.into_bytes())
}

/// The names in a folder, in the order of their bytes.
pub(crate) fn names(folder: impl AsFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name.to_vec()));
        }
    }
    names.sort();
    Ok(names)
}

/// Whether an error says that there is nothing, or nothing that leads there without a link.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    let absent = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP];
    error
        .raw_os_error()
        .is_some_and(|code| absent.iter().any(|errno| errno.raw_os_error() == code))
}
