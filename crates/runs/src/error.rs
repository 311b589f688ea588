//! Why a run has no result.

use std::io;
use std::path::PathBuf;

use deputize_authority::{Refusal, escape};
use deputize_boundary::BoundaryError;
use deputize_ledger::{AppendError, OpenError};
use deputize_workspace::CopyError;

/// A failure of our own, or a refusal. A child that fails has a result and isn't one of these.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The request was refused; nothing was started.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The boundary couldn't be started, or broke.
    #[error("the boundary failed")]
    Boundary(#[from] BoundaryError),
    /// A folder or file of the state couldn't be made or used.
    #[error("cannot {doing} `{}`", escape(&path.to_string_lossy()))]
    State {
        /// What was being done.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The ledger couldn't be opened.
    #[error("the ledger can't be opened")]
    OpenLedger(#[from] OpenError),
    /// The ledger didn't take an event.
    #[error("the ledger can't be written")]
    Ledger(#[from] AppendError),
    /// A copy of a workspace couldn't be made, read or applied.
    #[error(transparent)]
    Copy(CopyError),
    /// There is no such run, or several.
    #[error("{0}")]
    Lookup(String),
    /// The thread that starts processes is gone.
    #[error("the program is ending")]
    Ending,
}

impl RunError {
    /// This error as a refusal: code, field, reason, fix.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let reason = chain(self);
        match self {
            Self::Refused(refusal) => refusal.clone(),
            Self::Boundary(_) => Refusal::new(
                "boundary_failed",
                "boundary",
                reason,
                "run `deputize doctor`, which tries each part by itself",
            ),
            Self::State { .. } => Refusal::new(
                "state_failed",
                "state",
                reason,
                "free space or give yourself access; XDG_STATE_HOME moves the state elsewhere",
            ),
            Self::OpenLedger(_) | Self::Ledger(_) => Refusal::new(
                "ledger_failed",
                "ledger",
                reason,
                "free space on the disk that holds the state: no run goes on without its ledger",
            ),
            Self::Copy(error) => error.refusal(),
            Self::Lookup(_) => Refusal::new(
                "run_not_found",
                "run",
                reason,
                "`deputize audit show` without an id lists the runs",
            ),
            Self::Ending => Refusal::new("ending", "program", reason, "start it again"),
        }
    }
}

impl From<CopyError> for RunError {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Refused(refusal) => Self::Refused(refusal),
            other => Self::Copy(other),
        }
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}

/// Names what was being done to which path.
pub(crate) trait Doing<T> {
    fn doing(self, doing: &'static str, path: &std::path::Path) -> Result<T, RunError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: &'static str, path: &std::path::Path) -> Result<T, RunError> {
        self.map_err(|error| RunError::State {
            doing,
            path: path.to_owned(),
            source: error.into(),
        })
    }
}
