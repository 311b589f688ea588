//! Claude Code as a host: its model calls our tool, and asks our gate before its own.

use std::fs;

use deputize_testkit::{Invocation, Outcome, Said, Speech, Terminal};
use serde_json::{Value, json};

use crate::hosts_scene::{SCREEN, Scene, agreed_by, claude_code, is_evidence, look, no_run, press};
use crate::scene::{parsed, say, script};

const SUBAGENT: &str = "mcp__deputize__subagent";

const MODEL: &str = "claude-sonnet-4-5";

const KEY: &str = "test-key-0123456789";

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
    arguments.extend(["--model", MODEL]);
    if !allowed.is_empty() {
        arguments.extend(["--allowedTools", allowed]);
    }
    told(scene, scene.call(&arguments))
}

/// A call that is told of the scripted model.
fn told<'s>(scene: &Scene, call: Invocation<'s>) -> Invocation<'s> {
    call.env("ANTHROPIC_BASE_URL", scene.provider.url())
        .env("ANTHROPIC_API_KEY", KEY)
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

/// H2, S3, S9: on a terminal Claude Code shows a person what a yes is for, though it shows only the first
/// lines of a card, with No chosen; the yes is recorded as its.
#[test]
#[ignore = "needs Claude Code: `cargo xtask test --hosts`"]
fn hosts_claude_code_shows_a_person_what_a_yes_is_for() {
    let wish = json!({ "prompt": "Go.", "model": "script:../script.json" });
    let scene = playing([Said::call(SUBAGENT, &wish), Said::text("It is made.")]);
    script(&scene.env, &json!({ "turns": [say("Made it.")] }));
    let known = json!({
        "hasCompletedOnboarding": true,
        "projects": { scene.env.workspace().display().to_string(): { "hasTrustDialogAccepted": true } },
        "customApiKeyResponses": { "approved": [KEY], "rejected": [] },
    });
    fs::write(scene.env.home().join(".claude.json"), known.to_string()).unwrap();
    scene.install("claude", &[]);
    let call = told(
        &scene,
        scene.call(&["--allowedTools", SUBAGENT, "--model", MODEL]),
    );
    let mut terminal = Terminal::start(call.into_command(), SCREEN);
    terminal.until_shown("? for shortcuts");
    terminal.press(b"Make it.");
    terminal.until_shown("Make it.");
    press(&mut terminal, b"\r", "requests your input");
    terminal
        .until_shown("it runs shell commands of its own choice, inside its boundary (`shell`).");
    terminal.until_shown("Your answer: \u{25b8} no");
    for (key, shown) in [
        (&b"\x1b[C"[..], "\u{25ef} yes"),
        (b"\x1b[B", "\u{276f} \u{25ef} yes"),
        (b" ", "Your answer: \u{25b8} yes"),
        (b"\x1b[B", "\u{276f} Accept"),
        (b"\r", "It is made."),
    ] {
        press(&mut terminal, key, shown);
    }
    let (text, failed) = came(&scene.provider.bodies()[1]);
    assert!(!failed && text.contains("Made it."), "{text}");
    assert!(agreed_by(&scene.env).contains("claude-code"));
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
