//! Questions about single calls, while a run goes on (S9).
//!
//! The gate asks, the run waits with its clocks stopped, and whoever may answer is behind an [`Asker`]
//! that the face gives. Without one nobody can be asked, and the call is refused so.

use std::pin::Pin;

use deputize_authority::{Channel, Scope, Untrusted};

/// An answer in the making. Dropping it takes the question back.
pub type AnswerFuture<'a> = Pin<Box<dyn Future<Output = CallAnswer> + Send + 'a>>;

/// Puts questions to a person.
pub trait Asker: Send + Sync {
    /// Puts one question and waits for what comes of it.
    fn ask(&self, question: CallQuestion) -> AnswerFuture<'_>;
}

/// A call that the gate asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallQuestion {
    /// The run that asks.
    pub run: String,
    /// Its preset.
    pub preset: &'static str,
    /// Its folder.
    pub workdir: Untrusted,
    /// The number of the call in the run.
    pub call: u64,
    /// The tool, as the model named it.
    pub tool: Untrusted,
    /// Every argument, in full.
    pub arguments: Untrusted,
    /// The rule that asks.
    pub rule: String,
    /// Why, each in a sentence.
    pub reasons: Vec<String>,
    /// How far a yes may reach; one that says more reaches no further.
    pub longest: Scope,
}

impl CallQuestion {
    /// The scopes that a yes may choose from.
    #[must_use]
    pub fn scopes(&self) -> &'static [Scope] {
        match self.longest {
            Scope::Once => &[Scope::Once],
            Scope::Run | Scope::Preset => &[Scope::Once, Scope::Run],
        }
    }
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallAnswer {
    /// Yes, through this channel: this one time, or for as long as the run makes the same call. It
    /// reaches no further than the channel does.
    Yes(Channel, Scope),
    /// No, through this channel.
    No(Channel),
    /// Nobody answered in time, or the way to a person was lost. That is no denial.
    Nobody,
}
