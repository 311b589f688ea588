//! Placeholders: mount points for protected paths that didn't exist, made in the person's folder and
//! taken away again.
//!
//! Each is written down in a record file before it is made, and the record stays locked as long as
//! supervisor or init live. So a kill at any moment leaves a record without a lock, and the next
//! start cleans up after it. Only what is still empty is removed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};

/// What a `commondir` placeholder holds: an empty one would break git, this one says what its absence
/// says.
pub(crate) const NEUTRAL_COMMONDIR: &str = ".\n";

/// Largest record that is read back: a path for each protected row of each repository.
const RECORD_BYTES: u64 = 64 << 20;

/// The record of one boundary's placeholders.
#[derive(Debug)]
pub struct Placeholders {
    record: File,
    path: PathBuf,
}

impl Placeholders {
    /// Cleans up after boundaries that were killed, and begins a record in `folder`.
    ///
    /// # Errors
    /// When the record can't be made: then nothing may be put into the person's folder.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Self::clean_stale(folder)?;
        let path = folder.join(format!("{}.placeholders", std::process::id()));
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
        let record = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)?;
        flock(&record, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self {
            record: record.into(),
            path,
        })
    }

    /// Removes what dead boundaries left.
    ///
    /// # Errors
    /// When the folder can't be listed.
    pub fn clean_stale(folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension() != Some(OsStr::new("placeholders")) {
                continue;
            }
            let Ok(record) = File::options().read(true).write(true).open(&path) else {
                continue;
            };
            if flock(&record, FlockOperation::NonBlockingLockExclusive).is_ok() {
                Self { record, path }.finish()?;
            }
        }
        Ok(())
    }

    /// Removes the placeholders, youngest first, and the record.
    ///
    /// # Errors
    /// When the record can't be read or removed. It stays then, for the next start.
    pub fn finish(self) -> io::Result<()> {
        let mut bytes = Vec::new();
        File::open(&self.path)?
            .take(RECORD_BYTES)
            .read_to_end(&mut bytes)?;
        for path in bytes
            .split(|byte| *byte == 0)
            .rev()
            .filter(|path| !path.is_empty())
        {
            remove_if_empty(Path::new(OsStr::from_bytes(path)));
        }
        fs::remove_file(&self.path)
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.record.as_fd()
    }
}

/// Removes a placeholder; whatever somebody has put there since stays.
fn remove_if_empty(path: &Path) {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return;
    };
    let empty_file = meta.is_file()
        && (meta.len() == 0
            || (path.ends_with("commondir")
                && fs::read(path).is_ok_and(|text| text == NEUTRAL_COMMONDIR.as_bytes())));
    // Removing a folder fails where it isn't empty, which is what is wanted.
    let _ = if empty_file {
        fs::remove_file(path)
    } else if meta.is_dir() {
        fs::remove_dir(path)
    } else {
        Ok(())
    };
}

/// Init's side: writes down what it is about to make.
pub(crate) struct Record(Option<File>);

impl Record {
    pub(crate) fn new(fd: Option<OwnedFd>) -> Self {
        Self(fd.map(File::from))
    }

    /// Notes a path, as the host knows it. Without a record nothing may be made.
    pub(crate) fn note(&mut self, path: &Path) -> io::Result<()> {
        let Some(file) = &mut self.0 else {
            return Err(io::Error::other("there is no record for placeholders"));
        };
        let mut line = path.as_os_str().as_bytes().to_vec();
        line.push(0);
        file.write_all(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_boundary_left_is_cleaned_unless_it_was_used() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let (empty, used, common) = (
            folder.path().join(".claude"),
            folder.path().join("AGENTS.md"),
            folder.path().join("commondir"),
        );
        let placeholders = Placeholders::begin(&state).unwrap();
        let copy = placeholders.descriptor().try_clone_to_owned().unwrap();
        let mut record = Record::new(Some(copy));
        for path in [&empty, &used, &common] {
            record.note(path).unwrap();
        }
        fs::create_dir(&empty).unwrap();
        fs::write(&used, "mine").unwrap();
        fs::write(&common, NEUTRAL_COMMONDIR).unwrap();
        // Still locked: nothing is touched.
        Placeholders::clean_stale(&state).unwrap();
        assert!(empty.exists());
        // As after a kill: every descriptor is gone, the record is still there.
        drop((placeholders, record));
        Placeholders::clean_stale(&state).unwrap();
        assert!(!empty.exists() && !common.exists());
        assert_eq!(fs::read_to_string(&used).unwrap(), "mine");
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
    }
}
