//! The state of what is at a place of the person's folder, and making new content like the old.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    Gid, OFlags, Uid, XattrFlags, fchown, fgetxattr, flistxattr, flistxattr_query, fsetxattr,
};

use crate::beneath::{below, target};
use crate::digest;
use crate::entry::{Seen, What, look};
use crate::manifest::State;

/// What is at a name, with its digest. A file that can't be read has none, and so equals nothing.
pub(crate) fn state_at(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<State>> {
    let Some(seen) = look(folder, name)? else {
        return Ok(None);
    };
    state_of(folder, name, &seen).map(Some)
}

/// The state of an entry that was seen.
pub(crate) fn state_of(folder: &OwnedFd, name: &OsStr, seen: &Seen) -> io::Result<State> {
    let digest = match seen.what {
        What::File => match open_file(folder, name) {
            Ok(mut file) => Some(digest::of_file(&mut file)?),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            Err(error) => return Err(error),
        },
        What::Link => Some(digest::of_bytes(&target(folder, name)?)),
        What::Folder | What::Fifo | What::Socket | What::Device => None,
    };
    Ok(State {
        what: seen.what,
        digest,
        size: if seen.what == What::File {
            seen.size
        } else {
            0
        },
        mode: match seen.what {
            What::Link => 0,
            _ => seen.permissions(),
        },
    })
}

/// Whether what is there is a certain state. A folder's permissions are set last, so they don't count.
pub(crate) fn is(now: Option<&State>, wanted: Option<&State>) -> bool {
    match (now, wanted) {
        (None, None) => true,
        (Some(now), Some(wanted)) => {
            let folder = wanted.what == What::Folder;
            now.same_content(wanted) && (folder || now.mode == wanted.mode)
        }
        _ => false,
    }
}

pub(crate) fn open_file(folder: impl AsFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(File::from(below(folder, Path::new(name), flags)?))
}

/// Gives a new file what the old one had beside its content: attributes and access lists of the
/// person's. What the file system doesn't take stays behind.
pub(crate) fn carry_attributes(old: &File, new: &File) {
    let Ok(length) = flistxattr_query(old) else {
        return;
    };
    let mut list = vec![0u8; length];
    let Ok(length) = flistxattr(old, &mut list) else {
        return;
    };
    list.truncate(length);
    for name in list.split(|byte| *byte == 0) {
        let own = name.starts_with(b"user.") || name == b"system.posix_acl_access";
        if !own {
            continue;
        }
        let mut value = vec![0u8; 64 * 1024];
        if let Ok(count) = fgetxattr(old, name, &mut value) {
            value.truncate(count);
            // See above.
            let _ = fsetxattr(new, name, &value, XattrFlags::empty());
        }
    }
}

/// As root, files that come to the person stay the person's.
pub(crate) fn give(file: impl AsFd, owner: (u32, u32)) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let (user, group) = (Uid::from_raw(owner.0), Gid::from_raw(owner.1));
    Ok(fchown(file, Some(user), Some(group))?)
}
