//! `deputize gate`: the hook before another host's tool calls, in the forms that Claude Code and Codex
//! document. Both take exit code 2 as a block, and let the call pass on any other failure (G1, H1).

use deputize_testkit::{Outcome, TestEnv};
use serde_json::{Value, json};

use crate::scene::{parsed, scene};

fn claude(tool: &str, input: Value) -> Value {
    json!({
        "session_id": "s", "transcript_path": "/home/u/t.jsonl", "cwd": "/w",
        "permission_mode": "default", "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": input, "tool_use_id": "toolu_1",
    })
}

fn codex(tool: &str, input: Value) -> Value {
    let mut call = claude(tool, input);
    call["turn_id"] = "1".into();
    call["model"] = "m".into();
    call
}

fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "…", "timeout": 1000 })
}

fn hook(env: &TestEnv, input: impl Into<Vec<u8>>, options: &[&str]) -> Outcome {
    env.call(["gate"].iter().chain(options))
        .env("HOME", "/home/u")
        .without_env("CLAUDE_PROJECT_DIR")
        .stdin(input)
        .run()
}

/// The decision and its reason; `None` when the call is left to the host.
#[track_caller]
fn decision(env: &TestEnv, call: &Value, options: &[&str]) -> Option<(String, String)> {
    let outcome = hook(env, call.to_string(), options).expect_code(0);
    if outcome.stdout.is_empty() {
        return None;
    }
    let json = parsed(&outcome);
    let output = json["hookSpecificOutput"].as_object().unwrap();
    assert_eq!(output["hookEventName"], "PreToolUse", "{json}");
    assert_eq!(json.as_object().unwrap().len(), 1, "{json}");
    let text = |key: &str| output[key].as_str().unwrap().to_owned();
    Some((text("permissionDecision"), text("permissionDecisionReason")))
}

#[track_caller]
fn word(env: &TestEnv, call: &Value) -> String {
    decision(env, call, &["--stdin"]).map_or_else(|| "left".to_owned(), |(word, _)| word)
}

/// H1: Claude Code is told allow, ask or deny, and why in words that help.
#[test]
fn claude_code_is_told_in_its_own_form() {
    let env = scene();
    for (command, expected) in [
        ("ls src", "allow"),
        ("git commit -m 'rm -rf /'", "allow"),
        ("cargo test", "ask"),
        ("curl https://example.org", "ask"),
        ("rm -rf ~", "deny"),
        ("bash -c 'rm -rf /'", "deny"),
        ("deputize approve 1", "deny"),
    ] {
        assert_eq!(
            word(&env, &claude("Bash", bash(command))),
            expected,
            "{command}"
        );
    }
    let (_, reason) = decision(&env, &claude("Bash", bash("rm -rf /etc")), &[]).unwrap();
    assert!(reason.contains("destructive.outside"), "{reason}");
    assert!(
        reason.contains("`/etc`") && reason.contains("Remove only what"),
        "{reason}"
    );
    // Nothing is kept.
    assert!(!env.state().exists());
}

/// H1: Codex lets a call pass whose answer is `ask` or a plain `allow`; it gets neither.
#[test]
fn codex_gets_a_denial_or_nothing() {
    let env = scene();
    let ask =
        |command: &str, options: &[&str]| decision(&env, &codex("Bash", bash(command)), options);
    assert_eq!(ask("ls", &[]), None);
    let (word, reason) = ask("cargo test", &[]).unwrap();
    assert_eq!(word, "deny");
    assert!(reason.contains("a person's yes"), "{reason}");
    assert_eq!(ask("rm -rf /", &[]).unwrap().0, "deny");
    assert_eq!(ask("cargo test", &["--on-ask", "leave"]), None);
    assert_eq!(ask("rm -rf /", &["--on-ask", "leave"]).unwrap().0, "deny");
    // The host that was named counts, whatever the input looks like.
    let call = claude("Bash", bash("cargo test"));
    assert_eq!(
        decision(&env, &call, &["--host", "codex"]).unwrap().0,
        "deny"
    );
    assert_eq!(
        decision(&env, &call, &["--on-ask", "deny"]).unwrap().0,
        "deny"
    );
}

/// G4, G9: file tools are judged by where their path lands, and never allowed from its text alone.
#[test]
fn file_tools_are_denied_asked_about_or_left() {
    let env = scene();
    let file = |path: &str| json!({ "file_path": path });
    for (tool, input, expected) in [
        ("Read", file("/w/src/a.rs"), "left"),
        ("Read", file("/home/u/.ssh/id_rsa"), "deny"),
        ("Read", file("../home/u/.aws/credentials"), "deny"),
        ("Read", file("/w/.env"), "ask"),
        ("Read", file("/etc/hosts"), "ask"),
        (
            "Write",
            json!({ "file_path": "/w/src/a.rs", "content": "x" }),
            "left",
        ),
        ("Write", file("/etc/passwd"), "deny"),
        ("Write", file("/w/../v/a"), "deny"),
        ("Write", file("/home/u/.bashrc"), "deny"),
        ("Edit", file("/w/.git/hooks/pre-commit"), "ask"),
        ("Edit", file("/w/.claude/settings.json"), "ask"),
        ("MultiEdit", file("/w/src/a.rs"), "left"),
        ("MultiEdit", file("/w/.git/config"), "ask"),
        ("Edit", file("/tmp/x"), "ask"),
        (
            "NotebookEdit",
            json!({ "notebook_path": "/etc/x.ipynb" }),
            "deny",
        ),
        (
            "Grep",
            json!({ "pattern": "x", "path": "/home/u/.ssh" }),
            "deny",
        ),
        ("Grep", json!({ "pattern": "x" }), "left"),
        ("WebFetch", json!({ "url": "http://localhost" }), "left"),
        (
            "mcp__files__write",
            json!({ "path": "/etc/passwd" }),
            "left",
        ),
    ] {
        assert_eq!(
            word(&env, &claude(tool, input.clone())),
            expected,
            "{tool} {input}"
        );
    }
}

