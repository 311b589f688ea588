//! The person's folder with a staging folder in it, and the moves between the two.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, chmodat, fchmod, fstat, mkdirat, openat,
    renameat, renameat_with, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::file::{carry_attributes, give, open_file};
use super::store::Few;
use crate::beneath::{Anchor, below, names};
use crate::duplicate::duplicate;
use crate::entry::{Seen, look};
use crate::manifest::State;
use crate::rel_path::RelPath;

/// Where a transaction works.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    pub(crate) base: &'a Anchor,
    name: OsString,
    stage: OwnedFd,
    few: Few,
}

/// A place: a folder's handle and a name in it.
pub(crate) struct Place {
    pub(crate) folder: OwnedFd,
    pub(crate) name: OsString,
}

/// What an exchange came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    Yes,
    /// What was there isn't what the plan saw; it is there again.
    NotWhatItWas,
}

impl<'a> Site<'a> {
    /// Makes the staging folder.
    pub(crate) fn make(base: &'a Anchor, name: &str, few: Few) -> io::Result<Self> {
        mkdirat(base.handle(), name, Mode::RWXU)?;
        Self::open(base, name, few)
    }

    /// Opens a staging folder that is there.
    pub(crate) fn open(base: &'a Anchor, name: &str, few: Few) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        Ok(Self {
            base,
            name: name.into(),
            stage: below(base.handle(), Path::new(name), flags)?,
            few,
        })
    }

    /// Where a step stages what comes.
    pub(crate) fn coming(number: usize) -> OsString {
        format!("n{number}").into()
    }

    /// Where a step leaves what goes.
    pub(crate) fn going(number: usize) -> OsString {
        format!("o{number}").into()
    }

    /// The place of a path.
    pub(crate) fn place(&self, path: &RelPath) -> io::Result<Place> {
        Ok(Place {
            folder: self.base.folder(&path.folder().unwrap_or_default())?,
            name: path.name().to_owned(),
        })
    }

    /// What lies in the staging folder under a name.
    pub(crate) fn staged(&self, name: &OsStr) -> io::Result<Option<Seen>> {
        look(&self.stage, name)
    }

    pub(crate) fn stage(&self) -> &OwnedFd {
        &self.stage
    }

    /// Stages a file; hands it back for its content to be compared.
    pub(crate) fn stage_file(
        &self,
        name: &OsStr,
        content: &mut File,
        state: &State,
        old: Option<&File>,
        owner: (u32, u32),
    ) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.stage, name, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(file);
        duplicate(content, &mut file)?;
        if let Some(old) = old {
            carry_attributes(old, &file);
        }
        give(&file, owner)?;
        fchmod(&file, Mode::from_raw_mode(state.mode & 0o777))?;
        if self.few == Few::Yes {
            file.sync_all()?;
        }
        // Through a second opening: an offset would hide the beginning.
        open_file(&self.stage, name).or(Ok(file))
    }

    /// Stages a link.
    pub(crate) fn stage_link(
        &self,
        name: &OsStr,
        target: &[u8],
        owner: (u32, u32),
    ) -> io::Result<()> {
        symlinkat(target, &self.stage, name)?;
        if rustix::process::geteuid().is_root() {
            let (user, group) = (
                rustix::fs::Uid::from_raw(owner.0),
                rustix::fs::Gid::from_raw(owner.1),
            );
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            rustix::fs::chownat(&self.stage, name, Some(user), Some(group), flags)?;
        }
        Ok(())
    }

    /// Puts what is staged where nothing is.
    pub(crate) fn put(&self, staged: &OsStr, place: &Place) -> io::Result<Moved> {
        no_replace(&self.stage, staged, &place.folder, &place.name).map(|moved| match moved {
            true => Moved::Yes,
            false => Moved::NotWhatItWas,
        })
    }

    /// Takes away what is at a place, if it still is what was seen there.
    pub(crate) fn take(&self, place: &Place, staged: &OsStr, seen: Inode) -> io::Result<Moved> {
        if !no_replace(&place.folder, &place.name, &self.stage, staged)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if self.is(staged, seen)? {
            return Ok(Moved::Yes);
        }
        no_replace(&self.stage, staged, &place.folder, &place.name)?;
        Ok(Moved::NotWhatItWas)
    }

    /// Exchanges what is staged for what is at a place, if that still is what was seen there.
    pub(crate) fn exchange(&self, place: &Place, staged: &OsStr, seen: Inode) -> io::Result<Moved> {
        let swap = || {
            let flags = RenameFlags::EXCHANGE;
            renameat_with(&self.stage, staged, &place.folder, &place.name, flags)
        };
        match swap() {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(Moved::NotWhatItWas),
            // Another file system is mounted there, or this one can't exchange names.
            Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS) => {
                return Err(io::ErrorKind::CrossesDevices.into());
            }
            Err(error) => return Err(error.into()),
        }
        if self.is(staged, seen)? {
            return Ok(Moved::Yes);
        }
        swap()?;
        Ok(Moved::NotWhatItWas)
    }

    fn is(&self, staged: &OsStr, seen: Inode) -> io::Result<bool> {
        let now = look(&self.stage, staged)?;
        Ok(now.is_some_and(|now| Inode::of(&now) == seen))
    }

    /// Removes the staging folder with all that is left in it.
    pub(crate) fn clear(&self) -> io::Result<()> {
        for name in names(&self.stage)? {
            unlinkat(&self.stage, &name, AtFlags::empty())?;
        }
        Ok(unlinkat(
            self.base.handle(),
            &self.name,
            AtFlags::REMOVEDIR,
        )?)
    }

    /// Asks the disk to keep what was staged.
    pub(crate) fn sync_staged(&self) -> io::Result<()> {
        match self.few {
            Few::Yes => Ok(rustix::fs::fsync(&self.stage)?),
            Few::No => Ok(rustix::fs::syncfs(&self.stage)?),
        }
    }

    /// Asks the disk to keep the names that were moved in these places.
    pub(crate) fn sync_moved<'p>(
        &self,
        paths: impl Iterator<Item = &'p RelPath>,
    ) -> io::Result<()> {
        if self.few == Few::No {
            return Ok(rustix::fs::syncfs(&self.stage)?);
        }
        let folders: BTreeSet<RelPath> = paths.filter_map(RelPath::folder).collect();
        for folder in &folders {
            match self.base.listing(folder) {
                Ok(folder) => rustix::fs::fsync(folder)?,
                // Gone by now, or closed: what it lies in says so.
                Err(_) => continue,
            }
        }
        Ok(())
    }
}

