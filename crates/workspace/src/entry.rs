//! What is at one place of a folder, as the file system tells it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, StatxFlags, StatxTimestamp, statx};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A device.
    Device,
}

impl What {
    /// The word for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Link => "link",
            Self::Fifo => "FIFO",
            Self::Socket => "socket",
            Self::Device => "device",
        }
    }

    fn of(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::RegularFile | FileType::Unknown => Self::File,
        }
    }
}

/// An entry as it was seen. Times are nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) what: What,
    /// Permission bits, with set-id and sticky.
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) inode: u64,
    pub(crate) ctime: i64,
    pub(crate) mtime: i64,
    /// Bytes that it takes on the disk: a file with holes has fewer than its size says.
    #[serde(skip)]
    pub(crate) allocated: u64,
    #[serde(skip)]
    pub(crate) device: u64,
    #[serde(skip)]
    pub(crate) birth: Option<i64>,
    #[serde(skip)]
    pub(crate) links: u32,
    #[serde(skip)]
    pub(crate) owner: (u32, u32),
    /// A character device 0:0, with which an overlay says that something was deleted.
    #[serde(skip)]
    pub(crate) is_null_device: bool,
}

impl Seen {
    /// What tells that an entry wasn't touched: not even its times can be set without its ctime.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            inode: self.inode,
            ctime: self.ctime,
            mtime: self.mtime,
            size: self.size,
        }
    }

    /// The bits that say who may read, write and execute.
    pub(crate) fn permissions(&self) -> u32 {
        self.mode & 0o777
    }

    /// A regular file that runs as somebody else.
    pub(crate) fn is_set_id(&self) -> bool {
        self.what == What::File && self.mode & 0o6000 != 0
    }
}

/// Identity and times of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) ctime: i64,
    pub(crate) mtime: i64,
    pub(crate) size: u64,
}

/// Looks at a name in a folder, or at the folder itself where the name is empty; links aren't
/// followed. `None` where there is nothing.
pub(crate) fn look(folder: impl AsFd, name: &OsStr) -> io::Result<Option<Seen>> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let stat = match statx(folder, name, flags, wanted) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let what = What::of(FileType::from_raw_mode(u32::from(stat.stx_mode)));
    let character = FileType::from_raw_mode(u32::from(stat.stx_mode)) == FileType::CharacterDevice;
    let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    Ok(Some(Seen {
        what,
        mode: u32::from(stat.stx_mode) & 0o7777,
        size: if what == What::Folder {
            0
        } else {
            stat.stx_size
        },
        allocated: stat.stx_blocks.saturating_mul(512),
        inode: stat.stx_ino,
        ctime: nanoseconds(&stat.stx_ctime),
        mtime: nanoseconds(&stat.stx_mtime),
        device: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
        birth: has_birth.then(|| nanoseconds(&stat.stx_btime)),
        links: stat.stx_nlink,
        owner: (stat.stx_uid, stat.stx_gid),
        is_null_device: character && stat.stx_rdev_major == 0 && stat.stx_rdev_minor == 0,
    }))
}

/// Good until the year 2262.
fn nanoseconds(time: &StatxTimestamp) -> i64 {
    time.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(i64::from(time.tv_nsec))
}
