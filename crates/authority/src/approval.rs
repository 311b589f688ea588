//! A question that a spawn raises, and what a person answered (S3, S5, S9).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Consent, Untrusted, escape};

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
    /// The dialog of the host that the parent agent lives in; its answer carried the proof of the
    /// secret that only that host has (S9).
    Host {
        /// The host, as the person's command line names it.
        host: String,
        /// How far the person said that the yes reaches.
        scope: Scope,
    },
    /// A client of the protocol server answered; whether a person did, the client alone knows.
    Client {
        /// The client, as it names itself.
        client: String,
    },
}

/// Characters of a client's name that are repeated.
const NAME: usize = 64;

impl Channel {
    /// The client of the protocol server, by the name that it gives itself.
    #[must_use]
    pub fn client(name: &str) -> Self {
        let name = Untrusted::new(name).preview(NAME);
        Self::Client {
            client: if name.trim().is_empty() {
                "unknown".to_owned()
            } else {
                name
            },
        }
    }

    /// How far a yes through it reaches.
    #[must_use]
    pub fn scope(&self) -> Scope {
        match self {
            Self::Terminal | Self::CommandLine | Self::Rule(_) => Scope::Run,
            Self::Host { scope, .. } => *scope,
            Self::Client { .. } => Scope::Once,
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal => f.write_str("an answer on the terminal"),
            Self::CommandLine => f.write_str("`--allow`"),
            Self::Rule(place) => write!(f, "the rule {place}"),
            Self::Host { host, .. } => write!(f, "the dialog of host {}", escape(host)),
            Self::Client { client } => write!(f, "answered by client {}", escape(client)),
        }
    }
}

/// How far a yes reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// What was asked, this one time. For a spawn that is its run.
    Once,
    /// This run, to its end.
    Run,
    /// Runs of this preset with the same effects in the same folder, for 30 minutes.
    Preset,
}

impl Scope {
    /// The name as answers and ledgers spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Run => "run",
            Self::Preset => "preset",
        }
    }
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
