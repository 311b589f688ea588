//! Which model answers, and which takes over (N4, D3, D6).

use std::fs;

use deputize_testkit::{Provider, Reply, Said, Speech};
use serde_json::{Value, json};

use crate::providers::{asking, reads};
use crate::scene::{events, only_run, parsed, project, refused_code, runs};

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
