//! What a dry run would grant and enforce.

use deputize_authority::{Dimension, Grant, Set};
use deputize_boundary::BoundaryPlan;
use deputize_runs::Planned;
use serde_json::json;

use super::text::one_line;
use crate::failure::Voice;
use crate::output::{print, print_json};

/// What a dry run of a child would do.
pub(crate) fn plan(planned: &Planned<'_>, voice: Voice) {
    let grant = planned.grant;
    if voice == Voice::Json {
        let object = json!({
            "status": "planned",
            "grant": grant,
            "digest": grant.digest(),
            "model": planned.model,
            "model_label": planned.label,
            "boundary": { "level": planned.boundary.level, "promises": planned.boundary.promises },
            "notes": planned.notes,
            "question": null,
        });
        print_json(&object);
        return;
    }
    let label = planned
        .label
        .map(|label| format!(" ({label})"))
        .unwrap_or_default();
    let mut out = format!(
        "Would start a child; nothing was started.\n  model     {}{label}\n",
        planned.model
    );
    out.push_str(&grant_text(grant));
    out.push_str(&boundary_text(planned.boundary));
    for note in planned.notes {
        out.push_str(&format!("  note      {note}\n"));
    }
    out.push_str("  question  none: nothing leaves the grant\n");
    print(&out);
}

/// What a dry run of a command would do.
pub(crate) fn exec_plan(grant: &Grant, plan: &BoundaryPlan, given: Vec<&str>, voice: Voice) {
    let mut environment = names(plan);
    environment.extend(given.into_iter().filter(|name| !names(plan).contains(name)));
    if voice == Voice::Json {
        let object = json!({
            "status": "planned",
            "grant": grant,
            "digest": grant.digest(),
            "boundary": { "level": plan.level, "promises": plan.promises, "environment": environment },
        });
        print_json(&object);
        return;
    }
    let mut out = "Would run the command; nothing was run.\n".to_owned();
    out.push_str(&grant_text(grant));
    out.push_str(&format!("  env       {}\n", environment.join(", ")));
    out.push_str(&boundary_text(plan));
    print(&out);
}

fn names(plan: &BoundaryPlan) -> Vec<&str> {
    plan.environment
        .iter()
        .map(|(name, _)| name.as_str())
        .collect()
}

fn grant_text(grant: &Grant) -> String {
    let bounds = grant.bounds();
    let mut out = format!(
        "  preset    {} (mode {})\n  folder    {}\n",
        grant.preset(),
        grant.mode().name(),
        one_line(&grant.workspace().path().to_string_lossy())
    );
    let roots = |set: &Set<deputize_authority::Root>| -> Vec<String> {
        set.items()
            .map(|root| one_line(&root.path().to_string_lossy()))
            .collect()
    };
    let tools = bounds
        .tools
        .items()
        .map(|tool| tool.name().to_owned())
        .collect();
    let limits = Dimension::ALL
        .into_iter()
        .filter_map(|dimension| Some(format!("{dimension} {}", bounds.budget.limit(dimension)?)))
        .collect();
    let hosts = bounds.hosts.items().map(|host| host.0.clone()).collect();
    let rows: [(&str, Vec<String>); 5] = [
        ("tools", tools),
        ("reads", roots(&bounds.read)),
        ("writes", roots(&bounds.write)),
        ("hosts", hosts),
        ("budget", limits),
    ];
    for (name, values) in rows {
        let values = if values.is_empty() {
            "none".to_owned()
        } else {
            values.join(", ")
        };
        out.push_str(&format!("  {name:<9} {values}\n"));
    }
    out.push_str(&format!("  digest    {}\n", grant.digest()));
    out
}

fn boundary_text(plan: &BoundaryPlan) -> String {
    let mut out = format!(
        "  boundary  {} (planned; proven when it starts)\n",
        plan.level
    );
    for state in &plan.promises {
        let how = match (&state.mechanism, &state.limit) {
            (Some(mechanism), None) => mechanism.how.clone(),
            (Some(mechanism), Some(limit)) => format!("{} ({limit})", mechanism.how),
            (None, limit) => format!("NOT PROMISED: {}", limit.clone().unwrap_or_default()),
        };
        out.push_str(&format!("    {:<16} {how}\n", state.promise.name()));
    }
    out
}