/// What stays of an entry when it is moved: its ctime doesn't.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inode {
    pub(crate) inode: u64,
    pub(crate) mtime: i64,
    pub(crate) size: u64,
}

impl Inode {
    pub(crate) fn of(seen: &Seen) -> Self {
        Self {
            inode: seen.inode,
            mtime: seen.mtime,
            size: seen.size,
        }
    }
}

impl Place {
    pub(crate) fn look(&self) -> io::Result<Option<Seen>> {
        look(&self.folder, &self.name)
    }

    /// Makes a folder; `NotWhatItWas` when something is there.
    pub(crate) fn make_folder(&self, mode: u32, owner: (u32, u32)) -> io::Result<Moved> {
        match mkdirat(&self.folder, &self.name, Mode::RWXU) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(Moved::NotWhatItWas),
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = below(&self.folder, Path::new(&self.name), flags)?;
        give(&folder, owner)?;
        // What is still to come has to get in; the last bits are set at the end.
        set_permissions(&folder, mode | 0o700)?;
        Ok(Moved::Yes)
    }

    /// Removes a folder; `NotWhatItWas` when it holds something.
    pub(crate) fn remove_folder(&self) -> io::Result<Moved> {
        match unlinkat(&self.folder, &self.name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(Moved::Yes),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::NOENT) => {
                Ok(Moved::NotWhatItWas)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Sets the permissions of a file or a folder.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        match below(
            &self.folder,
            Path::new(&self.name),
            OFlags::RDONLY | OFlags::NONBLOCK,
        ) {
            Ok(entry) => set_permissions(entry.as_fd(), mode),
            // One that its owner can't read can't be opened either; it was seen to be no link.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let mode = Mode::from_raw_mode(mode & 0o777);
                Ok(chmodat(&self.folder, &self.name, mode, AtFlags::empty())?)
            }
            Err(error) => Err(error),
        }
    }
}

/// Sets permissions. A folder keeps what it says about the group and the deletion of what lies in it.
pub(crate) fn set_permissions(entry: impl AsFd, mode: u32) -> io::Result<()> {
    let now = fstat(&entry)?.st_mode;
    let is_folder = FileType::from_raw_mode(now) == FileType::Directory;
    let kept = if is_folder { now & 0o3000 } else { 0 };
    Ok(fchmod(entry, Mode::from_raw_mode((mode & 0o777) | kept))?)
}

/// Moves a name to where there must be none; `false` when something is there.
fn no_replace(from: &OwnedFd, old: &OsStr, to: &OwnedFd, new: &OsStr) -> io::Result<bool> {
    match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
        // A file system that can't refuse to replace: looked at first, as well as it goes.
        Err(Errno::INVAL | Errno::NOSYS) => {
            if look(to, new)?.is_some() {
                return Ok(false);
            }
            renameat(from, old, to, new)?;
            Ok(true)
        }
        Err(error) => Err(error.into()),
    }
}
