//! Putting a new content in a file's place.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rustix::fd::OwnedFd;
use rustix::fs::{
    Access, AtFlags, FileType, FlockOperation, Mode, RenameFlags, accessat, fchmod, flock, fstat,
    linkat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::Hash;
use crate::beneath::{Beneath, Lost, Purpose, create, open};
use crate::limits::{CHANGED_FILE_BYTES, LOCK_TIME};
use crate::output::ToolFailure;

/// Names that are tried for the temporary file.
const NAMES: usize = 64;

/// An existing file, locked against other runs, and the content that it had then.
pub(super) struct Existing<'p> {
    folder: OwnedFd,
    name: &'p OsStr,
    permissions: Mode,
    pub(super) content: Vec<u8>,
    pub(super) hash: Hash,
    /// Keeps the lock.
    _locked: File,
}

impl<'p> Existing<'p> {
    /// Opens a file that the gate judged, for replacing it.
    pub(super) fn open(place: &'p Beneath<'_>) -> Result<Self, ToolFailure> {
        if place.links() > 1 {
            return Err(ToolFailure::new(
                "hard_link",
                "the file has other names: copy it to a new name first and change the copy",
            ));
        }
        let (folder, name) = place.in_folder()?;
        // Replacing needs rights on the folder alone; whoever took the file's away meant something.
        accessat(&folder, name, Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|errno| failed("the file can't be written", errno))?;
        let mut locked = place.file()?;
        lock(&locked)?;
        // Whoever had the lock before may have put another file here.
        let now = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(Lost::from)?;
        let here = place.identity();
        if (now.st_dev, now.st_ino) != (here.device, here.inode) {
            return Err(Lost::Changed.into());
        }
        let content = content(&mut locked)?;
        Ok(Self {
            folder,
            name,
            permissions: place.permissions(),
            hash: Hash::of(&content),
            content,
            _locked: locked,
        })
    }

    /// Gives the file another content.
    pub(super) fn replace(&self, content: &[u8]) -> Result<(), ToolFailure> {
        let temporary = Temporary::new(&self.folder, content, Mode::RUSR | Mode::WUSR)?;
        fchmod(&temporary.file, self.permissions)
            .map_err(|errno| failed("the file's permissions can't be kept", errno))?;
        match temporary.swap(self.name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            // A file system that can't exchange: the last look is as late as can be.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                if self.is_here(self.name) == Here::Other {
                    return Err(Lost::Changed.into());
                }
                return temporary.take(self.name);
            }
            Err(Errno::NOENT) => return Err(Lost::Changed.into()),
            Err(errno) => return Err(failed("the file can't be replaced", errno)),
        }
        // The old file has the temporary name now, and goes with it.
        if self.is_here(&temporary.name) == Here::Expected {
            return Ok(());
        }
        temporary
            .swap(self.name, RenameFlags::EXCHANGE)
            .map_err(|errno| failed("the file can't be put back", errno))?;
        Err(Lost::Changed.into())
    }

    /// Whether a name holds what the change was made from. A copy of the workspace gives a file
    /// another inode when it is first changed, so the content decides.
    fn is_here(&self, name: &OsStr) -> Here {
        let content = open(&self.folder, Path::new(name), Purpose::Content)
            .map_err(|_| ())
            .and_then(|handle| content(&mut File::from(handle)).map_err(|_| ()));
        match content {
            Ok(content) if Hash::of(&content) == self.hash => Here::Expected,
            _ => Here::Other,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Here {
    Expected,
    Other,
}

/// Makes a file with a content where none is.
pub(super) fn make(folder: &OwnedFd, name: &OsStr, content: &[u8]) -> Result<(), ToolFailure> {
    let temporary = Temporary::new(folder, content, Mode::from_raw_mode(0o666))?;
    let made = match temporary.swap(name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            // A link doesn't replace anything either.
            linkat(folder, &temporary.name, folder, name, AtFlags::empty())
        }
        made => made,
    };
    match made {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(Lost::Changed.into()),
        Err(errno) => Err(failed("the file can't be made", errno)),
    }
}

/// A file under a name of ours. Whatever has that name in the end is removed.
struct Temporary<'f> {
    folder: &'f OwnedFd,
    name: OsString,
    file: File,
}

impl<'f> Temporary<'f> {
    fn new(folder: &'f OwnedFd, content: &[u8], mode: Mode) -> Result<Self, ToolFailure> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let process = std::process::id();
        for _ in 0..NAMES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".deputize-{process}-{number}.tmp"));
            match create(folder, &name, mode) {
                Ok(handle) => {
                    let mut temporary = Self {
                        folder,
                        name,
                        file: File::from(handle),
                    };
                    temporary.file.write_all(content).map_err(|error| {
                        let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                        failed("the content can't be written", errno)
                    })?;
                    return Ok(temporary);
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed("a file can't be made in this folder", errno)),
            }
        }
        Err(failed("a file can't be made in this folder", Errno::EXIST))
    }

    fn swap(&self, name: &OsStr, how: RenameFlags) -> Result<(), Errno> {
        renameat_with(self.folder, &self.name, self.folder, name, how)
    }

    fn take(self, name: &OsStr) -> Result<(), ToolFailure> {
        renameat(self.folder, &self.name, self.folder, name)
            .map_err(|errno| failed("the file can't be replaced", errno))
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // After a rename nothing has the name any more.
        let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
    }
}

