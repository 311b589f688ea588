//! Secrets of the person's environment, looked for in every byte that is written (A3).

use deputize_testkit::{Canary, Invocation, Outcome, TestEnv, search_every_byte};
use serde_json::json;

use crate::scene::{call, only_run, project, say, script, shell};

/// Names under which people hold credentials.
const NAMES: [&str; 6] = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GITHUB_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "DB_PASSWORD",
    "PI_AUTH",
];

fn secrets() -> Vec<Canary> {
    NAMES.map(Canary::new).into()
}

fn holding<'e>(mut invocation: Invocation<'e>, secrets: &[Canary]) -> Invocation<'e> {
    for (name, secret) in NAMES.iter().zip(secrets) {
        invocation = invocation.env(name, secret.value());
    }
    invocation
}

#[track_caller]
fn nowhere(env: &TestEnv, outcome: &Outcome, secrets: &[Canary]) {
    for secret in secrets {
        for bytes in [&outcome.stdout, &outcome.stderr] {
            let text = String::from_utf8_lossy(bytes);
            assert!(!text.contains(secret.value()), "{secret:?} in {outcome}");
        }
    }
    let all: Vec<&Canary> = secrets.iter().collect();
    for folder in [env.state(), env.temporary(), env.runtime()] {
        if folder.exists() {
            assert_eq!(search_every_byte(&folder, &all), []);
        }
    }
}

/// A3: a run that needs none of them writes none of them.
#[test]
fn a_run_writes_no_secret_of_the_environment() {
    let env = project();
    let secrets = secrets();
    let arguments = [
        "run",
        "--model",
        "scout",
        "--preset",
        "read-only",
        "--receipt",
        "Where is the weight limit enforced?",
    ];
    let outcome = holding(env.call(arguments), &secrets).run().expect_code(0);
    nowhere(&env, &outcome, &secrets);
    let outcome = holding(env.call(["exec", "--json", "--", "env"]), &secrets)
        .run()
        .expect_code(0);
    nowhere(&env, &outcome, &secrets);
    for arguments in [
        &["doctor"][..],
        &["doctor", "--json"],
        &["explain", "--tool", "exec", "--", "env"],
        &["exec", "--dry-run", "--json", "--", "env"],
    ] {
        let outcome = holding(env.call(arguments), &secrets).run().expect_code(0);
        nowhere(&env, &outcome, &secrets);
    }
}

/// A3: one in the prompt, in a call's arguments, in a file that is read and in the child's own text
/// is in nothing that is kept.
#[test]
fn a_secret_that_comes_by_another_way_is_not_kept() {
    let env = project();
    let secrets = secrets();
    let value = secrets[0].value();
    env.lay(|tree| {
        tree.file("config.txt", format!("key = \"{value}\"\n"));
    });
    let turns = json!([
        call("grep", json!({ "pattern": value })),
        call("read", json!({ "path": format!("{value}.txt") })),
        call(value, json!({})),
        call("read", json!({ "path": "config.txt" })),
        say(&json!({
            "summary": format!("It is {value}."),
            "evidence": [{ "path": "config.txt", "line": 1, "quote": value, "note": value }],
        })
        .to_string()),
    ]);
    let model = script(&env, &json!({ "turns": turns }));
    let prompt = format!("Look for {value}, or for {}.", secrets[1].value());
    let arguments = [
        "run",
        "--preset",
        "read-only",
        "--model",
        &model,
        "--json",
        &prompt,
    ];
    let _ = holding(env.call(arguments), &secrets).run().expect_code(0);
    let all: Vec<&Canary> = secrets.iter().collect();
    assert_eq!(search_every_byte(&env.state(), &all), []);
    // It was redacted, not lost: the ledger still tells what was called.
    let ledger = std::fs::read_to_string(only_run(&env).join("ledger.jsonl")).unwrap();
    assert!(ledger.contains("[redacted]"), "{ledger}");
}

/// A3: one that a person passes in by name is in the command's environment and in nothing that is
/// kept; nor is one among its arguments.
#[test]
fn a_secret_passed_to_a_command_is_not_kept() {
    let env = project();
    let secrets = secrets();
    let arguments = [
        "exec",
        "--env",
        NAMES[0],
        "--",
        "sh",
        "-c",
        "printf %s \"$OPENAI_API_KEY\"",
        secrets[1].value(),
    ];
    let outcome = holding(env.call(arguments), &secrets).run().expect_code(0);
    assert_eq!(outcome.out(), secrets[0].value());
    let all: Vec<&Canary> = secrets.iter().collect();
    assert_eq!(search_every_byte(&env.state(), &all), []);
    // A value that stands on the command line is a secret too, whatever it is called.
    let given = Canary::new("given on the command line");
    let pair = format!("SERVICE_TOKEN={}", given.value());
    let _ = env
        .run(["exec", "--env", &pair, "--", "true"])
        .expect_code(0);
    assert_eq!(search_every_byte(&env.state(), &[&given]), []);
}

/// A3: a run that is refused, and one whose model fails, tell none of them either.
#[test]
fn failures_tell_no_secret() {
    let env = project();
    let secrets = secrets();
    let value = secrets[0].value();
    let error =
        json!({ "error": { "code": "refused", "message": format!("401: bad key {value}") } });
    let model = script(&env, &json!({ "turns": [error] }));
    let arguments = [
        "run",
        "--preset",
        "read-only",
        "--model",
        &model,
        "--json",
        "Look.",
    ];
    let _ = holding(env.call(arguments), &secrets).run().expect_code(1);
    let all: Vec<&Canary> = secrets.iter().collect();
    assert_eq!(search_every_byte(&env.state(), &all), []);
}

/// S10: a command can't find them in another process either.
#[test]
fn a_command_finds_no_secret_in_proc() {
    let env = project();
    let secrets = secrets();
    let script = "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; cat /proc/self/mountinfo";
    let outcome = holding(env.call(["exec", "--", "sh", "-c", script]), &secrets)
        .run()
        .expect_code(0);
    nowhere(&env, &outcome, &secrets);
    assert!(
        outcome.out().contains("PATH="),
        "nothing was seen, so nothing was tested: {outcome}"
    );
    let _ = shell(&env, &[], "true");
}
