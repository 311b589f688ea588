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
