//! The one trait that the loop speaks to.

use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::{ModelError, ModelName, Price, Turn, TurnRequest};

/// A turn in the making. It borrows the request and the client.
pub type TurnFuture<'a> = Pin<Box<dyn Future<Output = Result<Turn, ModelError>> + Send + 'a>>;

/// Answers turns of a conversation.
///
/// # Invariants
/// - A client holds no rights: a turn can only ask for calls, and the gate decides them.
/// - Usage is what the model reported, or counted; zero only where nothing was used.
pub trait ModelClient: Send + Sync {
    /// Under which name it was chosen, for receipts.
    fn name(&self) -> &ModelName;

    /// What stands behind it, for every place that shows the model.
    fn label(&self) -> ModelLabel;

    /// What tokens cost; `None` where nobody knows, and then tokens lead the budget (D4).
    fn price(&self) -> Option<Price>;

    /// Answers the next turn. Dropping the future abandons the turn.
    ///
    /// # Errors
    /// Whatever kept the model from a whole turn; see [`ModelError`].
    fn turn<'a>(&'a self, request: &'a TurnRequest) -> TurnFuture<'a>;
}

/// What kind of thing answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelLabel {
    /// A language model.
    LanguageModel,
    /// Code search.
    Scout,
    /// Turns that somebody wrote down beforehand.
    Scripted,
}

impl ModelLabel {
    /// The words that stand beside the model's name wherever it is shown; `None` for a language
    /// model, which needs none.
    #[must_use]
    pub fn notice(self) -> Option<&'static str> {
        match self {
            Self::LanguageModel => None,
            Self::Scout => Some("code search, no language model was used"),
            Self::Scripted => Some("scripted, no language model"),
        }
    }
}
