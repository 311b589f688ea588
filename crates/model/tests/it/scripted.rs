//! The scripted model.

use deputize_model::{
    Edge as _, MAX_SCRIPT_BYTES, Message, ModelClient as _, ModelError, ModelLabel, ModelName,
    Price, Script, ScriptError, ScriptedModel, Stop, ToolOutcome,
};
use serde_json::json;

use crate::{FakeEdge, turn};

fn model(script: &str) -> (ScriptedModel, FakeEdge) {
    let edge = FakeEdge::holding(script);
    let script = Script::parse(script.as_bytes()).unwrap();
    let model = ScriptedModel::new(
        ModelName::Script("s.json".to_owned()),
        script,
        edge.sleeper(),
    );
    (model, edge)
}

fn result(content: &str) -> Message {
    Message::ToolResult {
        id: "x".to_owned(),
        content: content.to_owned(),
        outcome: ToolOutcome::Answered,
    }
}

#[test]
fn turns_come_in_order_and_end() {
    let (model, edge) = model(
        r#"{"turns": [
            {"calls": [{"name": "read", "arguments": {"path": "a"}}, {"name": "ls", "id": "mine"}],
             "usage": {"input_tokens": 7, "output_tokens": 2}, "delay_ms": 30},
            {"text": "done"}],
            "price": {"input": 1, "cached_input": 2, "output": 3}}"#,
    );
    let first = turn(&model, vec![]).unwrap();
    assert_eq!(first.calls[0].id, "script-1-1");
    assert_eq!(first.calls[0].arguments, json!({"path": "a"}));
    assert_eq!(first.calls[1].id, "mine");
    assert_eq!(first.stop, Stop::ToolCalls);
    assert_eq!(first.usage.counted(), 9);
    assert_eq!(*edge.waits.0.lock().unwrap(), [30]);

    let second = turn(&model, vec![]).unwrap();
    assert_eq!(
        (second.text.as_str(), second.stop),
        ("done", Stop::Finished)
    );
    assert_eq!(
        turn(&model, vec![]),
        Err(ModelError::ScriptEnded { turns: 2 })
    );
    assert_eq!(
        model.price(),
        Some(Price {
            input: 1,
            cached_input: 2,
            output: 3,
            cache_write: None
        })
    );
}

/// N4: nothing that a script says is taken for a language model's words.
#[test]
fn it_is_labelled_as_scripted() {
    let (model, _) = model(r#"{"turns": [{"text": "I am a large language model"}]}"#);
    assert_eq!(model.label(), ModelLabel::Scripted);
    assert_eq!(model.label().notice(), Some("scripted, no language model"));
    assert_eq!(turn(&model, vec![]).unwrap().model, "script:s.json");
}

#[test]
fn the_last_turn_repeats_on_request_with_fresh_ids() {
    let (model, _) = model(r#"{"repeat_last": true, "turns": [{"calls": [{"name": "ls"}]}]}"#);
    let ids: Vec<String> = (0..3)
        .map(|_| turn(&model, vec![]).unwrap().calls[0].id.clone())
        .collect();
    assert_eq!(ids, ["script-1-1", "script-2-1", "script-3-1"]);
}

#[test]
fn expectations_look_at_the_results_since_the_last_turn_only() {
    let script = r#"{"repeat_last": true, "turns": [
        {"text": "x", "expect": {"contains": ["new"], "lacks": ["old"]}}]}"#;
    let old_turn = Message::Assistant {
        text: String::new(),
        calls: vec![],
        opaque: None,
    };
    let (model, _) = model(script);
    assert!(turn(&model, vec![result("old"), old_turn.clone(), result("new")]).is_ok());
    assert_eq!(
        turn(
            &model,
            vec![result("new"), old_turn.clone(), result("other")]
        ),
        Err(ModelError::ScriptMissed {
            turn: 2,
            text: "new".to_owned()
        })
    );
    assert_eq!(
        turn(&model, vec![old_turn, result("new"), result("old")]),
        Err(ModelError::ScriptSaw {
            turn: 3,
            text: "old".to_owned()
        })
    );
}

#[test]
fn errors_carry_their_codes_and_escape_their_words() {
    let (model, _) = model(
        r#"{"turns": [{"error": {"code": "unavailable", "message": "a\u001b[31m"}},
                      {"error": {"code": "cut"}}, {"text": "well again"}]}"#,
    );
    let first = turn(&model, vec![]).unwrap_err();
    assert_eq!(first.code(), "model_unavailable");
    assert!(first.to_string().ends_with("a\\u{1b}[31m"), "{first}");
    assert_eq!(turn(&model, vec![]).unwrap_err().code(), "model_cut");
    assert_eq!(turn(&model, vec![]).unwrap().text, "well again");
}

/// D2: an empty answer must be playable, since the runtime must not take it for one.
#[test]
fn an_empty_answer_is_written_with_a_stop() {
    let (model, _) = model(r#"{"turns": [{"stop": "finished"}]}"#);
    let empty = turn(&model, vec![]).unwrap();
    assert!(empty.text.is_empty() && empty.calls.is_empty());
}

#[test]
fn documents_of_another_form_are_refused_with_the_place() {
    let error = |text: &str| Script::parse(text.as_bytes()).unwrap_err().to_string();
    assert!(error("{\"turns\": [\n{\"txt\": \"a\"}]}").contains("unknown field `txt`"));
    assert!(error("{\"turns\": [\n{\"txt\": \"a\"}]}").contains("line 2"));
    assert!(error(r#"{"turns": [{"error": {"code": "tired"}}]}"#).contains("tired"));
    assert!(matches!(
        Script::parse(br#"{"turns": []}"#),
        Err(ScriptError::NoTurns)
    ));
    assert!(matches!(
        Script::parse(br#"{"turns": [{"text": "a"}, {}]}"#),
        Err(ScriptError::EmptyTurn(2))
    ));
    assert!(matches!(
        Script::parse(br#"{"turns": [{"text": "a", "error": {"code": "cut"}}]}"#),
        Err(ScriptError::ErrorAndWords(1))
    ));
    assert!(matches!(
        Script::parse(br#"{"turns": [{"text": "a", "delay_ms": 3600001}]}"#),
        Err(ScriptError::TooSlow(1))
    ));
    // Of a file of another kind nothing is told: who names it needn't be allowed to read it.
    for other in [
        r#""hunter2""#,
        r#"{"hunter2": "hunter2"}"#,
        r#"["hunter2"]"#,
        "hunter2=hunter2",
    ] {
        let error = error(other);
        assert!(!error.contains("hunter2"), "{error}");
    }
    let large = vec![b' '; usize::try_from(MAX_SCRIPT_BYTES).unwrap() + 1];
    assert!(matches!(Script::parse(&large), Err(ScriptError::TooLarge)));
}
