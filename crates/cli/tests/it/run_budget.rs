//! Budgets, loops and the end that they bring (D4, D5, D7).

use std::fs;

use serde_json::{Value, json};

use crate::scene::{
    call, events, only_run, parsed, play, play_script, project, refused_code, say, script,
};

/// Turns that look at something new each, without end.
fn wandering(turns: usize) -> Vec<Value> {
    (1..=turns)
        .map(|line| {
            call(
                "read",
                json!({ "path": "src/limits.rs", "offset": line % 9 + 1, "limit": line }),
            )
        })
        .collect()
}

/// The turns, and the last words that a closing turn gets.
fn then(mut turns: Vec<Value>, last: &str) -> Value {
    turns.push(say(last));
    turns.into()
}

/// D4, D5: when the turns are used up, one turn without tools writes the result.
#[test]
fn turns_that_run_out_end_in_a_salvaged_result() {
    let env = project();
    let turns = then(wandering(3), "So far: src/limits.rs:4 has the limit.");
    let played = play(&env, turns, &["--budget", "turns=3"]);
    played.ended("budget_exhausted", 4);
    assert_eq!(
        played.result["summary"],
        "So far: src/limits.rs:4 has the limit."
    );
    assert_eq!(played.result["usage"]["exhausted"], "turns");
    assert_eq!(played.result["usage"]["limits"]["turns"], 3);
    assert_eq!(played.result["evidence"][0]["path"], "src/limits.rs");
    assert_eq!(played.result["evidence"][0]["line"], 4);
}

/// D5: a closing turn that asks for tools gets none, and what was seen is salvaged.
#[test]
fn a_closing_turn_has_no_tools() {
    let env = project();
    let script = json!({ "turns": wandering(2), "repeat_last": true });
    let played = play_script(&env, &script, &["--budget", "turns=2"]);
    played.ended("budget_exhausted", 4);
    assert_eq!(played.result["usage"]["tool_calls"], 2);
    let evidence = played.result["evidence"].as_array().unwrap();
    assert!(
        evidence
            .iter()
            .any(|piece| piece["path"] == "src/limits.rs"),
        "{}",
        played.outcome
    );
    assert!(!played.result["summary"].as_str().unwrap().is_empty());
}

/// D4: tool calls are counted, those of one turn too; the rest of the turn isn't run.
#[test]
fn tool_calls_that_run_out_end_the_run() {
    let env = project();
    let calls: Vec<Value> = (1..=6)
        .map(|line| json!({ "name": "read", "arguments": { "path": "src/limits.rs", "offset": line } }))
        .collect();
    let turns = json!([{ "calls": calls }, say("Enough: src/limits.rs:4.")]);
    let played = play(&env, turns, &["--budget", "tool-calls=4"]);
    played.ended("budget_exhausted", 4);
    assert_eq!(played.result["usage"]["exhausted"], "tool_calls");
    assert_eq!(played.result["summary"], "Enough: src/limits.rs:4.");
    let finished = events(&only_run(&env));
    let finished = finished
        .iter()
        .filter(|event| event["kind"] == "call.finished");
    assert_eq!(finished.count(), 4);
}

/// D4: tokens are counted as the model reports them.
#[test]
fn tokens_that_run_out_end_the_run() {
    let env = project();
    let mut turns = wandering(10);
    for turn in &mut turns {
        turn["usage"] =
            json!({ "input_tokens": 9_000, "output_tokens": 1_000, "cached_input_tokens": 70_000 });
    }
    let played = play_script(
        &env,
        &json!({ "turns": turns, "repeat_last": true }),
        &["--budget", "tokens=45000"],
    );
    played.ended("budget_exhausted", 4);
    let usage = &played.result["usage"];
    assert_eq!(usage["exhausted"], "tokens");
    // What a cache served isn't counted against the limit, but is reported.
    assert!(usage["turns"].as_u64().unwrap() >= 3, "{usage}");
    assert!(
        usage["cached_input_tokens"].as_u64().unwrap() > 45_000,
        "{usage}"
    );
}

/// D4: money is counted where a price is known.
#[test]
fn money_that_runs_out_ends_the_run() {
    let env = project();
    let mut turns = wandering(10);
    for turn in &mut turns {
        turn["usage"] = json!({ "input_tokens": 20_000, "output_tokens": 2_000 });
    }
    let price = json!({ "input": 3_000_000, "cached_input": 300_000, "output": 15_000_000 });
    let document = json!({ "turns": turns, "repeat_last": true, "price": price });
    let played = play_script(&env, &document, &["--budget", "cost_micros=400000"]);
    played.ended("budget_exhausted", 4);
    assert_eq!(played.result["usage"]["exhausted"], "cost_micros");
    let cost = played.result["usage"]["cost_micros"].as_u64().unwrap();
    assert!((200_000..=500_000).contains(&cost), "{cost}");
}

