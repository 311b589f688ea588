//! The tools, one a file.

mod apply;
mod diff;
mod discard;
mod extend;
mod group;
mod spawn;
mod status;
mod steer;
mod stop;

use deputize_authority::{Refusal, escape};
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use rmcp::service::RoleServer;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer::refused;
use crate::server::Server;
use crate::{input, schema};

pub(crate) use group::Groups;

/// What happens to the world by a tool, as hints for a client.
#[derive(Clone, Copy)]
enum Touches {
    /// Nothing.
    Nothing,
    /// A run.
    Runs,
    /// The person's files, or what can't be had back.
    Files,
}

/// Every tool, with its schema.
pub(crate) fn all() -> Vec<Tool> {
    vec![
        tool::<input::Subagent>("subagent", Touches::Runs),
        tool::<input::StatusOf>("subagent_status", Touches::Nothing),
        tool::<input::Steer>("subagent_steer", Touches::Runs),
        tool::<input::Stop>("subagent_stop", Touches::Runs),
        tool::<input::Extend>("subagent_extend", Touches::Runs),
        tool::<input::Diff>("subagent_diff", Touches::Nothing),
        tool::<input::Apply>("subagent_apply", Touches::Files),
        tool::<input::Discard>("subagent_discard", Touches::Files),
    ]
}

fn tool<T: JsonSchema>(name: &'static str, touches: Touches) -> Tool {
    let mut schema = schema::of::<T>();
    let description = match schema.remove("description") {
        Some(Value::String(text)) => text.replace('\n', " "),
        _ => String::new(),
    };
    let hints = ToolAnnotations::new()
        .read_only(matches!(touches, Touches::Nothing))
        .destructive(matches!(touches, Touches::Files))
        .open_world(false);
    Tool::new(name, description, schema).with_annotations(hints)
}

/// Calls a tool; `None` where there is no such tool.
pub(crate) async fn call(
    server: &Server,
    name: &str,
    arguments: JsonObject,
    context: &RequestContext<RoleServer>,
) -> Option<CallToolResult> {
    let answer = match name {
        "subagent" => match read(arguments) {
            Ok(input) => spawn::call(server, input, context).await,
            Err(refusal) => Err(refusal),
        },
        "subagent_status" => match read(arguments) {
            Ok(input) => status::call(server, input).await,
            Err(refusal) => Err(refusal),
        },
        "subagent_steer" => match read(arguments) {
            Ok(input) => steer::call(server, input).await,
            Err(refusal) => Err(refusal),
        },
        "subagent_stop" => match read(arguments) {
            Ok(input) => stop::call(server, input).await,
            Err(refusal) => Err(refusal),
        },
        "subagent_extend" => match read(arguments) {
            Ok(input) => extend::call(server, input, context).await,
            Err(refusal) => Err(refusal),
        },
        "subagent_diff" => match read(arguments) {
            Ok(input) => diff::call(server, input).await,
            Err(refusal) => Err(refusal),
        },
        "subagent_apply" => match read(arguments) {
            Ok(input) => apply::call(server, input, context).await,
            Err(refusal) => Err(refusal),
        },
        "subagent_discard" => match read(arguments) {
            Ok(input) => discard::call(server, input, context).await,
            Err(refusal) => Err(refusal),
        },
        _ => return None,
    };
    Some(answer.unwrap_or_else(|refusal| refused(&refusal)))
}

fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        Refusal::new(
            "arguments_invalid",
            "arguments",
            escape(&error.to_string()),
            "call the tool as its schema says; what a person allows stands in no argument",
        )
    })
}

/// Runs what blocks on a thread for that.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        Refusal::new(
            "server_failed",
            "server",
            "the server failed on this call",
            "try it again, and report what you called",
        )
    })
}
