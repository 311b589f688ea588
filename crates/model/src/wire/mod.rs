//! What providers speak: from a request to bytes, and from bytes to a turn. No I/O.
//!
//! A body is built from typed fields alone, so nothing can ask for a provider's own tools (web search,
//! code execution, connectors, stored files and responses): there is no field for them (N3). An
//! answer is decoded as it comes ([`Decoder`]); whatever its chunks, the turn is the same.
//!
//! # Trust
//! Every byte that comes back is hostile. Lines, events, calls and the whole are bounded
//! ([`limits`]); an answer without its end is an error and never a turn.

mod anthropic;
mod decoder;
mod draft;
mod gemini;
pub mod limits;
mod lines;
mod ollama;
mod openai_chat;
mod openai_responses;
mod spelling;

use serde::{Deserialize, Serialize};

use crate::{ModelError, TurnRequest};

pub use decoder::Decoder;

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions, which many others speak too.
    OpenaiChat,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Google's Gemini.
    Gemini,
    /// Ollama's chat.
    Ollama,
}

/// How a key travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHeader {
    /// The header.
    pub name: &'static str,
    /// What stands before the key in it.
    pub prefix: &'static str,
}

impl Wire {
    /// Every wire.
    pub const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::Gemini,
        Self::Ollama,
    ];

    /// The name as configuration spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The only path that is asked for, below an endpoint's base, with its query; `None` for a model
    /// whose name can't stand in it.
    #[must_use]
    pub fn path(self, model: &str) -> Option<String> {
        Some(match self {
            Self::Anthropic => "/v1/messages".to_owned(),
            Self::OpenaiChat => "/chat/completions".to_owned(),
            Self::OpenaiResponses => "/responses".to_owned(),
            Self::Ollama => "/api/chat".to_owned(),
            Self::Gemini => {
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
                let named = model.bytes().all(plain) && !model.starts_with('.');
                named.then(|| format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"))?
            }
        })
    }

    /// The header that a key travels in.
    #[must_use]
    pub fn key_header(self) -> KeyHeader {
        let (name, prefix) = match self {
            Self::Anthropic => ("x-api-key", ""),
            Self::Gemini => ("x-goog-api-key", ""),
            Self::OpenaiChat | Self::OpenaiResponses | Self::Ollama => ("authorization", "Bearer "),
        };
        KeyHeader { name, prefix }
    }

    /// Headers beside the key's.
    #[must_use]
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            _ => &[],
        }
    }

    /// The body of a request. `source` is the full name of the model: what it said to itself in
    /// earlier turns goes back word for word, what another said does not.
    ///
    /// # Errors
    /// [`ModelError::Malformed`], when an earlier turn holds a block that this wire doesn't send.
    pub fn body(
        self,
        model: &str,
        source: &str,
        request: &TurnRequest,
    ) -> Result<Vec<u8>, ModelError> {
        match self {
            Self::Anthropic => anthropic::body(model, source, request),
            Self::OpenaiChat => openai_chat::body(model, source, request),
            Self::OpenaiResponses => openai_responses::body(model, source, request),
            Self::Gemini => gemini::body(model, source, request),
            Self::Ollama => ollama::body(model, source, request),
        }
    }
}

/// A block that somebody may have tampered with on its way back.
fn unsendable(wire: Wire) -> ModelError {
    ModelError::Malformed {
        reason: format!(
            "an earlier turn holds a block that {} doesn't send",
            wire.name()
        ),
    }
}

/// Serialises a body. Its parts are strings, numbers and checked JSON: it can't fail.
fn encode(wire: Wire, body: &impl Serialize) -> Result<Vec<u8>, ModelError> {
    serde_json::to_vec(body).map_err(|_| unsendable(wire))
}
