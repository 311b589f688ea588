//! What a boundary can promise. A promise is held by a mechanism or it isn't made (B3).

use std::fmt;

use serde::{Deserialize, Serialize};

/// One thing that a boundary can promise about the processes inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// Nothing is written outside the writable roots.
    Write,
    /// Nothing is read outside the readable roots.
    Read,
    /// Protected paths inside a writable root stay as they are.
    ProtectedPaths,
    /// No network and no foreign socket is reached, beyond what the grant lists.
    Network,
    /// Every process ends with the boundary, and no process outside can be signalled.
    ProcessKill,
    /// Secrets inside readable roots can't be read.
    Secrets,
    /// Memory stays below the limit.
    Memory,
    /// The number of processes stays below the limit.
    Pids,
    /// Only harmless devices are there.
    Devices,
}

impl Promise {
    /// Every promise, in the order that reports show.
    pub const ALL: [Self; 9] = [
        Self::Write,
        Self::Read,
        Self::ProtectedPaths,
        Self::Network,
        Self::ProcessKill,
        Self::Secrets,
        Self::Memory,
        Self::Pids,
        Self::Devices,
    ];

    /// The name as reports spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::ProtectedPaths => "protected_paths",
            Self::Network => "network",
            Self::ProcessKill => "process_kill",
            Self::Secrets => "secrets",
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Devices => "devices",
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The strength of a boundary, as a label for people. What counts is the list of promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// No kernel mechanism stands between the child and the user's account.
    #[serde(rename = "none")]
    None,
    /// Landlock and seccomp, without namespaces.
    #[serde(rename = "landlock+seccomp")]
    LandlockSeccomp,
    /// Namespaces, Landlock and seccomp.
    #[serde(rename = "namespaces+landlock+seccomp")]
    Full,
}

impl Level {
    /// Every level, from the strongest.
    pub const ALL: [Self; 3] = [Self::Full, Self::LandlockSeccomp, Self::None];

    /// The label as reports spell it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::LandlockSeccomp => "landlock+seccomp",
            Self::Full => "namespaces+landlock+seccomp",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}
