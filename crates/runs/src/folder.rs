//! The folder of a run: 0700, locked as long as its supervisor lives.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::RunError;
use crate::error::Doing as _;

/// The id of a run: a UUID of version 7 without dashes, so ids sort by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// A new id.
    #[must_use]
    pub fn new() -> Self {
        Self(uuid::Uuid::now_v7().simple().to_string())
    }

    /// Takes an id, or a part of one, as a person types it: a single path segment of hexadecimal
    /// digits and nothing else (H7).
    #[must_use]
    pub fn typed(text: &str) -> Option<Self> {
        let plain: String = text.chars().filter(|character| *character != '-').collect();
        let hex = !plain.is_empty()
            && plain.len() <= 32
            && plain
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        hex.then_some(Self(plain))
    }

    /// The whole id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its last eight digits, which are random: enough for people.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0
            .get(self.0.len().saturating_sub(8)..)
            .unwrap_or(&self.0)
    }
}

impl Default for RunId {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The folder of a run that is being made.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Locked: whoever can take the lock knows that the supervisor is gone.
    _lock: File,
}

impl RunFolder {
    /// Makes the folder of a new run below `runs`.
    ///
    /// # Errors
    /// When the disk is full or access is missing; what was made is removed again.
    pub fn create(runs: &Path, id: &RunId) -> Result<Self, RunError> {
        private_folders(runs)?;
        let path = runs.join(id.as_str());
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .doing("make the run's folder", &path)?;
        let lock_path = path.join("lock");
        let lock = File::create_new(&lock_path)
            .and_then(|file| {
                flock(&file, FlockOperation::NonBlockingLockExclusive)?;
                Ok(file)
            })
            .doing("lock the run's folder", &lock_path);
        match lock {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(error) => {
                // Best effort: the error that is reported is the one that caused this.
                let _ = fs::remove_dir_all(&path);
                Err(error)
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ledger's file.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.path.join("ledger.jsonl")
    }

    /// Writes a file of the run at once: whole or not at all.
    ///
    /// # Errors
    /// When the disk is full or access is missing; a former file of that name is untouched then.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, RunError> {
        let path = self.path.join(name);
        let draft = self.path.join(format!("{name}.draft"));
        let written = File::create(&draft).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_data()?;
            fs::rename(&draft, &path)
        });
        if written.is_err() {
            // Best effort: the error that is reported is the one that caused this.
            let _ = fs::remove_file(&draft);
        }
        written.doing("write", &path)?;
        Ok(path)
    }

    /// Removes the folder of a run that never started.
    pub fn discard(self) {
        // It holds nothing but an empty lock and what a failed start left.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Makes folders that only their owner can enter. One that was there before is closed to others.
pub(crate) fn private_folders(path: &Path) -> Result<(), RunError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .doing("make the folder", path)?;
    let mode = fs::metadata(path)
        .doing("look at", path)?
        .permissions()
        .mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    // Fails where it belongs to somebody else, and then it isn't used.
    fs::set_permissions(path, Permissions::from_mode(0o700))
        .doing("close to others the folder", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H7: an id is one path segment.
    #[test]
    fn typed_ids_are_hexadecimal_and_nothing_else() {
        assert!(RunId::typed("0194").is_some());
        for text in ["", "..", "a/b", "/etc", "x", "0194\n", "ÿ"] {
            assert!(RunId::typed(text).is_none(), "{text:?}");
        }
        let id = RunId::new();
        assert_eq!(RunId::typed(id.as_str()), Some(id.clone()));
        assert_eq!(id.short().len(), 8);
    }

    #[test]
    fn a_file_is_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(&folder.path().join("runs"), &RunId::new()).unwrap();
        run.write("result.json", b"one").unwrap();
        run.write("result.json", b"two").unwrap();
        assert_eq!(fs::read(run.path().join("result.json")).unwrap(), b"two");
        assert!(run.write("no/such/folder", b"x").is_err());
    }
}
