//! What the supervisor and the worker say to each other: one JSON frame each way.

use deputize_gate::{Call, Fact, Query, ReceiveError, Sealed};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::limits::{REQUEST_BYTES, REQUEST_ITEMS, RESPONSE_BYTES};
use crate::{Claim, ClaimCheck, ToolFailure, ToolOutput};

/// What the supervisor asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Look up what a verdict needs.
    Facts(Vec<Query>),
    /// Run a call that the gate allowed.
    Run(Box<Sealed<Call>>),
    /// Check the evidence of a result.
    Evidence(Vec<Claim>),
}

/// What the worker answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// A fact per question, in their order.
    Facts(Vec<Fact>),
    /// A tool's result.
    Output(ToolOutput),
    /// A check per claim, in their order.
    Evidence(Vec<ClaimCheck>),
    /// There is no result.
    Failed(ToolFailure),
}

/// Why bytes are no frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// They are too many.
    #[error("the frame has more than {limit} bytes")]
    TooLarge {
        /// How many are taken.
        limit: usize,
    },
    /// They don't have its shape.
    #[error("the frame can't be read")]
    Shape(#[source] serde_json::Error),
    /// The call in it isn't a sealed one.
    #[error("the call in the frame can't be read")]
    Call(#[source] ReceiveError),
    /// It asks too much at once.
    #[error("the frame has more than {REQUEST_ITEMS} items")]
    TooMany,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wire {
    Facts(Vec<Query>),
    Run(Box<RawValue>),
    Evidence(Vec<Claim>),
}

impl Request {
    /// The bytes of the frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let wire = match self {
            Self::Facts(queries) => Wire::Facts(queries.clone()),
            Self::Evidence(claims) => Wire::Evidence(claims.clone()),
            Self::Run(sealed) => {
                let text = String::from_utf8(sealed.encode()).unwrap_or_default();
                match RawValue::from_string(text) {
                    Ok(raw) => Wire::Run(raw),
                    // A sealed call encodes as JSON; were it not to, the empty frame is refused.
                    Err(_) => return Vec::new(),
                }
            }
        };
        // Only strings and numbers are in there: writing them can't fail, and the empty frame is
        // refused.
        serde_json::to_vec(&wire).unwrap_or_default()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        if bytes.len() > REQUEST_BYTES {
            return Err(FrameError::TooLarge {
                limit: REQUEST_BYTES,
            });
        }
        let request = match serde_json::from_slice(bytes).map_err(FrameError::Shape)? {
            Wire::Facts(queries) => Self::Facts(queries),
            Wire::Evidence(claims) => Self::Evidence(claims),
            Wire::Run(raw) => {
                let sealed = Sealed::received(raw.get().as_bytes()).map_err(FrameError::Call)?;
                Self::Run(Box::new(sealed))
            }
        };
        let items = match &request {
            Self::Facts(queries) => queries.len(),
            Self::Evidence(claims) => claims.len(),
            Self::Run(_) => 1,
        };
        if items > REQUEST_ITEMS {
            return Err(FrameError::TooMany);
        }
        Ok(request)
    }
}

impl Response {
    pub(crate) fn encode(&self) -> Vec<u8> {
        // As above: this can't fail, and the other side refuses an empty frame.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Takes back what the worker answered. The worker holds a model's bytes, so the frame is
    /// bounded before it is read.
    ///
    /// # Errors
    /// When the frame is too large or isn't a response.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        if bytes.len() > RESPONSE_BYTES {
            return Err(FrameError::TooLarge {
                limit: RESPONSE_BYTES,
            });
        }
        serde_json::from_slice(bytes).map_err(FrameError::Shape)
    }
}
