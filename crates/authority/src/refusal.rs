//! The one shape of a refusal.

use serde::{Deserialize, Serialize};

/// Why a request was not granted, and what to do about it.
///
/// # Invariants
/// - `code` is stable: scripts match on it, and `docs/reference/refusals.md` lists it.
/// - A refused request changed nothing and lost nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {reason} ({field}); {fix}")]
pub struct Refusal {
    /// Stable snake_case identifier.
    pub code: String,
    /// The field of the request, or the resource, that was refused.
    pub field: String,
    /// What is wrong, in one sentence without a final stop.
    pub reason: String,
    /// What the person can do, in one sentence without a final stop.
    pub fix: String,
}

impl Refusal {
    /// Makes a refusal.
    pub fn new(
        code: &str,
        field: impl Into<String>,
        reason: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            code: code.to_owned(),
            field: field.into(),
            reason: reason.into(),
            fix: fix.into(),
        }
    }
}
