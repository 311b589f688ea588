//! Where a run stands, for a status line (A4).

use std::fmt;

use deputize_authority::Dimension;
use serde::Serialize;

use super::{Phase, Purpose, Stage, State};
use crate::clock::Silence;
use crate::{Gauge, Millis};

/// What a run does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "doing", rename_all = "snake_case")]
pub enum Activity {
    /// It hasn't begun.
    Starting,
    /// The model is asked.
    Thinking,
    /// The gate is asked about a call.
    Deciding {
        /// The tool, as the model named it.
        tool: String,
    },
    /// A person is asked about a call.
    WaitingForApproval {
        /// The tool, as the model named it.
        tool: String,
    },
    /// A call runs.
    Running {
        /// The tool, as the model named it.
        tool: String,
    },
    /// The result is written without tools.
    Closing,
    /// The check runs.
    Proving,
    /// Evidence is looked up.
    Checking,
    /// It ended.
    Done,
}

/// Where a run stands. `Display` gives the counters as a status line shows them:
/// `turns 3/30 · calls 5/100 · $0.02/$0.50 · 12 s/600 s`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// What it does.
    pub activity: Activity,
    /// How much is used, in every dimension.
    pub gauges: Vec<Gauge>,
    /// Milliseconds since anything happened.
    pub silent_ms: u64,
    /// How quiet it is.
    pub silence: Silence,
}

impl State {
    /// Where the run stands at `now`.
    pub fn snapshot(&mut self, now: Millis) -> Snapshot {
        self.clock.advance(now);
        Snapshot {
            activity: self.activity(),
            gauges: Dimension::ALL
                .into_iter()
                .map(|dimension| self.gauge(dimension))
                .collect(),
            silent_ms: self.clock.silent_ms(),
            silence: self.clock.silence(),
        }
    }

    fn activity(&self) -> Activity {
        match &self.phase {
            Phase::New => Activity::Starting,
            Phase::Asking(asking) if asking.purpose == Purpose::Closing => Activity::Closing,
            Phase::Asking(_) => Activity::Thinking,
            Phase::Calling(calling) => match &calling.current {
                None => Activity::Thinking,
                Some(current) => {
                    let tool = current.tool.name.clone();
                    match current.stage {
                        Stage::Running => Activity::Running { tool },
                        Stage::Deciding if self.clock.is_waiting() => {
                            Activity::WaitingForApproval { tool }
                        }
                        Stage::Deciding => Activity::Deciding { tool },
                    }
                }
            },
            Phase::Proving(_) => Activity::Proving,
            Phase::Checking(_) => Activity::Checking,
            Phase::Done => Activity::Done,
        }
    }
}

/// Dimensions that are always worth their place in a status line.
const ALWAYS: [Dimension; 3] = [
    Dimension::Turns,
    Dimension::ToolCalls,
    Dimension::WallSeconds,
];

/// Dimensions that are shown where the run has them.
const IF_LIMITED: [Dimension; 4] = [
    Dimension::Commands,
    Dimension::CostMicros,
    Dimension::Tokens,
    Dimension::ChangedFiles,
];

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.gauges.iter().filter(|gauge| {
            ALWAYS.contains(&gauge.dimension)
                || (IF_LIMITED.contains(&gauge.dimension)
                    && gauge.limit.is_some_and(|limit| limit > 0))
        });
        for (index, gauge) in shown.enumerate() {
            if index > 0 {
                f.write_str(" · ")?;
            }
            write!(f, "{gauge}")?;
        }
        Ok(())
    }
}
