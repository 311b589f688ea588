//! `subagent_apply`: a person takes over exactly the manifest that is named (C2).

use deputize_authority::{Channel, Refusal, Scope, escape};
use deputize_runs::words::{cut, diff_exceptions, diff_listed, diff_sums};
use deputize_runs::{ApplyRequest, Conflicts, Look, Plan, RunError, TakenCopy};
use rmcp::model::CallToolResult;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;

use super::blocking;
use crate::answer::told;
use crate::input::Apply;
use crate::paths::stored;
use crate::question::{Answer, Question};
use crate::server::Server;

/// Characters of the paths in the line that says what a yes does: the card below has them in full.
const YES: usize = 200;

/// Columns of a list on a card.
const WIDTH: usize = 100;

pub(super) async fn call(
    server: &Server,
    input: Apply,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Refusal> {
    let look = server.settings.look.clone();
    let (taken, plan) = match blocking(move || plan(&look, input)).await? {
        Ok(planned) => planned,
        Err(error) => return Err(in_own_words(error.refusal())),
    };
    let by = match plan.steps() {
        // There is nothing to ask about; what is done already is said.
        0 => None,
        _ => match server.ask(context, &question(&taken, &plan)).await {
            Answer::Yes(by) => Some(by),
            other => return Err(server.no_yes(&other, "apply", "nothing was applied")),
        },
    };
    let done = blocking(move || carry(taken, &plan, by.as_ref())).await?;
    done.map_err(|error| in_own_words(error.refusal()))
}

/// The refusal with a fix that the one who called can follow.
fn in_own_words(mut refusal: Refusal) -> Refusal {
    if refusal.code == "manifest_changed" {
        refusal.fix = "look at `subagent_diff` again: it names the manifest".into();
    }
    refusal
}

/// Takes the copy and plans. Conflicts are refused before anybody is asked.
fn plan(look: &Look, input: Apply) -> Result<(TakenCopy, Plan), RunError> {
    let (store, run) = stored(look, &input.run)?;
    let (mut taken, _) = TakenCopy::take(&store, run)?;
    let plan = taken.plan_apply(&ApplyRequest {
        manifest: Some(input.manifest),
        include: Vec::new(),
    })?;
    if !plan.conflicts.is_empty() {
        // It says so in its own words, and touches nothing.
        taken.carry_out(&plan, Conflicts::Refuse)?;
    }
    Ok((taken, plan))
}

fn question(taken: &TakenCopy, plan: &Plan) -> Question {
    let base = taken.copy().record().base.path.to_string_lossy();
    let paths = match plan.steps() {
        1 => "1 path".to_owned(),
        count => format!("{count} paths"),
    };
    let names: Vec<String> = plan
        .manifest
        .changes
        .iter()
        .take(YES)
        .map(|change| change.path.shown())
        .collect();
    Question {
        kind: "apply",
        run: taken.run().id.to_string(),
        yes: format!(
            "Your yes puts a child's changes into `{}`: {paths}, {}",
            escape(&base),
            cut(&names.join(", "), YES)
        ),
        card: format!(
            "A child's changes need your yes before they come to your folder.\n\n  run    {}\n  \
             folder {}\n\n{}{}{}\nmanifest {}\n\nApply {paths}?",
            taken.run().id,
            escape(&base),
            diff_listed(&plan.manifest, WIDTH),
            diff_exceptions(&plan.manifest, &plan.conflicts, WIDTH),
            diff_sums(&plan.manifest),
            plan.manifest.digest,
        ),
        scopes: &[Scope::Once],
    }
}

fn carry(
    mut taken: TakenCopy,
    plan: &Plan,
    by: Option<&Channel>,
) -> Result<CallToolResult, RunError> {
    if let Some(by) = by {
        taken.approved("apply", by)?;
    }
    let outcome = taken.carry_out(plan, Conflicts::Refuse)?;
    let run = taken.run().id.clone();
    let what = match (outcome.done, outcome.already) {
        (0, 0) => "There is nothing to apply.".to_owned(),
        (0, _) => "Everything is applied already.".to_owned(),
        (1, _) => "Applied 1 path.".to_owned(),
        (count, _) => format!("Applied {count} paths."),
    };
    let text = format!(
        "{what}\n{}A person takes it back with `deputize undo {}`.\n",
        diff_exceptions(&plan.manifest, &plan.conflicts, usize::MAX),
        run.short()
    );
    let object = json!({
        "status": "applied",
        "run": run,
        "manifest": plan.manifest.digest,
        "done": outcome.done,
        "already": outcome.already,
        "kept": plan.kept,
    });
    Ok(told(text, object))
}
