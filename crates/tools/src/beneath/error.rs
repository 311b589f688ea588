//! What can go wrong on the way to a file.

use std::path::PathBuf;

use deputize_authority::escape;
use rustix::io::Errno;

/// Why the worker can't start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The kernel, or a filter around this process, doesn't have `openat2`.
    #[error(
        "the system call openat2 is not available here (Linux 5.6 and newer have it; a container's \
         seccomp profile may forbid it), and without it files can't be opened safely"
    )]
    NoOpenat2(#[source] Errno),
    /// A granted root can't be opened.
    #[error("the granted root `{}` can't be opened", escape(&path.to_string_lossy()))]
    Root {
        /// The root.
        path: PathBuf,
        /// Why.
        #[source]
        source: Errno,
    },
    /// The workspace's path leads to another folder than the one that was granted.
    #[error("the workspace is another folder than the one that was granted")]
    WorkspaceChanged,
}

/// Why a path led nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Lost {
    /// Nothing is there; the deepest folder on the way that exists, and the names that are missing
    /// below it.
    #[error("nothing is there")]
    Missing { deepest: PathBuf, rest: PathBuf },
    /// It leads out of the granted roots.
    #[error("it leads out of the granted roots")]
    Escapes,
    /// Too many symlinks.
    #[error("symlinks lead round in a circle")]
    Loop,
    /// The kernel refuses.
    #[error("permission denied")]
    Denied,
    /// Something else is there than what was looked at.
    #[error("it changed since it was checked")]
    Changed,
    /// The kernel failed otherwise.
    #[error("{0}")]
    Failed(Errno),
}

impl From<Errno> for Lost {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::XDEV => Self::Escapes,
            Errno::LOOP => Self::Loop,
            other => Self::Failed(other),
        }
    }
}
