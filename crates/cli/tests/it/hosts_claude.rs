//! Claude Code as a host: its model calls our tool, and asks our gate before its own.

use std::fs;

use deputize_testkit::{Invocation, Outcome, Said, Speech};
use serde_json::{Value, json};

use crate::hosts_scene::{Scene, claude_code, is_evidence, look, no_run};
use crate::scene::parsed;

const SUBAGENT: &str = "mcp__deputize__subagent";

fn playing(turns: impl IntoIterator<Item = Said>) -> Scene {
    Scene::playing(claude_code(), Speech::Anthropic, turns)
}

fn bash(command: &str) -> Said {
    Said::call(
        "Bash",
        &json!({ "command": command, "description": "Try it" }),
    )
}

/// Claude Code without a terminal, allowed these tools without a question.
fn asked<'s>(scene: &'s Scene, allowed: &str) -> Invocation<'s> {
    let mut arguments = vec!["-p", "Look for it.", "--output-format", "json"];
    arguments.extend(["--model", "claude-sonnet-4-5"]);
    if !allowed.is_empty() {
        arguments.extend(["--allowedTools", allowed]);
    }
    scene
        .call(&arguments)
        .env("ANTHROPIC_BASE_URL", scene.provider.url())
        .env("ANTHROPIC_API_KEY", "test-key-0123456789")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        // A model on loopback answers before a server has started.
        .env("MCP_CONNECTION_NONBLOCKING", "0")
}

/// What came of the last call, as the model is told: its text, and whether it failed.
#[track_caller]
fn came(request: &Value) -> (String, bool) {
    let content = request["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let blocks = content.as_array().unwrap();
    let result = blocks.iter().find(|block| block["type"] == "tool_result");
    let result = result.unwrap_or_else(|| panic!("no result in {content:#}"));
    let text = match &result["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap().to_owned(),
    };
    (text, result["is_error"] == true)
}

/// What the host answers itself.
#[track_caller]
fn answer(outcome: &Outcome) -> Value {
    let told = parsed(outcome);
    assert_eq!(
        (&told["type"], &told["is_error"]),
        (&json!("result"), &json!(false)),
        "{told:#}"
    );
    told["result"].clone()
}

/// H2: Claude Code, configured by `deputize install`, hands a task over, and what the deputy found is in
/// its model's next request.
#[test]
#[ignore = "needs Claude Code: `cargo xtask test --hosts`"]
fn hosts_claude_code_hands_over_and_hears_back() {
    let turns = [Said::call(SUBAGENT, &look()), Said::text("It is found.")];
    let scene = playing(turns);
    scene.install("claude", &[]);
    let outcome = scene.run(asked(&scene, SUBAGENT));
    assert_eq!(answer(&outcome), "It is found.");
    let requests = scene.requests(2, &outcome);
    assert!(requests[0].to_string().contains(SUBAGENT), "{outcome}");
    let (text, failed) = came(&requests[1]);
    assert!(!failed, "{text}");
    let answer = text.lines().find(|line| line.starts_with('{')).unwrap();
    is_evidence(&scene.env, answer);
}

/// H2, S4: without a person Claude Code dismisses questions, and a run that needs a yes is refused with what
/// would spare the question.
#[test]
#[ignore = "needs Claude Code: `cargo xtask test --hosts`"]
fn hosts_claude_code_is_refused_what_needs_a_yes() {
    let wish = json!({ "prompt": "Go.", "model": "scout" });
    let scene = playing([Said::call(SUBAGENT, &wish), Said::text("Refused.")]);
    scene.install("claude", &[]);
    let outcome = scene.run(asked(&scene, SUBAGENT));
    assert_eq!(answer(&outcome), "Refused.");
    let (text, failed) = came(&scene.requests(2, &outcome)[1]);
    assert!(failed, "{text}");
    assert!(text.contains("[unanswered, shell]"), "{text}");
    assert!(text.contains("--allow shell"), "{text}");
    no_run(&scene.env);
}

/// H1, G2: the gate as a hook of Claude Code denies, its model reads why, and what it allows runs.
#[test]
#[ignore = "needs Claude Code: `cargo xtask test --hosts`"]
fn hosts_claude_code_obeys_the_gate() {
    let calls = ["rm -rf ~", "../deputize --version", "mkdir made"];
    let scene = playing(calls.map(bash).into_iter().chain([Said::text("Done.")]));
    scene.install("claude", &["--gate"]);
    let kept = scene.env.home().join("kept");
    fs::write(&kept, "kept").unwrap();
    let outcome = scene.run(asked(&scene, ""));
    let requests = scene.requests(4, &outcome);
    for (request, rule) in [(1, "destructive.outside"), (2, "admin.denied")] {
        let (text, failed) = came(&requests[request]);
        assert!(failed, "{text}");
        assert!(text.contains(&format!("Deputize ({rule}): ")), "{text}");
    }
    assert!(kept.exists());
    let (text, failed) = came(&requests[3]);
    assert!(!failed, "{text}");
    assert!(scene.env.workspace().join("made").is_dir());
}

/// H1: the same calls without the hook: what it denies runs, and what it allows isn't allowed.
#[test]
#[ignore = "needs Claude Code: `cargo xtask test --hosts`"]
fn hosts_claude_code_without_the_gate_decides_alone() {
    let calls = ["../deputize --version", "mkdir made"];
    let scene = playing(calls.map(bash).into_iter().chain([Said::text("Done.")]));
    scene.install("claude", &[]);
    let outcome = scene.run(asked(&scene, "Bash(../deputize --version)"));
    let requests = scene.requests(3, &outcome);
    let (text, failed) = came(&requests[1]);
    assert!(!failed && text.starts_with("deputize "), "{text}");
    assert!(came(&requests[2]).1);
    assert!(!scene.env.workspace().join("made").exists());
}
