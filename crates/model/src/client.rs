//! The one trait that the loop speaks to.

use std::pin::Pin;

use serde::{Deserialize, Serialize};

use deputize_authority::Refusal;

use crate::{ModelError, ModelName, Price, Turn, TurnRequest};

/// A turn in the making. It borrows the request and the client.
pub type TurnFuture<'a> = Pin<Box<dyn Future<Output = Result<Turn, ModelError>> + Send + 'a>>;

/// Whether a client can be used, found out by trying.
pub type ReadyFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>>;

/// Hears how a turn goes while it goes on.
pub trait Watch: Send + Sync {
    /// The answer has begun, or goes on.
    fn streaming(&self);

    /// Something to show and to write down: a code and a sentence.
    fn notice(&self, code: &'static str, message: String);
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn streaming(&self) {}

    fn notice(&self, _: &'static str, _: String) {}
}

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

    /// Makes ready what turns need, before a run begins: what is missing is then a refusal and not a
    /// failed run. Most need nothing.
    ///
    /// # Errors
    /// Why the model can't be used.
    fn ready<'a>(&'a self, _watch: &'a dyn Watch) -> ReadyFuture<'a> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Answers the next turn. Dropping the future abandons the turn.
    ///
    /// # Errors
    /// Whatever kept the model from a whole turn; see [`ModelError`].
    fn turn<'a>(&'a self, request: &'a TurnRequest, watch: &'a dyn Watch) -> TurnFuture<'a>;
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
    /// A model that the host serves, which says itself what it used.
    Host,
}

impl ModelLabel {
    /// The words that stand beside the model's name wherever it is shown; `None` for a provider's
    /// language model, which needs none.
    #[must_use]
    pub fn notice(self) -> Option<&'static str> {
        match self {
            Self::LanguageModel => None,
            Self::Scout => Some("code search, no language model was used"),
            Self::Scripted => Some("scripted, no language model"),
            Self::Host => Some("the host's model; usage reported by host"),
        }
    }
}
