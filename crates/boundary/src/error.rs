//! One variant per thing that can go wrong; the failing step is named, never guessed.

use std::fmt;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A step of a start, in the order in which they happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "each variant is named after the call or object that it stands for"
)]
pub enum Step {
    ReadLaunch,
    UserNamespace,
    IdMaps,
    IdmappedMount,
    Namespaces,
    PidNamespace,
    Identity,
    DeathSignal,
    Workspace,
    Mounts,
    View,
    Copy,
    Cover,
    PivotRoot,
    Proc,
    Loopback,
    Limits,
    Capabilities,
    Landlock,
    Seccomp,
    Fork,
    SelfTest,
    Program,
    Descriptors,
}

impl Step {
    const ALL: [Self; 24] = [
        Self::ReadLaunch,
        Self::UserNamespace,
        Self::IdMaps,
        Self::IdmappedMount,
        Self::Namespaces,
        Self::PidNamespace,
        Self::Identity,
        Self::DeathSignal,
        Self::Workspace,
        Self::Mounts,
        Self::View,
        Self::Copy,
        Self::Cover,
        Self::PivotRoot,
        Self::Proc,
        Self::Loopback,
        Self::Limits,
        Self::Capabilities,
        Self::Landlock,
        Self::Seccomp,
        Self::Fork,
        Self::SelfTest,
        Self::Program,
        Self::Descriptors,
    ];

    /// The step that a frame names by its number.
    pub(crate) fn from_wire(value: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as i64 == value)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::ReadLaunch => "read the launch description",
            Self::UserNamespace => "create a user namespace",
            Self::IdMaps => "write the id maps",
            Self::IdmappedMount => "map owners of a mount",
            Self::Namespaces => "create namespaces",
            Self::PidNamespace => "create a pid namespace",
            Self::Identity => "change the user id",
            Self::DeathSignal => "arm the death signal",
            Self::Workspace => "enter the folder",
            Self::Mounts => "begin a file system view",
            Self::View => "build the file system view",
            Self::Copy => "put the copy over the workspace",
            Self::Cover => "cover secrets and protected paths",
            Self::PivotRoot => "enter the file system view",
            Self::Proc => "mount a fresh /proc",
            Self::Loopback => "bring the private loopback up",
            Self::Limits => "set resource limits",
            Self::Capabilities => "drop capabilities",
            Self::Landlock => "enforce Landlock",
            Self::Seccomp => "load the system call filter",
            Self::Fork => "fork",
            Self::SelfTest => "pass the self-test",
            Self::Program => "start the program",
            Self::Descriptors => "arrange file descriptors",
        };
        f.write_str(name)
    }
}

/// Why there is no boundary, or none any more.
#[derive(Debug, thiserror::Error)]
pub enum BoundaryError {
    /// A step inside the new boundary failed; nothing was started in it.
    #[error("could not {step}: {detail}")]
    Step {
        /// Which step.
        step: Step,
        /// The operating system's error number, if there was one.
        errno: Option<i32>,
        /// What exactly, with the path where there is one.
        detail: String,
    },
    /// The program of ours that starts inside couldn't be opened.
    #[error("cannot pin our own program")]
    Pin(#[source] io::Error),
    /// A descriptor or process of the supervisor's side failed.
    #[error("cannot {doing}")]
    Supervisor {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The other side closed the control socket.
    #[error("the boundary ended unexpectedly")]
    Ended,
    /// A frame that the protocol doesn't know.
    #[error("a malformed frame came over the control socket")]
    Frame,
}

impl BoundaryError {
    /// Whether the failure means that this machine refuses namespaces, or mounts in them, to us.
    ///
    /// Only the first steps count, and only the answers that such a refusal has: what fails later has
    /// to do with what is in a folder, and whoever fills folders mustn't choose the boundary.
    #[must_use]
    pub fn namespaces_refused(&self) -> bool {
        const REFUSALS: [i32; 5] = [
            libc::EPERM,
            libc::EACCES,
            libc::ENOSYS,
            libc::ENOSPC,
            libc::EUSERS,
        ];
        let Self::Step {
            step,
            errno: Some(errno),
            ..
        } = self
        else {
            return false;
        };
        match step {
            Step::UserNamespace
            | Step::IdMaps
            | Step::Namespaces
            | Step::PidNamespace
            | Step::Mounts
            | Step::Proc => REFUSALS.contains(errno),
            Step::IdmappedMount => REFUSALS.contains(errno) || *errno == libc::EINVAL,
            _ => false,
        }
    }

    pub(crate) fn step(step: Step, error: impl Into<io::Error>, what: impl fmt::Display) -> Self {
        let error: io::Error = error.into();
        Self::Step {
            step,
            errno: error.raw_os_error(),
            detail: format!("{what}: {error}"),
        }
    }
}

/// Adds the step and what it was about to an error of the operating system.
pub(crate) trait At<T> {
    fn at(self, step: Step, what: impl fmt::Display) -> Result<T, BoundaryError>;
    fn on(self, step: Step, path: &Path) -> Result<T, BoundaryError>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, step: Step, what: impl fmt::Display) -> Result<T, BoundaryError> {
        self.map_err(|error| BoundaryError::step(step, error, what))
    }

    fn on(self, step: Step, path: &Path) -> Result<T, BoundaryError> {
        // The view is built below another name than the one that it gets.
        let shown = path
            .strip_prefix("/new")
            .map(|path| Path::new("/").join(path));
        let shown = shown.unwrap_or_else(|_| path.to_owned());
        self.map_err(|error| BoundaryError::step(step, error, shown.display()))
    }
}
