//! Removing a copy, however deep it is and whatever modes a child gave its folders.
//!
//! One folder is held open at a time, so no depth is too much for the limit of descriptors, and no
//! link is followed.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, chmodat, fchmod, fstat, openat, unlinkat};
use rustix::io::Errno;

use crate::CopyError;
use crate::beneath::names;
use crate::error::Doing as _;

/// Removes a folder of ours with all that it holds. What is gone already is no failure.
pub(crate) fn remove(folder: &Path) -> Result<(), CopyError> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Ok(());
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = openat(CWD, parent, flags, Mode::empty()).doing("open the folder of", folder)?;
    clear(parent, name.to_owned()).doing("remove", folder)
}

/// What is left to do in one folder.
struct Level {
    name: OsString,
    /// Folders in it that still stand.
    folders: Vec<OsString>,
}

fn clear(parent: OwnedFd, top: OsString) -> io::Result<()> {
    let mut here = parent;
    let mut levels = vec![Level {
        name: OsString::new(),
        folders: vec![top],
    }];
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.folders.pop() else {
            let done = levels.pop().map(|level| level.name);
            let Some(name) = done.filter(|_| !levels.is_empty()) else {
                return Ok(());
            };
            // Nobody else is in a copy of a dead run: the folder above is where it was.
            here = enter(&here, "..")?;
            gone(unlinkat(&here, &name, AtFlags::REMOVEDIR))?;
            continue;
        };
        let inner = match enter(&here, &name) {
            Ok(inner) => inner,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                chmodat(&here, &name, Mode::RWXU, AtFlags::empty())?;
                enter(&here, &name)?
            }
            Err(error) => return Err(error),
        };
        open_to_us(&inner)?;
        let folders = files_gone(&inner)?;
        here = inner;
        levels.push(Level { name, folders });
    }
    Ok(())
}

/// A child may have closed its folders to everybody.
fn open_to_us(folder: &OwnedFd) -> io::Result<()> {
    if fstat(folder)?.st_mode & 0o700 != 0o700 {
        fchmod(folder, Mode::RWXU)?;
    }
    Ok(())
}

/// Removes all but folders from a folder; hands back their names.
fn files_gone(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut folders = Vec::new();
    for entry in names(folder)? {
        match unlinkat(folder, &entry, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => folders.push(entry),
            other => gone(other)?,
        }
    }
    Ok(folders)
}

fn enter(folder: &OwnedFd, name: impl AsRef<std::ffi::OsStr>) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name.as_ref(), flags, Mode::empty())?)
}

fn gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}