/// Waits a little while another run changes the file.
fn lock(file: &File) -> Result<(), ToolFailure> {
    let begun = Instant::now();
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if begun.elapsed() < LOCK_TIME => {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            Err(Errno::WOULDBLOCK) => {
                return Err(ToolFailure::new(
                    "busy",
                    "another process holds a lock on the file: call again later",
                ));
            }
            // A file system without locks: what is exchanged is compared all the same.
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL) => return Ok(()),
            Err(errno) => return Err(failed("the file can't be locked", errno)),
        }
    }
}

/// All of a regular file that isn't too large.
fn content(file: &mut File) -> Result<Vec<u8>, ToolFailure> {
    let stat = fstat(&*file).map_err(Lost::from)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Lost::Changed.into());
    }
    let mut content = Vec::new();
    file.take(CHANGED_FILE_BYTES + 1)
        .read_to_end(&mut content)?;
    if content.len() as u64 > CHANGED_FILE_BYTES {
        return Err(too_large());
    }
    Ok(content)
}

pub(super) fn too_large() -> ToolFailure {
    ToolFailure::new(
        "too_large",
        format!("files of more than {CHANGED_FILE_BYTES} bytes are not changed by this tool"),
    )
}

/// Why something could not be written, and what to do.
pub(super) fn failed(what: &str, errno: Errno) -> ToolFailure {
    let (code, advice) = match errno {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => (
            "no_space",
            "there is no room left; the file is as it was, go on without the change",
        ),
        Errno::ROFS => ("read_only", "this place can't be written; use another path"),
        Errno::ACCESS | Errno::PERM => ("permission_denied", "use another path"),
        Errno::NOTDIR => (
            "not_a_folder",
            "a name on the way is a file; use another path",
        ),
        Errno::NAMETOOLONG => ("name_too_long", "use a shorter name"),
        _ => ("io", "call again, or use another path"),
    };
    ToolFailure::new(code, format!("{what} ({errno}): {advice}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::beneath::Roots;

    /// What another process does between the look and the exchange.
    fn interrupted(theirs: impl FnOnce(&Path)) -> (Result<(), ToolFailure>, Option<String>, usize) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("a");
        fs::write(&path, "one").unwrap();
        let roots = Roots::everything().unwrap();
        let place = roots.find(&path).unwrap();
        let existing = Existing::open(&place).unwrap();
        theirs(&path);
        let replaced = existing.replace(b"ours");
        let names = fs::read_dir(dir.path()).unwrap().count();
        (replaced, fs::read_to_string(&path).ok(), names)
    }

    #[test]
    fn an_undisturbed_change_is_made_and_leaves_one_file() {
        let (replaced, content, names) = interrupted(|_| {});
        assert_eq!(
            (replaced, content.as_deref(), names),
            (Ok(()), Some("ours"), 1)
        );
    }

    /// C3: a file that was replaced, changed or removed meanwhile stays as it is then.
    #[test]
    fn c3_what_another_process_did_meanwhile_stays() {
        let changed = |path: &Path| fs::write(path, "theirs").unwrap();
        let replaced = |path: &Path| {
            fs::write(path.with_extension("next"), "theirs").unwrap();
            fs::rename(path.with_extension("next"), path).unwrap();
        };
        for (disturb, left) in [
            (&changed as &dyn Fn(&Path), "theirs"),
            (&replaced, "theirs"),
        ] {
            let (result, content, names) = interrupted(disturb);
            assert_eq!(result.unwrap_err().code, "changed_since_check");
            assert_eq!((content.as_deref(), names), (Some(left), 1));
        }
        let (result, content, names) = interrupted(|path| fs::remove_file(path).unwrap());
        assert_eq!(result.unwrap_err().code, "changed_since_check");
        assert_eq!((content, names), (None, 0));
    }

    /// Something of another kind in the file's place is put back too.
    #[test]
    fn a_folder_or_a_link_that_took_the_place_is_put_back() {
        for make in [
            |path: &Path| fs::create_dir(path).unwrap(),
            |path: &Path| std::os::unix::fs::symlink("/etc/hostname", path).unwrap(),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().canonicalize().unwrap().join("a");
            fs::write(&path, "one").unwrap();
            let roots = Roots::everything().unwrap();
            let place = roots.find(&path).unwrap();
            let existing = Existing::open(&place).unwrap();
            fs::remove_file(&path).unwrap();
            make(&path);
            let before = fs::symlink_metadata(&path).unwrap().file_type();
            assert!(existing.replace(b"ours").is_err());
            assert_eq!(fs::symlink_metadata(&path).unwrap().file_type(), before);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }
}
