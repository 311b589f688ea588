//! What a boundary will be, as data: compiled from a grant, printed, compared, and then made real.
//!
//! # Invariants
//! - [`compile`] is a pure function of the grant, the host's facts and the level that is tried.
//! - Whatever is not in the plan is not there: the file system view starts empty.
//! - A promise is in the list as held only with the mechanism that holds it.

mod compile;
mod promises;
mod view;

use std::path::PathBuf;

use deputize_authority::{Grant, GrantDigest, Level, Promise, Tool};
use serde::{Deserialize, Serialize};

pub use compile::compile;

/// Everything that `__init` needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundaryPlan {
    /// The grant that this was compiled from.
    pub grant: GrantDigest,
    /// The label for people.
    pub level: Level,
    /// Who the processes inside are.
    pub identity: Identity,
    /// The working folder: canonical path, device and inode as the grant sealed them.
    pub workspace: Sealed,
    /// Further roots as they were when they were granted: nothing else is shown in their place.
    #[serde(default)]
    pub seals: Vec<Sealed>,
    /// The file system view, parents before children; empty at a level without mounts.
    pub view: Vec<Mount>,
    /// What to look for in the workspace and cover before anything runs.
    pub cover: Cover,
    /// Landlock rules for commands.
    pub access: Access,
    /// Limits for each command.
    pub limits: Limits,
    /// The whole environment of a command.
    pub environment: Vec<(String, String)>,
    /// HOME inside.
    pub home: PathBuf,
    /// Every promise, held or not.
    pub promises: Vec<PromiseState>,
}

impl BoundaryPlan {
    /// Whether the copy that the plan wants is one that was made.
    pub(crate) fn has_its_copy(&self) -> bool {
        let planned = Source::Copy(CopyPlace::Planned);
        !self.view.iter().any(|mount| mount.what == planned)
    }

    /// The promises that are held.
    pub fn held(&self) -> impl Iterator<Item = Promise> {
        self.promises
            .iter()
            .filter(|state| state.mechanism.is_some())
            .map(|state| state.promise)
    }
}

/// Whether a grant lets anything run but the worker.
fn runs_commands(grant: &Grant) -> bool {
    [Tool::Exec, Tool::Bash, Tool::Git]
        .iter()
        .any(|tool| grant.bounds().tools.permits(tool))
}

/// Whether a grant's writes to its workspace go to a copy.
pub(crate) fn works_on_copy(grant: &Grant) -> bool {
    let workspace = grant.workspace();
    workspace.mode.is_copy() && grant.bounds().write.permits(&workspace.root)
}

/// A folder by path and by what is behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// Canonical path.
    pub path: PathBuf,
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// The user that processes inside run as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    /// The person's own uid and gid, mapped to themselves, without capabilities.
    Own {
        /// Uid.
        uid: u32,
        /// Gid.
        gid: u32,
    },
    /// A spare kernel identity, because ours is the kernel's root.
    Spare {
        /// The id outside: the kernel's view.
        kernel: u32,
        /// The id inside: what programs see.
        inside: u32,
    },
}

/// One mount of the view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where it appears.
    pub at: PathBuf,
    /// What it is.
    pub what: Source,
}

/// What appears at a mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A symbolic link with this target.
    Link(PathBuf),
    /// A private folder in memory of at most so many bytes.
    Memory {
        /// Size limit in bytes.
        bytes: u64,
    },
    /// The same folder or file of the host.
    Host {
        /// Whether it can be written.
        access: AccessMode,
        /// Whether its owner is mapped to the identity inside (only for a spare identity).
        owner: Owner,
    },
    /// The host's folder below, writes to memory above it.
    Overlay,
    /// A copy of the workspace: what is written to it never reaches the folder itself.
    Copy(CopyPlace),
    /// A fresh `/proc`.
    Proc,
    /// A minimal `/dev`.
    Dev,
}

