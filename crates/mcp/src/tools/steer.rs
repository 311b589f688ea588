//! `subagent_steer`: something is added to a run's task.

use deputize_authority::Refusal;
use deputize_runs::{MAX_STEER_BYTES, MAX_STEERS, Said};
use rmcp::model::CallToolResult;
use serde_json::json;

use crate::answer;
use crate::input::Steer;
use crate::paths;
use crate::server::Server;

pub(super) async fn call(server: &Server, input: Steer) -> Result<CallToolResult, Refusal> {
    let run = server
        .live
        .find(&input.run)
        .ok_or_else(|| paths::not_here(&input.run))?;
    let refused = |code, reason: String, fix| Err(Refusal::new(code, "message", reason, fix));
    match server.live.steer(&run, input.message).await {
        Said::Taken => Ok(answer::told(
            format!("Run {run} will hear it at its next turn.\n"),
            json!({ "run": run, "queued": true }),
        )),
        Said::TooLate => refused(
            "steer_too_late",
            "the run has not begun, or makes its result already".to_owned(),
            "look at it with `subagent_status`; begin another run for what is left to do",
        ),
        Said::Full => refused(
            "steer_full",
            format!("{MAX_STEERS} messages wait for its next turn already"),
            "wait until it has heard them",
        ),
        Said::Invalid => refused(
            "steer_invalid",
            format!("the message is empty or has more than {MAX_STEER_BYTES} bytes"),
            "say it in fewer words, or put the long text into a file in its folder",
        ),
    }
}
