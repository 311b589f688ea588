//! A question that a spawn raises, and what a person answered (S3, S5, S9).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Consent, escape};

/// One reason why a spawn needs a person's yes: the effect, and the facts behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The effect.
    pub effect: Consent,
    /// What it comes to here, in one sentence without a final stop. Foreign text in it is escaped.
    pub why: String,
}

/// A line in a file of rules.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The file, as it was named.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", escape(&self.file), self.line)
    }
}

/// Where a yes came from. None of these is a thing that a model can reach.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "channel", rename_all = "snake_case")]
pub enum Channel {
    /// The person answered the card on the run's own terminal.
    Terminal,
    /// The person typed the allowance with the command.
    CommandLine,
    /// A rule of the person's.
    Rule(Place),
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal => f.write_str("an answer on the terminal"),
            Self::CommandLine => f.write_str("`--allow`"),
            Self::Rule(place) => write!(f, "the rule {place}"),
        }
    }
}

/// How far a yes reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This run, to its end.
    Run,
}

/// What a person agreed to, through one channel.
///
/// # Invariants
/// - It never widens a grant: it says that what the grant holds, and the card showed, may begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The effects that it covers, in the card's order.
    pub effects: Vec<Consent>,
    /// Where it came from.
    pub by: Channel,
    /// How far it reaches.
    pub scope: Scope,
}
