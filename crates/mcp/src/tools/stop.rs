//! `subagent_stop`: a run ends, with the result that it has.

use deputize_authority::Refusal;
use deputize_runs::CancelReason;
use rmcp::model::CallToolResult;

use crate::answer;
use crate::input::Stop;
use crate::paths;
use crate::server::Server;

pub(super) async fn call(server: &Server, input: Stop) -> Result<CallToolResult, Refusal> {
    let run = server
        .live
        .find(&input.run)
        .ok_or_else(|| paths::not_here(&input.run))?;
    let status = server.live.stop(&run, CancelReason::Person).await;
    let status = status.ok_or_else(|| paths::not_here(&input.run))?;
    Ok(answer::run(&status))
}
