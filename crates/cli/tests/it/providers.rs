//! Runs with models of providers, through the real program, its relay and the real wire formats (N4).

use deputize_testkit::{Invocation, Outcome, Provider, Reply, Said, Speech, TestEnv};
use serde_json::{Value, json};

use crate::scene::{events, only_run, parsed, project};

/// How each is named, and which variable moves it.
pub(crate) fn model_of(speech: Speech) -> (&'static str, &'static str, &'static str) {
    match speech {
        Speech::Anthropic => (
            "anthropic:claude-sonnet-4-5",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
        ),
        Speech::OpenaiChat => ("openai-chat:gpt-4.1", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        Speech::OpenaiResponses => ("openai:gpt-5", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        Speech::Gemini => (
            "gemini:gemini-2.5-flash",
            "GOOGLE_GEMINI_BASE_URL",
            "GEMINI_API_KEY",
        ),
        Speech::Ollama => ("ollama:llama3:8b", "OLLAMA_HOST", "OLLAMA_API_KEY"),
    }
}

/// A read-only run with a provider's model, as JSON.
pub(crate) fn asking<'e>(
    env: &'e TestEnv,
    speech: Speech,
    provider: &Provider,
    options: &[&str],
) -> Invocation<'e> {
    let (model, base, key) = model_of(speech);
    let mut arguments = vec!["run", "--preset", "read-only", "--model", model, "--json"];
    arguments.extend(options);
    arguments.push("Find the weight limit.");
    env.call(arguments)
        .env(base, provider.url())
        .env(key, "test-key-0123456789")
}

/// Plays these turns.
#[track_caller]
pub(crate) fn plays(env: &TestEnv, speech: Speech, turns: &[Said]) -> (Provider, Outcome, Value) {
    let replies: Vec<Reply> = turns
        .iter()
        .enumerate()
        .map(|(at, said)| speech.turn(at, said))
        .collect();
    let provider = Provider::playing(replies);
    let outcome = asking(env, speech, &provider, &[]).run();
    let result = parsed(&outcome);
    (provider, outcome, result)
}

pub(crate) fn reads() -> Said {
    Said::call("read", &json!({ "path": "README.md" }))
}

/// N4, N3: with every provider a run calls tools, gets their results, answers, and its usage is the
/// provider's own, cached tokens apart.
#[test]
fn every_provider_carries_a_run_with_calls() {
    for speech in Speech::ALL {
        let env = project();
        let turns = [
            reads().using(1_000, 500, 40),
            Said::text("It sends parcels; see README.md:1.")
                .in_tokens()
                .using(1_200, 900, 60),
        ];
        let (provider, outcome, result) = plays(&env, speech, &turns);
        assert_eq!(
            (result["status"].as_str(), outcome.code()),
            (Some("ok"), Some(0)),
            "{speech:?} {outcome}"
        );
        assert_eq!(result["summary"], "It sends parcels; see README.md:1.");
        assert_eq!(result["usage"]["input_tokens"], 2_200, "{speech:?}");
        assert_eq!(result["usage"]["output_tokens"], 100, "{speech:?}");
        let bodies = provider.bodies();
        assert_eq!(bodies.len(), 2, "{speech:?}");
        assert!(
            bodies[1].to_string().contains("Sends parcels"),
            "{speech:?}: the result went back"
        );
        let turns: Vec<Value> = events(&only_run(&env))
            .into_iter()
            .filter(|event| event["kind"] == "model.turn")
            .collect();
        assert_eq!(turns.len(), 2, "{speech:?}");
    }
}

