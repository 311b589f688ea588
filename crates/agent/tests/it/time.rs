//! D4, D7: wall, idle, approvals and silence.

use deputize_agent::{Decision, Effect, Event, Finding, GRACE_MS, Millis, Notice, Status};
use deputize_authority::{Budget, Dimension};

use crate::host::{Host, answered, brief, read, says};

const BUDGET: Budget = Budget {
    wall_seconds: Some(100),
    idle_seconds: Some(30),
    ..Budget::UNLIMITED
};

#[test]
fn an_idle_model_is_given_up_and_asked_for_the_result() {
    let mut host = Host::start(brief(BUDGET));
    host.after(29);
    assert!(host.request().tools.len() > 1);
    host.effects.clear();
    host.after(1);
    assert!(
        matches!(host.effects[0], Effect::DropModel { turn: 1 }),
        "{:?}",
        host.effects
    );
    assert!(host.request().tools.is_empty());
    // The turn that was given up comes after all: nobody listens.
    host.event(Event::ModelReplied {
        turn: 1,
        reply: says("late"),
    });
    assert!(host.finished().is_none());
    host.reply(says("partial"));
    assert_eq!(host.result().status, Status::BudgetExhausted);
    assert_eq!(host.result().usage.exhausted, Some(Dimension::IdleSeconds));
    assert_eq!(host.result().summary.raw(), "partial");
}

/// D5: a model that is silent a second time costs the grace, not the rest of the wall clock.
#[test]
fn a_model_that_stays_silent_gets_the_grace_and_no_more() {
    let mut host = Host::start(brief(Budget {
        wall_seconds: Some(3_600),
        ..BUDGET
    }));
    host.after(30);
    assert!(host.request().tools.is_empty());
    host.after(GRACE_MS / 1000 - 1);
    assert!(host.finished().is_none());
    host.after(1);
    assert_eq!(host.result().status, Status::BudgetExhausted);
}

#[test]
fn idle_ignores_a_running_tool_and_an_open_stream() {
    let mut host = Host::start(brief(BUDGET));
    host.event(Event::ModelStreaming { turn: 1 });
    host.after(40);
    assert!(
        !host
            .notices
            .contains(&Notice::Exhausted(Dimension::IdleSeconds))
    );
    host.reply(read(1));
    host.decide(Decision::Allowed);
    host.after(40);
    assert!(
        !host
            .notices
            .contains(&Notice::Exhausted(Dimension::IdleSeconds))
    );
    host.finish_call(answered("x"));
    assert!(!host.request().tools.is_empty());
}

#[test]
fn wall_stops_a_running_call_and_every_call_gets_a_result() {
    let mut host = Host::start(brief(BUDGET));
    let mut turn = read(1);
    turn.calls.extend(read(2).calls);
    host.reply(turn);
    host.decide(Decision::Allowed);
    host.effects.clear();
    host.after(100);
    assert!(matches!(host.effects[0], Effect::DropCall { call: 1 }));
    assert!(host.request().tools.is_empty());
    let results = host
        .request()
        .messages
        .iter()
        .filter(|message| matches!(message, deputize_model::Message::ToolResult { .. }));
    assert_eq!(results.count(), 2);
    host.finish_call(answered("too late"));
    host.reply(says("partial"));
    assert_eq!(host.result().usage.exhausted, Some(Dimension::WallSeconds));
}

/// A reply that comes when the time is over is taken, but what it asks for isn't begun.
#[test]
fn nothing_is_begun_after_the_time_is_over() {
    let mut host = Host::start(brief(BUDGET));
    host.event(Event::ModelStreaming { turn: 1 });
    host.now += 100_000;
    host.reply(read(1));
    assert!(
        !host
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Call { .. }))
    );
    assert!(host.request().tools.is_empty());
    let mut host = Host::start(brief(BUDGET));
    host.event(Event::ModelStreaming { turn: 1 });
    host.now += 100_000;
    host.reply(says("just in time"));
    assert_eq!(host.result().status, Status::Ok);
}

#[test]
fn the_last_turn_has_a_grace_and_no_more() {
    let mut host = Host::start(brief(BUDGET));
    host.event(Event::ModelStreaming { turn: 1 });
    host.after(100);
    assert_eq!(
        host.state.next_deadline(),
        Some(Millis(host.now + GRACE_MS))
    );
    host.effects.clear();
    host.after(29);
    assert!(host.finished().is_none());
    host.after(1);
    assert!(matches!(host.effects[0], Effect::DropModel { turn: 2 }));
    let result = host.result();
    assert_eq!(result.status, Status::BudgetExhausted);
    assert!(
        result
            .warnings
            .contains(&"answer: the last turn took too long".to_owned())
    );
}

#[test]
fn looking_evidence_up_has_a_grace_and_no_more() {
    let mut host = Host::start(brief(BUDGET));
    host.reply(says("See src/a.rs:1."));
    host.after(29);
    assert!(host.finished().is_none());
    host.after(1);
    assert_eq!(host.result().status, Status::Ok);
    assert_eq!(host.result().evidence, []);
    assert_eq!(
        host.result().warnings,
        ["evidence 1: src/a.rs:1: could not be looked up"]
    );
    host.effects.clear();
    host.check(vec![Finding::Holds]);
    assert!(host.effects.is_empty(), "it ended before");
}

/// D4: clocks stop while an approval waits.
#[test]
fn an_approval_that_waits_takes_no_time() {
    let mut host = Host::start(brief(BUDGET));
    host.reply(read(1));
    host.event(Event::ApprovalAsked { call: 1 });
    host.after(100_000);
    assert_eq!(host.notices, []);
    assert_eq!(host.state.next_deadline(), None);
    assert_eq!(
        host.state.snapshot(Millis(host.now)).activity,
        deputize_agent::Activity::WaitingForApproval {
            tool: "read".to_owned()
        }
    );
    host.answer("approved, and read");
    assert!(!host.request().tools.is_empty());
    host.after(7);
    host.reply(says("done"));
    assert_eq!(host.result().usage.wall_ms, 7_000, "they go on afterwards");
}

/// Failing and running out of time at once is failing, once.
#[test]
fn a_run_that_fails_in_its_last_moment_fails_once() {
    let mut host = Host::start(brief(BUDGET));
    for number in 0..5 {
        host.event(Event::ModelStreaming { turn: host.turn });
        host.reply(read(number));
        host.now += u64::from(number == 4) * 100_000;
        host.effects.clear();
        host.decide(Decision::Invalid {
            message: "no such tool".to_owned(),
        });
    }
    assert_eq!(host.effects.len(), 1, "{:?}", host.effects);
    assert_eq!(host.result().status, Status::Error);
}

/// D7: silence shows as slow, then as stalled, then as over.
#[test]
fn silence_shows() {
    let mut host = Host::start(brief(Budget::UNLIMITED));
    assert_eq!(host.state.next_deadline(), Some(Millis(host.now + 20_000)));
    for _ in 0..70 {
        host.after(1);
    }
    host.reply(read(1));
    assert_eq!(host.notices, [Notice::Slow, Notice::Stalled, Notice::Awake]);
}
