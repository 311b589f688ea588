//! What a dry run would grant and enforce.

use deputize_authority::{Answer, Consent, Dimension, Grant, Refusal, Settled};
use deputize_boundary::BoundaryPlan;
use deputize_runs::Planned;
use serde_json::json;

use crate::failure::Voice;
use crate::output::{print, print_json};
use deputize_runs::words::facts::{self, Row};

/// What a dry run of a child would do. `without_asking` is the refusal that it would meet where nobody
/// can be asked.
pub(crate) fn plan(planned: &Planned<'_>, without_asking: Option<&Refusal>, voice: Voice) {
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
            "card": facts::json(planned),
            "effects": planned.settled,
            "question": question(planned),
            "without_asking": without_asking,
        });
        print_json(&object);
        return;
    }
    let mut out = "Would start a child; nothing was started.\n".to_owned();
    out.push_str(&rows_text(facts::who(planned)));
    out.push_str(&grant_text(grant));
    out.push_str(&rows_text(facts::around(planned)));
    out.push_str(&rows_text([facts::at_most(planned)]));
    out.push_str(&boundary_text(planned.boundary));
    for note in planned.notes {
        out.push_str(&format!("  note      {note}\n"));
    }
    out.push_str(&settled_text(planned.settled, without_asking));
    print(&out);
}

/// The effects that would be asked about, if any.
fn question(planned: &Planned<'_>) -> Option<Vec<Consent>> {
    let open: Vec<Consent> = planned.settled.open().map(|ask| ask.effect).collect();
    (!open.is_empty()).then_some(open)
}

fn settled_text(settled: &Settled, without_asking: Option<&Refusal>) -> String {
    let mut out = String::new();
    for standing in settled.standings() {
        let answer = match &standing.answer {
            Answer::Covered { by } => format!("covered by {by}"),
            Answer::Open => "would be asked".to_owned(),
            Answer::Denied { rule, .. } => format!("DENIED by the rule {rule}"),
        };
        out.push_str(&format!(
            "  effect    {}: it {}: {answer}\n",
            standing.ask.effect, standing.ask.why
        ));
    }
    match (settled.open().next(), without_asking) {
        (None, Some(refusal)) => {
            out.push_str(&format!(
                "  refused   {} [{}]\n",
                refusal.reason, refusal.code
            ));
        }
        (Some(_), Some(refusal)) => out.push_str(&format!(
            "  question  one, on a terminal; elsewhere refused [{}]\n  fix       {}\n",
            refusal.code, refusal.fix
        )),
        (_, None) if settled.standings().is_empty() => {
            out.push_str("  question  none: nothing leaves the grant\n");
        }
        (_, None) => out.push_str("  question  none: you agreed to all of it\n"),
    }
    out
}

fn rows_text(rows: impl IntoIterator<Item = Row>) -> String {
    rows.into_iter()
        .map(|(name, value)| format!("  {name:<9} {value}\n"))
        .collect()
}

/// What a dry run of a command would do.
pub(crate) fn exec_plan(grant: &Grant, plan: &BoundaryPlan, given: Vec<&str>, voice: Voice) {
    let planned = facts::environment(plan);
    let mut environment = planned.clone();
    environment.extend(given.into_iter().filter(|name| !planned.contains(name)));
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
    let preset = format!("{} (mode {})", grant.preset(), grant.mode().name());
    out.push_str(&rows_text([("preset", preset)]));
    out.push_str(&grant_text(grant));
    out.push_str(&format!("  env       {}\n", environment.join(", ")));
    out.push_str(&boundary_text(plan));
    print(&out);
}

fn grant_text(grant: &Grant) -> String {
    let limits = Dimension::ALL.into_iter().filter_map(|dimension| {
        Some(format!(
            "{dimension} {}",
            grant.bounds().budget.limit(dimension)?
        ))
    });
    let rows = facts::rights(grant).into_iter().chain([
        ("budget", facts::listed(limits)),
        ("digest", grant.digest().to_string()),
    ]);
    rows_text(rows)
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
