//! G11: a day of a working deputy asks nothing.

use deputize_authority::{Level, Preset, Promise, Tool, WorkspaceMode};
use deputize_gate::{Context, Fact, Query, Verdict, admit, decide, explain, queries};
use serde_json::Value;

use crate::world::{context, file, folder, grant_with, program};

/// The calls of an edit-test loop, one a line. `cli::day` makes the same ones for real.
const DAY: &str = include_str!("../../corpus/day.jsonl");

fn calls() -> Vec<(String, Value)> {
    let rows = DAY.lines().map(|row| {
        let row: Value = serde_json::from_str(row).unwrap();
        (
            row["tool"].as_str().unwrap().to_owned(),
            row["arguments"].clone(),
        )
    });
    rows.collect()
}

fn fact(query: Query) -> Fact {
    match query {
        Query::Path { path } if path.extension().is_some() => {
            Fact::Path(file(path.to_str().unwrap()))
        }
        Query::Path { path } => Fact::Path(folder(path.to_str().unwrap())),
        Query::Program { name, .. } => {
            let name = name.to_str().unwrap();
            program(name, &format!("/usr/bin/{name}"))
        }
    }
}

/// G3, G11: on a copy and in a clone of its own, in a full boundary, without anybody's approval.
#[test]
fn g11_a_day_of_work_asks_nothing() {
    let calls = calls();
    assert!(calls.len() >= 80, "{}", calls.len());
    for mode in [WorkspaceMode::CopyOnWrite, WorkspaceMode::Worktree] {
        let tools = Preset::General.bounds().tools;
        let tools: Vec<Tool> = tools.items().copied().collect();
        let grant = grant_with(Preset::General, mode, &tools);
        let context = Context {
            held: Preset::General.needs(),
            ..context(&grant)
        };
        for (tool, arguments) in &calls {
            let call = admit(tool, arguments, &context).unwrap();
            let facts: Vec<Fact> = queries(&call, &context).into_iter().map(fact).collect();
            let verdict = decide(call.clone(), &facts, &context);
            assert!(
                matches!(verdict, Verdict::Allow(_)),
                "{}",
                explain(Ok(call), &facts, &context).text()
            );
        }
    }
}

/// G11: the same day in a lesser boundary is none, so that the day proves something.
#[test]
fn g11_without_the_boundary_the_same_day_is_stopped() {
    let grant = grant_with(Preset::General, WorkspaceMode::CopyOnWrite, &[Tool::Bash]);
    let context = Context {
        boundary: Level::LandlockSeccomp,
        held: &Promise::ALL,
        ..context(&grant)
    };
    for (tool, arguments) in calls().iter().filter(|(tool, _)| tool == "bash") {
        let call = admit(tool, arguments, &context).unwrap();
        let facts: Vec<Fact> = queries(&call, &context).into_iter().map(fact).collect();
        assert_eq!(decide(call, &facts, &context).word(), "ask", "{arguments}");
    }
}
