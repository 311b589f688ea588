//! What went wrong, for people and for scripts, and the exit code that says so.

use std::process::ExitCode;

use deputize_authority::Refusal;
use deputize_runs::RunError;
use serde_json::json;

use crate::output::{error_line, print_json};

/// A request that was refused, or couldn't be understood.
pub(crate) const REFUSED: u8 = 2;
/// A failure of our own.
pub(crate) const FAILED: u8 = 1;

/// How failures are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// In words, on standard error.
    Words,
    /// As one JSON object on standard output.
    Json,
}

impl Voice {
    pub(crate) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Words }
    }
}

/// Tells a failure; the code is 2 for what was refused and 1 for what broke.
pub(crate) fn tell(error: &RunError, voice: Voice) -> ExitCode {
    let code = if matches!(error, RunError::Refused(_) | RunError::Lookup(_)) {
        REFUSED
    } else {
        FAILED
    };
    tell_refusal(&error.refusal(), voice);
    ExitCode::from(code)
}

/// Tells a refusal.
pub(crate) fn tell_refusal(refusal: &Refusal, voice: Voice) {
    match voice {
        Voice::Words => {
            error_line(&format!(
                "deputize: {} [{}, {}]",
                refusal.reason, refusal.code, refusal.field
            ));
            error_line(&format!("  fix: {}", refusal.fix));
        }
        Voice::Json => {
            let object = json!({ "status": "refused", "error": refusal });
            print_json(&object);
        }
    }
}

/// A refusal of something on the command line.
pub(crate) fn usage(field: &str, reason: String, fix: &str) -> RunError {
    RunError::Refused(Refusal::new("usage", field, reason, fix))
}
