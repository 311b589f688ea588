//! What a person must have agreed to before a child starts (S3).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One effect that a spawn card names, and that an approval covers for the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consent {
    /// Writes to the parent's workspace itself. Writing to a copy isn't that.
    Write,
    /// Runs shell commands.
    Shell,
    /// Reaches paths outside the workspace.
    Outside,
    /// Loads the project's extensions, packages or settings.
    Extensions,
    /// Installs packages or runs their hooks.
    Install,
    /// Reaches the network beyond the model's provider, or publishes a port.
    Network,
    /// Uses a dearer model than the parent.
    DearerModel,
    /// Goes on without the process that started it.
    Detached,
    /// Follows a definition that nobody trusted, or that the project brought along.
    Definition,
}

impl Consent {
    /// Every effect, in the order that a card shows.
    pub const ALL: [Self; 9] = [
        Self::Write,
        Self::Shell,
        Self::Outside,
        Self::Extensions,
        Self::Install,
        Self::Network,
        Self::DearerModel,
        Self::Detached,
        Self::Definition,
    ];

    /// The name as `--allow` and rules spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Shell => "shell",
            Self::Outside => "outside",
            Self::Extensions => "extensions",
            Self::Install => "install",
            Self::Network => "network",
            Self::DearerModel => "dearer-model",
            Self::Detached => "detached",
            Self::Definition => "definition",
        }
    }
}

impl fmt::Display for Consent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no effect's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("nothing to allow is named `{}`", crate::escape(.0))]
pub struct UnknownConsent(pub String);

impl FromStr for Consent {
    type Err = UnknownConsent;

    /// Takes an effect by name; `_` and `-` are equal.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let spelled = name.trim().replace('_', "-");
        Self::ALL
            .into_iter()
            .find(|consent| consent.name() == spelled)
            .ok_or_else(|| UnknownConsent(name.to_owned()))
    }
}
