//! The client's own model answers for the child (N5).

use deputize_testkit::TestEnv;
use serde_json::{Value, json};

use crate::mcp_client::{Client, refusal};
use crate::scene::{events, only_run, project, runs, texts};

/// What a client that serves its model declares.
fn serving() -> Value {
    json!({ "sampling": { "tools": {} } })
}

fn task(model: Option<&str>) -> Value {
    let mut task = json!({ "prompt": "Find the weight limit.", "preset": "read-only" });
    if let Some(model) = model {
        task["model"] = json!(model);
    }
    task
}

fn says(text: &str) -> Value {
    json!({
        "role": "assistant", "model": "big-1", "stopReason": "endTurn",
        "content": { "type": "text", "text": text },
    })
}

fn calls(id: &str, tool: &str, input: Value) -> Value {
    json!({
        "role": "assistant", "model": "big-1", "stopReason": "toolUse",
        "content": [{ "type": "tool_use", "id": id, "name": tool, "input": input }],
    })
}

fn used(mut turn: Value, usage: Value) -> Value {
    turn["_meta"]["deputize/usage"] = usage;
    turn
}

impl Client {
    /// The next turn that is asked for.
    #[track_caller]
    fn turn(&mut self) -> Value {
        self.next("sampling/createMessage")
    }
}

/// Begins a run with the client's model.
fn begin(env: &TestEnv, options: &[&str], model: Option<&str>) -> (Client, u64) {
    let mut client = Client::begin(env, options, &serving());
    let id = client.begin_call("subagent", task(model));
    (client, id)
}

/// N5, N4: without a name the host's model answers; each turn is a request with the tools, the host's
/// own message comes back as it was, and what it says that was used is labelled as its word.
#[test]
fn n5_mcp_the_clients_model_answers_for_the_child() {
    let env = project();
    let (mut client, id) = begin(&env, &[], None);
    let first = client.turn();
    let params = &first["params"];
    assert!(params["systemPrompt"].as_str().unwrap().len() > 100);
    assert!(params["maxTokens"].as_u64().unwrap() > 0);
    assert_eq!(params["toolChoice"]["mode"], "auto");
    assert!(params["modelPreferences"].is_null());
    let names: Vec<&str> = params["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["read", "ls", "find", "grep"]);
    let asked = params["messages"].to_string();
    assert!(asked.contains("Find the weight limit."), "{asked}");
    let own = json!({ "z": [1.5, null], "thinking": "\u{1f642} a\u{0}", "signature": "Q+/=" });
    let mut turn = calls("c1", "read", json!({ "path": "src/limits.rs" }));
    turn["_meta"]["deputize/message"] = own.clone();
    let usage = json!({ "input": 100, "cachedInput": 20, "output": 7, "costMicros": 1_500 });
    client.reply(&first, used(turn, usage));
    let second = client.turn();
    let messages = second["params"]["messages"].as_array().unwrap();
    let [.., said, told] = messages.as_slice() else {
        panic!("{messages:#?}")
    };
    assert_eq!(said["_meta"]["deputize/message"], own);
    assert_eq!(said["content"][0]["type"], "tool_use");
    assert_eq!(told["content"][0]["toolUseId"], "c1");
    assert!(told.to_string().contains("WEIGHT"), "{told}");
    let usage = json!({ "input": 30, "cachedInput": 100, "output": 9, "costMicros": 500 });
    client.reply(&second, used(says("It is in src/limits.rs:1."), usage));
    let answer = client.result(id);
    let result = &answer["structuredContent"];
    assert_eq!(result["status"], "ok", "{answer:#}");
    assert_eq!(
        (&result["model"], &result["model_label"]),
        (&json!("host"), &json!("host"))
    );
    let spent = &result["usage"];
    let numbers = [
        "input_tokens",
        "cached_input_tokens",
        "output_tokens",
        "cost_micros",
        "turns",
    ];
    let numbers = numbers.map(|name| spent[name].as_u64().unwrap());
    assert_eq!(numbers, [130, 120, 16, 2_000, 2]);
    assert_eq!(result["warnings"], json!([]));
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("usage reported by host"), "{text}");
    let turns: Vec<Value> = events(&only_run(&env))
        .into_iter()
        .filter(|event| event["kind"] == "model.turn")
        .collect();
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0]["data"]["model"], "big-1");
    assert_eq!(turns[0]["data"]["cost_micros"], 1_500);
}

