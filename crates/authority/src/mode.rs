//! How much a gate asks (G3).

use serde::{Deserialize, Serialize};

/// The stance of a gate towards calls that change something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Looks, and changes nothing. What is unknown is denied.
    Explore,
    /// Each change is a question.
    Ask,
    /// File edits inside the workspace need no question.
    AutoEdit,
    /// Nothing but hard denials stops a call.
    AutoAll,
}

impl Mode {
    /// The name as settings and explanations spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Ask => "ask",
            Self::AutoEdit => "auto-edit",
            Self::AutoAll => "auto-all",
        }
    }
}
