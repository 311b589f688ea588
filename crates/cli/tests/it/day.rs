//! G11: a day of a working deputy, made for real: nothing is asked and nothing refused.

use std::process::Command;

use serde_json::{Value, json};

use crate::scene::{events, only_run, parsed, say, scene, script};

/// The calls; `gate::day` holds the gate alone against them.
const DAY: &str = include_str!("../../../gate/corpus/day.jsonl");

/// G3, G11, C2: an edit-test loop of a hundred calls on a copy, with the tools that are here.
#[test]
fn a_day_of_work_asks_nothing() {
    let env = scene();
    env.lay(|tree| {
        tree.file("README.md", "# Sum\n")
            .file("src/sum.py", "def add(a, b):\n    return a - b\n")
            .file(
                "test.sh",
                "grep -q 'a + b' src/sum.py || { echo FAIL; exit 1; }\necho passed\n",
            );
    });
    let git = |arguments: &[&str]| {
        let mut git: Command = env.command("git");
        let _ = git.args(arguments).output();
    };
    git(&["init", "-q", "."]);
    git(&["config", "user.name", "n"]);
    git(&["config", "user.email", "n@example.org"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "first"]);
    env.give();
    let calls: Vec<Value> = DAY
        .lines()
        .map(|row| {
            let row: Value = serde_json::from_str(row).unwrap();
            json!({ "name": row["tool"], "arguments": row["arguments"] })
        })
        .collect();
    let mut turns: Vec<Value> = calls
        .chunks(8)
        .map(|calls| json!({ "calls": calls }))
        .collect();
    turns.push(say("Done."));
    let model = script(&env, &json!({ "turns": turns }));
    let outcome = env
        .call([
            "run",
            "--json",
            "--allow",
            "shell",
            "--budget",
            "commands=200",
            "--model",
            &model,
            "Work.",
        ])
        .within(std::time::Duration::from_secs(240))
        .run();
    let result = parsed(&outcome);
    assert_eq!(result["status"], "ok", "{result:#}");
    let events = events(&only_run(&env));
    let decided: Vec<&Value> = events
        .iter()
        .filter(|event| event["kind"] == "call.decided")
        .map(|event| &event["data"])
        .collect();
    assert_eq!(decided.len(), calls.len(), "{result:#}");
    for verdict in decided {
        assert_eq!(verdict["verdict"], "allow", "{verdict:#}");
    }
}
