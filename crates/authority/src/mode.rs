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
    /// Every mode, from the one that asks most.
    pub const ALL: [Self; 4] = [Self::Explore, Self::Ask, Self::AutoEdit, Self::AutoAll];

    /// The name as settings and explanations spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Ask => "ask",
            Self::AutoEdit => "auto-edit",
            Self::AutoAll => "auto-all",
        }
    }
}
