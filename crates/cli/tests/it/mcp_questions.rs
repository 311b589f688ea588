//! Questions of the protocol server about a spawn: who may answer, and what counts (S3, S4, S9).

use deputize_testkit::TestEnv;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::mcp_client::{Client, SECRET, about, accept, asking, proof, refusal, secret_pipe};
use crate::scene::{events, only_run, project, runs, say, script};

/// A task that needs a yes, for its shell.
fn work(env: &TestEnv) -> Value {
    let model = script(env, &json!({ "turns": [say("Done.")] }));
    json!({ "prompt": "Go.", "model": model })
}

/// The channels and scopes of what a person agreed to in the only run.
fn approvals(env: &TestEnv) -> Vec<String> {
    let approved = events(&only_run(env));
    let approved = approved.iter().filter(|event| event["kind"] == "approval");
    approved.map(|event| event["data"].to_string()).collect()
}

/// S4: no elicitation is no UI: a spawn that needs a yes is refused with the fix, and nothing begins.
#[test]
fn mcp_without_questions_a_spawn_that_needs_a_yes_is_refused() {
    let env = project();
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let mut client = Client::begin(&env, &[], &capabilities);
        let refusal = client.refused("subagent", work(&env));
        assert_eq!(refusal["code"], "confirmation_needed", "{refusal}");
        let fix = refusal["fix"].as_str().unwrap();
        assert!(fix.contains("shell"), "{fix}");
    }
    assert!(runs(&env).is_empty());
    // What the person allowed on the command line of the server is allowed.
    let mut client = Client::begin(&env, &["--allow", "shell"], &json!({}));
    let result = client.told("subagent", work(&env));
    assert_eq!(result["status"], "ok", "{result:#}");
}

