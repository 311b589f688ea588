//! What the person's folder held at every path when the copy first touched it.
//!
//! The record only grows: a line is written once and never changed, so a kill at any byte loses at
//! most the line that was being written, and that line's path is looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::CopyError;
use crate::entry::{Seen, What};
use crate::error::Doing as _;
use crate::limits::RECORD_BYTES;
use crate::lock::{Lock, try_lock};
use crate::rel_path::RelPath;

/// Whether what was recorded is what the child's change began from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// It is.
    Sure,
    /// The person's entry changed between the copying and the recording, so it may not be.
    Unsure,
}

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Base {
    /// `None` where there was nothing.
    pub(crate) was: Option<Seen>,
    /// Digest of a file's content or of a link's target.
    pub(crate) digest: Option<String>,
    pub(crate) basis: Basis,
}

/// A line of the record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    /// What was at a path.
    Base { path: RelPath, base: Base },
    /// Everything that lay in a folder was recorded, since the copy took it away.
    Emptied { path: RelPath },
    /// Everything that the copy touched before this time of the file system is recorded.
    Observed { at: i64 },
}

/// What a process may do with a record that others may have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is the only one that writes.
    Writes,
    /// Another one writes: what is noted here is kept in memory only.
    Looks,
    /// Nobody can write here: what is noted is kept in memory only.
    ReadOnly,
}

/// The record, in memory and on the disk.
#[derive(Debug)]
pub(crate) struct Bases {
    path: PathBuf,
    /// Locked by the one process that writes.
    file: File,
    access: Access,
    bases: BTreeMap<RelPath, Base>,
    emptied: BTreeSet<RelPath>,
    observed: i64,
    pending: Vec<u8>,
}

impl Bases {
    /// Opens the record; makes it where there is none. Whoever comes first writes.
    pub(crate) fn open(path: &Path) -> Result<Self, CopyError> {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        let mut options = File::options();
        let opened = options.create(true).read(true).append(true).open(path);
        let (file, can_write) = match opened {
            Err(error) if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) => {
                (File::open(path), false)
            }
            opened => (opened, true),
        };
        let file = file.doing("open the record", path)?;
        let access = match try_lock(&file).doing("lock the record", path)? {
            Lock::Had if can_write => Access::Writes,
            Lock::Had => Access::ReadOnly,
            Lock::Taken => Access::Looks,
        };
        let mut bases = Self {
            path: path.to_owned(),
            file,
            access,
            bases: BTreeMap::new(),
            emptied: BTreeSet::new(),
            observed: 0,
            pending: Vec::new(),
        };
        bases.read()?;
        Ok(bases)
    }

    fn read(&mut self) -> Result<(), CopyError> {
        let file = self.file.try_clone().doing("open the record", &self.path)?;
        let mut reader = BufReader::new(file.take(RECORD_BYTES));
        let (mut line, mut whole) = (Vec::new(), 0u64);
        let torn = loop {
            line.clear();
            let count = reader
                .read_until(b'\n', &mut line)
                .doing("read the record", &self.path)?;
            if !line.ends_with(b"\n") {
                break !line.is_empty();
            }
            let parsed = serde_json::from_slice(&line).map_err(|error| CopyError::Record {
                path: self.path.clone(),
                why: error.to_string(),
            })?;
            self.take(parsed);
            whole += count as u64;
        };
        if torn && self.access == Access::Writes {
            // What a kill left of a line would run together with the next one.
            let mended = self.file.set_len(whole);
            mended.doing("mend the record", &self.path)?;
        }
        Ok(())
    }

    /// Whether this process is the one that writes.
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Base { path, base } => {
                self.bases.entry(path).or_insert(base);
            }
            Line::Emptied { path } => {
                self.emptied.insert(path);
            }
            Line::Observed { at } => self.observed = self.observed.max(at),
        }
    }

    fn note(&mut self, line: Line) {
        if let Ok(mut text) = serde_json::to_vec(&line) {
            text.push(b'\n');
            self.pending.append(&mut text);
            self.take(line);
        }
    }

    /// What was at a path, if it is recorded.
    pub(crate) fn get(&self, path: &RelPath) -> Option<&Base> {
        self.bases.get(path)
    }

    /// Whether all that lay in a folder is recorded.
    pub(crate) fn is_emptied(&self, folder: &RelPath) -> bool {
        self.emptied.contains(folder)
    }

    /// Everything recorded as present strictly below a folder.
    pub(crate) fn below(&self, folder: &RelPath) -> impl Iterator<Item = (&RelPath, What)> {
        let from = (Bound::Excluded(folder.clone()), Bound::Unbounded);
        let bound = folder.clone();
        let first = folder.as_path().as_os_str().as_encoded_bytes().to_vec();
        self.bases
            .range(from)
            .take_while(move |(path, _)| {
                path.as_path()
                    .as_os_str()
                    .as_encoded_bytes()
                    .starts_with(&first)
            })
            .filter(move |(path, _)| path.lies_in(&bound))
            .filter_map(|(path, base)| Some((path, base.was.as_ref()?.what)))
    }

    /// Records what was at a path.
    pub(crate) fn record(&mut self, path: RelPath, base: Base) {
        self.note(Line::Base { path, base });
    }

    /// Records that all that lay in a folder is recorded.
    pub(crate) fn record_emptied(&mut self, path: RelPath) {
        self.note(Line::Emptied { path });
    }

    /// Records that all that was touched before a time is recorded.
    pub(crate) fn record_observed(&mut self, at: i64) {
        self.note(Line::Observed { at });
    }

    /// Whether something was noted since the last writing.
    pub(crate) fn has_news(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The time before which nothing is left to record.
    pub(crate) fn observed(&self) -> i64 {
        self.observed
    }

    /// The file system's time now, as it stamps changes; 0 where this process doesn't write.
    pub(crate) fn now(&self) -> Result<i64, CopyError> {
        if self.access != Access::Writes {
            return Ok(0);
        }
        use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        futimens(&self.file, &times).doing("stamp the record", &self.path)?;
        let seen = crate::entry::look(&self.file, std::ffi::OsStr::new(""))
            .doing("look at the record", &self.path)?;
        Ok(seen.map_or(0, |seen| seen.ctime))
    }

    /// Writes what was noted; on the disk when this returns.
    pub(crate) fn flush(&mut self) -> Result<(), CopyError> {
        if self.pending.is_empty() || self.access != Access::Writes {
            return Ok(());
        }
        let written = self
            .file
            .write_all(&self.pending)
            .and_then(|()| self.file.sync_data());
        written.doing("write the record", &self.path)?;
        self.pending.clear();
        Ok(())
    }
}
