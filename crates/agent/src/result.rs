//! The result of a run (D2): one typed object, whoever reads it.

use deputize_authority::{Budget, Dimension, Untrusted};
use deputize_ledger::Receipt;
use deputize_model::ModelLabel;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It did what was asked.
    Ok,
    /// It couldn't do it because something was refused.
    Blocked,
    /// It failed.
    Error,
    /// Its budget was used up; what it had is in the result.
    BudgetExhausted,
    /// It was stopped.
    Cancelled,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 5] = [
        Self::Ok,
        Self::Blocked,
        Self::Error,
        Self::BudgetExhausted,
        Self::Cancelled,
    ];

    /// The name as JSON and people spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Blocked => "blocked",
            Self::Error => "error",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Cancelled => "cancelled",
        }
    }

    /// The exit code of a program whose run ended so: 0 `ok`, 1 `error`, 3 `blocked`,
    /// 4 `budget_exhausted`, 130 `cancelled`. (2 is a request that was refused: no run at all.)
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Error => 1,
            Self::Blocked => 3,
            Self::BudgetExhausted => 4,
            Self::Cancelled => 130,
        }
    }
}

/// What a run hands back.
///
/// # Trust
/// `summary`, `answer` and every `note` and `quote` are the child's text, a check's `output` is its
/// command's: data, capped, to be escaped when shown. `evidence` was looked up; `warnings`, `usage`, `changes`, `checks` and `receipt` are the
/// runtime's own words and observations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The run's id.
    pub run: String,
    /// How it ended.
    pub status: Status,
    /// The model, as it was chosen.
    pub model: String,
    /// What kind of thing that is.
    pub model_label: ModelLabel,
    /// What the child says.
    pub summary: Untrusted,
    /// The answer by the schema that was asked for; `None` where none was, or none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Places that bear it out, each looked up.
    pub evidence: Vec<Evidence>,
    /// What a reader should know before relying on it. Each begins with what it is about.
    pub warnings: Vec<String>,
    /// Present when something was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
    /// What was used.
    pub usage: Spent,
    /// Files that were changed, as observed.
    pub changes: Vec<Change>,
    /// Commands that the runtime ran to check the result.
    pub checks: Vec<Check>,
    /// Asked, granted, enforced by, used. The supervisor adds it.
    pub receipt: Option<Receipt>,
}

/// A place that bears out the summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The file, relative to the workspace.
    pub path: Untrusted,
    /// The line, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What it shows, in the child's words.
    pub note: Untrusted,
    /// Text that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Untrusted>,
}

/// What was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// What it comes to, in one sentence.
    pub reason: String,
    /// The refused calls, the first of them where there are many.
    pub details: Vec<Refused>,
}

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The number of the call in its run.
    pub call: u64,
    /// The tool, as the model named it.
    pub tool: Untrusted,
    /// The rule that refused it.
    pub rule: String,
    /// Why, and what to do instead.
    pub message: String,
}

/// What a run used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Model calls.
    pub turns: u64,
    /// Tool calls, refused ones included.
    pub tool_calls: u64,
    /// Tool calls that were refused.
    pub refused_calls: u64,
    /// Commands run.
    pub commands: u64,
    /// Input tokens that no cache served.
    pub input_tokens: u64,
    /// Input tokens that a cache served.
    pub cached_input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Millionths of a US dollar; `None` where no price is known.
    pub cost_micros: Option<u64>,
    /// Milliseconds, without the time that approvals waited.
    pub wall_ms: u64,
    /// Bytes of text that the child wrote.
    pub output_bytes: u64,
    /// Files changed.
    pub changed_files: u64,
    /// The dimension that was used up, if the run ended by that.
    pub exhausted: Option<Dimension>,
    /// The limits, as they stood at the end.
    pub limits: Budget,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The file, relative to the workspace.
    pub path: Untrusted,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Why it isn't applied with the others, where it isn't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_back: Option<String>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// It has other content or rights.
    Modified,
    /// It is gone.
    Deleted,
}

/// A command that the runtime ran to check the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The command, as it was given.
    pub command: String,
    /// How it went.
    pub outcome: CheckOutcome,
    /// The end of what it wrote, or why it could not be run.
    pub output: Untrusted,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It passed.
    Passed,
    /// It ended with that code.
    Failed(i32),
    /// It didn't end in time, or couldn't start.
    NotRun,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_own_code_and_two_is_none_of_them() {
        let codes: std::collections::BTreeSet<u8> =
            Status::ALL.into_iter().map(Status::exit_code).collect();
        assert_eq!(codes.into_iter().collect::<Vec<_>>(), [0, 1, 3, 4, 130]);
        for status in Status::ALL {
            let json = serde_json::to_string(&status).unwrap();
            assert_eq!(json, format!("\"{}\"", status.name()));
        }
    }
}
