//! Placeholders: mount points for protected paths that didn't exist, made in the person's folder and
//! taken away again.
//!
//! Each is written down in a record file before it is made, and the record stays locked as long as
//! supervisor or init live. So a kill at any moment leaves a record without a lock, and the next
//! start cleans up after it. Only what is still empty is removed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, ResolveFlags, flock};

/// What a `commondir` placeholder holds: an empty one would break git, this one says what its absence
/// says.
pub(crate) const NEUTRAL_COMMONDIR: &str = ".\n";

/// Kinds of entries in a record.
const ROOT: u8 = b'=';
const PLACEHOLDER: u8 = b'+';

/// The file name extension of records.
const EXTENSION: &str = "placeholders";

/// Largest record that is read back: a path for each protected row of each repository.
const RECORD_BYTES: u64 = 64 << 20;

/// The record of one boundary's placeholders.
#[derive(Debug)]
pub struct Placeholders {
    record: File,
    path: PathBuf,
}

impl Placeholders {
    /// Cleans up after boundaries that were killed, and begins a record in `folder` for a boundary that
    /// pins paths below `roots`.
    ///
    /// # Errors
    /// When the record can't be made: then nothing may be put into the person's folder.
    pub fn begin<'r>(folder: &Path, roots: impl Iterator<Item = &'r Path>) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let _turn = Turn::take(folder)?;
        clean_stale(folder)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
        for number in 0.. {
            let path = folder.join(format!("{}-{number}.{EXTENSION}", std::process::id()));
            match rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR) {
                Ok(record) => {
                    flock(&record, FlockOperation::NonBlockingLockExclusive)?;
                    let mut record = File::from(record);
                    for root in roots {
                        record.write_all(&entry(ROOT, root))?;
                    }
                    return Ok(Self { record, path });
                }
                // Left by a process of that number that was killed, and still waiting for the others.
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// Removes the placeholders, but for those below a root of a boundary that still stands: one that
    /// is taken away takes the cover of whoever shares it along. The last one removes them all.
    ///
    /// # Errors
    /// When a record can't be read or removed. It stays then, for the next start.
    pub fn finish(self) -> io::Result<()> {
        let folder = self.path.parent().map(Path::to_owned).unwrap_or_default();
        let _turn = Turn::take(&folder)?;
        // From here on our own record is one without a lock, as after a kill.
        drop(self.record);
        clean_stale(&folder)
    }

    /// Cleans up after boundaries that were killed; nothing where no record was ever kept.
    ///
    /// # Errors
    /// When a record can't be read or removed.
    pub fn tidy(folder: &Path) -> io::Result<()> {
        if !folder.is_dir() {
            return Ok(());
        }
        let _turn = Turn::take(folder)?;
        clean_stale(folder)
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.record.as_fd()
    }
}

