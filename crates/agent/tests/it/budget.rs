//! D4, D5: every dimension is reserved, warned about at 80 % and ends the run at 100 %.

use deputize_agent::{Event, Notice, Status};
use deputize_authority::{Budget, Dimension};
use deputize_model::{Message, Price, Usage};
use serde_json::json;

use crate::host::{Host, answered, brief, calls, read, says, turns};

#[test]
fn turns_end_with_one_turn_without_tools() {
    let mut host = Host::start(brief(turns(3)));
    for number in 1..=3 {
        assert!(!host.request().tools.is_empty());
        host.reply(read(number));
        host.answer("1\tfn main() {}");
    }
    assert!(
        host.request().tools.is_empty(),
        "the last turn has no tools"
    );
    assert!(
        host.last_told()
            .contains("The budget is used up (turns 3/3)")
    );
    host.reply(says("Found in src/2.rs:1."));
    assert_eq!(host.claims(), ["src/2.rs:1"]);
    host.check(vec![deputize_agent::Finding::Holds]);
    let result = host.result();
    assert_eq!(result.status, Status::BudgetExhausted);
    assert_eq!(result.usage.exhausted, Some(Dimension::Turns));
    assert_eq!(result.usage.turns, 4);
    assert_eq!(result.evidence.len(), 1);
}

#[test]
fn at_four_fifths_the_child_is_told_once_per_dimension() {
    let mut host = Host::start(brief(Budget {
        tool_calls: Some(10),
        ..turns(20)
    }));
    let mut told = Vec::new();
    for number in 1..=10 {
        host.reply(read(number));
        host.answer("x");
        if let Some(Message::User(text)) = host.state.messages().last() {
            told.push((number, text.clone()));
        }
    }
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0].0, 8);
    assert!(
        told[0].1.contains("Most of the budget is used: calls 8/10"),
        "{}",
        told[0].1
    );
    assert_eq!(told[1].0, 10);
    assert_eq!(
        host.notices,
        [
            Notice::WrapUp(vec![Dimension::ToolCalls]),
            Notice::Exhausted(Dimension::ToolCalls)
        ]
    );
}

#[test]
fn several_dimensions_at_once_are_one_message() {
    let mut host = Host::start(brief(Budget {
        tool_calls: Some(5),
        ..turns(5)
    }));
    for number in 1..=4 {
        host.reply(read(number));
        host.answer("x");
    }
    assert!(
        host.last_told().contains("turns 4/5, calls 4/5"),
        "{}",
        host.last_told()
    );
}

#[test]
fn calls_beyond_the_budget_are_answered_and_not_run() {
    let mut host = Host::start(brief(Budget {
        tool_calls: Some(2),
        ..turns(20)
    }));
    let asked: Vec<_> = (0..4)
        .map(|n| ("read", json!({"path": format!("{n}.rs")})))
        .collect();
    host.reply(calls(&asked));
    host.answer("x");
    host.answer("x");
    assert!(host.request().tools.is_empty());
    let results: Vec<&str> = host
        .state
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::ToolResult { content, .. } => Some(content.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), 4);
    assert!(
        results[3].contains("the budget for tool_calls (2) is used up"),
        "{}",
        results[3]
    );
}

/// What a run never had is refused, and the run goes on; commands are counted where it has them.
#[test]
fn commands_are_reserved_too() {
    let none = Budget {
        commands: Some(0),
        ..turns(9)
    };
    let mut host = Host::start(brief(none));
    host.reply(calls(&[("bash", json!({"command": "make"}))]));
    assert!(host.request().messages.len() > 1, "it goes on");
    assert!(!host.request().tools.is_empty());
    host.reply(says("done"));
    let result = host.result();
    assert_eq!(
        result.blocked.as_ref().unwrap().details[0].rule,
        "budget:commands"
    );
    assert_eq!(result.usage.commands, 0);

    let two = Budget {
        commands: Some(2),
        ..turns(9)
    };
    let mut host = Host::start(brief(two));
    for command in ["a", "b"] {
        host.reply(calls(&[("bash", json!({ "command": command }))]));
        host.answer("ok");
    }
    assert!(host.request().tools.is_empty());
    assert!(
        host.notices
            .contains(&Notice::Exhausted(Dimension::Commands))
    );
}

#[test]
fn changed_files_are_counted_as_observed() {
    let mut host = Host::start(brief(Budget {
        changed_files: Some(5),
        ..turns(9)
    }));
    host.reply(calls(&[("bash", json!({"command": "make"}))]));
    host.decide(deputize_agent::Decision::Allowed);
    host.finish_call(deputize_agent::CallOutcome {
        changed_files: 7,
        ..answered("made")
    });
    assert!(host.request().tools.is_empty());
    host.reply(says("made"));
    assert_eq!(host.result().usage.changed_files, 7);
    assert_eq!(host.result().usage.exhausted, Some(Dimension::ChangedFiles));
}

