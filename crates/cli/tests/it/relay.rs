//! The relay: the one process that holds a credential, and what it lets through (N3).

use std::fs;

use deputize_testkit::{
    Canary, Provider, Reply, Said, Size, Speech, Terminal, search_every_byte, until,
};
use serde_json::{Value, json};

use crate::providers::{asking, model_of, plays, reads};
use crate::scene::{descendants, events, only_run, parsed, project, runs};

/// Messages of notices with this code.
pub(crate) fn notices(result: &[Value], code: &str) -> Vec<String> {
    let notices = result.iter().filter(|event| event["kind"] == "notice");
    let coded = notices.filter(|event| event["data"]["code"] == code);
    coded
        .map(|event| event["data"]["message"].as_str().unwrap().to_owned())
        .collect()
}

/// N3: the key reaches the provider and nothing else: no file, no output, no other process, also when
/// the provider repeats it in an error or in its answer.
#[test]
fn a_key_is_in_no_file_output_or_process_but_the_relay() {
    for speech in Speech::ALL {
        let env = project();
        let key = Canary::new("provider's key");
        let echo = format!("Your key is {} and {}.", key.value(), key.value());
        let call = Said::call("read", &json!({ "path": key.value() }));
        let turns = [
            speech.turn(0, &reads()),
            speech.turn(1, &call),
            speech.turn(2, &Said::text(&echo)).silent_after(1),
        ];
        let provider = Provider::playing(turns);
        let (_, _, variable) = model_of(speech);
        let mut running = asking(&env, speech, &provider, &["--receipt"])
            .env(variable, key.value())
            .start();
        until("the last turn is asked for", || {
            (provider.asked().len() == 3).then_some(())
        });
        let header = if speech == Speech::Gemini {
            "x-goog-api-key"
        } else if speech == Speech::Anthropic {
            "x-api-key"
        } else {
            "authorization"
        };
        for asked in provider.asked() {
            assert!(
                asked.header(header).unwrap().ends_with(key.value()),
                "{speech:?}"
            );
            assert!(
                !asked.line.contains(key.value()),
                "{speech:?}: {}",
                asked.line
            );
        }
        let mut holders = 0;
        for id in descendants(running.id()) {
            let read = |what: &str| {
                fs::read(format!("/proc/{id}/{what}"))
                    .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                    .unwrap_or_default()
            };
            let command = read("cmdline");
            assert!(!command.contains(key.value()), "{command}");
            if command.contains("__relay") {
                holders += 1;
            } else {
                assert!(!read("environ").contains(key.value()), "{command}");
            }
        }
        assert_eq!(holders, 1, "{speech:?}");
        running.signal(rustix::process::Signal::INT);
        let outcome = running.wait();
        for bytes in [&outcome.stdout, &outcome.stderr] {
            assert!(
                !String::from_utf8_lossy(bytes).contains(key.value()),
                "{outcome}"
            );
        }
        for folder in [env.state(), env.temporary(), env.runtime(), env.workspace()] {
            assert_eq!(search_every_byte(&folder, &[&key]), [], "{speech:?}");
        }
    }
}

/// N3: an answer that repeats the key comes without it, and so does an error.
#[test]
fn an_echoed_key_is_redacted() {
    for speech in Speech::ALL {
        let env = project();
        let key = Canary::new("echoed");
        let echo = Said::text(&format!("I saw {}.", key.value()));
        let refused = Reply::status(
            400,
            &json!({ "error": { "message": format!("bad {}", key.value()) } }),
        );
        let (_, _, variable) = model_of(speech);
        for reply in [speech.turn(0, &echo), refused] {
            let provider = Provider::playing([reply]);
            let outcome = asking(&env, speech, &provider, &[])
                .env(variable, key.value())
                .run();
            let told = outcome.out();
            assert!(
                told.contains("[redacted]") && !told.contains(key.value()),
                "{speech:?} {told}"
            );
        }
        assert_eq!(search_every_byte(&env.state(), &[&key]), []);
    }
}

/// N3: a relay ends with its run, also when the run is killed.
#[test]
fn a_relay_ends_with_its_supervisor() {
    let env = project();
    let speech = Speech::Anthropic;
    let provider = Provider::playing([speech.turn(0, &reads()).silent_after(2)]);
    let mut running = asking(&env, speech, &provider, &[]).start();
    until("it was asked", || {
        (!provider.asked().is_empty()).then_some(())
    });
    let below = descendants(running.id());
    assert!(!below.is_empty());
    running.signal(rustix::process::Signal::KILL);
    let _ = running.wait();
    until("nothing is left", || {
        below
            .iter()
            .all(|id| !deputize_testkit::alive(*id))
            .then_some(())
    });
}

