//! The wires: any chunks give the same turn, whatever comes ends in bounds, and bodies hold only what
//! was meant.

use deputize_model::wire::{Decoder, Wire};
use deputize_model::{
    Allowance, Message, ModelError, Opaque, Part, Price, Stop, ToolOutcome, ToolSpec, ToolUse,
    Turn, TurnRequest, Usage,
};
use deputize_testkit::{Said, Speech};
use proptest::prelude::*;
use serde_json::{Value, json};

const PAIRS: [(Speech, Wire); 5] = [
    (Speech::Anthropic, Wire::Anthropic),
    (Speech::OpenaiChat, Wire::OpenaiChat),
    (Speech::OpenaiResponses, Wire::OpenaiResponses),
    (Speech::Gemini, Wire::Gemini),
    (Speech::Ollama, Wire::Ollama),
];

/// A name that every wire takes.
const SOURCE: &str = "p:gemini-x";

fn decode(wire: Wire, chunks: &[&[u8]]) -> Result<Turn, ModelError> {
    let mut decoder = Decoder::new(wire, SOURCE, 3, 50);
    for chunk in chunks {
        decoder.push(chunk)?;
        if decoder.is_over() {
            break;
        }
    }
    decoder.finish()
}

fn rich() -> Said {
    Said {
        text: vec![
            "H\u{e9}llo \u{1f980}\r\n".to_owned(),
            "\"quoted\" \\ data: x\n\n".to_owned(),
        ],
        calls: vec![
            (
                "read".to_owned(),
                vec!["{\"path\":".to_owned(), " \"a\u{df}.rs\"}".to_owned()],
            ),
            ("grep".to_owned(), vec!["{\"pattern\": \"x\"}".to_owned()]),
        ],
        signature: Some("sig+/=".to_owned()),
        tokens: (1_000, 200, 77),
        cut_short: false,
        ..Said::default()
    }
}

fn request(messages: Vec<Message>, tools: Vec<ToolSpec>) -> TurnRequest {
    TurnRequest {
        system: "Be brief.".to_owned(),
        messages,
        tools,
        max_output_tokens: 500,
        allowance: Allowance::default(),
    }
}

fn body(wire: Wire, request: &TurnRequest) -> Value {
    let bytes = wire.body("gemini-x", SOURCE, request).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// N4: text, calls, usage with cached tokens, and why it stopped, from every provider.
#[test]
fn every_wire_is_decoded() {
    for (speech, wire) in PAIRS {
        let bytes = speech.turn(1, &rich()).bytes();
        let turn = decode(wire, &[&bytes]).unwrap();
        assert_eq!(turn.text, rich().text.concat(), "{wire:?}");
        assert_eq!(turn.stop, Stop::ToolCalls, "{wire:?}");
        let calls: Vec<(&str, &Value)> = turn
            .calls
            .iter()
            .map(|call| (&*call.name, &call.arguments))
            .collect();
        assert_eq!(
            calls,
            [
                ("read", &json!({ "path": "a\u{df}.rs" })),
                ("grep", &json!({ "pattern": "x" }))
            ],
            "{wire:?}"
        );
        let cached = if wire == Wire::Ollama { 0 } else { 200 };
        let usage = Usage {
            input_tokens: 1_000,
            cached_input_tokens: cached,
            output_tokens: 77,
            ..Usage::NONE
        };
        assert_eq!(turn.usage, usage, "{wire:?}");
        assert!(turn.opaque.is_some(), "{wire:?}");
        assert!(turn.model.ends_with("-played"), "{wire:?}");
        let cut = Said {
            cut_short: true,
            ..Said::text("half")
        };
        let turn = decode(wire, &[&speech.turn(1, &cut).bytes()]).unwrap();
        assert_eq!((turn.stop, &*turn.text), (Stop::Length, "half"), "{wire:?}");
    }
}

/// N4: an answer without its end is an error, wherever it is cut.
#[test]
fn no_prefix_is_a_turn() {
    for (speech, wire) in PAIRS {
        let bytes = speech.turn(1, &rich()).bytes();
        let whole = decode(wire, &[&bytes]).unwrap();
        for end in 0..bytes.len() {
            match decode(wire, &[&bytes[..end]]) {
                Err(error) => assert!(
                    matches!(error, ModelError::Cut { .. } | ModelError::Malformed { .. }),
                    "{wire:?} {end}: {error}"
                ),
                // Only what says nothing may be missing: an empty line, or a report after the end.
                Ok(turn) => assert_eq!(
                    (&turn.text, &turn.calls),
                    (&whole.text, &whole.calls),
                    "{wire:?} {end}"
                ),
            }
        }
    }
}

/// N4: a provider that fails in the middle has failed; before the first word it is unavailable.
#[test]
fn failures_in_a_stream_are_failures() {
    let said = |wire, text: &str| decode(wire, &[text.as_bytes()]).unwrap_err();
    let overloaded = "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    assert!(matches!(
        said(Wire::Anthropic, overloaded),
        ModelError::Unavailable { .. }
    ));
    let words = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"so far\"}}\n\n";
    assert!(matches!(
        said(Wire::Anthropic, &format!("{words}{overloaded}")),
        ModelError::Cut { .. }
    ));
    let error = said(
        Wire::OpenaiChat,
        "data: {\"error\":{\"message\":\"boom\"}}\n\n",
    )
    .to_string();
    assert!(error.contains("boom"), "{error}");
    let failed = "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"c\",\"message\":\"boom\"}}}\n\n";
    assert!(
        said(Wire::OpenaiResponses, failed)
            .to_string()
            .contains("c: boom")
    );
    let blocked = "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n";
    assert_eq!(said(Wire::Gemini, blocked).code(), "model_refused");
    assert!(
        said(Wire::Ollama, "{\"error\":\"no such model\"}\n")
            .to_string()
            .contains("no such model")
    );
    let refusal = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"},\"usage\":{}}\n\n";
    assert_eq!(said(Wire::Anthropic, refusal).code(), "model_refused");
}

