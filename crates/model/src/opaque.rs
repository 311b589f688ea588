//! What a model says to itself: thoughts with signatures, encrypted reasoning.

use serde::{Deserialize, Serialize};

/// Parts of a turn that only the model that made them can read, among those that anybody can.
///
/// A provider checks signatures over its blocks, so they go back byte for byte and in their place.
/// Another provider, or another model of the same one, never gets them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// Who made them: the model's full name.
    source: String,
    parts: Vec<Part>,
}

/// One part of a turn, in the order that the model said them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A block of the provider, as JSON text, to be sent back as it is.
    Raw(String),
    /// Text that anybody may read.
    Text(String),
    /// The call with this index among the turn's calls.
    Call(usize),
}

impl Opaque {
    /// What `source` said; `None` when nothing of it is opaque.
    #[must_use]
    pub fn new(source: &str, parts: Vec<Part>) -> Option<Self> {
        let raw = parts.iter().any(|part| matches!(part, Part::Raw(_)));
        raw.then(|| Self {
            source: source.to_owned(),
            parts,
        })
    }

    /// The parts, for the model that made them and for no other.
    #[must_use]
    pub fn for_source(&self, source: &str) -> Option<&[Part]> {
        (self.source == source).then_some(&*self.parts)
    }

    /// Bytes that it adds to a request.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let raw = |part: &Part| match part {
            Part::Raw(json) => json.len(),
            Part::Text(_) | Part::Call(_) => 0,
        };
        self.parts.iter().map(raw).sum()
    }
}
