//! D5: however a run ends, what it had is kept, and it ends once.

use deputize_agent::{CancelReason, Decision, Effect, Event, Finding, Status};
use deputize_model::{Message, ModelError};

use crate::host::{Host, brief, calls, read, says, turns};

fn failed() -> ModelError {
    ModelError::Unavailable {
        reason: "connection\u{1b} lost".to_owned(),
    }
}

#[test]
fn a_model_that_fails_leaves_what_was_seen() {
    let mut host = Host::start(brief(turns(9)));
    host.reply(read(1));
    host.answer("x");
    host.reply(calls(&[("grep", serde_json::json!({"pattern": "limit"}))]));
    host.answer("src/a.rs:7: limit\nsrc/b.rs:9: limit\n");
    host.event(Event::ModelFailed {
        turn: 3,
        error: failed(),
    });
    assert_eq!(host.claims(), ["src/1.rs", "src/a.rs:7", "src/b.rs:9"]);
    host.check(vec![
        Finding::Holds,
        Finding::Holds,
        Finding::Fails {
            why: "gone".to_owned(),
        },
    ]);
    let result = host.result();
    assert_eq!(result.status, Status::Error);
    assert_eq!(
        result.warnings,
        ["model_unavailable: the model is unavailable: connection\\u{1b} lost"]
    );
    assert_eq!(result.evidence.len(), 2);
    assert_eq!(result.evidence[0].note.raw(), "looked at during the run");
}

#[test]
fn a_last_turn_that_fails_or_is_empty_is_salvaged() {
    for reply in [Err(failed()), Ok(says("")), Ok(read(9))] {
        let mut host = Host::start(brief(turns(1)));
        let mut turn = read(1);
        turn.text = "Reading src/1.rs:1 now.".to_owned();
        host.reply(turn);
        host.answer("x");
        assert!(host.request().tools.is_empty());
        match reply {
            Ok(reply) => host.reply(reply),
            Err(error) => host.event(Event::ModelFailed { turn: 2, error }),
        }
        assert_eq!(host.claims(), ["src/1.rs:1"]);
        host.check(vec![Finding::Holds]);
        let result = host.result();
        assert_eq!(result.status, Status::BudgetExhausted);
        assert_eq!(
            result.summary.raw(),
            "The run ended before it wrote an answer (turns used up). Beside its last calls it \
             wrote: \"Reading src/1.rs:1 now.\""
        );
        assert_eq!(result.evidence.len(), 1);
        assert_eq!(result.usage.turns, 2);
    }
}

/// D5: what a model says while it works is no result, however the run ends.
#[test]
fn words_beside_a_call_are_not_the_result_of_a_failed_run() {
    let mut host = Host::start(brief(turns(9)));
    let mut turn = read(1);
    turn.text = "Searching the code.".to_owned();
    host.reply(turn);
    host.answer("x");
    host.event(Event::ModelFailed {
        turn: 2,
        error: failed(),
    });
    host.check(vec![Finding::Holds]);
    let summary = host.result().summary.raw();
    assert!(
        summary.starts_with("The run ended before it wrote an answer (model_unavailable)."),
        "{summary}"
    );
    assert!(
        !host
            .result()
            .warnings
            .iter()
            .any(|warning| warning.starts_with("summary: "))
    );
}

/// D2: what a run wrote is observed, as what it read is.
#[test]
fn files_that_were_written_are_observed() {
    let mut host = Host::start(brief(turns(9)));
    for (tool, arguments, output) in [
        ("write", serde_json::json!({"path": "src/new.rs"}), "ok"),
        ("edit", serde_json::json!({"path": "src/old.rs"}), "ok"),
        (
            "bash",
            serde_json::json!({"command": "make"}),
            "src/c.rs:4: warning",
        ),
    ] {
        host.reply(calls(&[(tool, arguments)]));
        host.answer(output);
    }
    host.event(Event::ModelFailed {
        turn: 4,
        error: failed(),
    });
    assert_eq!(host.claims(), ["src/new.rs", "src/old.rs", "src/c.rs:4"]);
    host.check(vec![Finding::Holds; 3]);
    let notes: Vec<&str> = host
        .result()
        .evidence
        .iter()
        .map(|evidence| evidence.note.raw())
        .collect();
    assert_eq!(
        notes,
        [
            "written during the run",
            "written during the run",
            "looked at during the run"
        ]
    );
}

#[test]
fn cancelled_at_any_point_it_ends_at_once() {
    type Reach = fn(&mut Host);
    let points: [(Reach, &str); 5] = [
        (|_| {}, "DropModel"),
        (|host| host.reply(read(1)), "DropCall"),
        (
            |host| {
                host.reply(read(1));
                host.decide(Decision::Allowed);
            },
            "DropCall",
        ),
        (
            |host| {
                host.reply(read(1));
                host.event(Event::ApprovalAsked { call: 1 });
            },
            "DropCall",
        ),
        (|host| host.reply(says("See src/a.rs:1.")), "Finish"),
    ];
    for (reach, first) in points {
        let mut host = Host::start(brief(turns(9)));
        reach(&mut host);
        host.effects.clear();
        host.event(Event::Cancel(CancelReason::Person));
        assert!(
            format!("{:?}", host.effects[0]).starts_with(first),
            "{:?}",
            host.effects
        );
        assert_eq!(host.result().status, Status::Cancelled);
        assert_eq!(host.result().evidence, [], "nothing unchecked");
        let asked: usize = host
            .state
            .messages()
            .iter()
            .map(|message| match message {
                Message::Assistant { calls, .. } => calls.len(),
                _ => 0,
            })
            .sum();
        let answered = host
            .state
            .messages()
            .iter()
            .filter(|message| matches!(message, Message::ToolResult { .. }))
            .count();
        assert_eq!(asked, answered);
        host.effects.clear();
        host.event(Event::Cancel(CancelReason::HostEnds));
        host.after(9_999);
        assert!(host.effects.is_empty(), "once is enough");
    }
}

#[test]
fn cancelled_before_it_began() {
    let mut state = deputize_agent::State::new(brief(turns(9)));
    let effects = state.step(
        Event::Cancel(CancelReason::Person),
        deputize_agent::Millis(0),
    );
    assert!(matches!(&effects[..], [Effect::Finish(result)] if result.status == Status::Cancelled));
}

#[test]
fn a_host_that_fails_ends_the_run_as_error() {
    let mut host = Host::start(brief(turns(9)));
    host.reply(read(1));
    host.decide(Decision::Allowed);
    host.event(Event::HostFailed {
        code: "worker_lost",
        message: "the worker ended".to_owned(),
    });
    let result = host.result();
    assert_eq!(result.status, Status::Error);
    assert_eq!(result.warnings, ["worker_lost: the worker ended"]);
}
