//! Why a model gave no turn.

use deputize_authority::escape;
use serde::{Deserialize, Serialize};

use crate::Usage;

/// A turn that failed. Its text may hold a model's or provider's words, escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
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
    /// The provider doesn't accept the credential, or its account has nothing left.
    #[error("the provider refused access: {}; {fix}", escape(.reason))]
    Denied {
        /// What was said about it.
        reason: String,
        /// What the person can do.
        fix: String,
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
        /// What it had used by then, as far as anybody knows.
        usage: Usage,
    },
    /// The answer was stopped in the middle because it passed what the run had left.
    #[error("the turn passed what the run had left, and was stopped")]
    OverBudget {
        /// What it had used by then.
        usage: Usage,
        /// What had been said by then.
        text: String,
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
            Self::Denied { .. } => "model_denied",
            Self::Malformed { .. } => "model_malformed",
            Self::OverBudget { .. } => "model_over_budget",
            Self::Cut { .. } => "model_cut",
            Self::ScriptEnded { .. } => "script_ended",
            Self::ScriptMissed { .. } => "script_missed",
            Self::ScriptSaw { .. } => "script_saw",
        }
    }

    /// What the failed turn used, where somebody knows.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::Cut { usage, .. } if *usage == Usage::NONE => None,
            Self::Cut { usage, .. } | Self::OverBudget { usage, .. } => Some(*usage),
            _ => None,
        }
    }

    /// Whether another model may well answer where this one couldn't: it was out of reach, or its
    /// account was.
    #[must_use]
    pub fn is_of_this_model(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Denied { .. })
    }
}
