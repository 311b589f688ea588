//! Choosing a model by name.

use deputize_model::{ModelLabel, select};

use crate::FakeEdge;

fn code(name: Option<&str>, script: &str) -> String {
    let refusal = select(name, &FakeEdge::holding(script)).err().unwrap();
    assert_eq!(refusal.field, "model");
    assert!(!refusal.fix.is_empty());
    refusal.code
}

/// N4, D6: without a name there is no model, and the refusal names the ways out.
#[test]
fn no_name_is_no_model() {
    let refusal = select(None, &FakeEdge::holding("")).err().unwrap();
    assert_eq!(refusal.code, "no_model");
    assert!(refusal.fix.contains("--model scout"), "{}", refusal.fix);
    assert!(refusal.fix.contains("without a language model"));
    assert!(refusal.fix.contains("not in this version yet"));
}

/// N4: a provider's model is refused; the scout never stands in for it.
#[test]
fn a_providers_model_is_refused_not_replaced() {
    assert_eq!(code(Some("anthropic:claude"), ""), "model_not_available");
    assert_eq!(code(Some("ollama:llama3:8b"), ""), "model_not_available");
}

#[test]
fn what_is_no_name_is_refused() {
    for name in ["", "gpt", "Scout", "scout ", "script:"] {
        assert_eq!(code(Some(name), ""), "model_name", "{name:?}");
    }
}

#[test]
fn a_script_that_cannot_be_used_is_refused_with_the_reason() {
    assert_eq!(code(Some("script:absent.json"), ""), "model_script");
    let refusal = select(Some("script:a.json"), &FakeEdge::holding("{}")).err();
    assert!(refusal.unwrap().reason.contains("missing field `turns`"));
}

#[test]
fn what_was_named_is_given() {
    let edge = FakeEdge::holding(r#"{"turns": [{"text": "a"}]}"#);
    for (name, label) in [
        ("scout", ModelLabel::Scout),
        ("script:a.json", ModelLabel::Scripted),
    ] {
        let client = select(Some(name), &edge).unwrap();
        assert_eq!(client.label(), label);
        assert_eq!(client.name().to_string(), name);
        assert!(
            client
                .label()
                .notice()
                .unwrap()
                .contains("no language model")
        );
    }
}
