//! The runs that were: listed and found by id. Reading only; nothing here changes a run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::error::Doing as _;
use crate::{RunError, RunId};

/// All runs of a state folder.
#[derive(Debug, Clone)]
pub struct Store {
    runs: PathBuf,
    placeholders: PathBuf,
}

/// A run in the store.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// Its id.
    pub id: RunId,
    /// Its folder.
    pub path: PathBuf,
}

/// Where boundaries write down what they put into the person's folders to keep places free.
pub(crate) fn placeholders(state: &Path) -> PathBuf {
    state.join("placeholders")
}

impl Store {
    /// The store below a state folder. Nothing is created.
    #[must_use]
    pub fn below(state: &Path) -> Self {
        Self {
            runs: state.join("runs"),
            placeholders: placeholders(state),
        }
    }

    /// Where boundaries write down what they put into folders.
    pub(crate) fn placeholders(&self) -> &Path {
        &self.placeholders
    }

    /// Where runs are made.
    #[must_use]
    pub fn runs(&self) -> &Path {
        &self.runs
    }

    /// Every run, youngest first.
    ///
    /// # Errors
    /// When the folder can't be listed; a store that isn't there yet is empty.
    pub fn list(&self) -> Result<Vec<StoredRun>, RunError> {
        let listing = match fs::read_dir(&self.runs) {
            Ok(listing) => listing,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).doing("list", &self.runs),
        };
        let mut found: Vec<StoredRun> = listing
            .flatten()
            .filter_map(|entry| {
                let id = RunId::typed(entry.file_name().to_str()?)?;
                Some(StoredRun {
                    id,
                    path: entry.path(),
                })
            })
            .collect();
        found.sort_by(|a, b| b.id.cmp(&a.id));
        Ok(found)
    }

    /// The run that a person means: by its whole id, or by a beginning or an end that no other has.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(&self, typed: &str) -> Result<StoredRun, RunError> {
        let shown = deputize_authority::escape(typed);
        let Some(part) = RunId::typed(typed) else {
            return Err(RunError::Lookup(format!("`{shown}` is no run id")));
        };
        let mut found: Vec<StoredRun> = self
            .list()?
            .into_iter()
            .filter(|run| run.id.is_meant_by(&part))
            .collect();
        match (found.pop(), found.len()) {
            (Some(run), 0) => Ok(run),
            (Some(_), more) => Err(RunError::Lookup(format!(
                "`{shown}` fits {} runs",
                more + 1
            ))),
            (None, _) => Err(RunError::Lookup(format!("there is no run `{shown}`"))),
        }
    }
}

impl StoredRun {
    /// The ledger's file.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.path.join("ledger.jsonl")
    }

    /// The result's file; absent while the run goes on, or when its supervisor was killed.
    #[must_use]
    pub fn result(&self) -> PathBuf {
        self.path.join("result.json")
    }

    /// Whether the supervisor lives.
    #[must_use]
    pub fn is_live(&self) -> bool {
        let Ok(lock) = File::open(self.path.join("lock")) else {
            return false;
        };
        flock(&lock, FlockOperation::NonBlockingLockShared).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunFolder;

    #[test]
    fn runs_are_found_by_either_end_of_their_id() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::below(folder.path());
        assert!(store.list().unwrap().is_empty());
        let (first, second) = (RunId::new(), RunId::new());
        let live = RunFolder::create(store.runs(), &first).unwrap();
        drop(RunFolder::create(store.runs(), &second).unwrap());
        assert_eq!(store.list().unwrap().len(), 2);
        assert!(store.find(first.short()).unwrap().is_live());
        assert!(!store.find(second.as_str()).unwrap().is_live());
        // Both begin with the same milliseconds.
        assert!(store.find(&first.as_str()[..4]).is_err());
        for typed in ["..", "ffffffffffff", "/etc"] {
            assert!(store.find(typed).is_err(), "{typed}");
        }
        drop(live);
    }
}