/// N3, X2: the record says where the key came from and what the kernel holds the relay to.
#[test]
fn the_record_says_what_holds_the_relay() {
    let env = project();
    let (_, outcome, _) = plays(&env, Speech::Anthropic, &[Said::text("Done.")]);
    let told = notices(&events(&only_run(&env)), "relay");
    assert_eq!(told.len(), 1);
    for word in [
        "key from environment (ANTHROPIC_API_KEY)",
        "not dumpable",
        "no_new_privs",
        "no writes",
    ] {
        assert!(told[0].contains(word), "{word}: {}", told[0]);
    }
    // It is for the record, not for every screen.
    assert!(!outcome.err().contains("not dumpable"), "{outcome}");
}

/// N3: only one method and one path are asked for, and no body asks for a provider's own tools,
/// whatever the conversation holds.
#[test]
fn no_request_asks_for_a_providers_own_tools() {
    for speech in Speech::ALL {
        let env = project();
        let search = Said::call(
            "web_search",
            &json!({ "type": "web_search", "store": true, "previous_response_id": "resp_1" }),
        );
        let (provider, _, _) = plays(&env, speech, &[search, reads(), Said::text("Done.")]);
        let line = match speech {
            Speech::Anthropic => "POST /v1/messages",
            Speech::OpenaiChat => "POST /chat/completions",
            Speech::OpenaiResponses => "POST /responses",
            Speech::Gemini => "POST /v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            Speech::Ollama => "POST /api/chat",
        };
        for asked in provider.asked() {
            assert_eq!(asked.line, line);
        }
        for body in provider.bodies() {
            let keys: Vec<&str> = body
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            const KNOWN: [&str; 18] = [
                "contents",
                "generationConfig",
                "include",
                "input",
                "instructions",
                "max_completion_tokens",
                "max_output_tokens",
                "max_tokens",
                "messages",
                "model",
                "options",
                "store",
                "stream",
                "stream_options",
                "system",
                "systemInstruction",
                "tool_choice",
                "tools",
            ];
            assert!(
                keys.iter().all(|key| KNOWN.contains(key)),
                "{speech:?}: {keys:?}"
            );
            assert!(
                body["store"].is_null() || body["store"] == false,
                "{speech:?}"
            );
            let names: Vec<&str> = body["tools"]
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|tool| match speech {
                    Speech::Gemini => {
                        assert_eq!(tool.as_object().unwrap().len(), 1, "{tool}");
                        tool["functionDeclarations"]
                            .as_array()
                            .unwrap()
                            .iter()
                            .map(|one| one["name"].as_str().unwrap())
                            .collect()
                    }
                    Speech::Anthropic => {
                        assert!(tool["type"].is_null(), "{tool}");
                        vec![tool["name"].as_str().unwrap()]
                    }
                    Speech::OpenaiResponses => {
                        assert_eq!(tool["type"], "function");
                        vec![tool["name"].as_str().unwrap()]
                    }
                    Speech::OpenaiChat | Speech::Ollama => {
                        assert_eq!(tool["type"], "function");
                        vec![tool["function"]["name"].as_str().unwrap()]
                    }
                })
                .collect();
            assert_eq!(names, ["read", "ls", "find", "grep"], "{speech:?}");
        }
    }
}

/// N3: a credential that isn't accepted is an error with the fix, and is not tried again; a redirect is
/// not followed, so no key goes elsewhere.
#[test]
fn a_refused_credential_and_a_redirect_end_the_run() {
    let speech = Speech::Anthropic;
    let elsewhere = Provider::playing([speech.turn(0, &Said::text("Gotcha."))]);
    for (reply, words) in [
        (
            Reply::status(401, &json!({ "error": { "message": "invalid x-api-key" } })),
            ["model_denied", "deputize auth set anthropic"],
        ),
        (
            Reply::status(403, &json!({})),
            ["model_denied", "ANTHROPIC_API_KEY"],
        ),
        (
            Reply::status(307, &json!({}))
                .header("location", &format!("{}/v1/messages", elsewhere.url())),
            ["model_refused", "not followed"],
        ),
        (
            Reply::status(404, &json!({ "error": { "message": "model: nobody" } })),
            ["model_refused", "model: nobody"],
        ),
    ] {
        let env = project();
        let provider = Provider::playing([reply]);
        let outcome = asking(&env, speech, &provider, &[]).run().expect_code(1);
        for word in words {
            assert!(outcome.out().contains(word), "{word}: {outcome}");
        }
        assert_eq!(provider.asked().len(), 1);
    }
    assert!(elsewhere.asked().is_empty());
}

