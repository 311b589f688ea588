//! Questions of the protocol server about single calls of a run (S9, S5).

use deputize_testkit::TestEnv;
use serde_json::{Value, json};

use crate::allowances::own_rules;
use crate::mcp_client::{Client, SECRET, about, accept, asking, proof};
use crate::scene::{call, events, only_run, project, say, script};

/// The person wants to be asked about `touch`, whatever contains it.
const RULES: &str = "[[ask]]\ncommand = \"touch\"\nreason = \"leaves files behind\"\n";

fn touch(name: &str) -> Value {
    call("bash", json!({ "command": format!("touch {name}") }))
}

/// A project whose person is asked, and a task that makes these calls.
fn asked(calls: &[Value]) -> (TestEnv, Value) {
    let env = project();
    own_rules(&env, RULES);
    let mut turns = calls.to_vec();
    turns.push(say("Done."));
    let model = script(&env, &json!({ "turns": turns }));
    (env, json!({ "prompt": "Go.", "model": model }))
}

/// What was answered to each question: the call, the answer, by whom, and for how long.
fn answers(env: &TestEnv) -> Vec<(u64, String, String, String)> {
    let events = events(&only_run(env));
    let answered = events
        .iter()
        .filter(|event| event["kind"] == "call.answered");
    let row = |event: &Value| {
        let text = |name: &str| event["data"][name].as_str().unwrap().to_owned();
        let call = event["data"]["call"].as_u64().unwrap();
        (call, text("answer"), text("by"), text("scope"))
    };
    answered.map(row).collect()
}

fn row(call: u64, answer: &str, by: &str, scope: &str) -> (u64, String, String, String) {
    (call, answer.to_owned(), by.to_owned(), scope.to_owned())
}

/// S9: the client is shown the whole call with its rule; its yes is for this one time, whatever it says,
/// and its no ends the call and not the run.
#[test]
fn mcp_a_client_is_asked_about_a_call_each_time() {
    let (env, task) = asked(&[touch("a"), touch("a"), touch("b")]);
    let mut client = Client::begin(&env, &["--allow", "shell"], &asking());
    let id = client.begin_call("subagent", task);
    let question = client.question();
    let card = question["params"]["message"].as_str().unwrap();
    let first = card.lines().next().unwrap();
    let call = "Your yes runs one call of a child: bash {\"command\":\"touch a\"}";
    assert_eq!(first, call);
    for part in [
        "(general) asks before its call #1.",
        "{\"command\":\"touch a\"}",
        "leaves files behind",
        "rules.toml:1",
        "Run it?",
    ] {
        assert!(card.contains(part), "no {part:?} in {card}");
    }
    let status = client.told("subagent_status", json!({}));
    let run = status["runs"][0].clone();
    assert_eq!(run["state"], "waiting", "{run:#}");
    let about = about(&question);
    assert_eq!(
        (&about["kind"], &about["run"]),
        (&json!("call"), &run["run"])
    );
    assert_eq!(about["scopes"], json!([]));
    client.reply(&question, accept("yes", Some("run"), ""));
    for answer in ["yes", "no"] {
        let question = client.question();
        client.say(&question, answer);
    }
    let result = client.result(id)["structuredContent"].clone();
    assert_eq!(result["changes"].as_array().unwrap().len(), 1, "{result:#}");
    let by = "answered by client raw";
    assert_eq!(
        answers(&env),
        [
            row(1, "yes", by, "once"),
            row(2, "yes", by, "once"),
            row(3, "no", by, "")
        ]
    );
}

/// S9: the dialog of a host with a secret may say yes for the run; an answer without its proof counts
/// for nothing.
#[test]
fn mcp_a_host_may_say_yes_to_a_call_for_the_run() {
    let (env, task) = asked(&[touch("a"), touch("a"), touch("b")]);
    let mut client = Client::host(&env, &["--allow", "shell"], &SECRET);
    let id = client.begin_call("subagent", task);
    let question = client.question();
    assert_eq!(about(&question)["scopes"], json!(["once", "run"]));
    client.say(&question, "yes");
    client.take("the notice", |message| {
        message["params"]["data"]["code"] == "answer_without_proof"
    });
    let right = proof(&question, "yes", "run");
    client.reply(&question, accept("yes", Some("run"), &right));
    let question = client.question();
    assert!(
        question["params"]["message"]
            .as_str()
            .unwrap()
            .contains("touch b")
    );
    let right = proof(&question, "yes", "");
    client.reply(&question, accept("yes", None, &right));
    let result = client.result(id)["structuredContent"].clone();
    assert_eq!(result["status"], "ok", "{result:#}");
    let by = "the dialog of host pi";
    assert_eq!(
        answers(&env),
        [row(1, "yes", by, "run"), row(3, "yes", by, "once")]
    );
    let ledger = std::fs::read_to_string(only_run(&env).join("ledger.jsonl")).unwrap();
    assert!(ledger.contains("answer_without_proof"), "{ledger}");
}

/// S9: silence is told apart from a no, and a run that is stopped takes its question away.
#[test]
fn mcp_a_call_that_nobody_answers_was_not_denied() {
    let (env, task) = asked(&[touch("a"), touch("b")]);
    let options = ["--allow", "shell", "--answer-within", "1"];
    let mut client = Client::begin(&env, &options, &asking());
    let id = client.begin_call("subagent", task.clone());
    let first = client.question();
    let taken = client.next("notifications/cancelled");
    assert_eq!(taken["params"]["requestId"], first["id"]);
    let second = client.question();
    client.reply(&second, json!({ "action": "cancel" }));
    let result = client.result(id)["structuredContent"].clone();
    assert_eq!(result["status"], "blocked", "{result:#}");
    let answers = answers(&env);
    assert_eq!(
        answers,
        [row(1, "nobody", "", ""), row(2, "nobody", "", "")]
    );
    let heard = std::fs::read_to_string(only_run(&env).join("transcript.json")).unwrap();
    assert!(heard.contains("nobody said no either"), "{heard}");

    let (env, mut task) = asked(&[touch("a")]);
    task["background"] = json!(true);
    let mut client = Client::begin(&env, &["--allow", "shell"], &asking());
    let run = client.told("subagent", task)["run"].clone();
    let question = client.question();
    let ended = client.told("subagent_stop", json!({ "run": run }));
    assert_eq!(ended["status"], "cancelled");
    let taken = client.next("notifications/cancelled");
    assert_eq!(taken["params"]["requestId"], question["id"]);
}

/// S4: a client that can't ask isn't asked, and the child is told so.
#[test]
fn mcp_without_questions_a_call_that_needs_a_yes_is_refused() {
    let (env, task) = asked(&[touch("a")]);
    let mut client = Client::begin(&env, &["--allow", "shell"], &json!({}));
    let result = client.told("subagent", task);
    assert_eq!(result["status"], "blocked", "{result:#}");
    assert!(answers(&env).is_empty());
    let heard = std::fs::read_to_string(only_run(&env).join("transcript.json")).unwrap();
    assert!(heard.contains("nobody can be asked"), "{heard}");
}