/// H1: each file of a patch is judged, the strictest counts.
#[test]
fn each_file_of_a_patch_counts() {
    let env = scene();
    let patch = |body: &str| {
        let text = format!("*** Begin Patch\n{body}*** End Patch\n");
        codex("apply_patch", json!({ "command": text }))
    };
    assert_eq!(
        word(&env, &patch("*** Update File: src/a.rs\n@@\n-a\n+b\n")),
        "left"
    );
    let two = "*** Add File: a\n+x\n*** Add File: .git/hooks/pre-commit\n+x\n";
    assert_eq!(word(&env, &patch(two)), "deny");
    assert_eq!(word(&env, &patch("*** Delete File: ../v/a\n")), "deny");
    let moved = "*** Update File: a\n*** Move to: /etc/cron.d/a\n@@\n-a\n+b\n";
    assert_eq!(word(&env, &patch(moved)), "deny");
    let outcome = hook(&env, patch("").to_string(), &[]);
    assert_eq!(outcome.code(), Some(2), "{outcome}");
}

/// G1, G10: whatever isn't a call in a documented form is a block, with a reason.
#[test]
fn what_is_not_understood_is_blocked() {
    let env = scene();
    let without = |key: &str| {
        let mut call = claude("Bash", bash("ls"));
        call.as_object_mut().unwrap().remove(key);
        call.to_string().into_bytes()
    };
    let with = |key: &str, value: Value| {
        let mut call = claude("Bash", bash("ls"));
        call[key] = value;
        call.to_string().into_bytes()
    };
    let large = claude(
        "Write",
        json!({ "file_path": "/w/a", "content": "x".repeat(9 << 20) }),
    );
    let inputs: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"{".to_vec(),
        b"[]".to_vec(),
        b"null".to_vec(),
        b"\xff\xfe{}".to_vec(),
        vec![b'['; 200_000],
        without("hook_event_name"),
        without("tool_name"),
        without("tool_input"),
        without("cwd"),
        with("hook_event_name", "PostToolUse".into()),
        with("cwd", "w".into()),
        with("tool_input", json!([])),
        with("tool_input", json!({})),
        with("tool_input", json!({ "command": ["rm", "-rf", "/"] })),
        claude("Write", json!({ "path": "/w/a" }))
            .to_string()
            .into(),
        claude("Write", json!({ "file_path": "/w/a\u{0}" }))
            .to_string()
            .into(),
        large.to_string().into(),
    ];
    for input in inputs {
        let shown = String::from_utf8_lossy(&input[..input.len().min(200)]).into_owned();
        let outcome = hook(&env, input, &[]);
        assert_eq!(outcome.code(), Some(2), "{shown}\n{outcome}");
        assert!(outcome.stdout.is_empty(), "{shown}\n{outcome}");
        assert!(
            outcome.err().contains("Deputize blocks this call"),
            "{shown}\n{outcome}"
        );
    }
    for options in [
        &["--host", "emacs"][..],
        &["--on-ask", "allow"],
        &["--what"],
    ] {
        let outcome = hook(&env, claude("Bash", bash("ls")).to_string(), options);
        assert_eq!(outcome.code(), Some(2), "{outcome}");
    }
}

/// G3: somebody who only wants a plan isn't overruled by an allowance to change something.
#[test]
fn a_plan_changes_nothing() {
    let env = scene();
    let plan = |command: &str| {
        let mut call = claude("Bash", bash(command));
        call["permission_mode"] = "plan".into();
        word(&env, &call)
    };
    assert_eq!(plan("ls src"), "allow");
    assert_eq!(plan("echo x > a"), "left");
    assert_eq!(plan("rm -rf /"), "deny");
}

/// H1: the workspace is what was typed, else the project that the host names, else the call's folder.
#[test]
fn the_workspace_is_the_project() {
    let env = scene();
    let call = |cwd: &str| {
        let mut call = claude("Bash", bash("echo x > a"));
        call["cwd"] = cwd.into();
        call
    };
    assert_eq!(word(&env, &call("/v")), "allow");
    let typed = decision(&env, &call("/v"), &["--root", "/w"]).unwrap();
    assert_eq!(typed.0, "deny");
    let typed = decision(&env, &call("/v"), &["--root", "/w", "--root", "/v"]).unwrap();
    assert_eq!(typed.0, "allow");
    let named = env
        .call(["gate"])
        .env("HOME", "/home/u")
        .env("CLAUDE_PROJECT_DIR", "/w")
        .stdin(call("/v").to_string())
        .run()
        .expect_code(0);
    let named = parsed(&named);
    assert_eq!(named["hookSpecificOutput"]["permissionDecision"], "deny");
}

/// H1: it needs neither a home nor state, and a reason can't steer a terminal.
#[test]
fn it_works_without_a_home_and_escapes_what_it_repeats() {
    let env = scene();
    let bare = |command: &str| {
        env.call(["gate"])
            .without_env("HOME")
            .without_env("CLAUDE_PROJECT_DIR")
            .stdin(claude("Bash", bash(command)).to_string())
            .run()
            .expect_code(0)
    };
    let answer = parsed(&bare("ls"));
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "allow");
    let outcome = bare("echo x > '/etc/\u{1b}[2J\u{202e}'");
    let text = parsed(&outcome)["hookSpecificOutput"]["permissionDecisionReason"].to_string();
    assert!(
        !text.contains('\u{202e}') && !outcome.out().contains('\u{1b}'),
        "{text}"
    );
}
