//! Results of runs that ended, also those of other processes.

use std::fs::File;
use std::io::Read as _;

use deputize_agent::RunResult;

use crate::error::Doing as _;
use crate::{RunError, StoredRun};

/// The most bytes of a result that are read: every list and text in one is bounded far below this.
const MAX_RESULT: u64 = 16 << 20;

/// How a run that isn't hosted here stands.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredState {
    /// It ended, with this result.
    Ended(Box<RunResult>),
    /// Another process hosts it.
    Elsewhere,
    /// Its supervisor ended before it could write a result.
    HostLost,
}

impl StoredRun {
    /// How it stands, from its folder.
    ///
    /// # Errors
    /// When its result is there and can't be read.
    pub fn state(&self) -> Result<StoredState, RunError> {
        let path = self.result();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(match self.is_live() {
                    true => StoredState::Elsewhere,
                    false => StoredState::HostLost,
                });
            }
            Err(error) => return Err(error).doing("open", &path),
        };
        let mut bytes = Vec::new();
        let read = file.take(MAX_RESULT).read_to_end(&mut bytes);
        read.doing("read", &path)?;
        let result = serde_json::from_slice(&bytes).map_err(std::io::Error::other);
        Ok(StoredState::Ended(Box::new(
            result.doing("read the result in", &path)?,
        )))
    }
}
