//! Why a model gave no turn.

use deputize_authority::escape;

/// A turn that failed. Its text may hold a model's or provider's words, escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model could not be reached, or not now.
    #[error("the model is unavailable: {}", escape(.reason))]
    Unavailable {
        /// What was said about it.
        reason: String,
    },
    /// The provider refused the request.
    #[error("the provider refused the request: {}", escape(.reason))]
    Refused {
        /// What was said about it.
        reason: String,
    },
    /// The answer can't be understood.
    #[error("the model's answer is malformed: {}", escape(.reason))]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// The answer broke off before its end.
    #[error("the model's answer broke off: {}", escape(.reason))]
    Cut {
        /// Where.
        reason: String,
    },
    /// A script has no further turn.
    #[error("the script has {turns} turns and was asked for another")]
    ScriptEnded {
        /// How many turns it has.
        turns: usize,
    },
    /// The tool results lack what a script's turn expects.
    #[error("turn {turn} of the script expects `{}` in the results before it", escape(.text))]
    ScriptMissed {
        /// Which turn, from 1.
        turn: usize,
        /// What was expected.
        text: String,
    },
    /// The tool results hold what a script's turn must not see.
    #[error("turn {turn} of the script expects no `{}` in the results before it", escape(.text))]
    ScriptSaw {
        /// Which turn, from 1.
        turn: usize,
        /// What must not be there.
        text: String,
    },
}

impl ModelError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } => "model_unavailable",
            Self::Refused { .. } => "model_refused",
            Self::Malformed { .. } => "model_malformed",
            Self::Cut { .. } => "model_cut",
            Self::ScriptEnded { .. } => "script_ended",
            Self::ScriptMissed { .. } => "script_missed",
            Self::ScriptSaw { .. } => "script_saw",
        }
    }
}
