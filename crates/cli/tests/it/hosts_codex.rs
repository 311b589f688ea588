//! Codex as a host: its model calls our tool, and its hook asks our gate.

use std::fs;

use deputize_testkit::{Invocation, Outcome, Said, Speech, Terminal};
use serde_json::{Value, json};

use crate::hosts_scene::{SCREEN, Scene, agreed_by, codex, is_evidence, look, no_run, press};
use crate::scene::{say, script};

/// Codex offers a server's tools in a namespace.
const NAMESPACE: &str = "mcp__deputize";

const KEY: &str = "test-key-0123456789";

/// What Codex asks its model beside the turns, on a terminal.
const TITLE: &str = "Generate a concise, single-line task title";

/// Without this a hook runs only after a person looked at it on a terminal.
const TRUST: &str = "--dangerously-bypass-hook-trust";

/// Codex at home with a provider that plays these turns.
fn playing(turns: impl IntoIterator<Item = Said>) -> Scene {
    let scene = Scene::playing(codex(), Speech::OpenaiResponses, turns);
    let folder = scene.env.home().join(".codex");
    fs::create_dir(&folder).unwrap();
    let config = format!(
        "model = \"gpt-5\"\nmodel_provider = \"played\"\ncheck_for_update_on_startup = false\n\n\
         [model_providers.played]\nname = \"Played\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n\
         env_key = \"PLAYED_KEY\"\n\n[analytics]\nenabled = false\n",
        scene.provider.url()
    );
    fs::write(folder.join("config.toml"), config).unwrap();
    scene
}

fn subagent(arguments: &Value) -> Said {
    Said::call("subagent", arguments).of(NAMESPACE)
}

fn command(line: &str) -> Said {
    Said::call("exec_command", &json!({ "cmd": line }))
}

/// Codex without a terminal, and without a sandbox of its own: what stops a call is the hook.
fn asked<'s>(scene: &'s Scene, options: &[&str]) -> Invocation<'s> {
    let usual = ["exec", "--json", "--skip-git-repo-check"];
    let sandbox = ["--sandbox", "danger-full-access"];
    let all = [&usual[..], &sandbox, options, &["Look for it."]].concat();
    scene.call(&all).env("PLAYED_KEY", KEY)
}

/// What came of the last call, as the model is told.
#[track_caller]
fn came(request: &Value) -> String {
    let last = request["input"].as_array().unwrap().last().unwrap();
    assert_eq!(last["type"], "function_call_output", "{last:#}");
    last["output"].as_str().unwrap().to_owned()
}

/// The last thing that the host says.
#[track_caller]
fn answer(outcome: &Outcome) -> String {
    let events = outcome
        .out()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let mut messages = events.filter(|event: &Value| event["item"]["type"] == "agent_message");
    let last = messages.next_back().unwrap();
    last["item"]["text"].as_str().unwrap().to_owned()
}

/// H2: Codex, configured by `deputize install`, hands a task over, and what the deputy found is in its
/// model's next request.
#[test]
#[ignore = "needs Codex: `cargo xtask test --hosts`"]
fn hosts_codex_hands_over_and_hears_back() {
    let scene = playing([subagent(&look()), Said::text("It is found.")]);
    scene.install("codex", &[]);
    let outcome = scene.run(asked(&scene, &[]));
    assert_eq!(answer(&outcome), "It is found.");
    let requests = scene.requests(2, &outcome);
    let tools = requests[0]["tools"].as_array().unwrap();
    assert!(
        tools.iter().any(|tool| tool["name"] == NAMESPACE),
        "{tools:#?}"
    );
    let text = came(&requests[1]);
    let answer = text.lines().find(|line| line.starts_with('{'));
    is_evidence(&scene.env, answer.unwrap_or_else(|| panic!("{text}")));
}