/// One process at a time begins or finishes: whoever looks for others sees all of them.
struct Turn(#[expect(dead_code, reason = "held for its lock")] File);

impl Turn {
    fn take(folder: &Path) -> io::Result<Self> {
        let lock = File::options()
            .create(true)
            .append(true)
            .open(folder.join("lock"))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        Ok(Self(lock))
    }
}

/// Removes what dead boundaries left and no living one shares.
fn clean_stale(folder: &Path) -> io::Result<()> {
    let mut stale = Vec::new();
    let mut live_roots = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension() != Some(OsStr::new(EXTENSION)) {
            continue;
        }
        let record = File::options().read(true).write(true).open(&path)?;
        let dead = flock(&record, FlockOperation::NonBlockingLockExclusive).is_ok();
        let entries = Entries::read(&record)?;
        if dead {
            stale.push((path, record, entries));
        } else {
            live_roots.extend(entries.roots);
        }
    }
    let is_shared =
        |placeholder: &PathBuf| live_roots.iter().any(|root| placeholder.starts_with(root));
    // Of all records together: one boundary's may lie in the folder that another one's is.
    let alone: BTreeSet<&PathBuf> = stale
        .iter()
        .flat_map(|(_, _, entries)| &entries.placeholders)
        .filter(|placeholder| !is_shared(placeholder))
        .collect();
    let roots: BTreeSet<&PathBuf> = stale
        .iter()
        .flat_map(|(_, _, entries)| &entries.roots)
        .collect();
    // A set of paths is ordered: from its end, what lies in a folder goes before it.
    for placeholder in alone.into_iter().rev() {
        remove_if_empty(&roots, placeholder);
    }
    for (path, _locked, entries) in &stale {
        if !entries.placeholders.iter().any(is_shared) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// What a record holds.
struct Entries {
    roots: Vec<PathBuf>,
    placeholders: Vec<PathBuf>,
}

impl Entries {
    fn read(record: &File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        record.take(RECORD_BYTES).read_to_end(&mut bytes)?;
        let of = |kind: u8| {
            bytes
                .split(|byte| *byte == 0)
                .filter_map(|entry| entry.strip_prefix(&[kind]))
                .map(|path| PathBuf::from(OsStr::from_bytes(path)))
                .collect()
        };
        Ok(Self {
            roots: of(ROOT),
            placeholders: of(PLACEHOLDER),
        })
    }
}

/// An entry: its kind, a path, and a NUL, which no path holds.
fn entry(kind: u8, path: &Path) -> Vec<u8> {
    let mut entry = vec![kind];
    entry.extend_from_slice(path.as_os_str().as_bytes());
    entry.push(0);
    entry
}

/// Removes a placeholder below one of the roots; whatever somebody has put there since stays.
///
/// No link is followed on the way: a folder that was swapped for one must not lead us elsewhere.
fn remove_if_empty(roots: &BTreeSet<&PathBuf>, path: &Path) {
    // What can't be reached or removed stays; it is empty, and says nothing.
    let _ = roots
        .iter()
        .filter_map(|root| Some((root, path.strip_prefix(root).ok()?)))
        .try_for_each(|(root, below)| remove_below(root, below));
}

fn remove_below(root: &Path, below: &Path) -> rustix::io::Result<()> {
    let (Some(folder), Some(name)) = (below.parent(), below.file_name()) else {
        return Ok(());
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags | OFlags::NOFOLLOW, Mode::empty())?;
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let folder = rustix::fs::openat2(&root, folder, flags, Mode::empty(), resolve)?;
    let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        // Removing a folder fails where it isn't empty, which is what is wanted.
        FileType::Directory => rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR),
        FileType::RegularFile if stat.st_size == 0 || is_neutral(&folder, name) => {
            rustix::fs::unlinkat(&folder, name, AtFlags::empty())
        }
        _ => Ok(()),
    }
}

/// Whether a `commondir` is the one that we made.
fn is_neutral(folder: &OwnedFd, name: &OsStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut text = [0u8; 8];
    name == "commondir"
        && rustix::fs::openat(folder, name, flags, Mode::empty())
            .and_then(|file| rustix::io::read(&file, &mut text))
            .is_ok_and(|count| &text[..count] == NEUTRAL_COMMONDIR.as_bytes())
}

/// Init's side: writes down what it is about to make.
pub(crate) struct Record(Option<File>);

/// Where placeholders are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// In the person's folder: they are written down first.
    Folder,
    /// In a copy that nobody else sees: who looks for changes knows them.
    Copy,
}

impl Record {
    pub(crate) fn new(fd: Option<OwnedFd>) -> Self {
        Self(fd.map(File::from))
    }

    /// Notes a path, as the host knows it. Without a record nothing may be made.
    pub(crate) fn note(&mut self, path: &Path) -> io::Result<()> {
        let Some(file) = &mut self.0 else {
            return Err(io::Error::other("there is no record for placeholders"));
        };
        file.write_all(&entry(PLACEHOLDER, path))
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
        let begin = |root: &Path| Placeholders::begin(&state, [root].into_iter()).unwrap();
        let placeholders = begin(folder.path());
        let copy = placeholders.descriptor().try_clone_to_owned().unwrap();
        let mut record = Record::new(Some(copy));
        for path in [&empty, &used, &common] {
            record.note(path).unwrap();
        }
        fs::create_dir(&empty).unwrap();
        fs::write(&used, "mine").unwrap();
        fs::write(&common, NEUTRAL_COMMONDIR).unwrap();
        // A second one in the same folder: the first one's end takes nothing away from it.
        let second = begin(folder.path());
        drop((placeholders, record));
        begin(folder.path()).finish().unwrap();
        assert!(empty.exists());
        // One that stands elsewhere shares nothing.
        let elsewhere = begin(Path::new("/elsewhere"));
        second.finish().unwrap();
        assert!(!empty.exists() && !common.exists());
        assert_eq!(fs::read_to_string(&used).unwrap(), "mine");
        elsewhere.finish().unwrap();
        let records = fs::read_dir(&state).unwrap().flatten();
        assert_eq!(
            records.filter(|entry| entry.file_name() != "lock").count(),
            0
        );
    }
}
