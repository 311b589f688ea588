//! Named mechanics (D3, D4). A preset says what kind of work; it has no opinion about agents.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Bounds, Budget, EnvName, Mode, Promise, Resources, Set, Tool};

/// A named set of mechanics: tools, budget, mode, and the promises that a boundary must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Looks at files; runs nothing, changes nothing.
    ReadOnly,
    /// Looks at files and at the repository's history.
    ReadOnlyGit,
    /// Works on a copy: reads, runs commands, writes.
    General,
    /// The parent's own built-in tools, within the parent's grant.
    FullParentTools,
    /// One command that a person typed: `deputize exec`. Not a preset for children.
    Exec,
}

/// A preset name that nothing answers to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no preset is named `{}`", crate::escape(.0))]
pub struct UnknownPreset(pub String);

impl Preset {
    /// The presets that a request can name.
    pub const FOR_CHILDREN: [Self; 4] = [
        Self::ReadOnly,
        Self::ReadOnlyGit,
        Self::General,
        Self::FullParentTools,
    ];

    /// The canonical name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::ReadOnlyGit => "read-only-git",
            Self::General => "general",
            Self::FullParentTools => "full-parent-tools",
            Self::Exec => "exec",
        }
    }

    /// The gate's stance for a child of this preset (G3).
    #[must_use]
    pub fn mode(self) -> Mode {
        match self {
            Self::ReadOnly | Self::ReadOnlyGit => Mode::Explore,
            Self::General | Self::FullParentTools | Self::Exec => Mode::AutoEdit,
        }
    }

    /// The promises that a boundary must hold before a child of this preset starts (B3).
    ///
    /// `read-only` executes nothing: its one worker can neither fork nor exec, so it needs no
    /// promise about processes it can't have, and its file tools (not a shell) keep the secrets.
    /// `read-only-git` executes git, which opens files by itself: the boundary keeps the secrets.
    #[must_use]
    pub fn needs(self) -> &'static [Promise] {
        match self {
            Self::ReadOnly => &[
                Promise::Write,
                Promise::Read,
                Promise::Network,
                Promise::ProcessKill,
            ],
            Self::ReadOnlyGit => &[
                Promise::Write,
                Promise::Read,
                Promise::Network,
                Promise::ProcessKill,
                Promise::Secrets,
                Promise::Devices,
            ],
            Self::General | Self::FullParentTools => &[
                Promise::Write,
                Promise::Read,
                Promise::ProtectedPaths,
                Promise::Network,
                Promise::ProcessKill,
                Promise::Secrets,
                Promise::Devices,
            ],
            Self::Exec => &[Promise::Write, Promise::Read, Promise::Network],
        }
    }

    /// What the preset permits. Roots, hosts and ports come from the request: a preset adds none.
    #[must_use]
    pub fn bounds(self) -> Bounds {
        let closed = Bounds {
            read: Set::Any,
            write: Set::none(),
            tools: Set::none(),
            commands: Set::none(),
            hosts: Set::none(),
            ports: Set::none(),
            env: Set::only(CHILD_ENV.iter().map(|name| EnvName((*name).to_owned()))),
            secrets: Set::none(),
            budget: self.budget(),
            depth: 0,
            resources: Resources::RunnerOnly,
            ..Bounds::ANY
        };
        let looking = [Tool::Read, Tool::Ls, Tool::Find, Tool::Grep];
        match self {
            Self::ReadOnly => Bounds {
                tools: Set::only(looking),
                ..closed
            },
            Self::ReadOnlyGit => Bounds {
                tools: Set::only(looking.into_iter().chain([Tool::Git])),
                ..closed
            },
            Self::General | Self::FullParentTools => Bounds {
                write: Set::Any,
                tools: Set::only(
                    looking
                        .into_iter()
                        .chain([Tool::Bash, Tool::Write, Tool::Edit]),
                ),
                commands: Set::Any,
                env: Set::only(command_env()),
                ..closed
            },
            Self::Exec => Bounds {
                write: Set::Any,
                tools: Set::only([Tool::Exec]),
                commands: Set::Any,
                hosts: Set::none(),
                ports: Set::Any,
                env: Set::Any,
                secrets: Set::Any,
                ..closed
            },
        }
    }

    /// The default budget (D4). A calling model can't raise it; a person can.
    #[must_use]
    pub fn budget(self) -> Budget {
        let common = Budget {
            output_bytes: Some(1 << 20),
            changed_files: Some(200),
            ..Budget::UNLIMITED
        };
        match self {
            Self::ReadOnly | Self::ReadOnlyGit => Budget {
                turns: Some(30),
                tool_calls: Some(100),
                commands: Some(0),
                wall_seconds: Some(600),
                idle_seconds: Some(120),
                cost_micros: Some(500_000),
                tokens: Some(500_000),
                changed_files: Some(0),
                ..common
            },
            Self::General => Budget {
                turns: Some(80),
                tool_calls: Some(300),
                commands: Some(80),
                wall_seconds: Some(1_800),
                idle_seconds: Some(300),
                cost_micros: Some(3_000_000),
                tokens: Some(2_000_000),
                ..common
            },
            Self::FullParentTools => Budget {
                turns: Some(100),
                tool_calls: Some(400),
                commands: Some(120),
                wall_seconds: Some(2_400),
                idle_seconds: Some(300),
                cost_micros: Some(5_000_000),
                tokens: Some(3_000_000),
                ..common
            },
            Self::Exec => Budget {
                commands: Some(1),
                ..Budget::UNLIMITED
            },
        }
    }
}

/// Variables that commands may see beside those: about the terminal and the clock, and those that say
/// where a toolchain lies (B9).
const COMMAND_ENV: [&str; 5] = ["CARGO_HOME", "COLORTERM", "GOPATH", "RUSTUP_HOME", "TZ"];

/// Names of variables of a child whose commands run.
pub(crate) fn command_env() -> impl Iterator<Item = EnvName> {
    CHILD_ENV
        .into_iter()
        .chain(COMMAND_ENV)
        .map(|name| EnvName(name.to_owned()))
}

/// Environment variables that a child may see (S10). PATH and HOME are rebuilt, never passed on.
const CHILD_ENV: [&str; 6] = ["HOME", "LANG", "LC_ALL", "PATH", "TERM", "TMPDIR"];

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    /// Takes a preset by name; `_` and `-` are equal, `workspace-write` is `general`.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let spelled = name.replace('_', "-");
        if spelled == "workspace-write" {
            return Ok(Self::General);
        }
        Self::FOR_CHILDREN
            .into_iter()
            .find(|preset| preset.name() == spelled)
            .ok_or_else(|| UnknownPreset(name.to_owned()))
    }
}
