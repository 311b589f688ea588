//! `subagent_status`: where runs stand, and results.

use std::time::Duration;

use deputize_authority::{Refusal, escape};
use deputize_runs::words::for_parent;
use deputize_runs::{RunState, StoredRun, StoredState};
use rmcp::model::CallToolResult;
use serde_json::json;

use super::{blocking, spawn};
use crate::answer;
use crate::input::StatusOf;
use crate::paths::{self, Named};
use crate::server::Server;

pub(super) async fn call(server: &Server, input: StatusOf) -> Result<CallToolResult, Refusal> {
    let most = server.settings.limits.wait;
    let wait = input.wait.map_or(Duration::ZERO, Duration::from_secs);
    let wait = wait.min(most);
    let Some(typed) = input.run else {
        let all = server.live.all();
        let note = match all.is_empty() {
            true => "No run was started in this server.\n",
            false => "",
        };
        return Ok(answer::runs(&all, note));
    };
    let named = paths::run(&server.live, &server.settings.look, &typed);
    match named.map_err(|error| error.refusal())? {
        Named::Live(run) => {
            let status = server.live.wait(&run, wait).await;
            let status = status.ok_or_else(|| paths::not_here(&typed))?;
            match server.groups.of(&run) {
                Some(chain) => Ok(spawn::told(server, &chain)),
                None => Ok(answer::run(&status)),
            }
        }
        Named::Stored(run) => blocking(move || stored(&run)).await?,
    }
}

/// A run of another process, from its folder.
fn stored(run: &StoredRun) -> Result<CallToolResult, Refusal> {
    let id = escape(run.id.as_str());
    match run.state().map_err(|error| error.refusal())? {
        StoredState::Ended(result) => {
            let object = answer::ended(&result);
            Ok(answer::told(for_parent(&result, None), object))
        }
        StoredState::Elsewhere => Ok(answer::told(
            format!("Run {id} goes on in another process; its result comes to its folder.\n"),
            json!({ "run": id, "state": RunState::Running, "elsewhere": true }),
        )),
        StoredState::HostLost => Ok(answer::told(
            format!("Run {id} has no result: the process that hosted it was lost.\n"),
            json!({ "run": id, "state": RunState::Ended, "host_lost": true }),
        )),
    }
}
