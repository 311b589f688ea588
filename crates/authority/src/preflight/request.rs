//! What is asked for, as it was typed.

use std::ffi::OsString;

use super::{CHECK_BYTES, FolderFact, PROMPT_BYTES};
use crate::{Dimension, Refusal, Untrusted};

/// A request for a child (D1), before anything was checked.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// The task, self-contained. Bytes, since a terminal or a pipe may hand over anything.
    pub prompt: Vec<u8>,
    /// The preset by name.
    pub preset: String,
    /// The agent definition by name.
    pub agent: Option<String>,
    /// `independent` or `fork`.
    pub context: Option<String>,
    /// The workspace mode by name.
    pub workspace: Option<String>,
    /// The command that must pass before the run is `ok`.
    pub check: Option<String>,
    /// Further readable roots.
    pub read: Vec<FolderFact>,
    /// Ports to publish to loopback outside.
    pub ports: Vec<u16>,
    /// Limits that a person typed; they replace the preset's. Never filled from a model's parameters.
    pub budget: Vec<(Dimension, u64)>,
}

/// A request to run one command that a person typed.
#[derive(Debug, Clone, Default)]
pub struct ExecRequest {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// Further readable roots.
    pub read: Vec<FolderFact>,
    /// Writable roots.
    pub write: Vec<FolderFact>,
    /// Names of variables to pass in.
    pub env: Vec<String>,
    /// Secret classes that may be read.
    pub secrets: Vec<String>,
    /// Ports inside to publish on the loopback outside.
    pub ports: Vec<u16>,
}

/// A check that passed: one command line, not empty, within the limit.
///
/// # Errors
/// `check_invalid`.
pub(super) fn check(command: &str) -> Result<(), Refusal> {
    let reason = if command.trim().is_empty() {
        "the check is empty".to_owned()
    } else if command.len() > CHECK_BYTES {
        format!("the check has more than {CHECK_BYTES} bytes")
    } else if command.contains('\0') {
        "the check contains a NUL".to_owned()
    } else {
        return Ok(());
    };
    Err(Refusal::new(
        "check_invalid",
        "check",
        reason,
        "give a shell command, as in `--check 'cargo test'`",
    ))
}

/// A task that passed: text, not empty, within the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt(Untrusted);

impl Prompt {
    /// Checks a task.
    ///
    /// # Errors
    /// `prompt_empty`, `prompt_too_large`, `prompt_not_utf8`.
    pub fn new(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.len() > PROMPT_BYTES {
            return Err(Refusal::new(
                "prompt_too_large",
                "prompt",
                format!(
                    "the prompt has {} bytes, more than {PROMPT_BYTES}",
                    bytes.len()
                ),
                "put the long text into a file in the workspace and name the file",
            ));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            Refusal::new(
                "prompt_not_utf8",
                "prompt",
                format!(
                    "the prompt is not UTF-8 from byte {} on",
                    error.valid_up_to()
                ),
                "convert it, for example with `iconv -t UTF-8`",
            )
        })?;
        if text.trim().is_empty() {
            return Err(Refusal::new(
                "prompt_empty",
                "prompt",
                "the prompt is empty",
                "say what to do, as in `deputize run \"Where are budget limits enforced?\"`",
            ));
        }
        Ok(Self(Untrusted::new(text)))
    }

    /// The task's text.
    #[must_use]
    pub fn text(&self) -> &Untrusted {
        &self.0
    }
}