/// N5: one of the host's models is asked for by its name, as a hint.
#[test]
fn n5_mcp_a_model_of_the_client_is_named_by_a_hint() {
    let env = project();
    let (mut client, id) = begin(&env, &[], Some("host:small"));
    let turn = client.turn();
    let hints = &turn["params"]["modelPreferences"]["hints"];
    assert_eq!(*hints, json!([{ "name": "small" }]));
    client.reply(&turn, says("Done."));
    let result = client.result(id)["structuredContent"].clone();
    assert_eq!(result["model"], "host:small");
}

/// N5, D6: a name is only a hint: where another model answers, or another one than before, that is an event
/// and stands in the ledger.
#[test]
fn n5_mcp_another_model_than_before_is_an_event() {
    let env = project();
    let (mut client, id) = begin(&env, &[], Some("host:small"));
    for (model, number) in [("big-1", 1), ("big-1", 2), ("small-2", 3)] {
        let turn = client.turn();
        let path = format!("src/{number}");
        let mut answer = calls(&path, "ls", json!({ "path": path }));
        answer["model"] = json!(model);
        client.reply(&turn, answer);
    }
    let turn = client.turn();
    let mut last = says("Done.");
    last["model"] = json!("small-2");
    client.reply(&turn, last);
    client.result(id);
    let told: Vec<String> = events(&only_run(&env))
        .iter()
        .filter(|event| event["data"]["code"] == "model_substituted")
        .map(|event| event["data"]["message"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        told,
        [
            "the host answers with `big-1` in place of `small`",
            "the host answers with `small-2` in place of `big-1`",
        ]
    );
}

/// N5: a host that reports nothing has its tokens estimated, and that is said.
#[test]
fn n5_mcp_without_usage_tokens_are_estimated_and_said_to_be() {
    let env = project();
    let (mut client, id) = begin(&env, &[], None);
    let turn = client.turn();
    client.reply(&turn, used(says("Done."), json!({ "input": "many" })));
    let result = client.result(id)["structuredContent"].clone();
    assert_eq!(result["status"], "ok", "{result:#}");
    let usage = &result["usage"];
    assert!(usage["input_tokens"].as_u64().unwrap() > 100, "{usage}");
    assert!(usage["output_tokens"].as_u64().unwrap() > 0, "{usage}");
    assert!(usage["cost_micros"].is_null(), "{usage}");
    let warnings = texts(&result["warnings"]).join("\n");
    assert!(warnings.contains("tokens are estimated"), "{warnings}");
    let notice = client.take("the notice", |message| {
        message["params"]["data"]["code"] == "usage_estimated"
    });
    assert_eq!(notice["params"]["data"]["run"], result["run"]);
}

/// N5, D4: what is reported is held against the budget: tokens always, and cost once it is reported.
#[test]
fn n5_mcp_what_the_client_reports_counts_against_the_budget() {
    for (limit, usage, dimension) in [
        (
            "tokens=20000",
            json!({ "input": 30_000, "output": 10 }),
            "tokens",
        ),
        (
            "cost_micros=5000",
            json!({ "input": 1, "output": 1, "costMicros": 6_000 }),
            "cost_micros",
        ),
    ] {
        let env = project();
        let (mut client, id) = begin(&env, &["--budget", limit], None);
        let turn = client.turn();
        let look = calls("c1", "ls", json!({ "path": "." }));
        client.reply(&turn, used(look, usage));
        // There is no room for a last turn either.
        let result = client.result(id)["structuredContent"].clone();
        assert_eq!(result["status"], "budget_exhausted", "{limit}: {result:#}");
        assert_eq!(result["usage"]["exhausted"], dimension);
        assert!(client.so_far("sampling/createMessage").is_empty());
    }
}

/// N5: whatever a host answers that is no turn ends the run with its code; nothing hangs.
#[test]
fn n5_mcp_what_is_no_turn_ends_the_run_clearly() {
    let refused = json!({ "code": -1, "message": "User rejected sampling request \u{1b}[2J" });
    for (reply, code, words) in [
        (
            json!({ "error": refused }),
            "model_refused",
            "User rejected",
        ),
        (json!({ "result": {} }), "model_malformed", "role"),
        (
            json!({ "result": { "role": "assistant" } }),
            "model_malformed",
            "content",
        ),
        (
            json!({ "result": { "role": "assistant", "model": "m", "content": [{ "type": "image" }] } }),
            "model_malformed",
            "neither text nor a call",
        ),
        (json!({ "result": says("") }), "empty_result", "empty"),
    ] {
        let env = project();
        let (mut client, id) = begin(&env, &[], None);
        let turn = client.turn();
        let mut message = json!({ "jsonrpc": "2.0", "id": turn["id"] });
        for (name, value) in reply.as_object().unwrap() {
            message[name] = value.clone();
        }
        client.send(&message);
        let answer = client.result(id);
        let result = &answer["structuredContent"];
        assert_eq!(result["status"], "error", "{reply}: {result:#}");
        let told = result.to_string();
        assert!(
            told.contains(code) && told.contains(words),
            "{code}: {told}"
        );
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

/// N5, G1: a call that can't be is refused with its reason, as every model's is; the run goes on.
#[test]
fn n5_mcp_a_bad_call_is_refused_and_told() {
    let env = project();
    let (mut client, id) = begin(&env, &[], None);
    for (tool, input) in [
        ("read", json!("no object")),
        ("read", json!({ "path": 7 })),
        ("bash", json!({ "command": "id" })),
        ("never", json!({})),
    ] {
        let turn = client.turn();
        client.reply(&turn, calls(tool, tool, input));
    }
    let last = client.turn();
    let results: Vec<Value> = last["params"]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["content"][0]["type"] == "tool_result")
        .map(|message| message["content"][0]["isError"].clone())
        .collect();
    assert_eq!(results, [true, true, true, true]);
    client.reply(&last, says("I could not."));
    let result = client.result(id)["structuredContent"].clone();
    assert_eq!(result["usage"]["refused_calls"], 1, "{result:#}");
}

/// N5, D5: progress is a sign of life; a host that falls silent loses the turn, which is taken back, and
/// is asked once more for a result.
#[test]
fn n5_mcp_a_mute_client_loses_its_turn() {
    let env = project();
    let (mut client, id) = begin(&env, &["--budget", "idle_seconds=1"], None);
    let mute = client.turn();
    let taken = client.next("notifications/cancelled");
    assert_eq!(taken["params"]["requestId"], mute["id"]);
    let last = client.turn();
    assert!(last["params"]["tools"].is_null(), "{last:#}");
    client.reply(&last, says("Nothing was found."));
    let result = client.result(id)["structuredContent"].clone();
    assert_eq!(result["status"], "budget_exhausted", "{result:#}");
    assert_eq!(result["usage"]["exhausted"], "idle_seconds");
    // An answer to what was taken back changes nothing.
    client.reply(&mute, says("Late."));
    let ping = client.ask("ping", json!({}));
    client.result(ping);
}

/// N5, D4: progress is a sign of life: an answer that is on its way isn't idleness.
#[test]
fn n5_mcp_progress_is_a_sign_of_life() {
    let env = project();
    let (mut client, id) = begin(&env, &["--budget", "idle_seconds=1"], None);
    let turn = client.turn();
    let token = turn["params"]["_meta"]["progressToken"].clone();
    assert!(!token.is_null(), "{turn:#}");
    let progress = json!({ "progressToken": token, "progress": 1 });
    client.notify("notifications/progress", progress);
    client.take("more silence than the budget has", |message| {
        message["params"]["data"]["silent_ms"].as_u64() > Some(1_500)
    });
    client.reply(&turn, says("Done."));
    let result = client.result(id)["structuredContent"].clone();
    assert_eq!(result["status"], "ok", "{result:#}");
}

/// N5, B5: a stopped run takes its turn back; a client that goes away in the middle ends it.
#[test]
fn n5_mcp_a_turn_goes_with_its_run() {
    let env = project();
    let mut client = Client::begin(&env, &[], &serving());
    let mut background = task(None);
    background["background"] = json!(true);
    let run = client.told("subagent", background)["run"].clone();
    let turn = client.turn();
    let ended = client.told("subagent_stop", json!({ "run": run }));
    assert_eq!(ended["status"], "cancelled");
    let taken = client.next("notifications/cancelled");
    assert_eq!(taken["params"]["requestId"], turn["id"]);
    client.begin_call("subagent", task(None));
    let _ = client.turn();
    let (status, errors) = client.end();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
    for run in runs(&env) {
        let result = std::fs::read(run.join("result.json")).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["status"], "cancelled");
    }
}

/// N5, N4: without the capability the host's model is refused, and nothing stands in for it.
#[test]
fn n5_mcp_without_the_capability_the_hosts_model_is_refused() {
    let env = project();
    for capabilities in [json!({}), json!({ "sampling": {} })] {
        let mut client = Client::begin(&env, &[], &capabilities);
        for model in ["host", "host:big"] {
            let refused = client.refused("subagent", task(Some(model)));
            assert_eq!(refused["code"], "no_host_model");
            assert!(refused["fix"].as_str().unwrap().contains("sampling"));
        }
        let answer = client.call("subagent", task(None));
        assert_eq!(refusal(&answer)["code"], "no_model");
    }
    assert!(runs(&env).is_empty());
    let outcome = env.run(["run", "--preset", "read-only", "--model", "host", "Go."]);
    assert!(outcome.err().contains("no_host_model"), "{outcome}");
}