/// Where the copy of a workspace lies on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyPlace {
    /// It isn't made yet. A plan can be shown so; a boundary can't be started.
    Planned,
    /// The folder below, and above it what was written.
    Overlay {
        /// Holds the folders `upper` and `work`, on one file system.
        layers: PathBuf,
    },
    /// A whole copy of the folder.
    Mirror {
        /// The copy.
        tree: PathBuf,
    },
    /// An empty folder that git fills, at its own path; the folder that is cloned stands beside it,
    /// read-only. Nothing of a child runs in such a boundary.
    Unfilled {
        /// The empty folder.
        tree: PathBuf,
    },
    /// A private clone of the repository, which borrows the person's objects.
    Clone {
        /// The clone.
        tree: PathBuf,
        /// The person's objects, read-only at [`ORIGIN_OBJECTS`].
        objects: Sealed,
    },
}

/// Where a private clone sees the objects that it borrows, below the workspace.
pub const ORIGIN_OBJECTS: &str = ".git/origin-objects";

/// Whether a mount can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants are the two modes")]
pub enum AccessMode {
    ReadOnly,
    ReadWrite,
}

/// Whose files a mount shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// As they are.
    Kept,
    /// The owner of the mount's root appears as the identity inside.
    Mapped,
}

/// What is covered inside the granted roots before a command runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cover {
    /// Whether commands run here at all: without them the file tools keep the secrets.
    pub scan: Scan,
    /// Secret classes that may be read.
    pub readable_secrets: deputize_authority::Set<String>,
    /// The granted roots, each with what is kept in it.
    pub roots: Vec<CoveredRoot>,
    /// Folders of hooks that the person's configuration names in every work tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<PathBuf>,
}

impl Cover {
    /// Whether protected paths are pinned anywhere, so that placeholders may be made.
    pub(crate) fn pins(&self) -> bool {
        self.roots.iter().any(|root| root.protect == Protect::Pin)
    }
}

/// A granted root, and whether protected paths are pinned read-only in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoveredRoot {
    /// The root.
    pub path: PathBuf,
    /// Only where it is writable.
    pub protect: Protect,
}

/// Whether the workspace is walked for secrets and repositories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scan {
    /// No command will run.
    Skip,
    /// Walk it all, and refuse the start when it is too large to walk.
    Whole,
}

/// Whether protected paths are pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protect {
    /// Nothing in the workspace is writable.
    NotNeeded,
    /// Pin them, also those that don't exist yet, with placeholders that are written down.
    Pin,
    /// The same in a copy, which nobody else sees: its placeholders are told from changes afterwards.
    PinInCopy,
}

/// Landlock rules: what may be read and executed, and what may be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The ABI that the rules are made for.
    pub abi: u32,
    /// Readable and executable.
    pub read: Vec<PathBuf>,
    /// Writable too.
    pub write: Vec<PathBuf>,
    /// Whether TCP is refused (no network namespace stands around it).
    pub tcp: Tcp,
}

/// TCP by Landlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tcp {
    /// Every bind and connect is refused.
    Refused,
    /// Allowed: only a private loopback can be reached from this network namespace.
    PrivateLoopback,
}

/// Resource limits of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads.
    pub pids: u64,
    /// Largest file that can be written, in bytes.
    pub file_bytes: u64,
    /// Memory that all processes of a command may hold, in bytes; sampled unless a cgroup holds it.
    pub memory_bytes: u64,
    /// Open descriptors of a process.
    pub open_files: u64,
}

/// A promise, with what holds it or why it isn't held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseState {
    /// Which promise.
    pub promise: Promise,
    /// What holds it; `None` when it isn't held.
    pub mechanism: Option<Mechanism>,
    /// Why it isn't held, or what the mechanism doesn't cover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

/// What holds a promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mechanism {
    /// Who enforces it.
    pub by: Enforcer,
    /// How.
    pub how: String,
}

/// Who enforces a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcer {
    /// The kernel, against any code inside.
    Kernel,
    /// Our own code, as long as it is right.
    Host,
}

#[cfg(test)]
mod tests;
