//! D1, D2: an answer by a schema is a validated value, or the run isn't `ok`.

use deputize_agent::{
    Brief, CheckOutcome, Effect, Event, Finding, MAX_INVALID_ANSWERS, Schema, Status,
};
use deputize_authority::{Budget, Untrusted};
use serde_json::{Value, json};

use crate::host::{Host, brief, denied, read, says, turns};

fn by_schema(budget: Budget) -> Brief {
    let schema = json!({
        "type": "object",
        "required": ["count"],
        "properties": {"count": {"type": "integer"}, "summary": {"type": "string"}},
    });
    Brief {
        schema: Schema::new(schema).ok(),
        ..brief(budget)
    }
}

fn answer(value: &Value) -> deputize_model::Turn {
    says(&format!("Here:\n```json\n{value}\n```"))
}

#[test]
fn a_valid_answer_is_the_value() {
    for (value, summary) in [
        (json!({"count": 2, "summary": "two"}), "two"),
        (json!({"count": 2}), r#"{"count":2}"#),
    ] {
        let mut host = Host::start(by_schema(turns(9)));
        host.reply(answer(&value));
        let result = host.result();
        assert_eq!(result.status, Status::Ok);
        assert_eq!(result.answer, Some(value));
        assert_eq!(result.summary.raw(), summary);
        assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    }
}

#[test]
fn places_in_an_answer_are_looked_up() {
    let mut host = Host::start(by_schema(turns(9)));
    host.reply(answer(&json!({"count": 1, "where": ["src/a.rs:7"]})));
    assert_eq!(host.claims(), ["src/a.rs:7"]);
    host.check(vec![Finding::Holds]);
    assert_eq!(host.result().evidence.len(), 1);
}

#[test]
fn an_invalid_answer_is_told_and_tried_again() {
    let mut host = Host::start(by_schema(turns(9)));
    host.reply(answer(&json!({"count": "two"})));
    insta::assert_snapshot!(host.last_told(), @r#"
    [runtime] The answer is not valid by the schema:
    /count: "two" is not of type "integer"
    Answer again: end with one ```json block that is valid.
    "#);
    host.reply(answer(&json!({"count": 2})));
    assert_eq!(host.result().status, Status::Ok);
    assert_eq!(host.result().answer, Some(json!({"count": 2})));
}

#[test]
fn three_invalid_answers_are_an_error_without_a_value() {
    let mut host = Host::start(by_schema(turns(9)));
    for attempt in 1..=MAX_INVALID_ANSWERS {
        host.reply(says("It is two."));
        assert_eq!(host.asks(), attempt < MAX_INVALID_ANSWERS);
    }
    let result = host.result();
    assert_eq!(result.status, Status::Error);
    assert_eq!(result.answer, None);
    assert_eq!(
        result.summary.raw(),
        "It is two.",
        "what it wrote isn't lost"
    );
    assert!(result.warnings[0].starts_with("answer_invalid: "));
}

/// The schema comes before the check: what isn't an answer needs no proof.
#[test]
fn the_schema_comes_first_and_a_failed_check_takes_the_value_back() {
    let mut brief = by_schema(turns(2));
    brief.check = Some("true".to_owned());
    let mut host = Host::start(brief);
    let is_checked = |host: &Host| {
        host.effects
            .iter()
            .any(|effect| matches!(effect, Effect::RunCheck { .. }))
    };
    host.reply(says("no JSON"));
    assert!(!is_checked(&host));
    host.reply(answer(&json!({"count": 2})));
    assert!(is_checked(&host));
    host.effects.clear();
    host.event(Event::CheckFinished {
        outcome: CheckOutcome::Failed(1),
        output: Untrusted::new(""),
    });
    host.reply(says("Out of turns."));
    let result = host.result();
    assert_eq!(result.status, Status::BudgetExhausted);
    assert_eq!(result.answer, None);
    assert!(
        result
            .warnings
            .contains(&"answer: it is not valid by the schema".to_owned()),
        "{:?}",
        result.warnings
    );
}

/// D5: the last turn's answer counts as one when it is valid; the status stays.
#[test]
fn the_last_turn_may_still_give_the_value() {
    let mut host = Host::start(by_schema(turns(1)));
    host.reply(read(1));
    host.answer("x");
    host.reply(answer(&json!({"count": 2})));
    assert_eq!(host.result().status, Status::BudgetExhausted);
    assert_eq!(host.result().answer, Some(json!({"count": 2})));
}

#[test]
fn who_was_blocked_needs_no_valid_answer() {
    let blocked = says(r#"{"summary": "I may not.", "blocked": true}"#);
    let mut host = Host::start(by_schema(turns(9)));
    host.reply(read(1));
    host.decide(denied("outside"));
    host.reply(blocked.clone());
    assert_eq!(host.result().status, Status::Blocked);
    assert_eq!(host.result().answer, None);

    let mut host = Host::start(by_schema(turns(9)));
    host.reply(blocked);
    assert_eq!(host.result().status, Status::Error, "nothing was refused");
}

/// A schema may have a field of its own that is named `blocked`.
#[test]
fn a_field_named_blocked_is_the_callers_unless_something_was_refused() {
    let value = json!({"count": 2, "summary": "two", "blocked": true});
    let mut host = Host::start(by_schema(turns(9)));
    host.reply(answer(&value));
    assert_eq!(host.result().status, Status::Ok);

    let mut host = Host::start(by_schema(turns(9)));
    host.reply(read(1));
    host.decide(denied("outside"));
    host.reply(answer(&value));
    assert_eq!(host.result().status, Status::Blocked);
}
