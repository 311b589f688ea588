//! An answer, decoded as it comes.

use super::draft::{Draft, Fault, Over};
use super::lines::{Framing, Lines};
use super::{Wire, anthropic, gemini, ollama, openai_chat, openai_responses};
use crate::{ModelError, Turn, Usage};

/// Decodes one answer. It has no I/O: bytes are pushed in, whatever their chunks.
#[derive(Debug)]
pub struct Decoder {
    source: String,
    lines: Lines,
    draft: Draft,
    state: State,
}

#[derive(Debug)]
enum State {
    Anthropic(anthropic::Stream),
    OpenaiChat(openai_chat::Stream),
    OpenaiResponses(openai_responses::Stream),
    Gemini,
    Ollama(ollama::Stream),
}

impl Decoder {
    /// For an answer of the model with the full name `source`.
    ///
    /// `serial` differs between the turns of a conversation; `input_estimate` is what the request has
    /// of tokens, until the provider says.
    #[must_use]
    pub fn new(wire: Wire, source: &str, serial: usize, input_estimate: u64) -> Self {
        let framing = match wire {
            Wire::Ollama => Framing::Lines,
            _ => Framing::Events,
        };
        let state = match wire {
            Wire::Anthropic => State::Anthropic(anthropic::Stream::default()),
            Wire::OpenaiChat => State::OpenaiChat(openai_chat::Stream::default()),
            Wire::OpenaiResponses => State::OpenaiResponses(openai_responses::Stream::default()),
            Wire::Gemini => State::Gemini,
            Wire::Ollama => State::Ollama(ollama::Stream::default()),
        };
        Self {
            source: source.to_owned(),
            lines: Lines::new(framing),
            draft: Draft::new(serial, input_estimate),
            state,
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// When they make no sense, pass a limit, or say that the provider failed. Nothing more is to be
    /// pushed then.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        let events = self.lines.push(bytes).map_err(|fault| malformed(&fault))?;
        for event in events {
            self.take(&event)?;
        }
        Ok(())
    }

    fn take(&mut self, event: &str) -> Result<(), ModelError> {
        if self.draft.over == Over::Said {
            return Ok(());
        }
        let draft = &mut self.draft;
        let taken = match &mut self.state {
            State::Anthropic(stream) => stream.take(draft, event),
            State::OpenaiChat(stream) => stream.take(draft, event),
            State::OpenaiResponses(stream) => stream.take(draft, event),
            State::Gemini => gemini::take(draft, event),
            State::Ollama(stream) => stream.take(draft, event),
        };
        taken.map_err(|fault| self.error(fault))
    }

    fn error(&self, fault: Fault) -> ModelError {
        match fault {
            Fault::Malformed(reason) => ModelError::Malformed { reason },
            Fault::Declined(reason) => ModelError::Refused { reason },
            // Before the first word it is as if the provider couldn't be reached.
            Fault::Failed(reason) if self.draft.is_empty() => ModelError::Unavailable { reason },
            Fault::Failed(reason) => ModelError::Cut {
                reason,
                usage: self.draft.usage(),
            },
        }
    }

    /// What was used so far: reported where it is, estimated where it isn't.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.draft.usage()
    }

    /// The text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        self.draft.text()
    }

    /// Whether the answer is whole, so that nothing more needs to be read.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.draft.over == Over::Said
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// [`ModelError::Cut`] where the answer hadn't.
    pub fn finish(mut self) -> Result<Turn, ModelError> {
        if let Some(event) = self.lines.end().map_err(|fault| malformed(&fault))? {
            self.take(&event)?;
        }
        // Some providers have no other end than a reason to stop, and then the end of the stream.
        let says_nothing_more = match &self.state {
            State::OpenaiChat(_) | State::Gemini => true,
            State::Anthropic(_) | State::OpenaiResponses(_) | State::Ollama(_) => false,
        };
        if says_nothing_more && self.draft.stop.is_some() {
            self.draft.over = Over::Said;
        }
        self.draft.finish(&self.source)
    }
}

fn malformed(fault: &super::lines::LineFault) -> ModelError {
    ModelError::Malformed {
        reason: fault.to_string(),
    }
}