/// S3, S9: the card has the runtime's words first; a client's yes counts once, and is recorded with the
/// client's name.
#[test]
fn mcp_a_clients_yes_counts_once_and_is_recorded() {
    let env = project();
    let mut client = Client::begin(&env, &[], &asking());
    let id = client.begin_call("subagent", work(&env));
    let question = client.question();
    let card = question["params"]["message"].as_str().unwrap();
    // A dialog may show no more than the beginning: it says what the yes is for.
    let first = card.lines().next().unwrap();
    assert!(first.starts_with("A child needs your yes: "), "{card}");
    assert!(first.ends_with("inside its boundary (`shell`)."), "{card}");
    for part in ["shell", "general", "the agent in raw", "Start it?"] {
        assert!(card.contains(part), "{part} in {card}");
    }
    let schema = &question["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["answer"]["default"], "no");
    assert_eq!(schema["properties"].as_object().unwrap().len(), 1);
    assert_eq!(about(&question)["kind"], "spawn");
    assert_eq!(about(&question)["scopes"], json!([]));
    let status = client.told("subagent_status", json!({}));
    assert_eq!(status["runs"][0]["state"], "waiting");
    // A scope that a client makes up reaches no further.
    client.reply(&question, accept("yes", Some("preset"), ""));
    let result = client.result(id)["structuredContent"].clone();
    assert_eq!(result["status"], "ok", "{result:#}");
    let approvals = approvals(&env);
    assert!(!approvals.is_empty());
    for approval in approvals {
        assert!(approval.contains("client raw"), "{approval}");
        assert!(approval.contains("once"), "{approval}");
    }
    let mut again = work(&env);
    again["again"] = json!(true);
    let id = client.begin_call("subagent", again);
    let question = client.question();
    client.say(&question, "no");
    assert_eq!(refusal(&client.result(id))["code"], "declined");
}

/// S9: a no is a no, and everything else that is no answer is nobody's, never a no.
#[test]
fn mcp_nobody_is_told_apart_from_no() {
    let env = project();
    let mut client = Client::begin(&env, &["--answer-within", "1"], &asking());
    let mut ask = |reply: Option<Value>| {
        let id = client.begin_call("subagent", work(&env));
        let question = client.question();
        match reply {
            Some(reply) if !reply["error"].is_null() => client
                .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": reply["error"] })),
            Some(reply) => client.reply(&question, reply),
            None => {
                // It is taken away when its time is over.
                let taken = client.next("notifications/cancelled");
                assert_eq!(taken["params"]["requestId"], question["id"]);
            }
        }
        let refusal = refusal(&client.result(id));
        // Nobody may be there for good: then this spares the question.
        let spared = refusal["fix"].as_str().unwrap().contains("--allow shell");
        assert_eq!(spared, refusal["code"] == "unanswered", "{refusal}");
        refusal["code"].clone()
    };
    assert_eq!(ask(Some(json!({ "action": "decline" }))), "declined");
    for answer in ["no", "", "y", "YES"] {
        assert_eq!(ask(Some(accept(answer, None, ""))), "declined", "{answer}");
    }
    assert_eq!(ask(Some(json!({ "action": "accept" }))), "declined");
    assert_eq!(ask(Some(json!({ "action": "cancel" }))), "unanswered");
    assert_eq!(
        ask(Some(json!({ "error": { "code": -1, "message": "no" } }))),
        "unanswered"
    );
    assert_eq!(ask(None), "unanswered");
    assert!(runs(&env).is_empty());
}

/// S9, D9: a call that is cancelled, or a run that is stopped, takes its question away.
#[test]
fn mcp_a_question_goes_with_its_run() {
    let env = project();
    let mut client = Client::begin(&env, &[], &asking());
    let id = client.begin_call("subagent", work(&env));
    let question = client.question();
    client.notify("notifications/cancelled", json!({ "requestId": id }));
    let taken = client.next("notifications/cancelled");
    assert_eq!(taken["params"]["requestId"], question["id"]);
    // An answer that comes too late changes nothing.
    client.say(&question, "yes");
    client.take("its end", |message| {
        message["params"]["data"]["event"] == "ended"
    });
    let mut background = work(&env);
    background["background"] = json!(true);
    let run = client.told("subagent", background)["run"].clone();
    let question = client.question();
    let stopped = client.call("subagent_stop", json!({ "run": run }));
    assert_eq!(stopped["structuredContent"]["error"]["code"], "unanswered");
    let taken = client.next("notifications/cancelled");
    assert_eq!(taken["params"]["requestId"], question["id"]);
    assert!(runs(&env).is_empty());
}

/// S9: a host's dialog proves its answer; what has no proof for this very question, answer and scope is
/// dropped and recorded, and the question stays open for the right one.
#[test]
fn mcp_only_the_proved_answer_of_a_host_counts() {
    let env = project();
    let mut client = Client::host(&env, &[], &SECRET);
    let id = client.begin_call("subagent", work(&env));
    let question = client.question();
    assert_eq!(about(&question)["scopes"], json!(["run", "preset"]));
    let forged = [
        json!({ "action": "accept", "content": { "answer": "yes" } }),
        accept("yes", None, ""),
        accept("yes", None, &"0".repeat(64)),
        accept("yes", Some("preset"), &proof(&question, "yes", "run")),
        accept("yes", Some("run"), &proof(&question, "no", "run")),
        json!({ "action": "accept", "content": { "answer": ["yes"], "proof": 7 } }),
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
    ];
    for answer in &forged {
        client.reply(&question, answer.clone());
        let notice = client.take("the notice", |message| {
            message["params"]["data"]["code"] == "answer_without_proof"
        });
        assert_eq!(notice["params"]["data"]["run"], about(&question)["run"]);
    }
    let error = json!({ "code": -1, "message": "x" });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": error }));
    // The id of a request may come as a text too.
    let as_text = json!(question["id"].to_string());
    let reply = json!({ "action": "accept", "content": { "answer": "yes" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": as_text, "result": reply }));
    let right = accept("yes", Some("run"), &proof(&question, "yes", "run"));
    client.reply(&question, right.clone());
    let result = client.result(id)["structuredContent"].clone();
    assert_eq!(result["status"], "ok", "{result:#}");
    let approved = approvals(&env).join("\n");
    assert!(
        approved.contains("pi") && approved.contains("run"),
        "{approved}"
    );
    let ledger = std::fs::read_to_string(only_run(&env).join("ledger.jsonl")).unwrap();
    let told = format!("{} answers without the host's proof", forged.len() + 2);
    assert!(ledger.contains(&told), "{told}: {ledger}");
    // Nobody answers a second question with the first one's proof.
    let mut again = work(&env);
    again["again"] = json!(true);
    let id = client.begin_call("subagent", again);
    let second = client.question();
    client.reply(&second, right);
    client.take("the notice", |message| {
        message["params"]["data"]["code"] == "answer_without_proof"
    });
    client.reply(&second, accept("no", None, &proof(&second, "no", "")));
    let refusal = refusal(&client.result(id));
    assert_eq!(refusal["code"], "declined");
    assert!(
        refusal["reason"].as_str().unwrap().contains("pi"),
        "{refusal}"
    );
}

/// S9: this preset for half an hour answers the same question of the next run, and no other.
#[test]
fn mcp_a_host_may_say_yes_for_a_preset() {
    let env = project();
    let mut client = Client::host(&env, &[], &SECRET);
    let id = client.begin_call("subagent", work(&env));
    let question = client.question();
    let yes = accept("yes", Some("preset"), &proof(&question, "yes", "preset"));
    client.reply(&question, yes);
    assert_eq!(client.result(id)["structuredContent"]["status"], "ok");
    let mut again = work(&env);
    again["again"] = json!(true);
    let result = client.told("subagent", again);
    assert_eq!(result["status"], "ok", "{result:#}");
    let mut direct = work(&env);
    direct["workspace"] = json!("direct");
    direct["again"] = json!(true);
    let id = client.begin_call("subagent", direct);
    let question = client.question();
    let no = accept("no", None, &proof(&question, "no", ""));
    client.reply(&question, no);
    assert_eq!(refusal(&client.result(id))["code"], "declined");
}

/// S9: a scope that wasn't offered is no yes, however well it is proved.
#[test]
fn mcp_a_yes_reaches_no_further_than_was_offered() {
    let env = project();
    let mut client = Client::host(&env, &[], &SECRET);
    let id = client.begin_call("subagent", work(&env));
    let question = client.question();
    let answer = accept("yes", Some("always"), &proof(&question, "yes", "always"));
    client.reply(&question, answer);
    assert_eq!(refusal(&client.result(id))["code"], "unanswered");
    assert!(runs(&env).is_empty());
}

/// S9: without its whole secret a server for a host doesn't begin; the secret stands nowhere else.
#[test]
fn mcp_a_host_without_its_secret_is_refused() {
    let env = project();
    for (arguments, code) in [
        (vec!["mcp", "--host", "pi"], 2),
        (vec!["mcp", "--host-secret-fd", "9"], 2),
        (vec!["mcp", "--host", "pi", "--host-secret-fd", "0"], 2),
        (vec!["mcp", "--host", "pi", "--host-secret-fd", "199"], 2),
        (vec!["mcp", "--host", "p/i", "--host-secret-fd", "199"], 2),
    ] {
        let outcome = env.run(&arguments).expect_code(code);
        assert_eq!(outcome.out(), "", "{arguments:?}");
    }
    let short = secret_pipe(&SECRET[1..]);
    let number = std::os::fd::AsRawFd::as_raw_fd(&short).to_string();
    let outcome = env
        .run(["mcp", "--host", "pi", "--host-secret-fd", &number])
        .expect_code(2);
    assert!(outcome.err().contains("host_secret"), "{outcome}");
    let mut client = Client::host(&env, &[], &SECRET);
    let id = client.ask("ping", json!({}));
    client.result(id);
    // Nobody reads it from the server's side of /proc, and its descriptor is closed.
    let memory = std::fs::read(format!("/proc/{}/environ", client.id()));
    let environment = memory.unwrap_or_default();
    assert!(!environment.windows(32).any(|bytes| bytes == SECRET));
    client.close();
    let (status, _) = client.wait();
    assert_eq!(status.code(), Some(0));
}

/// S9, B5: a signal ends the server while it asks: nobody answered, and nothing began.
#[test]
fn mcp_a_signal_ends_a_server_that_asks() {
    let env = project();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut client = Client::begin(&env, &[], &asking());
        client.begin_call("subagent", work(&env));
        let _ = client.question();
        let id = rustix::process::Pid::from_raw(i32::try_from(client.id()).unwrap()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
        let (status, errors) = client.wait();
        assert_eq!(
            (status.code(), errors.as_str()),
            (Some(0), ""),
            "{signal:?}"
        );
    }
    assert!(runs(&env).is_empty());
}
