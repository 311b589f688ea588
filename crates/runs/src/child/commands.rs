//! A child's calls that start a program: from the sealed start to what the child is told.

use std::time::{Duration, Instant};

use deputize_agent::{CheckOutcome, Finished};
use deputize_authority::{Untrusted, escape};
use deputize_boundary::plan::Sealed as Place;
use deputize_boundary::{CommandEnd, CommandSpec};
use deputize_gate::{Identity, Start};
use deputize_model::ToolUse;
use serde_json::json;

use super::hosted::Hosted;
use super::toolbox::{Ran, Toolbox, lost};
use crate::RunError;
use crate::capture::{Captured, Cut};
use crate::clock::millis;

/// How long a command may take whose call sets no time.
const TIMEOUT: Duration = Duration::from_secs(120);
/// How long a check may take: a whole test suite, from cold. Its time counts on the run's wall clock.
const CHECK_SECONDS: u64 = 600;

/// What came of a check.
pub(super) struct CheckRan {
    pub(super) outcome: CheckOutcome,
    pub(super) output: Untrusted,
    pub(super) ms: u64,
}

impl Toolbox {
    /// Runs a sealed start.
    pub(super) async fn command(
        &self,
        hosted: &Hosted,
        start: &Start<'_>,
    ) -> Result<Captured, RunError> {
        let place = |identity: &Identity| Place {
            path: identity.canonical.clone(),
            device: identity.device,
            inode: identity.inode,
        };
        let program = start.program.map(place);
        let spec = CommandSpec::new(&start.argv, place(start.cwd), program, start.env.clone());
        let timeout = start.timeout.unwrap_or(TIMEOUT);
        let writes = !self.grant.bounds().write.is_none();
        let disk = writes.then(|| self.run.clone());
        hosted
            .command(spec, timeout, disk)
            .await
            .map_err(|error| lost(&error))
    }

    /// Runs the check: as a command of the child would, through the same gate.
    pub(super) async fn run_check(&self, command: String) -> CheckRan {
        let begun = Instant::now();
        let not_run = |why: String| CheckRan {
            outcome: CheckOutcome::NotRun,
            output: Untrusted::new(why),
            ms: millis(begun),
        };
        let tool = ToolUse {
            id: "check".to_owned(),
            name: "bash".to_owned(),
            arguments: json!({ "command": command, "timeout_seconds": CHECK_SECONDS }),
        };
        // What the child left beside its work must not decide about it.
        let hosted = match self.footing.renew().await {
            Ok(hosted) => hosted,
            Err(error) => return not_run(error.refusal().reason),
        };
        let decided = match self.decide(&tool, None).await {
            Ok(decided) => decided,
            Err(error) => return not_run(error.refusal().reason),
        };
        let Some(sealed) = decided.sealed else {
            return not_run(decided.reason);
        };
        let Some(start) = sealed.start() else {
            return not_run("the gate sealed another call".to_owned());
        };
        match self.command(&hosted, &start).await {
            Ok(captured) => CheckRan {
                outcome: checked(&captured),
                output: Untrusted::new(told(&captured, start.timeout).0),
                ms: millis(begun),
            },
            Err(error) => not_run(error.refusal().reason),
        }
    }
}

fn checked(captured: &Captured) -> CheckOutcome {
    match (&captured.end, captured.cut) {
        (CommandEnd::Exited(0), None) => CheckOutcome::Passed,
        (CommandEnd::Exited(code), None) => CheckOutcome::Failed(*code),
        (CommandEnd::Signalled(number), None) => CheckOutcome::Failed(128 + number),
        _ => CheckOutcome::NotRun,
    }
}

impl Ran {
    /// What a child is told about a command: its output, and how it ended.
    pub(super) fn of_command(captured: &Captured, timeout: Option<Duration>) -> Self {
        let (text, code) = told(captured, timeout);
        // A command that says no has run: a failing test is an answer.
        let finished = match (&captured.end, captured.cut) {
            (CommandEnd::Exited(_), None) => Finished::Answered,
            _ => Finished::Failed,
        };
        let mut ran = Self::new(finished, &code, text);
        ran.bytes = captured.output.bytes();
        ran
    }
}

/// The text and the code of an end.
fn told(captured: &Captured, timeout: Option<Duration>) -> (String, String) {
    let seconds = timeout.unwrap_or(TIMEOUT).as_secs();
    let (code, line) = match (captured.cut, &captured.end) {
        (Some(Cut::TimedOut), _) => (
            "timed_out".to_owned(),
            format!("it was ended after {seconds} s; everything that it had started is gone"),
        ),
        (Some(Cut::DiskFull), _) => (
            "disk_full".to_owned(),
            "it was ended: the disk that the copy lies on was nearly full; delete what isn't needed"
                .to_owned(),
        ),
        (Some(Cut::Stopped), _) => ("stopped".to_owned(), "it was stopped".to_owned()),
        (None, CommandEnd::Exited(0)) => ("ok".to_owned(), "exit 0".to_owned()),
        (None, CommandEnd::Exited(code)) => (format!("exit_{code}"), format!("exit {code}")),
        (None, CommandEnd::Signalled(number)) => (
            format!("signal_{number}"),
            format!("signal {number} ended it"),
        ),
        (None, CommandEnd::OutOfMemory(bytes)) => (
            "out_of_memory".to_owned(),
            format!(
                "it was ended: it held {} MiB of memory, more than its limit",
                bytes >> 20
            ),
        ),
        (None, CommandEnd::Uncovered) => (
            "uncovered".to_owned(),
            "it was ended: a file that is covered for it was replaced outside".to_owned(),
        ),
        (None, CommandEnd::NotFound) => (
            "not_found".to_owned(),
            "there is no such program".to_owned(),
        ),
        (None, CommandEnd::NotExecutable(errno)) => (
            "not_executable".to_owned(),
            format!(
                "it can't be executed: {}",
                std::io::Error::from_raw_os_error(*errno)
            ),
        ),
        (None, CommandEnd::NotStarted { detail, .. }) => (
            "not_started".to_owned(),
            format!("it was not started: {}", escape(detail)),
        ),
    };
    let output = captured.output.text();
    let separator = if output.is_empty() || output.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    (format!("{output}{separator}[{line}]"), code)
}
