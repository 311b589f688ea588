//! What can go wrong in a task.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a task ended badly.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{program} can't be started: {source}")]
    Start { program: String, source: io::Error },
    #[error("{program} can't be waited for: {source}")]
    Wait { program: String, source: io::Error },
    #[error("{program} ended with {status}{}", said(.output))]
    Status {
        program: String,
        status: ExitStatus,
        output: String,
    },
    #[error("{program} didn't end within {seconds} s and was stopped")]
    Timeout { program: String, seconds: u64 },
    #[error("{}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the output of {program} can't be read: {reason}")]
    Output { program: String, reason: String },
    #[error("these checks failed: {}", .0.join(", "))]
    Checks(Vec<&'static str>),
    #[error("{0} findings")]
    Findings(usize),
    #[error("{0} tests failed")]
    Tests(u64),
    #[error("a part of the tests ended without counts or with a bad status: {}", .0.join(", "))]
    Parts(Vec<String>),
    #[error("no test ran")]
    NoTest,
    #[error("{0}")]
    Missing(String),
    #[error("no bench row's name contains {}", .0.join(" or "))]
    NoRow(Vec<String>),
}

impl Failure {
    /// For `map_err` on file operations.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }
}

fn said(output: &str) -> String {
    match output.trim() {
        "" => String::new(),
        text => format!(":\n{text}"),
    }
}
