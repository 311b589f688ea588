//! A writing child and its check, from request to result: what the runtime ran and saw decides, not
//! what the child says (D1, D2, S5).

use std::fs;

use deputize_testkit::TestEnv;
use serde_json::{Value, json};

use crate::scene::{Played, call, events, only_run, parsed, project, say, script};

/// Plays these turns in a `general` run that a person allowed.
#[track_caller]
fn work(env: &TestEnv, turns: Value, options: &[&str]) -> Played {
    let model = script(env, &json!({ "turns": turns }));
    let mut arguments = vec!["run", "--model", &model, "--json", "--allow", "shell"];
    arguments.extend(options);
    arguments.push("Write the note.");
    let outcome = env.run(arguments);
    let result = parsed(&outcome);
    Played { outcome, result }
}

fn bash(command: &str) -> Value {
    call("bash", json!({ "command": command }))
}

/// The outcomes of the check's rounds.
fn rounds(played: &Played) -> Vec<Value> {
    let checks = played.result["checks"].as_array().unwrap();
    checks
        .iter()
        .map(|check| check["outcome"].clone())
        .collect()
}

/// D1: the check sees what the child wrote, in the copy; the folder stays as it is.
#[test]
fn a_check_that_passes_is_behind_ok() {
    let env = project();
    let turns = json!([bash("echo done > note"), say("Done.")]);
    let played = work(&env, turns, &["--check", "grep done note"]);
    played.ended("ok", 0);
    assert_eq!(rounds(&played), ["passed"]);
    assert_eq!(played.result["checks"][0]["command"], "grep done note");
    assert_eq!(played.result["checks"][0]["output"], "done\n[exit 0]");
    let commands = &played.result["usage"]["commands"];
    assert_eq!(commands, 1, "the check isn't the child's");
    assert_eq!(played.result["changes"][0]["path"], "note");
    assert!(!env.workspace().join("note").exists());
    let kinds: Vec<String> = events(&only_run(&env))
        .iter()
        .map(|event| event["kind"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert!(kinds.iter().any(|kind| kind == "check"), "{kinds:?}");
}

/// D1: a failed check goes back to the child with what it wrote; what it does about it counts.
#[test]
fn a_failed_check_is_worked_on() {
    let env = project();
    let mut again = bash("echo done > note");
    again["text"] = "I forgot to write it.".into();
    let turns = json!([
        bash("true"),
        say("Done, all checks pass."),
        again,
        say("Now.")
    ]);
    let played = work(&env, turns, &["--check", "cat note && echo fine"]);
    played.ended("ok", 0);
    assert_eq!(rounds(&played), [json!({ "failed": 1 }), json!("passed")]);
    let transcript = fs::read_to_string(only_run(&env).join("transcript.json")).unwrap();
    assert!(
        transcript.contains("[runtime] The check `cat note"),
        "{transcript}"
    );
    assert!(transcript.contains("No such file"), "{transcript}");
}

/// D2: no number of claims makes a failing check pass.
#[test]
fn a_failing_check_is_never_ok() {
    let env = project();
    let mut last = say(
        r#"{"summary": "All checks pass.", "status": "ok", "checks": [{"command": "false", "outcome": "passed"}]}"#,
    );
    last["stop"] = "finished".into();
    let turns = json!([last, last, last]);
    let played = work(&env, turns, &["--check", "echo no; exit 7"]);
    played.ended("error", 1);
    assert_eq!(rounds(&played), vec![json!({ "failed": 7 }); 3]);
    let warnings = played.warnings();
    assert!(warnings.contains("check_failed: 3 times"), "{warnings}");
    assert!(warnings.contains("contradiction: "), "{warnings}");
}

/// D1, B1: the check runs where the child's commands run: no network, nothing outside.
#[test]
fn a_check_has_no_more_rights_than_the_child() {
    let env = project();
    let secret = env.root().join("secret");
    fs::write(&secret, "outside").unwrap();
    env.give();
    let check = format!("cat {} ; touch {0}.new; exit 3", secret.display());
    let played = work(
        &env,
        json!([say("a"), say("b"), say("c")]),
        &["--check", &check],
    );
    played.ended("error", 1);
    assert!(!secret.with_extension("new").exists());
    let output = played.result["checks"][0]["output"].as_str().unwrap();
    assert!(!output.lines().any(|line| line == "outside"), "{output}");
}

/// S5, A1: what a person agreed to, and through which channel, is in the ledger before anything runs.
#[test]
fn an_approval_is_recorded_with_its_channel() {
    let env = project();
    work(&env, json!([say("Done.")]), &[]).ended("ok", 0);
    let events = events(&only_run(&env));
    let approved = events
        .iter()
        .position(|event| event["kind"] == "approval")
        .unwrap();
    let data = &events[approved]["data"];
    assert_eq!(data["effects"], json!(["shell"]), "{data}");
    assert_eq!(data["by"], "`--allow`");
    assert_eq!(data["scope"], "run");
    let asked = events
        .iter()
        .position(|event| event["kind"] == "model.turn")
        .unwrap();
    assert!(approved < asked);
}
