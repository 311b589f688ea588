//! The form of a script.

use serde::Deserialize;
use serde_json::Value;

use crate::{ModelError, Price, Stop, Usage};

/// The largest script: room for a turn that returns a megabyte of hostile text several times over.
pub const MAX_SCRIPT_BYTES: u64 = 8 << 20;

/// The longest that a turn may take: a script that never answers is tested with a budget, not with
/// days.
const MAX_DELAY_MS: u64 = 3_600_000;

/// A checked script.
///
/// ```json
/// {
///   "repeat_last": false,
///   "price": {"input": 3000000, "cached_input": 300000, "output": 15000000},
///   "turns": [
///     {"calls": [{"name": "read", "arguments": {"path": "a.rs"}, "id": "optional"}]},
///     {"expect": {"contains": ["fn main"], "lacks": ["secret"]},
///      "text": "the last words",
///      "usage": {"input_tokens": 10, "cached_input_tokens": 0, "output_tokens": 5},
///      "delay_ms": 20, "stop": "finished"},
///     {"error": {"code": "unavailable", "message": "try later"}}
///   ]
/// }
/// ```
///
/// Every key but `turns` can be left out; an unknown one is an error, so that a misspelt
/// expectation can't pass unseen. `expect` looks at the tool results since the turn before: each
/// `contains` must stand in one of them, each `lacks` in none. `error.code` is `unavailable`,
/// `refused`, `malformed` or `cut`. Without `repeat_last`, a turn beyond the last is an error.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    pub(crate) turns: Vec<ScriptedTurn>,
    #[serde(default)]
    pub(crate) repeat_last: bool,
    #[serde(default)]
    pub(crate) price: Option<Price>,
}

/// One turn of a script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedTurn {
    #[serde(default)]
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) calls: Vec<ScriptedCall>,
    #[serde(default)]
    pub(crate) usage: Usage,
    #[serde(default)]
    pub(crate) delay_ms: u64,
    #[serde(default)]
    pub(crate) stop: Option<Stop>,
    #[serde(default)]
    pub(crate) expect: Expect,
    #[serde(default)]
    pub(crate) error: Option<ScriptedError>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedCall {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: Value,
    #[serde(default)]
    pub(crate) id: Option<String>,
}

/// What the tool results before a turn must and must not hold.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    #[serde(default)]
    pub(crate) contains: Vec<String>,
    #[serde(default)]
    pub(crate) lacks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedError {
    code: ErrorCode,
    #[serde(default)]
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ErrorCode {
    Unavailable,
    Refused,
    Malformed,
    Cut,
}

impl From<&ScriptedError> for ModelError {
    fn from(error: &ScriptedError) -> Self {
        let reason = error.message.clone();
        match error.code {
            ErrorCode::Unavailable => Self::Unavailable { reason },
            ErrorCode::Refused => Self::Refused { reason },
            ErrorCode::Malformed => Self::Malformed { reason },
            ErrorCode::Cut => Self::Cut {
                reason,
                usage: Usage::NONE,
            },
        }
    }
}

/// Why a document is no script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It is larger than [`MAX_SCRIPT_BYTES`].
    #[error("it is larger than {MAX_SCRIPT_BYTES} bytes")]
    TooLarge,
    /// It is not JSON of the right form; the error has line and column.
    #[error("{0}")]
    Form(#[from] serde_json::Error),
    /// It is JSON of something else. Nothing of it is said: whoever names a file needn't be allowed to read it.
    #[error("it is no script: one is an object with `turns`")]
    Other,
    /// It has no turn.
    #[error("it has no turns")]
    NoTurns,
    /// A turn has nothing at all. An empty answer is written as `"stop": "finished"`.
    #[error("turn {0} says nothing: give it text, calls, an error or a stop")]
    EmptyTurn(usize),
    /// A turn that fails says something too.
    #[error("turn {0} has an error besides text or calls")]
    ErrorAndWords(usize),
    /// A turn takes longer than an hour.
    #[error("turn {0} waits for more than {MAX_DELAY_MS} ms")]
    TooSlow(usize),
}

impl Script {
    /// Parses and checks a script.
    ///
    /// # Errors
    /// See [`ScriptError`]; turns are counted from 1.
    pub fn parse(bytes: &[u8]) -> Result<Self, ScriptError> {
        if bytes.len() as u64 > MAX_SCRIPT_BYTES {
            return Err(ScriptError::TooLarge);
        }
        if let Ok(document) = serde_json::from_slice::<Value>(bytes)
            && document.get("turns").is_none()
        {
            return Err(ScriptError::Other);
        }
        let script: Self = serde_json::from_slice(bytes)?;
        if script.turns.is_empty() {
            return Err(ScriptError::NoTurns);
        }
        for (number, turn) in (1..).zip(&script.turns) {
            let speaks = !turn.text.is_empty() || !turn.calls.is_empty();
            match (speaks, &turn.error) {
                (false, None) if turn.stop.is_none() => return Err(ScriptError::EmptyTurn(number)),
                (true, Some(_)) => return Err(ScriptError::ErrorAndWords(number)),
                _ => {}
            }
            if turn.delay_ms > MAX_DELAY_MS {
                return Err(ScriptError::TooSlow(number));
            }
        }
        Ok(script)
    }
}
