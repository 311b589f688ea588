//! `subagent_discard`: a run's copy is thrown away. What isn't applied would be lost, so a person is
//! asked.

use deputize_authority::{Refusal, Scope};
use deputize_runs::words::{diff_listed, diff_sums};
use deputize_runs::{CopyState, Look, RunError, discard};
use rmcp::model::CallToolResult;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;

use super::blocking;
use crate::answer::{self, told};
use crate::input::Discard;
use crate::paths::stored;
use crate::question::{Answer, Question};
use crate::server::Server;

/// Columns of a list on a card.
const WIDTH: usize = 100;

pub(super) async fn call(
    server: &Server,
    input: Discard,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Refusal> {
    let look = server.settings.look.clone();
    let typed = input.run.clone();
    let lost = match blocking(move || lost(&look, &typed)).await? {
        Ok(lost) => lost,
        Err(error) => return Ok(answer::failed(&error)),
    };
    if let Some(question) = lost {
        match server.ask(context, &question).await {
            Answer::Yes(_) => {}
            other => return Err(server.no_yes(&other, "discard", "the copy is as it was")),
        }
    }
    let look = server.settings.look.clone();
    let gone = blocking(move || throw(&look, &input.run)).await?;
    Ok(gone.unwrap_or_else(|error| answer::failed(&error)))
}

/// The question about what would be lost; `None` where that is nothing.
fn lost(look: &Look, typed: &str) -> Result<Option<Question>, RunError> {
    let (_, run) = stored(look, typed)?;
    let id = run.id.clone();
    let question = |held: String| {
        Some(Question {
            kind: "discard",
            run: id.to_string(),
            yes: format!("Your yes throws the copy of run {id} away, with what isn't applied."),
            card: format!(
                "A child's copy is to be thrown away, with what isn't applied.\n\n  run    \
                 {id}\n\n{held}\nThrow it away?"
            ),
            scopes: &[Scope::Once],
        })
    };
    let mut copy = match run.copy() {
        Ok(copy) => copy,
        // Nobody can tell what one holds whose records can't be read.
        Err(RunError::Copy(error)) => return Ok(question(format!("{}\n", error.refusal().reason))),
        Err(error) => return Err(error),
    };
    let applied = matches!(copy.state(), Ok(CopyState::Applied));
    let manifest = match copy.changes() {
        Ok(manifest) => manifest,
        Err(error) => {
            let reason = RunError::from(error).refusal().reason;
            return Ok(question(format!("{reason}\n")));
        }
    };
    if manifest.changes.is_empty() {
        return Ok(None);
    }
    let undo = match applied {
        true => "What was applied stays, and can't be undone any more.\n",
        false => "",
    };
    Ok(question(format!(
        "{}{}\n{undo}",
        diff_listed(&manifest, WIDTH),
        diff_sums(&manifest)
    )))
}

fn throw(look: &Look, typed: &str) -> Result<CallToolResult, RunError> {
    let (store, run) = stored(look, typed)?;
    let id = run.id.clone();
    discard(&store, run)?;
    Ok(told(
        format!("The copy of run {id} is gone.\n"),
        json!({ "status": "discarded", "run": id }),
    ))
}