/// N3: a missing key is a refusal before anything starts, and leaves no run behind.
#[test]
fn a_missing_key_refuses_before_anything_starts() {
    let env = project();
    let outcome = env
        .run([
            "run",
            "--preset",
            "read-only",
            "--model",
            "openai:gpt-5",
            "--json",
            "Look.",
        ])
        .expect_code(2);
    let told = parsed(&outcome);
    assert_eq!(told["error"]["code"], "key_missing");
    assert!(
        told["error"]["fix"]
            .as_str()
            .unwrap()
            .contains("OPENAI_API_KEY"),
        "{told}"
    );
    assert!(runs(&env).is_empty());
}

/// N3: an encrypted provider is spoken to when the system trusts it, and not a byte of a request goes to
/// one that it doesn't.
#[test]
fn only_a_trusted_certificate_is_spoken_to() {
    let speech = Speech::Anthropic;
    let key = Canary::new("behind TLS");
    let env = project();
    let provider = Provider::playing_encrypted([speech.turn(0, &Said::text("In private."))]);
    let roots = env.root().join("roots.pem");
    fs::write(&roots, provider.certificate().unwrap()).unwrap();
    env.give();
    let run = |roots: &std::path::Path| {
        asking(&env, speech, &provider, &[])
            .env("ANTHROPIC_API_KEY", key.value())
            .env("SSL_CERT_FILE", roots)
            .run()
    };
    let others = Provider::playing_encrypted([]);
    let elsewhere = env.root().join("others.pem");
    fs::write(&elsewhere, others.certificate().unwrap()).unwrap();
    env.give();
    let outcome = run(&elsewhere).expect_code(1);
    assert!(outcome.out().contains("model_unavailable"), "{outcome}");
    assert!(outcome.out().contains("TLS"), "{outcome}");
    assert!(provider.asked().is_empty());
    let outcome = run(&roots).expect_code(0);
    assert_eq!(parsed(&outcome)["summary"], "In private.");
    let asked = provider.asked();
    assert_eq!(asked[0].header("x-api-key"), Some(key.value()));
    // Without a root there is nobody to trust, and that is said before anything starts.
    let none = env.root().join("none.pem");
    fs::write(&none, "").unwrap();
    env.give();
    let outcome = run(&none).expect_code(2);
    assert_eq!(parsed(&outcome)["error"]["code"], "relay_tls");
}

/// D6: a person's interrupt cancels the run; the relay doesn't die of it first, which would look like a
/// model that can't be used and let another take over.
#[test]
fn an_interrupt_cancels_and_lets_no_other_model_in() {
    let env = project();
    let speech = Speech::Anthropic;
    let provider = Provider::playing([speech.turn(0, &reads()).silent_after(2)]);
    let second = Provider::playing([]);
    let (model, base, key) = model_of(speech);
    let arguments = [
        "run",
        "--preset",
        "read-only",
        "--model",
        model,
        "--fallback",
        "openai:gpt-5-nano",
    ];
    let command = env
        .call(arguments.iter().chain(&["Look."]))
        .env(base, provider.url())
        .env(key, "k-0123456789")
        .env("OPENAI_BASE_URL", second.url())
        .env("OPENAI_API_KEY", "k-9876543210")
        .into_command();
    let size = Size {
        columns: 100,
        rows: 30,
    };
    let mut terminal = Terminal::start(command, size);
    until("it was asked", || {
        (!provider.asked().is_empty()).then_some(())
    });
    // Which of the two hears of it first is chance: it must not reach the relay at all.
    let group = |id: u32| {
        let id = i32::try_from(id)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        rustix::process::getpgid(id).unwrap()
    };
    let below = descendants(terminal.id());
    assert!(below.iter().all(|id| group(*id) != group(terminal.id())));
    terminal.interrupt();
    assert_eq!(terminal.wait().code(), Some(130));
    assert!(second.asked().is_empty());
    assert_eq!(
        notices(&events(&only_run(&env)), "model_substituted"),
        [""; 0]
    );
}
