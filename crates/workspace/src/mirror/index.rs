//! What a mirror was made of: each entry as the person's folder had it and as the copy got it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::CopyError;
use crate::entry::{Seen, Stamp, What};
use crate::error::Doing as _;
use crate::limits::RECORD_BYTES;
use crate::rel_path::RelPath;

/// An entry of the index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Copied {
    /// As the person's folder had it.
    pub(crate) base: Seen,
    /// As the copy got it.
    pub(crate) copy: Stamp,
    /// The permissions that the copy got.
    pub(crate) mode: u32,
    /// Digest of what a clone's checkout holds there. A mirror's base is looked up when it is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Entry {
        path: RelPath,
        entry: Copied,
    },
    /// An entry that isn't in the copy.
    Left {
        path: RelPath,
        seen: Seen,
    },
    /// The index is whole; what the copy's file system said the time was.
    Made {
        at: i64,
    },
}

/// An entry that isn't in the copy, as it was when that was made.
#[derive(Debug)]
pub(crate) struct Left(Seen);

impl Left {
    /// Whether it is still there: a folder as that one folder, whatever is in it now; anything else
    /// untouched.
    pub(crate) fn is_still(&self, now: &Seen) -> bool {
        match self.0.what {
            What::Folder => now.what == What::Folder && now.inode == self.0.inode,
            _ => now.stamp() == self.0.stamp() && now.mode == self.0.mode,
        }
    }
}

/// The index in memory.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: HashMap<RelPath, Copied>,
    contents: HashMap<RelPath, Vec<OsString>>,
    left: BTreeMap<RelPath, Left>,
    made: i64,
}

impl Index {
    /// Reads an index that is whole.
    pub(crate) fn read(path: &Path) -> Result<Self, CopyError> {
        let file = File::open(path).doing("open the index", path)?;
        let mut reader = BufReader::new(file.take(RECORD_BYTES));
        let mut index = Self::default();
        let mut line = Vec::new();
        let broken = |why: &str| CopyError::Record {
            path: path.to_owned(),
            why: why.to_owned(),
        };
        loop {
            line.clear();
            reader
                .read_until(b'\n', &mut line)
                .doing("read the index", path)?;
            if line.is_empty() {
                return Err(broken("it isn't whole"));
            }
            match serde_json::from_slice(&line).map_err(|error| broken(&error.to_string()))? {
                Line::Entry { path, entry } => index.insert(path, entry),
                Line::Left { path, seen } => {
                    index.left.insert(path, Left(seen));
                }
                Line::Made { at } => {
                    index.made = at;
                    return Ok(index);
                }
            }
        }
    }

    fn insert(&mut self, path: RelPath, entry: Copied) {
        if let Some(folder) = path.folder() {
            let names = self.contents.entry(folder).or_default();
            names.push(path.name().to_owned());
        }
        self.entries.insert(path, entry);
    }

    pub(crate) fn get(&self, path: &RelPath) -> Option<&Copied> {
        self.entries.get(path)
    }

    /// The names that a folder had.
    pub(crate) fn contents(&self, folder: &RelPath) -> &[OsString] {
        self.contents.get(folder).map_or(&[], Vec::as_slice)
    }

    /// An entry that was left out of the copy, as it was.
    pub(crate) fn left_as(&self, path: &RelPath) -> Option<&Left> {
        self.left.get(path)
    }

    /// Every entry that was left out of the copy.
    pub(crate) fn left(&self) -> impl Iterator<Item = &RelPath> {
        self.left.keys()
    }

    /// Whether the folder's own entry is exactly what it was when it was copied.
    pub(crate) fn is_as_kept(&self, entry: &Copied, now: &Seen) -> bool {
        entry.base.stamp() == now.stamp() && entry.base.mode == now.mode && now.ctime < self.made
    }

    /// Whether an entry is exactly what was copied. One that was last stamped as the mirror was
    /// finished could have been changed within the same tick of the clock.
    pub(crate) fn is_untouched(&self, entry: &Copied, now: &Seen) -> bool {
        entry.copy == now.stamp() && entry.mode == now.mode && now.ctime < self.made
    }
}

/// Writes an index.
pub(super) struct Writer {
    path: PathBuf,
    out: BufWriter<File>,
}

impl Writer {
    pub(super) fn create(path: &Path) -> Result<Self, CopyError> {
        let file = File::create_new(path).doing("make the index", path)?;
        Ok(Self {
            path: path.to_owned(),
            out: BufWriter::new(file),
        })
    }

    pub(super) fn entry(&mut self, path: &RelPath, entry: Copied) -> Result<(), CopyError> {
        let path = path.clone();
        self.line(&Line::Entry { path, entry })
    }

    pub(super) fn left(&mut self, path: &RelPath, seen: Seen) -> Result<(), CopyError> {
        let path = path.clone();
        self.line(&Line::Left { path, seen })
    }

    fn line(&mut self, line: &Line) -> Result<(), CopyError> {
        serde_json::to_writer(&mut self.out, line)
            .map_err(std::io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"))
            .doing("write the index", &self.path)
    }

    /// Says that the index is whole.
    pub(super) fn finish(mut self, at: i64) -> Result<(), CopyError> {
        self.line(&Line::Made { at })?;
        self.out
            .flush()
            .and_then(|()| self.out.get_ref().sync_data())
            .doing("write the index", &self.path)
    }
}
