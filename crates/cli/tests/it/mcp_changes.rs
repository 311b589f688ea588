//! What a child changed, through the protocol server: diff, apply, discard (C2, H2).

use std::fs;

use deputize_testkit::TestEnv;
use serde_json::{Value, json};

use crate::mcp_client::{Client, asking, refusal};
use crate::scene::{call, events, only_run, project, say, script};

/// A run that wrote two files in its copy.
fn changed(client: &mut Client, env: &TestEnv) -> Value {
    let write = |path: &str| call("write", json!({ "path": path, "content": "new\n" }));
    let turns = [write("one.txt"), write("two/two.txt"), say("Done.")];
    let model = script(env, &json!({ "turns": turns }));
    let result = client.told("subagent", json!({ "prompt": "Go.", "model": model }));
    assert_eq!(result["status"], "ok", "{result:#}");
    result["run"].clone()
}

/// C2, H2: exactly the manifest that was looked at comes to the folder, after a person's yes.
#[test]
fn mcp_changes_come_to_the_folder_after_a_yes() {
    let env = project();
    let mut client = Client::begin(&env, &["--allow", "shell"], &asking());
    let run = changed(&mut client, &env);
    let diff = client.call("subagent_diff", json!({ "run": run }));
    let text = diff["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("as data") && text.contains("+new"), "{text}");
    let object = &diff["structuredContent"];
    assert_eq!(object["run"], run);
    assert_eq!(object["diff"], text);
    let manifest = object["manifest"].clone();
    let stat = json!({ "run": run, "paths": ["one.txt"], "stat": true });
    let one = client.told("subagent_diff", stat);
    assert_eq!(one["changes"].as_array().unwrap().len(), 1);
    for paths in [json!(["/etc/passwd"]), json!(["../x"]), json!(["never"])] {
        let refusal = client.refused("subagent_diff", json!({ "run": run, "paths": paths }));
        assert_eq!(refusal["code"], "path_invalid");
    }
    for wrong in ["", "x", &"0".repeat(64)] {
        let refusal = client.refused("subagent_apply", json!({ "run": run, "manifest": wrong }));
        assert_eq!(refusal["code"], "manifest_changed");
        assert!(refusal["fix"].as_str().unwrap().contains("subagent_diff"));
    }
    let apply = json!({ "run": run, "manifest": manifest });
    let id = client.begin_call("subagent_apply", apply.clone());
    let question = client.question();
    let card = question["params"]["message"].as_str().unwrap();
    let first = card.lines().next().unwrap();
    assert!(
        first.ends_with(": 3 paths, one.txt, two, two/two.txt"),
        "{card}"
    );
    for part in ["one.txt", "two/two.txt", manifest.as_str().unwrap()] {
        assert!(card.contains(part), "{part} in {card}");
    }
    client.say(&question, "no");
    assert_eq!(refusal(&client.result(id))["code"], "declined");
    assert!(!env.workspace().join("one.txt").exists());
    let id = client.begin_call("subagent_apply", apply.clone());
    let question = client.question();
    client.say(&question, "yes");
    let applied = client.result(id)["structuredContent"].clone();
    assert_eq!(applied["status"], "applied", "{applied}");
    let new = fs::read_to_string(env.workspace().join("two/two.txt")).unwrap();
    assert_eq!(new, "new\n");
    // There is nothing left to ask about.
    let again = client.told("subagent_apply", apply);
    assert_eq!(again["done"], 0);
    let ledger = fs::read_to_string(only_run(&env).join("ledger.jsonl")).unwrap();
    assert!(ledger.contains("client raw"), "{ledger}");
}

/// C2: a conflict is refused before anybody is asked, and nothing is lost.
#[test]
fn mcp_a_conflict_asks_nobody() {
    let env = project();
    let mut client = Client::begin(&env, &["--allow", "shell"], &asking());
    let run = changed(&mut client, &env);
    let diff = client.told("subagent_diff", json!({ "run": run }));
    fs::write(env.workspace().join("one.txt"), "mine\n").unwrap();
    let apply = json!({ "run": run, "manifest": diff["manifest"] });
    let refusal = client.refused("subagent_apply", apply);
    assert_eq!(refusal["code"], "conflicts");
    assert!(client.so_far("elicitation/create").is_empty());
    let mine = fs::read_to_string(env.workspace().join("one.txt")).unwrap();
    assert_eq!(mine, "mine\n");
}

/// C2, S4: a client that can't ask applies and loses nothing.
#[test]
fn mcp_without_questions_nothing_is_applied_or_thrown_away() {
    let env = project();
    let mut client = Client::begin(&env, &["--allow", "shell"], &json!({}));
    let run = changed(&mut client, &env);
    let diff = client.told("subagent_diff", json!({ "run": run }));
    for (tool, arguments) in [
        (
            "subagent_apply",
            json!({ "run": run, "manifest": diff["manifest"] }),
        ),
        ("subagent_discard", json!({ "run": run })),
    ] {
        let refusal = client.refused(tool, arguments);
        assert_eq!(refusal["code"], "needs_yes");
        assert!(refusal["fix"].as_str().unwrap().contains("deputize "));
    }
    assert!(!env.workspace().join("one.txt").exists());
    client.told("subagent_diff", json!({ "run": run }));
}

/// C2: what would be lost is shown; after a no everything is there, after a yes it is gone.
#[test]
fn mcp_a_copy_is_thrown_away_after_a_yes() {
    let env = project();
    let mut client = Client::begin(&env, &["--allow", "shell"], &asking());
    let run = changed(&mut client, &env);
    for answer in ["no", "yes"] {
        let id = client.begin_call("subagent_discard", json!({ "run": run }));
        let question = client.question();
        let card = question["params"]["message"].as_str().unwrap();
        assert!(card.contains("one.txt"), "{card}");
        client.say(&question, answer);
        let answered = client.result(id);
        match answer {
            "no" => assert_eq!(refusal(&answered)["code"], "declined"),
            _ => assert_eq!(answered["structuredContent"]["status"], "discarded"),
        }
    }
    let refusal = client.refused("subagent_diff", json!({ "run": run }));
    assert_eq!(refusal["code"], "no_copy");
    // Its result is there all the same.
    let status = client.told("subagent_status", json!({ "run": run }));
    assert_eq!(status["status"], "ok");
    assert!(!events(&only_run(&env)).is_empty());
}

/// C2: what git keeps for itself is told as one thing, until it is named; the manifest is the same.
#[test]
fn mcp_a_new_repository_is_one_thing_in_a_diff() {
    let env = project();
    let mut client = Client::begin(&env, &["--allow", "shell"], &json!({}));
    let commit = "git init -q . && git add . && git -c user.name=a -c user.email=a@b.example \
                  commit -qm x && echo new > new.txt";
    let turns = [call("bash", json!({ "command": commit })), say("Done.")];
    let model = script(&env, &json!({ "turns": turns }));
    let result = client.told("subagent", json!({ "prompt": "Go.", "model": model }));
    let run = result["run"].clone();
    let answer = client.call("subagent_diff", json!({ "run": run }));
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("changed: .git (the repository itself, "),
        "{text}"
    );
    assert!(text.contains("+new"), "{text}");
    let diff = answer["structuredContent"].clone();
    let paths = |diff: &Value| -> Vec<String> {
        let changes = diff["changes"].as_array().unwrap();
        let path = |change: &Value| change["path"].as_str().unwrap().to_owned();
        changes.iter().map(path).collect()
    };
    let shown = paths(&diff);
    assert!(shown.contains(&"new.txt".to_owned()), "{shown:?}");
    assert!(!shown.contains(&".git/HEAD".to_owned()), "{shown:?}");
    // What git would run is always named by itself.
    assert!(shown.contains(&".git/config".to_owned()), "{shown:?}");
    let named = client.told("subagent_diff", json!({ "run": run, "paths": [".git"] }));
    assert!(paths(&named).contains(&".git/HEAD".to_owned()));
    assert_eq!(named["manifest"], diff["manifest"]);
}
