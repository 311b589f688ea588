//! What a person should know about a child before it starts: the rows of the spawn card, and of a dry
//! run (S3). What a person agrees to isn't cut: only the task and a schema, which give no rights, are
//! shown by their beginning.

use crate::{Planned, Principal};
use deputize_authority::{Dimension, Grant, Set, WorkspaceMode, escape};
use deputize_boundary::BoundaryPlan;
use serde_json::{Value, json};

use super::text::one_line;

/// Characters of a task that stand on a card.
const TASK: usize = 400;

/// A row: its name and what it says, escaped.
pub type Row = (&'static str, String);

/// Who it is and what it is for.
pub fn who(planned: &Planned<'_>) -> Vec<Row> {
    let grant = planned.grant;
    let label = planned
        .label
        .map(|label| format!(" ({label})"))
        .unwrap_or_default();
    let mut rows = vec![
        ("task", planned.prompt.preview(TASK)),
        (
            "preset",
            format!("{} (mode {})", grant.preset(), grant.mode().name()),
        ),
        ("asked by", asked_by(planned.principal)),
        (
            "trust",
            "built-in preset, no agent definition; nothing of the project is loaded".to_owned(),
        ),
        ("model", format!("{}{label}", escape(&planned.model))),
        (
            "price",
            format!("{}; no parent to compare with", price(planned)),
        ),
    ];
    if let Some(check) = planned.check {
        rows.push((
            "check",
            format!("`{}` must pass before it is ok", escape(check)),
        ));
    }
    if let Some(schema) = planned.schema {
        rows.push(("schema", one_line(&schema.to_string())));
    }
    rows
}

fn asked_by(principal: &Principal) -> String {
    match principal {
        Principal::Person => "you; it has no parent agent".to_owned(),
        Principal::Agent { host } => format!("the agent in {}", escape(host)),
    }
}

/// What it may do.
pub fn rights(grant: &Grant) -> Vec<Row> {
    let bounds = grant.bounds();
    let roots = |set: &Set<deputize_authority::Root>| {
        listed(
            set.items()
                .map(|root| escape(&root.path().to_string_lossy())),
        )
    };
    let writes = roots(&bounds.write);
    let writes = match (bounds.write.is_none(), grant.workspace().mode) {
        (true, _) => writes,
        (false, WorkspaceMode::Direct) => format!("{writes} (the folder itself, at once)"),
        (false, WorkspaceMode::CopyOnWrite) => {
            format!("{writes} (in a copy: the folder stays as it is until you apply it)")
        }
        (false, WorkspaceMode::Worktree) => format!(
            "{writes} (in a private clone of HEAD, without what isn't committed: the folder stays as \
             it is until you apply it)"
        ),
    };
    let ports = bounds
        .ports
        .items()
        .map(|port| format!("{port} at 127.0.0.1 outside"));
    vec![
        (
            "folder",
            escape(&grant.workspace().path().to_string_lossy()),
        ),
        (
            "tools",
            listed(bounds.tools.items().map(|tool| tool.name().to_owned())),
        ),
        ("reads", roots(&bounds.read)),
        ("writes", writes),
        (
            "hosts",
            listed(bounds.hosts.items().map(|host| escape(&host.0))),
        ),
        ("ports", listed(ports)),
    ]
}

/// What is around it: toolchains and the names of its environment, where it has any use for them.
pub fn around(planned: &Planned<'_>) -> Vec<Row> {
    let paths = |paths: &[std::path::PathBuf]| {
        paths
            .iter()
            .map(|path| escape(&path.to_string_lossy()))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let toolchains = planned.toolchains.iter().map(|toolchain| {
        let parts = [("read", &toolchain.roots), ("cache", &toolchain.caches)];
        let parts = parts
            .iter()
            .filter(|(_, roots)| !roots.is_empty())
            .map(|(how, roots)| format!("{how} {}", paths(roots)));
        format!(
            "{}: {}",
            escape(&toolchain.name),
            parts.collect::<Vec<_>>().join("; ")
        )
    });
    let names = environment(planned.boundary).into_iter().map(escape);
    vec![("toolchain", listed(toolchains)), ("env", listed(names))]
}

/// The most that it can use.
pub fn at_most(planned: &Planned<'_>) -> Row {
    let budget = &planned.grant.bounds().budget;
    let or_unlimited = |limit: Option<u64>, unit: &str| match limit {
        Some(limit) => format!("{limit} {unit}"),
        None => format!("unlimited {unit}"),
    };
    let cost = match (planned.price, budget.limit(Dimension::CostMicros)) {
        (None, _) => "cost unknown".to_owned(),
        (Some(_), Some(limit)) => dollars(limit),
        (Some(_), None) => "unlimited cost".to_owned(),
    };
    let tokens = or_unlimited(budget.limit(Dimension::Tokens), "tokens");
    let time = or_unlimited(budget.limit(Dimension::WallSeconds), "seconds");
    ("at most", format!("{tokens}, {cost}, {time}"))
}

/// The names of the variables that its commands see.
pub fn environment(plan: &BoundaryPlan) -> Vec<&str> {
    plan.environment
        .iter()
        .map(|(name, _)| name.as_str())
        .collect()
}

/// The same for scripts, beside the grant.
pub fn json(planned: &Planned<'_>) -> Value {
    json!({
        "task": planned.prompt.preview(TASK),
        "price": planned.price,
        "parent": null,
        "check": planned.check,
        "schema": planned.schema,
        "workspace_mode": planned.grant.workspace().mode,
        "toolchains": planned.toolchains,
        "environment": environment(planned.boundary),
    })
}

fn price(planned: &Planned<'_>) -> String {
    match planned.price {
        None => "unknown".to_owned(),
        Some(price) if price == deputize_model::Price::FREE => "nothing".to_owned(),
        Some(price) => format!(
            "{} in, {} out for a million tokens",
            dollars(price.input),
            dollars(price.output)
        ),
    }
}

/// Millionths of a dollar, to the cent or, below one, as exact as they are.
fn dollars(micros: u64) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    if rest.is_multiple_of(10_000) {
        format!("${whole}.{:02}", rest / 10_000)
    } else {
        format!("${whole}.{rest:06}")
    }
}

/// Items in a row; `none` where there are none.
pub fn listed(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        "none".to_owned()
    } else {
        items.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_money() {
        for (micros, shown) in [
            (0, "$0.00"),
            (3_000_000, "$3.00"),
            (500_000, "$0.50"),
            (1_234, "$0.001234"),
        ] {
            assert_eq!(dollars(micros), shown);
        }
    }
}