/// Unknown price: tokens lead. The turn before leaves room for the last one.
#[test]
fn tokens_end_a_run_within_their_limit() {
    let mut host = Host::start(brief(Budget {
        tokens: Some(6000),
        cost_micros: Some(1),
        ..Budget::UNLIMITED
    }));
    let mut used = 0;
    while !host.request().tools.is_empty() {
        let mut reply = read(used);
        // An honest model uses what was estimated for it.
        reply.usage = Usage {
            input_tokens: 700,
            cached_input_tokens: 9_999,
            output_tokens: 300,
            ..Usage::NONE
        };
        used += 1000;
        host.reply(reply);
        host.answer("x");
    }
    assert!((2000..6000).contains(&used), "{used}");
    let allowed = host.request().max_output_tokens;
    assert!((256..=1000).contains(&allowed), "{allowed}");
    let mut last = says("done");
    last.usage.output_tokens = allowed;
    host.reply(last);
    let result = host.result();
    assert_eq!(result.usage.exhausted, Some(Dimension::Tokens));
    assert!(result.usage.input_tokens + result.usage.output_tokens <= 6000);
    assert_eq!(result.usage.cost_micros, None);
}

/// Known price: cost leads, and tokens are only counted.
#[test]
fn cost_ends_a_run_where_a_price_is_known() {
    let mut brief = brief(Budget {
        tokens: Some(1),
        cost_micros: Some(20_000),
        ..Budget::UNLIMITED
    });
    brief.price = Some(Price {
        input: 1_000_000,
        cached_input: 0,
        output: 10_000_000,
        cache_write: None,
    });
    let mut host = Host::start(brief);
    for number in 1..=2 {
        let mut reply = read(number);
        reply.usage.output_tokens = host.request().max_output_tokens;
        host.reply(reply);
        host.answer("x");
    }
    assert!(host.request().tools.is_empty());
    assert!(
        host.last_told().contains("$0.02/$0.02"),
        "{}",
        host.last_told()
    );
    host.reply(says("partial"));
    let result = host.result();
    assert_eq!(result.usage.exhausted, Some(Dimension::CostMicros));
    assert!(result.usage.cost_micros.unwrap() > 10_000);
    assert_eq!(result.status, Status::BudgetExhausted);
}

/// Too little for even one turn: nothing is asked, and the result says why.
#[test]
fn no_room_at_all_is_said() {
    for budget in [
        Budget {
            tokens: Some(0),
            ..Budget::UNLIMITED
        },
        Budget {
            tokens: Some(100),
            ..Budget::UNLIMITED
        },
        Budget {
            output_bytes: Some(10),
            ..Budget::UNLIMITED
        },
    ] {
        let host = Host::start(brief(budget));
        assert!(!host.asks(), "{budget:?}");
        let result = host.result();
        assert_eq!(result.status, Status::BudgetExhausted);
        assert!(
            result.warnings[0].starts_with("budget: no room"),
            "{:?}",
            result.warnings
        );
        assert!(result.summary.raw().contains("before it wrote anything"));
    }
    let host = Host::start(brief(turns(0)));
    assert!(
        host.request().tools.is_empty(),
        "no turns: only the last one"
    );
}

#[test]
fn output_bytes_are_counted() {
    let mut host = Host::start(brief(Budget {
        output_bytes: Some(10_000),
        ..Budget::UNLIMITED
    }));
    let mut reply = read(1);
    reply.text = "x".repeat(8_000);
    host.reply(reply);
    host.answer("x");
    assert_eq!(
        host.notices.last(),
        Some(&Notice::Exhausted(Dimension::OutputBytes))
    );
    assert_eq!(
        host.request().max_output_tokens,
        500,
        "what there is room for"
    );
}

/// D5: a person can extend a running child.
#[test]
fn extended_it_goes_on() {
    let mut host = Host::start(brief(turns(5)));
    for number in 1..=4 {
        host.reply(read(number));
        host.answer("x");
    }
    assert!(
        host.notices
            .contains(&Notice::WrapUp(vec![Dimension::Turns]))
    );
    host.event(Event::Extend(turns(20)));
    for number in 5..=10 {
        host.reply(read(number));
        host.answer("x");
        assert!(!host.request().tools.is_empty());
    }
    let too_late = {
        let mut host = Host::start(brief(turns(0)));
        host.event(Event::Extend(turns(20)));
        host.notices.pop()
    };
    assert_eq!(too_late, Some(Notice::ExtendedTooLate));
}

#[test]
fn the_status_line_counts() {
    let mut host = Host::start(brief(Budget {
        tool_calls: Some(100),
        commands: Some(0),
        wall_seconds: Some(600),
        tokens: Some(500_000),
        ..turns(30)
    }));
    host.reply(read(1));
    host.after(12);
    let snapshot = host.state.snapshot(deputize_agent::Millis(host.now));
    assert_eq!(
        snapshot.to_string(),
        "turns 1/30 · calls 0/100 · 12 s/600 s · tokens 15/500000"
    );
    assert_eq!(snapshot.silent_ms, 12_000);
    assert_eq!(
        snapshot.activity,
        deputize_agent::Activity::Deciding {
            tool: "read".to_owned()
        }
    );
}
