//! A child's turns are answered by Pi's own model, with Pi's provider and account (N5).

use std::fs;

use deputize_testkit::{Reply, Said, Speech, search_every_byte, until};
use serde_json::{Value, json};

use crate::pi_scene::Pi;
use crate::scene::descendants;

fn handing(arguments: &Value) -> Said {
    let mut all = json!({ "prompt": "Find the weight limit.", "preset": "read-only" });
    for (name, value) in arguments.as_object().unwrap() {
        all[name] = value.clone();
    }
    Said::call("subagent", &all)
}

/// Makes Pi's provider speak Anthropic's messages, with thinking.
fn speak_anthropic(pi: &Pi) {
    let path = pi.env.home().join(".pi/agent/models.json");
    let mut models: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let host = &mut models["providers"]["host"];
    host["api"] = json!("anthropic-messages");
    host["baseUrl"] = json!(pi.provider.url());
    host["models"][0]["reasoning"] = json!(true);
    fs::write(&path, models.to_string()).unwrap();
    pi.env.give();
}

/// N5, A3: without a model's name Pi's own answers, tools included, through Pi's provider and with Pi's key, which is in
/// no byte of Deputize; what it used is labelled as reported by the host, and counted.
#[test]
fn pis_model_answers_for_the_child() {
    let pi = Pi::playing([
        handing(&json!({})),
        Said::call("read", &json!({ "path": "src/limits.rs" })).using(1_000, 200, 20),
        Said::text("It is 31,500 g.\n\nEVIDENCE src/limits.rs:4 the constant").using(2_000, 0, 30),
        Said::text("The child says 31,500 g."),
    ]);
    let mut rpc = pi.rpc(&[]);
    rpc.prompt("What is the weight limit?");
    let result = rpc.called("subagent");
    let answer = &result["result"]["details"]["answer"];
    assert_eq!(answer["status"], "ok", "{result}");
    assert!(
        answer["model"].as_str().unwrap().starts_with("host"),
        "{answer}"
    );
    assert_eq!(answer["usage"]["input_tokens"], 3_000);
    assert_eq!(answer["usage"]["cached_input_tokens"], 200);
    assert_eq!(answer["usage"]["output_tokens"], 50);
    // 3 $ and 15 $ a million, 0.3 $ for what a cache served.
    assert_eq!(answer["usage"]["cost_micros"], 9_810);
    assert!(result.to_string().contains("reported by host"), "{result}");
    assert_eq!(rpc.dialogs(), 0);
    rpc.settled();
    rpc.end();
    let asked = pi.provider.asked();
    assert_eq!(asked.len(), 4);
    let bearer = format!("Bearer {}", pi.key.value());
    for one in &asked {
        assert_eq!(one.header("authorization"), Some(bearer.as_str()));
    }
    let bodies = pi.asked();
    let tools: Vec<&str> = bodies[1]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["read", "ls", "find", "grep"]);
    let told = bodies[2]["messages"].to_string();
    assert!(told.contains("MAX_WEIGHT: u32 = 31_500"), "{told}");
    let ours = pi.env.state().join("deputize");
    assert_eq!(search_every_byte(&ours, &[&pi.key]).len(), 0);
}

/// N5: signed thinking goes back to the provider byte for byte, in Anthropic's own form.
#[test]
fn signed_thinking_is_played_back() {
    let turns = [
        handing(&json!({ "model": "host" })),
        Said::call("read", &json!({ "path": "src/limits.rs" })).signed("Q2hpbGQ+/="),
        Said::text("It is 31,500 g."),
        Said::text("The child says 31,500 g."),
    ];
    let turns = turns.iter().enumerate();
    let pi = Pi::answering(turns.map(|(at, said)| Speech::Anthropic.turn(at, said)));
    speak_anthropic(&pi);
    let mut rpc = pi.rpc(&["--thinking", "low"]);
    rpc.prompt("What is the weight limit?");
    rpc.end_well();
    let bodies = pi.asked();
    let said = bodies[2]["messages"].as_array().unwrap();
    let own = said
        .iter()
        .find(|message| message["role"] == "assistant")
        .unwrap();
    assert_eq!(own["content"][0]["type"], "thinking", "{own}");
    assert_eq!(own["content"][0]["signature"], "Q2hpbGQ+/=");
    assert_eq!(own["content"][1]["type"], "redacted_thinking", "{own}");
    assert_eq!(own["content"][1]["data"], "r-Q2hpbGQ+/=");
    assert!(own.to_string().contains("tool_use"), "{own}");
}

/// N5: a name that Pi hasn't, and a model that fails, end the run with the reason.
#[test]
fn what_pi_can_not_serve_is_told() {
    let pi = Pi::answering([
        Speech::OpenaiChat.turn(0, &handing(&json!({ "model": "host:nosuch" }))),
        Speech::OpenaiChat.turn(1, &handing(&json!({ "model": "host:scripted" }))),
        Reply::status(
            401,
            &json!({ "error": { "message": "the account is closed" } }),
        ),
        Speech::OpenaiChat.turn(3, &Said::text("Neither worked.")),
    ]);
    let mut rpc = pi.rpc(&[]);
    rpc.prompt("What is the weight limit?");
    let missing = rpc.called("subagent").to_string();
    assert!(missing.contains("nosuch"), "{missing}");
    let failed = rpc.called("subagent").to_string();
    assert!(failed.contains("the account is closed"), "{failed}");
    assert!(!failed.contains(pi.key.value()));
    rpc.settled();
    rpc.end();
}

/// N5, D9: an aborted turn takes the child's model call back, and nothing waits for it.
#[test]
fn a_turn_that_nobody_needs_is_taken_back() {
    let pi = Pi::answering([
        Speech::OpenaiChat.turn(0, &handing(&json!({}))),
        Speech::OpenaiChat
            .turn(1, &Said::text("It is…").in_tokens())
            .silent_after(3),
    ]);
    let mut rpc = pi.rpc(&[]);
    rpc.prompt("What is the weight limit?");
    until("the child's model is asked", || {
        (pi.provider.asked().len() == 2).then_some(())
    });
    let below = descendants(rpc.id());
    rpc.ask(json!({ "type": "abort" }));
    assert_eq!(rpc.entry("deputize.ended")["status"], "cancelled");
    until("the run is gone", || {
        let left = below.iter().filter(|id| deputize_testkit::alive(**id));
        (left.count() == 1).then_some(())
    });
    rpc.end();
}
