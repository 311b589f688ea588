//! What a relay waits for, tries again, counts and stops (N3, D4).

use std::fs;
use std::time::{Duration, Instant};

use deputize_testkit::{Provider, Reply, Said, Speech};
use serde_json::json;

use crate::providers::{asking, reads};
use crate::relay::notices;
use crate::scene::{events, only_run, parsed, project};

/// N3: a stream that passes what the run has left is stopped in the middle, and what was used is
/// counted.
#[test]
fn a_stream_is_stopped_when_it_passes_the_budget() {
    for (speech, budget) in [
        (Speech::Anthropic, "cost-micros=40000"),
        (Speech::Ollama, "tokens=20000"),
    ] {
        let env = project();
        let provider = Provider::playing([
            speech
                .turn(0, &Said::text(&"many words ".repeat(400)).using(500, 0, 9))
                .flooding_after(if speech == Speech::Anthropic { 4 } else { 1 }, 1 << 30),
            speech.turn(1, &Said::text("Short.")),
        ]);
        let begun = Instant::now();
        let outcome = asking(&env, speech, &provider, &["--budget", budget]).run();
        let result = parsed(&outcome);
        assert_eq!(result["status"], "budget_exhausted", "{outcome}");
        let warnings = result["warnings"].to_string();
        assert!(warnings.contains("model_over_budget"), "{warnings}");
        assert!(begun.elapsed() < Duration::from_secs(20));
        let output = result["usage"]["output_tokens"].as_u64().unwrap();
        assert!(output > 1_000, "what came is counted: {output}");
    }
}

/// Bad input, N3: a gigabyte of text, of one line, of empty events or of calls ends in an error within
/// bounds of time and memory.
#[test]
fn a_flood_is_bounded() {
    let huge = vec![b'x'; 1 << 20];
    let text = Speech::OpenaiChat.turn(0, &Said::text(&"word ".repeat(50_000)));
    let floods = [
        ("text", text.clone().flooding_after(2, 1 << 30)),
        ("one line", Reply::stream([huge]).flooding_after(1, 1 << 30)),
        (
            "comments",
            Reply::stream([b": nothing\n".repeat(10_000)]).flooding_after(1, 1 << 30),
        ),
        (
            "events",
            Reply::stream([b"data: {}\n\n".repeat(10_000)]).flooding_after(1, 1 << 30),
        ),
        (
            "headers",
            Reply::stream([]).header("x-long", &"y".repeat(1 << 20)),
        ),
    ];
    for (name, flood) in floods {
        let env = project();
        let provider = Provider::playing([flood]);
        // Without a limit of tokens or cost, so that only the relay's own bounds hold.
        let budget = [
            "--budget",
            "tokens=1000000000",
            "--budget",
            "cost-micros=1000000000000",
        ];
        let begun = Instant::now();
        let outcome = asking(&env, Speech::OpenaiChat, &provider, &budget).run();
        let result = parsed(&outcome);
        assert_eq!(result["status"], "error", "{name}: {outcome}");
        let warnings = result["warnings"].to_string();
        assert!(
            ["model_malformed", "model_unavailable", "model_over_budget"]
                .iter()
                .any(|code| warnings.contains(code)),
            "{name}: {warnings}"
        );
        assert!(begun.elapsed() < Duration::from_secs(30), "{name}");
        assert!(
            fs::metadata(only_run(&env).join("ledger.jsonl"))
                .unwrap()
                .len()
                < 100_000,
            "{name}"
        );
    }
}

/// N3: a busy provider is asked again after the time that it names, which is told; a failing one a few
/// times; both within limits.
#[test]
fn busy_and_failing_providers_are_asked_again() {
    let env = project();
    let speech = Speech::Anthropic;
    let busy = Reply::status(429, &json!({ "error": { "message": "slow down" } }))
        .header("retry-after", "1");
    let failing = Reply::status(500, &json!({ "error": { "message": "oops" } }));
    let provider = Provider::playing([busy, failing, speech.turn(0, &Said::text("At last."))]);
    let begun = Instant::now();
    let outcome = asking(&env, speech, &provider, &[]).run().expect_code(0);
    assert_eq!(parsed(&outcome)["summary"], "At last.");
    assert!(begun.elapsed() >= Duration::from_secs(1));
    let told = notices(&events(&only_run(&env)), "model_retry");
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("again in 1.0 s"), "{told:?}");
    // It never ends.
    let env = project();
    let again = || Reply::status(503, &json!({})).header("retry-after", "0");
    let provider = Provider::playing((0..20).map(|_| again()));
    let outcome = asking(&env, speech, &provider, &[]).run().expect_code(1);
    assert!(outcome.out().contains("model_unavailable"), "{outcome}");
    assert_eq!(provider.asked().len(), 4);
    // It asks for more than anybody waits.
    let env = project();
    let provider =
        Provider::playing([Reply::status(429, &json!({})).header("retry-after", "86400")]);
    let outcome = asking(&env, speech, &provider, &[]).run().expect_code(1);
    assert!(outcome.out().contains("asks to wait 86400 s"), "{outcome}");
    assert_eq!(provider.asked().len(), 1);
}

/// N3: a provider that says in its stream that it is busy, before the first word, is asked again; a
/// connection that it closed in between is made anew.
#[test]
fn a_stream_that_begins_with_busy_is_asked_again() {
    let env = project();
    let speech = Speech::Anthropic;
    let busy = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    let provider = Provider::playing([
        Reply::events([busy]),
        speech.turn(0, &reads()).broken_after(1_000),
        speech.turn(1, &reads()),
        speech.turn(2, &Said::text("At last.")),
    ]);
    let outcome = asking(&env, speech, &provider, &[]).run().expect_code(0);
    assert_eq!(parsed(&outcome)["summary"], "At last.");
    assert_eq!(notices(&events(&only_run(&env)), "model_retry").len(), 1);
    assert_eq!(provider.asked().len(), 4);
}

/// D4: an open stream is no silence, however long it says nothing; a provider that doesn't even begin
/// is.
#[test]
fn an_open_stream_is_not_idle() {
    let speech = Speech::Anthropic;
    let budget = ["--budget", "idle_seconds=1", "--budget", "wall_seconds=3"];
    let open = speech.turn(0, &Said::text("So far.")).silent_after(3);
    for (reply, exhausted) in [(open, "wall_seconds"), (Reply::mute(), "idle_seconds")] {
        let env = project();
        let provider = Provider::playing([reply, speech.turn(1, &Said::text("In time."))]);
        let outcome = asking(&env, speech, &provider, &budget).run();
        let result = parsed(&outcome);
        assert_eq!(result["status"], "budget_exhausted", "{outcome}");
        assert_eq!(result["usage"]["exhausted"], exhausted, "{outcome}");
        // The relay was given up with its stream, and another one wrote the result.
        assert_eq!(result["summary"], "In time.", "{outcome}");
    }
}
