//! What one layer permits, on every axis.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Budget, Covers, Set, Tool};

/// An absolute folder or file, in normal form; it covers itself and what lies in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "PathBuf", into = "PathBuf")]
pub struct Root(PathBuf);

impl Root {
    /// Takes an absolute path without `.` and `..`; `None` for any other.
    ///
    /// Whether symlinks were resolved is the caller's promise: a lattice can't look.
    pub fn new(path: impl Into<PathBuf>) -> Option<Self> {
        let path: PathBuf = path.into();
        let normal = path.is_absolute()
            && path
                .components()
                .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        // Collecting drops repeated and trailing slashes.
        normal.then(|| Self(path.components().collect()))
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl TryFrom<PathBuf> for Root {
    type Error = String;

    fn try_from(path: PathBuf) -> Result<Self, Self::Error> {
        Self::new(path).ok_or_else(|| "a root must be absolute and free of `.` and `..`".to_owned())
    }
}

impl From<Root> for PathBuf {
    fn from(root: Root) -> Self {
        root.0
    }
}

impl Covers for Root {
    fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

/// A host name, lower case without a final dot; `*.example.org` covers every name below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Host(pub String);

impl Covers for Host {
    fn covers(&self, other: &Self) -> bool {
        self == other
            || self.0.strip_prefix('*').is_some_and(|suffix| {
                suffix.len() > 1 && other.0.trim_start_matches('*').ends_with(suffix)
            })
    }
}

/// The name of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EnvName(pub String);

impl Covers for EnvName {
    fn covers(&self, other: &Self) -> bool {
        self == other
    }
}

/// A command by its leading arguments: `["git", "diff"]` covers `["git", "diff", "--stat"]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandRule(pub Vec<String>);

impl Covers for CommandRule {
    fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl Covers for u16 {
    fn covers(&self, other: &Self) -> bool {
        self == other
    }
}

impl Covers for String {
    fn covers(&self, other: &Self) -> bool {
        self == other
    }
}

/// The dearest model allowed, in millionths of a dollar per million tokens of output; `None` is no
/// ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceCeiling(pub Option<u64>);

impl PriceCeiling {
    fn meet(self, other: Self) -> Self {
        match (self.0, other.0) {
            (None, ceiling) | (ceiling, None) => Self(ceiling),
            (Some(a), Some(b)) => Self(Some(a.min(b))),
        }
    }
}

/// Which of the host's extensions, settings and prompts a child may load (S13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resources {
    /// None of them, whatever the parent has.
    RunnerOnly,
    /// The user's own.
    User,
    /// The user's own and the settings of a trusted project that are marked safe for children.
    TrustedProject,
}

/// One axis of [`Bounds`], for records of what narrowed what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "each variant is named after the field of Bounds that it stands for"
)]
pub enum Axis {
    Read,
    Write,
    Tools,
    Commands,
    Hosts,
    Ports,
    Env,
    Secrets,
    Price,
    Budget,
    Depth,
    Resources,
}

impl Axis {
    /// Every axis.
    pub const ALL: [Self; 12] = [
        Self::Read,
        Self::Write,
        Self::Tools,
        Self::Commands,
        Self::Hosts,
        Self::Ports,
        Self::Env,
        Self::Secrets,
        Self::Price,
        Self::Budget,
        Self::Depth,
        Self::Resources,
    ];
}

/// What one layer (built-in, global, preset, definition, request, parent) permits.
///
/// Bounds form a lattice with [`Bounds::ANY`] on top; [`Bounds::meet`] is what several layers
/// permit together. Time is part of the budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Roots that may be read.
    pub read: Set<Root>,
    /// Roots that may be written.
    pub write: Set<Root>,
    /// Tools that may be called.
    pub tools: Set<Tool>,
    /// Commands that may be run.
    pub commands: Set<CommandRule>,
    /// Hosts that may be reached.
    pub hosts: Set<Host>,
    /// Ports that may be published to loopback outside.
    pub ports: Set<u16>,
    /// Environment variables that may be passed in by name.
    pub env: Set<EnvName>,
    /// Secret classes (by id) that may be read all the same.
    pub secrets: Set<String>,
    /// The dearest model.
    pub price: PriceCeiling,
    /// How much may be used.
    pub budget: Budget,
    /// How many generations of children may follow.
    pub depth: u8,
    /// Which resources a child may load.
    pub resources: Resources,
}

impl Bounds {
    /// Permits everything: the top, for a layer that has no opinion.
    pub const ANY: Self = Self {
        read: Set::Any,
        write: Set::Any,
        tools: Set::Any,
        commands: Set::Any,
        hosts: Set::Any,
        ports: Set::Any,
        env: Set::Any,
        secrets: Set::Any,
        price: PriceCeiling(None),
        budget: Budget::UNLIMITED,
        depth: u8::MAX,
        resources: Resources::TrustedProject,
    };

    /// What both permit: the greatest lower bound on every axis.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self {
            read: self.read.meet(&other.read),
            write: self.write.meet(&other.write),
            tools: self.tools.meet(&other.tools),
            commands: self.commands.meet(&other.commands),
            hosts: self.hosts.meet(&other.hosts),
            ports: self.ports.meet(&other.ports),
            env: self.env.meet(&other.env),
            secrets: self.secrets.meet(&other.secrets),
            price: self.price.meet(other.price),
            budget: self.budget.meet(&other.budget),
            depth: self.depth.min(other.depth),
            resources: self.resources.min(other.resources),
        }
    }

    /// Whether nothing is permitted here that `other` doesn't permit.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.read.is_within(&other.read)
            && self.write.is_within(&other.write)
            && self.tools.is_within(&other.tools)
            && self.commands.is_within(&other.commands)
            && self.hosts.is_within(&other.hosts)
            && self.ports.is_within(&other.ports)
            && self.env.is_within(&other.env)
            && self.secrets.is_within(&other.secrets)
            && self.price.meet(other.price) == self.price
            && self.budget.is_within(&other.budget)
            && self.depth <= other.depth
            && self.resources <= other.resources
    }

    /// The axes on which the two differ.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Vec<Axis> {
        Axis::ALL
            .into_iter()
            .filter(|axis| match axis {
                Axis::Read => self.read != other.read,
                Axis::Write => self.write != other.write,
                Axis::Tools => self.tools != other.tools,
                Axis::Commands => self.commands != other.commands,
                Axis::Hosts => self.hosts != other.hosts,
                Axis::Ports => self.ports != other.ports,
                Axis::Env => self.env != other.env,
                Axis::Secrets => self.secrets != other.secrets,
                Axis::Price => self.price != other.price,
                Axis::Budget => self.budget != other.budget,
                Axis::Depth => self.depth != other.depth,
                Axis::Resources => self.resources != other.resources,
            })
            .collect()
    }
}
