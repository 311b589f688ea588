//! How much a run may use (D4).

use std::fmt;

use serde::{Deserialize, Serialize};

/// One thing that a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Model calls.
    Turns,
    /// Tool calls.
    ToolCalls,
    /// Commands run.
    Commands,
    /// Wall clock, in seconds, without the time that an approval waits.
    WallSeconds,
    /// Seconds without a sign of life from model or tools.
    IdleSeconds,
    /// Money, in millionths of a US dollar.
    CostMicros,
    /// Uncached input and output tokens.
    Tokens,
    /// Bytes of text that the child hands back.
    OutputBytes,
    /// Files created, changed or deleted.
    ChangedFiles,
}

impl Dimension {
    /// Every dimension, in the order that reports show.
    pub const ALL: [Self; 9] = [
        Self::Turns,
        Self::ToolCalls,
        Self::Commands,
        Self::WallSeconds,
        Self::IdleSeconds,
        Self::CostMicros,
        Self::Tokens,
        Self::OutputBytes,
        Self::ChangedFiles,
    ];

    /// The name as `--budget` and reports spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::ToolCalls => "tool_calls",
            Self::Commands => "commands",
            Self::WallSeconds => "wall_seconds",
            Self::IdleSeconds => "idle_seconds",
            Self::CostMicros => "cost_micros",
            Self::Tokens => "tokens",
            Self::OutputBytes => "output_bytes",
            Self::ChangedFiles => "changed_files",
        }
    }

    /// The dimension of that name; `-` and `_` are equal.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        Self::ALL
            .into_iter()
            .find(|dimension| dimension.name() == name)
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Limits per dimension; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Model calls.
    pub turns: Option<u64>,
    /// Tool calls.
    pub tool_calls: Option<u64>,
    /// Commands run.
    pub commands: Option<u64>,
    /// Wall clock seconds.
    pub wall_seconds: Option<u64>,
    /// Silent seconds.
    pub idle_seconds: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micros: Option<u64>,
    /// Uncached input and output tokens.
    pub tokens: Option<u64>,
    /// Bytes of result text.
    pub output_bytes: Option<u64>,
    /// Files changed.
    pub changed_files: Option<u64>,
}

impl Budget {
    /// No limit at all: the top of the lattice.
    pub const UNLIMITED: Self = Self {
        turns: None,
        tool_calls: None,
        commands: None,
        wall_seconds: None,
        idle_seconds: None,
        cost_micros: None,
        tokens: None,
        output_bytes: None,
        changed_files: None,
    };

    /// The limit of one dimension.
    #[must_use]
    pub fn limit(&self, dimension: Dimension) -> Option<u64> {
        match dimension {
            Dimension::Turns => self.turns,
            Dimension::ToolCalls => self.tool_calls,
            Dimension::Commands => self.commands,
            Dimension::WallSeconds => self.wall_seconds,
            Dimension::IdleSeconds => self.idle_seconds,
            Dimension::CostMicros => self.cost_micros,
            Dimension::Tokens => self.tokens,
            Dimension::OutputBytes => self.output_bytes,
            Dimension::ChangedFiles => self.changed_files,
        }
    }

    /// This budget with the limit of one dimension replaced.
    #[must_use]
    pub fn with(mut self, dimension: Dimension, limit: Option<u64>) -> Self {
        *self.slot(dimension) = limit;
        self
    }

    fn slot(&mut self, dimension: Dimension) -> &mut Option<u64> {
        match dimension {
            Dimension::Turns => &mut self.turns,
            Dimension::ToolCalls => &mut self.tool_calls,
            Dimension::Commands => &mut self.commands,
            Dimension::WallSeconds => &mut self.wall_seconds,
            Dimension::IdleSeconds => &mut self.idle_seconds,
            Dimension::CostMicros => &mut self.cost_micros,
            Dimension::Tokens => &mut self.tokens,
            Dimension::OutputBytes => &mut self.output_bytes,
            Dimension::ChangedFiles => &mut self.changed_files,
        }
    }

    /// The smaller limit of every dimension.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Dimension::ALL
            .into_iter()
            .fold(Self::UNLIMITED, |budget, dimension| {
                let limit = match (self.limit(dimension), other.limit(dimension)) {
                    (None, limit) | (limit, None) => limit,
                    (Some(a), Some(b)) => Some(a.min(b)),
                };
                budget.with(dimension, limit)
            })
    }

    /// Whether no dimension allows more than `other` does.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.meet(other) == *self
    }
}
