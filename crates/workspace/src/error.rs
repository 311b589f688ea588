//! Why something about a copy couldn't be done.

use std::io;
use std::path::{Path, PathBuf};

use deputize_authority::{Refusal, escape};

/// A failure of a step, or a refusal that changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// What was asked is refused; nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A step failed.
    #[error("cannot {doing} `{}`", escape(&path.to_string_lossy()))]
    Step {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// A record of ours can't be understood.
    #[error("the record `{}` can't be understood: {why}", escape(&path.to_string_lossy()))]
    Record {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl CopyError {
    /// This error as a refusal: code, field, reason, fix.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal.clone(),
            Self::Step { source, .. } => Refusal::new(
                "copy_failed",
                "workspace",
                format!("{self}: {source}"),
                match source.kind() {
                    io::ErrorKind::PermissionDenied => {
                        "give yourself access to it (`chmod u+rwx` where it is yours), and try again: \
                         what was begun is finished or taken back"
                    }
                    _ => {
                        "free space or give yourself access, and try again: what was begun is \
                         finished or taken back"
                    }
                },
            ),
            Self::Record { .. } => Refusal::new(
                "copy_record_broken",
                "copy",
                self.to_string(),
                "look at what the copy holds below the run's folder, then `deputize discard` it",
            ),
        }
    }
}

/// Names what was being done to which path.
pub(crate) trait Doing<T> {
    fn doing(self, doing: &'static str, path: impl AsRef<Path>) -> Result<T, CopyError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: &'static str, path: impl AsRef<Path>) -> Result<T, CopyError> {
        self.map_err(|error| CopyError::Step {
            doing,
            path: path.as_ref().to_owned(),
            source: error.into(),
        })
    }
}