/// N3: what is used is known while it comes, so that it can be stopped.
#[test]
fn usage_is_counted_while_it_comes() {
    for (speech, wire) in PAIRS {
        let said = Said {
            text: vec!["four".to_owned(); 1_000],
            ..Said::text("")
        };
        let bytes = speech.turn(1, &said).bytes();
        let mut decoder = Decoder::new(wire, SOURCE, 1, 50);
        let mut most = 0;
        for byte in &bytes {
            decoder.push(&[*byte]).unwrap();
            // The provider's own report, which is lower, comes last.
            most = most.max(decoder.usage().output_tokens);
        }
        assert!((1_000..1_100).contains(&most), "{wire:?}: {most}");
        assert_eq!(decoder.usage().output_tokens, 10, "{wire:?}");
        let price = Price {
            input: 0,
            cached_input: 0,
            output: 1_000_000,
            cache_write: None,
        };
        let allowance = Allowance {
            tokens: None,
            cost_micros: Some(500),
        };
        let used = Usage {
            output_tokens: most,
            ..Usage::NONE
        };
        assert!(allowance.is_passed_by(used, Some(price)));
        assert!(!allowance.is_passed_by(used, None));
    }
}

/// N3: blocks go back word for word, but only those that a model says to itself; a tampered one, which
/// could fetch a page or a stored file, is refused.
#[test]
fn only_known_blocks_are_sent_back() {
    let call = ToolUse {
        id: "t1".to_owned(),
        name: "read".to_owned(),
        arguments: json!({}),
    };
    let with = |raw: &str| {
        let opaque = Opaque::new(SOURCE, vec![Part::Raw(raw.to_owned()), Part::Call(0)]);
        let turn = Message::Assistant {
            text: String::new(),
            calls: vec![call.clone()],
            opaque,
        };
        request(vec![Message::User("x".to_owned()), turn], Vec::new())
    };
    let good = [
        (
            Wire::Anthropic,
            r#"{"type":"thinking", "thinking":"a\u0041","signature":"s"}"#,
        ),
        (
            Wire::Anthropic,
            r#"{"data":"x","type":"redacted_thinking"}"#,
        ),
        (
            Wire::OpenaiResponses,
            r#"{"type":"reasoning", "encrypted_content":"e","summary":[]}"#,
        ),
        (
            Wire::Gemini,
            r#"{"thoughtSignature":"s", "functionCall":{"name":"read","args":{}}}"#,
        ),
        (Wire::OpenaiChat, r#""th\u006fught""#),
        (Wire::Ollama, r#""th\u006fught""#),
    ];
    for (wire, raw) in good {
        let bytes = wire.body("gemini-x", SOURCE, &with(raw)).unwrap();
        assert!(
            String::from_utf8(bytes).unwrap().contains(raw),
            "{wire:?} {raw}"
        );
        // Another model doesn't see it.
        let bytes = wire.body("gemini-x", "p:other", &with(raw)).unwrap();
        assert!(
            !String::from_utf8(bytes).unwrap().contains(raw),
            "{wire:?} {raw}"
        );
    }
    let bad = [
        (
            Wire::Anthropic,
            r#"{"type":"image","source":{"type":"url","url":"https://x/?leak"}}"#,
        ),
        (
            Wire::Anthropic,
            r#"{"type":"thinking","thinking":"","signature":"","cache_control":{}}"#,
        ),
        (
            Wire::Anthropic,
            r#"{"type":"thinking","thinking":"","signature":""},{"type":"document"}"#,
        ),
        (
            Wire::OpenaiResponses,
            r#"{"type":"item_reference","id":"rs_1"}"#,
        ),
        (
            Wire::OpenaiResponses,
            r#"{"type":"reasoning","id":"rs_1","summary":[]}"#,
        ),
        (
            Wire::Gemini,
            r#"{"thoughtSignature":"s","fileData":{"fileUri":"https://x"}}"#,
        ),
        (
            Wire::OpenaiChat,
            r#"[{"type":"image_url","image_url":{"url":"https://x"}}]"#,
        ),
        (Wire::Ollama, r#""a","images":["x"]"#),
    ];
    for (wire, raw) in bad {
        let error = wire.body("gemini-x", SOURCE, &with(raw)).unwrap_err();
        assert_eq!(error.code(), "model_malformed", "{wire:?} {raw}");
    }
}

/// N4: a turn without tools after turns with calls, results of calls that failed, and names that no
/// provider takes back.
#[test]
fn bodies_of_hard_conversations() {
    let calls = vec![
        ToolUse {
            id: "a b".to_owned(),
            name: "rm -rf".to_owned(),
            arguments: json!("no object"),
        },
        ToolUse {
            id: "c".to_owned(),
            name: String::new(),
            arguments: json!([1]),
        },
    ];
    let messages = vec![
        Message::User("Begin.".to_owned()),
        Message::Assistant {
            text: "  ".to_owned(),
            calls,
            opaque: None,
        },
        Message::ToolResult {
            id: "a b".to_owned(),
            content: "no".to_owned(),
            outcome: ToolOutcome::Refused,
        },
        Message::ToolResult {
            id: "c".to_owned(),
            content: "no".to_owned(),
            outcome: ToolOutcome::Failed,
        },
        Message::Assistant {
            text: String::new(),
            calls: Vec::new(),
            opaque: None,
        },
        Message::User("End.".to_owned()),
    ];
    let tool = ToolSpec {
        name: "read".to_owned(),
        description: "Reads.".to_owned(),
        parameters: json!({ "type": "object" }),
    };
    for (_, wire) in PAIRS {
        for tools in [Vec::new(), vec![tool.clone()]] {
            let body = body(wire, &request(messages.clone(), tools));
            let text = body.to_string();
            assert!(!text.contains("rm -rf"), "{wire:?}: {text}");
            // One provider takes its own ids back as they were.
            let spelled = wire == Wire::Gemini || !text.contains("a b");
            assert!(spelled, "{wire:?}: {text}");
        }
    }
    let anthropic = body(Wire::Anthropic, &request(messages, Vec::new()));
    assert_eq!(anthropic["tool_choice"]["type"], "none");
    assert_eq!(anthropic["messages"].as_array().unwrap().len(), 3);
    let results = anthropic["messages"][2]["content"].as_array().unwrap();
    assert_eq!(
        results
            .iter()
            .filter(|block| block["is_error"] == true)
            .count(),
        2
    );
    assert_eq!(
        results.last().unwrap()["cache_control"]["type"],
        "ephemeral"
    );
}

#[test]
fn a_models_name_stays_one_segment_of_the_path() {
    for name in ["../files", "a/b", "a?alt=json", "a:b", "a%2f", "", "."] {
        let path = Wire::Gemini.path(name);
        let good = path
            .as_ref()
            .is_none_or(|path| path.matches('/').count() == 3 && !path.contains("models/:"));
        assert!(good || name.is_empty(), "{name}: {path:?}");
    }
    assert!(Wire::Gemini.path("gemini-2.5-pro").is_some());
}

proptest! {
    /// N4: the same turn, whatever the chunks.
    #[test]
    fn chunks_change_nothing(cuts in prop::collection::vec(1_usize..40, 1..200), which in 0_usize..5) {
        let (speech, wire) = PAIRS[which];
        let bytes = speech.turn(1, &rich()).bytes();
        let mut chunks = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, more) = rest.split_at((*cut).min(rest.len()));
            chunks.push(chunk);
            rest = more;
        }
        prop_assert_eq!(decode(wire, &chunks), decode(wire, &[&bytes]));
    }

    /// Bad input: no bytes make a decoder panic, and what isn't an answer isn't a turn.
    #[test]
    fn noise_is_no_turn(noise in prop::collection::vec(any::<u8>(), 0..400), which in 0_usize..5) {
        let (_, wire) = PAIRS[which];
        prop_assert!(decode(wire, &[&noise]).is_err());
    }

    /// Bad input: an answer with bytes changed is decoded or refused, and never more than it was.
    #[test]
    fn damage_is_survived(at in any::<prop::sample::Index>(), byte in any::<u8>(), which in 0_usize..5) {
        let (speech, wire) = PAIRS[which];
        let mut bytes = speech.turn(1, &rich()).bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(turn) = decode(wire, &[&bytes]) {
            prop_assert!(turn.calls.len() <= 2);
            prop_assert!(turn.text.len() <= bytes.len());
        }
    }
}