/// D4: time runs out in the middle of a turn that doesn't answer, and the clock is the run's own.
#[test]
fn time_that_runs_out_ends_the_run() {
    let env = project();
    let slow = json!({ "text": "too late", "delay_ms": 3_600_000 });
    let turns = json!([
        call("read", json!({ "path": "src/limits.rs" })),
        slow,
        say("In time.")
    ]);
    let played = play(&env, turns, &["--budget", "wall_seconds=1"]);
    played.ended("budget_exhausted", 4);
    assert_eq!(played.result["usage"]["exhausted"], "wall_seconds");
    assert_eq!(played.result["summary"], "In time.");
}

/// D5: at 80 % the child is told to come to an end, once for each dimension.
#[test]
fn at_four_fifths_the_child_is_told_to_wrap_up() {
    let env = project();
    let turns = then(wandering(4), "Wrapped up.");
    play(&env, turns, &["--budget", "turns=5"]).ended("ok", 0);
    let run = only_run(&env);
    let told: Vec<Value> = events(&run)
        .into_iter()
        .filter(|event| event["kind"] == "notice" || event["data"]["code"] == "wrap_up")
        .collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(
        told[0]["data"]["message"],
        "told to wrap up: 80 % of turns used"
    );
    let transcript = fs::read_to_string(run.join("transcript.json")).unwrap();
    assert_eq!(
        transcript
            .matches("Most of the budget is used: turns 4/5")
            .count(),
        1
    );
}

/// D4: a person's limit replaces the preset's, in both directions; a word that is no limit is refused.
#[test]
fn a_person_sets_limits() {
    let env = project();
    let played = play(
        &env,
        then(wandering(33), "Long."),
        &["--budget", "turns=40"],
    );
    played.ended("ok", 0);
    assert_eq!(played.result["usage"]["turns"], 34);
    assert_eq!(played.result["usage"]["limits"]["turns"], 40);
    let asked = &played.result["receipt"]["asked"]["budget"];
    assert_eq!(asked, &json!([{ "dimension": "turns", "limit": 40 }]));
    let model = script(&env, &json!({ "turns": [say("x")] }));
    for typed in [
        "turns",
        "turns=",
        "turns=-1",
        "turns=1.5",
        "turns=99999999999999999999",
        "wishes=3",
        "=3",
    ] {
        let outcome = env
            .run([
                "run",
                "--preset",
                "read-only",
                "--model",
                &model,
                "--budget",
                typed,
                "x",
            ])
            .expect_code(2);
        assert_eq!(refused_code(&outcome), "usage", "{typed}");
    }
}

/// D4: a budget of nothing is a run that does nothing and says so.
#[test]
fn without_turns_nothing_is_done() {
    let env = project();
    let played = play(&env, json!([say("Anything.")]), &["--budget", "turns=0"]);
    played.ended("budget_exhausted", 4);
    let outcome = env.run([
        "run",
        "--preset",
        "read-only",
        "--model",
        "scout",
        "--budget",
        "tool_calls=0",
        "--json",
        "Where is the weight limit enforced?",
    ]);
    let result = parsed(&outcome);
    assert_eq!(result["usage"]["tool_calls"], 0, "{outcome}");
    assert_ne!(result["status"], "ok", "{outcome}");
}

/// D7: the third identical call is refused with the place of the earlier result.
#[test]
fn the_third_identical_call_is_refused() {
    let env = project();
    let same = |path: &str| call("grep", json!({ "pattern": "limit", "path": path }));
    let turns = json!([
        same("src"),
        same("src"),
        same("src"),
        same("docs"),
        say("Round and round.")
    ]);
    let played = play(&env, turns, &[]);
    played.ended("ok", 0);
    let events = events(&only_run(&env));
    let ran = events
        .iter()
        .filter(|event| event["kind"] == "call.finished")
        .count();
    assert_eq!(ran, 3);
    let transcript = fs::read_to_string(only_run(&env).join("transcript.json")).unwrap();
    assert!(
        transcript.contains("#2"),
        "the earlier result isn't named\n{transcript}"
    );
    let told = events
        .iter()
        .find(|event| event["data"]["code"] == "repeated_call")
        .unwrap();
    assert_eq!(
        told["data"]["message"],
        "call #3 (grep) repeats call #2 and was not run"
    );
}

/// D7: a model that only repeats itself doesn't use its whole budget up.
#[test]
fn a_model_that_only_repeats_itself_is_ended() {
    let env = project();
    let document = json!({ "turns": [call("ls", json!({}))], "repeat_last": true });
    let played = play_script(&env, &document, &[]);
    played.ended("error", 1);
    assert!(
        played.result["usage"]["turns"].as_u64().unwrap() < 10,
        "{}",
        played.outcome
    );
}
