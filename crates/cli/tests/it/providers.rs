//! Runs with models of providers, through the real program, its relay and the real wire formats (N4).

use std::fs;

use deputize_testkit::{Invocation, Outcome, Provider, Reply, Said, Speech, TestEnv};
use serde_json::{Value, json};

use crate::scene::{events, only_run, parsed, project, refused_code, runs};

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

/// D6: a model that can't be used is replaced by the next, with both prices told; what the first one
/// thought is not for the second.
#[test]
fn the_next_model_takes_over() {
    let env = project();
    let first = Provider::playing([
        Speech::Anthropic.turn(0, &reads().signed("only for claude")),
        Reply::status(401, &json!({ "error": { "message": "expired" } })),
    ]);
    let second =
        Provider::playing([Speech::OpenaiResponses.turn(1, &Said::text("The second answers."))]);
    let options = ["--fallback", "openai:gpt-5-mini"];
    let outcome = asking(&env, Speech::Anthropic, &first, &options)
        .env("OPENAI_BASE_URL", second.url())
        .env("OPENAI_API_KEY", "another-key-0123")
        .run()
        .expect_code(0);
    assert_eq!(parsed(&outcome)["summary"], "The second answers.");
    let events = events(&only_run(&env));
    let told: Vec<&Value> = events
        .iter()
        .filter(|event| event["data"]["code"] == "model_substituted")
        .collect();
    assert_eq!(told.len(), 1);
    let message = told[0]["data"]["message"].as_str().unwrap();
    for word in [
        "openai:gpt-5-mini ($0.25/$2",
        "anthropic:claude-sonnet-4-5 ($3/$15",
        "expired",
    ] {
        assert!(message.contains(word), "{word}: {message}");
    }
    let asked = second.asked();
    assert!(
        !asked[0].body.contains("only for claude"),
        "{}",
        asked[0].body
    );
    assert!(
        asked[0].body.contains("Sends parcels"),
        "the conversation goes on"
    );
    assert!(
        !asked[0]
            .headers
            .iter()
            .any(|(_, value)| value.contains("test-key"))
    );
    // The cost is that of the model which answered.
    let costs: Vec<u64> = events
        .iter()
        .filter(|event| event["kind"] == "model.turn")
        .map(|event| event["data"]["cost_micros"].as_u64().unwrap())
        .collect();
    assert_eq!(costs, [450, 45]);
}

/// D6: a model without a key is replaced before the run begins.
#[test]
fn a_model_without_a_key_is_replaced_at_the_start() {
    let env = project();
    let second = Provider::playing([Speech::Anthropic.turn(0, &Said::text("Here."))]);
    let outcome = env
        .call([
            "run",
            "--preset",
            "read-only",
            "--model",
            "openai:gpt-4o",
            "--fallback",
            "anthropic:claude-3-5-haiku",
            "--json",
            "Look.",
        ])
        .env("ANTHROPIC_BASE_URL", second.url())
        .env("ANTHROPIC_API_KEY", "k-0123456789")
        .run()
        .expect_code(0);
    assert_eq!(parsed(&outcome)["summary"], "Here.");
    let told = fs::read_to_string(only_run(&env).join("ledger.jsonl")).unwrap();
    assert!(
        told.contains("model_substituted") && told.contains("no key is known"),
        "{told}"
    );
}

/// D6: a dearer model is refused before anything starts.
#[test]
fn a_price_rise_is_refused() {
    let env = project();
    let outcome = env
        .run([
            "run",
            "--preset",
            "read-only",
            "--model",
            "anthropic:claude-haiku-4-5",
            "--fallback",
            "anthropic:claude-opus-4-1",
            "Look.",
        ])
        .expect_code(2);
    assert_eq!(refused_code(&outcome), "fallback_dearer");
    assert!(
        outcome.err().contains("$15/$75") && outcome.err().contains("$1/$5"),
        "{outcome}"
    );
    assert!(runs(&env).is_empty());
}

/// N4: the person's configuration names model, provider and pin; a project's file sets nothing.
#[test]
fn configuration_is_the_persons_and_never_the_projects() {
    let env = project();
    let own = Provider::playing([Speech::OpenaiChat.turn(0, &Said::text("From work."))]);
    let planted = Provider::playing([Speech::OpenaiChat.turn(0, &Said::text("Gotcha."))]);
    let config = |url: &str| {
        format!(
            "model = \"work:small\"\n[providers.work]\nkind = \"openai-chat\"\nbase_url = \"{url}\"\nkey_env = \"WORK_KEY\"\n"
        )
    };
    let folder = env.configuration().join("deputize");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), config(&own.url())).unwrap();
    for place in [".deputize", ".config/deputize"] {
        let place = env.workspace().join(place);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("config.toml"), config(&planted.url())).unwrap();
    }
    let dotenv = format!("WORK_KEY=planted\nOPENAI_BASE_URL={}\n", planted.url());
    fs::write(env.workspace().join(".env"), dotenv).unwrap();
    env.give();
    let run = |more: &[&str]| {
        let arguments = ["run", "--preset", "read-only", "--json", "Look."];
        env.call(arguments.iter().chain(more))
            .env("WORK_KEY", "work-key-1")
            .run()
    };
    let outcome = run(&[]).expect_code(0);
    assert_eq!(parsed(&outcome)["summary"], "From work.");
    assert_eq!(
        own.asked()[0].header("authorization"),
        Some("Bearer work-key-1")
    );
    assert!(planted.asked().is_empty());
    let mut pinned = config(&own.url());
    pinned.push_str("[presets.read-only]\nmodel = \"work:small\"\n");
    fs::write(folder.join("config.toml"), pinned).unwrap();
    let refused = run(&["--model", "openai:gpt-5"]).expect_code(2);
    assert_eq!(parsed(&refused)["error"]["code"], "model_pinned");
    fs::write(folder.join("config.toml"), "modle = \"a:b\"\n").unwrap();
    let refused = run(&[]).expect_code(2);
    let told = parsed(&refused)["error"].clone();
    assert_eq!(told["code"], "config_invalid");
    assert!(
        told["reason"]
            .as_str()
            .unwrap()
            .contains("line 1, column 1"),
        "{told}"
    );
}

/// N4: where nothing is named, an Ollama on this machine answers with its first model that can call
/// tools.
#[test]
fn a_local_ollama_is_found() {
    let env = project();
    let list = json!({ "models": [{ "name": "tiny" }, { "name": "llama3:8b" }] });
    let shown = |can: &[&str]| Reply::status(200, &json!({ "capabilities": can }));
    let ollama = Provider::playing([
        Reply::status(200, &list),
        shown(&["completion"]),
        shown(&["completion", "tools"]),
        Speech::Ollama.turn(0, &Said::text("From here.")),
    ]);
    let outcome = env
        .call(["run", "--preset", "read-only", "--json", "Look."])
        .env("OLLAMA_HOST", ollama.url())
        .run()
        .expect_code(0);
    let result = parsed(&outcome);
    assert_eq!(result["summary"], "From here.");
    assert_eq!(ollama.bodies().len(), 4);
    assert_eq!(ollama.bodies()[3]["model"], "llama3:8b");
    assert!(
        ollama
            .asked()
            .iter()
            .all(|asked| asked.header("authorization").is_none())
    );
}