/// H2, S4: without a person Codex says no itself, and a run that needs a yes is refused with that.
#[test]
#[ignore = "needs Codex: `cargo xtask test --hosts`"]
fn hosts_codex_is_refused_what_needs_a_yes() {
    let wish = json!({ "prompt": "Go.", "model": "scout" });
    let scene = playing([subagent(&wish), Said::text("Refused.")]);
    scene.install("codex", &[]);
    let outcome = scene.run(asked(&scene, &[]));
    assert_eq!(answer(&outcome), "Refused.");
    let text = came(&scene.requests(2, &outcome)[1]);
    assert!(text.contains("\"code\":\"declined\""), "{text}");
    assert!(
        text.contains("answered by client codex-mcp-client"),
        "{text}"
    );
    no_run(&scene.env);
}

/// H2, S3, S9: on a terminal Codex shows a person the whole card with No chosen; the yes is recorded as its.
#[test]
#[ignore = "needs Codex: `cargo xtask test --hosts`"]
fn hosts_codex_shows_a_person_what_a_yes_is_for() {
    let wish = json!({ "prompt": "Go.", "model": "script:../script.json" });
    let mut scene = playing([subagent(&wish), Said::text("It is made.")]);
    let title = Speech::OpenaiResponses.turn(9, &Said::text("Made"));
    scene.provider = scene.provider.aside(TITLE, title);
    script(&scene.env, &json!({ "turns": [say("Made it.")] }));
    let config = scene.env.home().join(".codex/config.toml");
    let mut known = fs::read_to_string(&config).unwrap();
    known.push_str(&format!(
        "\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n",
        scene.env.workspace().display()
    ));
    fs::write(&config, known).unwrap();
    scene.install("codex", &[]);
    // The daemon would outlive the terminal.
    let call = scene.call(&["--no-daemon"]).env("PLAYED_KEY", KEY);
    let mut terminal = Terminal::start(call.into_command(), SCREEN);
    terminal.until_shown("? for shortcuts");
    terminal.press(b"Make it.");
    terminal.until_shown("Make it.");
    press(&mut terminal, b"\r", "Your answer");
    for part in [
        "A child needs your yes: for its whole run, it runs shell",
        "asked by",
        "Start it?",
    ] {
        terminal.until_shown(part);
    }
    terminal.until_shown("\u{203a} 1. no");
    press(&mut terminal, b"\x1b[B", "\u{203a} 2. yes");
    press(&mut terminal, b"\r", "It is made.");
    let mut requests = scene.provider.bodies();
    requests.retain(|request| !request.to_string().contains(TITLE));
    let text = came(&requests[1]);
    assert!(text.contains("Made it."), "{text}");
    assert!(agreed_by(&scene.env).contains("codex-mcp-client"));
}

/// H1, G2: the gate as a hook of Codex denies, its model reads why, and what is harmless runs.
#[test]
#[ignore = "needs Codex: `cargo xtask test --hosts`"]
fn hosts_codex_obeys_the_gate() {
    let calls = ["rm -rf ~", "../deputize --version", "mkdir made"];
    let scene = playing(calls.map(command).into_iter().chain([Said::text("Done.")]));
    scene.install("codex", &["--gate"]);
    let kept = scene.env.home().join("kept");
    fs::write(&kept, "kept").unwrap();
    let outcome = scene.run(asked(&scene, &[TRUST]));
    let requests = scene.requests(4, &outcome);
    for (request, rule) in [(1, "destructive.outside"), (2, "admin.denied")] {
        let text = came(&requests[request]);
        assert!(text.contains(&format!("Deputize ({rule}): ")), "{text}");
    }
    assert!(kept.exists());
    assert!(came(&requests[3]).contains("exited with code 0"));
    assert!(scene.env.workspace().join("made").is_dir());
}

/// H1: a hook that nobody trusted doesn't run, and says nothing of it: what it would deny runs.
#[test]
#[ignore = "needs Codex: `cargo xtask test --hosts`"]
fn hosts_codex_runs_no_hook_that_nobody_trusted() {
    let scene = playing([command("../deputize --version"), Said::text("Done.")]);
    let told = scene.install("codex", &["--gate"]);
    assert!(told.contains("trust"), "{told}");
    let outcome = scene.run(asked(&scene, &[]));
    let text = came(&scene.requests(2, &outcome)[1]);
    assert!(text.contains("\ndeputize "), "{text}");
}
