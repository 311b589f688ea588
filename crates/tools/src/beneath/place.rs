//! A place inside a root, held by a handle.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use deputize_gate::{Identity, Kind};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, Stat, fstat};
use rustix::io::Errno;

use super::error::Lost;
use super::open::{Purpose, open};
use super::roots::Anchor;

/// What was found at a path, below a granted root. Only [`super::Roots::find`] makes one.
#[derive(Debug)]
pub(crate) struct Beneath<'r> {
    anchor: &'r Anchor,
    /// The way from the anchor, free of symlinks.
    relative: PathBuf,
    canonical: PathBuf,
    handle: OwnedFd,
    stat: Stat,
}

impl<'r> Beneath<'r> {
    pub(super) fn new(
        anchor: &'r Anchor,
        relative: &Path,
        canonical: &Path,
        handle: OwnedFd,
    ) -> Result<Self, Lost> {
        Ok(Self {
            anchor,
            relative: relative.to_owned(),
            canonical: canonical.to_owned(),
            stat: fstat(&handle)?,
            handle,
        })
    }

    /// The path without symlinks.
    pub(crate) fn canonical(&self) -> &Path {
        &self.canonical
    }

    pub(crate) fn kind(&self) -> Kind {
        kind_of(FileType::from_raw_mode(self.stat.st_mode))
    }

    pub(super) fn is_symlink(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::Symlink
    }

    pub(crate) fn is_executable(&self) -> bool {
        self.kind() == Kind::File && self.stat.st_mode & 0o111 != 0
    }

    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    pub(crate) fn links(&self) -> u64 {
        widen(self.stat.st_nlink)
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity {
            canonical: self.canonical.clone(),
            device: self.stat.st_dev,
            inode: self.stat.st_ino,
        }
    }

    /// The permission bits, without those that lend the owner's rights.
    pub(crate) fn permissions(&self) -> Mode {
        Mode::from_raw_mode(self.stat.st_mode & 0o777)
    }

    /// The folder that this lies in, and its name there. A granted root has none.
    pub(crate) fn in_folder(&self) -> Result<(OwnedFd, &OsStr), Lost> {
        let (Some(parent), Some(name)) = (self.relative.parent(), self.relative.file_name()) else {
            return Err(Lost::Escapes);
        };
        let folder = open(&self.anchor.handle, parent, Purpose::Look)?;
        Ok((folder, name))
    }

    /// A handle to go below of. It can't be read from.
    pub(crate) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// The folder that was granted, and the way from there to here.
    pub(crate) fn way(&self) -> (&'r OwnedFd, &Path) {
        (&self.anchor.handle, &self.relative)
    }

    /// The content of the regular file that was found here.
    pub(crate) fn file(&self) -> Result<File, Lost> {
        if self.kind() != Kind::File {
            return Err(Lost::Changed);
        }
        self.again(Purpose::Content).map(File::from)
    }

    /// The folder that was found here, for listing.
    pub(crate) fn folder(&self) -> Result<OwnedFd, Lost> {
        self.again(Purpose::List)
    }

    fn again(&self, purpose: Purpose) -> Result<OwnedFd, Lost> {
        let handle =
            open(&self.anchor.handle, &self.relative, purpose).map_err(|errno| match errno {
                Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV => Lost::Changed,
                other => other.into(),
            })?;
        let now = fstat(&handle)?;
        let is_same = (now.st_dev, now.st_ino) == (self.stat.st_dev, self.stat.st_ino);
        if is_same {
            Ok(handle)
        } else {
            Err(Lost::Changed)
        }
    }
}

/// The gate's word for a file type.
pub(crate) fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Device,
        _ => Kind::Other,
    }
}

/// The type of a link count differs between architectures.
fn widen(links: impl Into<u64>) -> u64 {
    links.into()
}
