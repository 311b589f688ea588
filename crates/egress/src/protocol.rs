//! What supervisor and relay say to each other.

use std::path::PathBuf;

use deputize_authority::Refusal;
use deputize_model::{Endpoint, ModelError, Turn, TurnRequest};
use serde::{Deserialize, Serialize};

/// The first frame to a relay: what it is pinned to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Pinned {
    pub(crate) endpoint: Endpoint,
    /// The folder where keys are stored.
    pub(crate) store: Option<PathBuf>,
}

/// A further frame: one turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) request: TurnRequest,
}

/// What a relay says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    /// It stands, and this is how.
    Ready(Standing),
    /// It can't.
    Refused(Refusal),
    /// The answer has begun, or goes on.
    Streaming,
    /// The request will be sent again.
    Retrying(String),
    /// The whole turn.
    Turn(Box<Turn>),
    /// No turn.
    Failed(ModelError),
}

/// How a relay stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Where its key came from; `None` where it has none and needs none.
    pub key: Option<KeyPlace>,
    /// What the kernel holds it to.
    pub held: Vec<String>,
    /// What the kernel here can't hold it to.
    pub lacking: Vec<String>,
}

/// Where a key lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    /// In this variable of the person's shell.
    Environment(String),
    /// In the system's keyring.
    Keyring,
    /// In a file that only its owner can read.
    File,
}

impl std::fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Environment(name) => write!(f, "environment ({name})"),
            Self::Keyring => f.write_str("keyring"),
            Self::File => f.write_str("file"),
        }
    }
}
