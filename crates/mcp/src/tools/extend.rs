//! `subagent_extend`: a person is asked to give a run more (D4, D5).

use deputize_authority::{Budget, Dimension, Refusal, Scope};
use deputize_runs::Said;
use rmcp::model::CallToolResult;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;

use crate::answer;
use crate::input::Extend;
use crate::paths;
use crate::question::{Answer, Question};
use crate::server::Server;

pub(super) async fn call(
    server: &Server,
    input: Extend,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Refusal> {
    let run = server
        .live
        .find(&input.run)
        .ok_or_else(|| paths::not_here(&input.run))?;
    let status = server.live.status(&run);
    let status = status.ok_or_else(|| paths::not_here(&input.run))?;
    let asked = [
        (Dimension::Turns, input.turns),
        (Dimension::ToolCalls, input.tool_calls),
        (Dimension::Commands, input.commands),
        (Dimension::Tokens, input.tokens),
        (Dimension::CostMicros, input.cost_micros),
        (Dimension::WallSeconds, input.wall_seconds),
    ];
    let mut more = Budget::UNLIMITED;
    let mut rows = String::new();
    for (dimension, amount) in asked {
        let Some(amount) = amount.filter(|amount| *amount > 0) else {
            continue;
        };
        more = more.with(dimension, Some(amount));
        let now = status.now.iter().flat_map(|now| &now.gauges);
        let gauge = now
            .filter(|gauge| gauge.dimension == dimension)
            .map(|gauge| format!(" (now {gauge})"))
            .next()
            .unwrap_or_default();
        rows.push_str(&format!("  {dimension} +{amount}{gauge}\n"));
    }
    if rows.is_empty() {
        return Err(Refusal::new(
            "arguments_invalid",
            "turns",
            "no limit is named",
            "say how much more of what it is to have",
        ));
    }
    let question = Question {
        kind: "extend",
        run: run.to_string(),
        yes: format!(
            "Your yes gives a running child more than its budget: {}.",
            rows.trim().replace("\n ", ",")
        ),
        card: format!(
            "A running child needs your yes to get more than its budget.\n\n  run    {run}\n  task   \
             {}\n  folder {}\n\n{rows}\nGive it that?",
            status.about.task, status.about.workdir
        ),
        scopes: &[Scope::Once],
    };
    let put = server.ask(context, &question).await;
    let by = match put {
        Answer::Yes(by) => by,
        other => return Err(server.no_yes(&other, "extend", "the budget is as it was")),
    };
    match server.live.extend(&run, more, &by) {
        Said::Taken => Ok(answer::told(
            format!("Run {run} was given more.\n"),
            json!({ "run": run, "extended": true }),
        )),
        _ => Err(Refusal::new(
            "extended_too_late",
            "run",
            "the run has ended, or makes its result already",
            "look at its result with `subagent_status`",
        )),
    }
}