/// N4: what a model says to itself goes back to it byte for byte and in its place, with every provider
/// that has such things.
#[test]
fn thoughts_go_back_as_they_came() {
    let signature = "EqQB+/=\u{e9}\\u0041 \"x\"";
    for speech in Speech::ALL {
        let env = project();
        let mut said = reads().signed(signature);
        said.text = vec!["Let me look.".to_owned()];
        let (provider, _, result) = plays(&env, speech, &[said, reads(), Said::text("Done.")]);
        assert_eq!(result["status"], "ok", "{speech:?}");
        let quoted = Value::String(signature.to_owned()).to_string();
        let asked = provider.asked();
        assert!(!asked[0].body.contains(&quoted), "{speech:?}");
        for later in &asked[1..] {
            assert_eq!(
                later.body.matches(&quoted).count(),
                1,
                "{speech:?}: {}",
                later.body
            );
        }
        let body = &provider.bodies()[1];
        match speech {
            Speech::Anthropic => {
                let content = body["messages"][1]["content"].as_array().unwrap();
                let kinds: Vec<&str> = content
                    .iter()
                    .map(|block| block["type"].as_str().unwrap())
                    .collect();
                assert_eq!(kinds, ["thinking", "redacted_thinking", "text", "tool_use"]);
                assert_eq!(content[0]["thinking"], "I think \u{201c}so\u{201d}\n");
                // The block that came whole goes back as those very bytes.
                let whole =
                    json!({ "type": "redacted_thinking", "data": format!("r-{signature}") });
                assert!(asked[1].body.contains(&whole.to_string()));
            }
            Speech::OpenaiResponses => {
                let item = json!({ "id": "rs_0", "type": "reasoning", "summary": [{ "type": "summary_text", "text": "thinking \u{e9}" }], "encrypted_content": signature });
                assert!(
                    asked[1].body.contains(&item.to_string()),
                    "{}",
                    asked[1].body
                );
                let kinds: Vec<&str> = body["input"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|item| item["type"].as_str().unwrap())
                    .collect();
                assert_eq!(
                    kinds,
                    [
                        "message",
                        "reasoning",
                        "message",
                        "function_call",
                        "function_call_output"
                    ]
                );
            }
            Speech::Gemini => {
                let parts = &body["contents"][1]["parts"];
                assert_eq!(parts[1]["thoughtSignature"], signature);
                assert_eq!(parts[1]["functionCall"]["name"], "read");
            }
            Speech::OpenaiChat => assert_eq!(body["messages"][2]["reasoning_content"], signature),
            Speech::Ollama => assert_eq!(body["messages"][2]["thinking"], signature),
        }
    }
}

/// N4: a stream that breaks or ends early is an error and never an end.
#[test]
fn a_cut_stream_is_an_error() {
    for speech in Speech::ALL {
        let reply = speech.turn(
            0,
            &Said::text("It is all fine; see README.md:1.").in_tokens(),
        );
        for cut in [
            reply.clone().broken_after(12),
            reply.clone().ended_after(12),
            reply.clone().ended_after(0),
        ] {
            let env = project();
            let provider = Provider::playing([cut]);
            let outcome = asking(&env, speech, &provider, &[]).run();
            let result = parsed(&outcome);
            assert_eq!(result["status"], "error", "{speech:?} {outcome}");
            assert!(
                result["warnings"].to_string().contains("model_cut"),
                "{speech:?} {outcome}"
            );
        }
    }
}

/// N4, G1: arguments that are no JSON and tools that nobody has are answered, and the run goes on.
#[test]
fn malformed_calls_are_answered() {
    for speech in [
        Speech::Anthropic,
        Speech::OpenaiChat,
        Speech::OpenaiResponses,
    ] {
        let env = project();
        let broken = Said {
            calls: vec![("read".to_owned(), vec!["{\"path\": \"READ".to_owned()])],
            tokens: (10, 0, 10),
            ..Said::default()
        };
        let unknown = Said::call("rm -rf /", &json!({ "path": "/" }));
        let (provider, _, result) = plays(
            &env,
            speech,
            &[broken, unknown, reads(), Said::text("Learned.")],
        );
        assert_eq!(result["summary"], "Learned.", "{speech:?} {result}");
        assert_eq!(provider.asked().len(), 4, "{speech:?}");
    }
}

/// N4: a turn of many calls in many tiny pieces is one turn.
#[test]
fn many_calls_in_tiny_pieces() {
    for speech in [
        Speech::Anthropic,
        Speech::OpenaiChat,
        Speech::OpenaiResponses,
    ] {
        let env = project();
        let many = Said {
            calls: (0..20)
                .map(|at| {
                    (
                        "read".to_owned(),
                        vec![
                            json!({ "path": "README.md", "offset": at % 7 + 1, "limit": at + 1 })
                                .to_string(),
                        ],
                    )
                })
                .collect(),
            tokens: (10, 0, 10),
            ..Said::default()
        };
        let (provider, _, result) = plays(&env, speech, &[many.in_tokens(), Said::text("Done.")]);
        assert_eq!(result["status"], "ok", "{speech:?} {result}");
        assert_eq!(result["usage"]["tool_calls"], 20, "{speech:?}");
        assert_eq!(provider.asked().len(), 2);
    }
}
