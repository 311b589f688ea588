//! What a face is told while a run goes on.

use deputize_authority::Level;
use serde::Serialize;

pub use deputize_agent::Snapshot;

/// Something to show. Foreign text in it is escaped already.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run began.
    Started {
        /// Its id.
        run: String,
        /// Its preset.
        preset: String,
        /// Its folder.
        workdir: String,
        /// The model that was chosen.
        model: String,
        /// What kind of thing that is, where it is no language model.
        label: Option<&'static str>,
    },
    /// The boundary stands.
    Boundary {
        /// Its level.
        level: Level,
        /// Why it is weaker than the strongest level, where it is.
        weaker: Option<String>,
    },
    /// A call was decided.
    Call {
        /// Its number.
        call: u64,
        /// The tool.
        tool: String,
        /// The arguments in a few words.
        preview: String,
        /// `allow`, `allow (contained)`, `ask` or `deny`.
        verdict: &'static str,
        /// The rule.
        rule: String,
    },
    /// Something that people should know.
    Notice {
        /// A stable code.
        code: String,
        /// What it is.
        message: String,
    },
    /// Where the run stands; comes often.
    Status(Snapshot),
    /// The run has ended, and nothing of it is left running. Told by whoever hosts it.
    Ended {
        /// `ok`, `blocked`, `error`, `budget_exhausted`, `cancelled`; `refused` when it never began.
        status: String,
    },
}
