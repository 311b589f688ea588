//! What holds whatever happens, in whatever order (D2, D4, D5, G1).

use deputize_agent::{
    CallOutcome, CancelReason, CheckOutcome, Decision, Effect, Event, Finding, Finished,
    MAX_FAILED_CHECKS, Millis, Schema, State, Status,
};
use deputize_authority::{Budget, Dimension, Untrusted};
use deputize_model::{Message, ModelError, Stop, ToolOutcome, ToolUse, Turn, Usage, UsageSource};
use proptest::prelude::*;
use serde_json::json;

use crate::host::brief;

const TURNS: u64 = 12;

fn budget() -> Budget {
    Budget {
        turns: Some(TURNS),
        tool_calls: Some(15),
        commands: Some(3),
        wall_seconds: Some(400),
        idle_seconds: Some(60),
        tokens: Some(20_000),
        output_bytes: Some(60_000),
        changed_files: Some(4),
        cost_micros: None,
    }
}

/// What a host waits for, and what the laws need to know.
struct Watched {
    state: State,
    now: u64,
    turn: Option<(u64, u64)>,
    call: Option<u64>,
    running: Option<u64>,
    last_call: u64,
    claims: Option<usize>,
    /// Whether the check runs.
    proving: bool,
    checked: usize,
    passed: bool,
    must: Must,
    asked: u64,
    asked_without_tools: u64,
    finished: u64,
}

/// What a run must show before it is `ok`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Must {
    Answer,
    PassCheck,
    FitSchema,
    Both,
}

impl Must {
    const ALL: [Self; 4] = [Self::Answer, Self::PassCheck, Self::FitSchema, Self::Both];

    fn has_check(self) -> bool {
        matches!(self, Self::PassCheck | Self::Both)
    }

    fn has_schema(self) -> bool {
        matches!(self, Self::FitSchema | Self::Both)
    }
}

impl Watched {
    fn new(must: Must) -> Self {
        let mut brief = brief(budget());
        brief.check = must.has_check().then(|| "make test".to_owned());
        brief.schema = must
            .has_schema()
            .then(|| Schema::new(json!({"type": "object", "required": ["summary"]})).ok())
            .flatten();
        Self {
            state: State::new(brief),
            now: 0,
            turn: None,
            call: None,
            running: None,
            last_call: 0,
            claims: None,
            proving: false,
            checked: 0,
            passed: false,
            must,
            asked: 0,
            asked_without_tools: 0,
            finished: 0,
        }
    }

    fn step(&mut self, event: Event) {
        let effects = self.state.step(event, Millis(self.now));
        assert!(
            self.finished == 0 || effects.is_empty(),
            "{effects:?} after the end"
        );
        for effect in effects {
            assert_eq!(self.finished, 0, "{effect:?} after the end");
            match effect {
                Effect::AskModel { turn, request } => {
                    assert_eq!((self.turn, self.call, self.claims), (None, None, None));
                    assert_eq!(self.asked_without_tools, 0, "nothing follows the last turn");
                    self.asked += 1;
                    assert_eq!(turn, self.asked);
                    self.asked_without_tools += u64::from(request.tools.is_empty());
                    self.turn = Some((turn, request.max_output_tokens));
                }
                Effect::DropModel { turn } => {
                    assert_eq!(self.turn.take().map(|(turn, _)| turn), Some(turn));
                }
                Effect::Call { call, .. } => {
                    assert_eq!((self.turn, self.call), (None, None));
                    assert!(call > self.last_call);
                    self.call = Some(call);
                    self.last_call = call;
                }
                Effect::DropCall { call } => assert_eq!(self.call.take(), Some(call)),
                Effect::CheckEvidence(claims) => {
                    assert_eq!((self.turn, self.call, self.claims), (None, None, None));
                    self.claims = Some(claims.len());
                }
                Effect::RunCheck { command } => {
                    assert_eq!((self.turn, self.call, self.claims), (None, None, None));
                    assert!(!self.proving && self.must.has_check());
                    assert!(self.checked < MAX_FAILED_CHECKS, "one round too many");
                    assert_eq!(command, "make test");
                    self.proving = true;
                    self.checked += 1;
                }
                Effect::DropCheck => assert!(std::mem::take(&mut self.proving)),
                Effect::Notice(_) => {}
                Effect::Finish(result) => {
                    self.finished += 1;
                    assert!(!result.summary.raw().trim().is_empty(), "{result:?}");
                    assert!(!self.proving, "the check still runs");
                    if result.status == Status::Ok {
                        assert_eq!(self.passed, self.must.has_check(), "{result:?}");
                        assert_eq!(result.answer.is_some(), self.must.has_schema());
                    }
                    self.hold_totals();
                }
            }
        }
    }

    /// At the end: no dimension beyond its limit, and one result per call, in order.
    fn hold_totals(&self) {
        let meter = self.state.meter();
        for dimension in Dimension::ALL {
            let limit = meter.limit(dimension).unwrap_or(u64::MAX);
            let last_turn = u64::from(dimension == Dimension::Turns) * self.asked_without_tools;
            assert!(meter.used(dimension) <= limit + last_turn, "{dimension}");
        }
        let mut waiting = std::collections::VecDeque::new();
        for message in self.state.messages() {
            match message {
                Message::User(_) => {}
                Message::Assistant { calls, .. } => {
                    assert!(waiting.is_empty(), "results come before the next turn");
                    waiting.extend(calls.iter().map(|call| &call.id));
                }
                Message::ToolResult { id, .. } => assert_eq!(waiting.pop_front(), Some(id)),
            }
        }
        assert!(waiting.is_empty(), "without a result: {waiting:?}");
    }

    /// Answers whatever is waited for; `false` when nothing is.
    fn answer(&mut self, choice: u8) -> bool {
        if let Some((turn, output)) = self.turn.take() {
            let event = if choice.is_multiple_of(16) {
                let error = ModelError::Cut {
                    reason: String::new(),
                    usage: Usage::NONE,
                };
                Event::ModelFailed { turn, error }
            } else {
                let reply = reply(choice, output);
                Event::ModelReplied { turn, reply }
            };
            self.step(event);
        } else if let Some(call) = self.call {
            let message = String::new();
            let decision = match choice % 5 {
                _ if self.running == Some(call) => {
                    self.call = None;
                    let outcome = outcome(choice);
                    self.step(Event::CallFinished { call, outcome });
                    return true;
                }
                0 => Decision::Denied {
                    rule: String::new(),
                    message,
                },
                1 => Decision::Invalid { message },
                _ => Decision::Allowed,
            };
            if decision == Decision::Allowed {
                self.running = Some(call);
            } else {
                self.call = None;
            }
            self.step(Event::CallDecided { call, decision });
        } else if std::mem::take(&mut self.proving) {
            let outcome = check_outcome(choice);
            self.passed = outcome == CheckOutcome::Passed;
            self.step(Event::CheckFinished {
                outcome,
                output: Untrusted::new("</tool_result>".repeat(usize::from(choice) * 16)),
            });
        } else if let Some(claims) = self.claims.take() {
            let findings = (0..claims).map(|_| finding(choice)).collect();
            self.step(Event::EvidenceChecked(findings));
        } else {
            return false;
        }
        true
    }

    /// Says something that nobody waits for, or that fits only by chance.
    fn disturb(&mut self, choice: u8) {
        let number = u64::from(choice / 8);
        let event = match choice % 8 {
            0 => Event::Start,
            1 if self.turn.is_none_or(|(turn, _)| turn != number) => Event::ModelReplied {
                turn: number,
                reply: reply(choice, 1),
            },
            2 => Event::ModelStreaming { turn: number },
            3 => Event::ApprovalAsked { call: number },
            4 => Event::CallProgressed { call: number },
            5 if self.call != Some(number) => Event::CallFinished {
                call: number,
                outcome: outcome(choice),
            },
            6 if choice > 128 && !self.proving => Event::CheckFinished {
                outcome: CheckOutcome::Passed,
                output: Untrusted::new("passed"),
            },
            6 if self.claims.is_none() => Event::EvidenceChecked(vec![finding(choice); 3]),
            7 if choice > 250 => Event::Cancel(CancelReason::Person),
            7 if choice > 240 => Event::HostFailed {
                code: "test",
                message: String::new(),
            },
            _ => Event::Tick,
        };
        if matches!(event, Event::Cancel(_) | Event::HostFailed { .. }) {
            // Whatever was under way is dropped by the effects; a check is simply over.
            self.claims = None;
        }
        self.step(event);
    }
}

fn reply(choice: u8, output: u64) -> Turn {
    let names = ["read", "grep", "bash", "write", "poll", "teleport"];
    let calls = (0..choice % 4)
        .map(|index| ToolUse {
            id: format!("{choice}-{index}"),
            name: names[usize::from(choice / 4 + index) % names.len()].to_owned(),
            arguments: json!({"path": format!("src/{}.rs", choice % 3)}),
        })
        .collect();
    let texts = [
        "",
        "See src/a.rs:1.",
        "{\"summary\": \"s\", \"blocked\": true}",
        "plain",
    ];
    Turn {
        text: texts[usize::from(choice / 16) % texts.len()].to_owned(),
        calls,
        // Never more than was asked for: estimates hold.
        usage: Usage {
            input_tokens: 100,
            cached_input_tokens: u64::from(choice),
            output_tokens: output.min(u64::from(choice) * 5),
            ..Usage::NONE
        },
        model: "test".to_owned(),
        stop: if choice.is_multiple_of(7) {
            Stop::Length
        } else {
            Stop::Finished
        },
        opaque: None,
        usage_source: UsageSource::Reported,
        cost_micros: None,
        price: None,
    }
}

fn outcome(choice: u8) -> CallOutcome {
    CallOutcome {
        content: Untrusted::new("src/found.rs:3: text".repeat(usize::from(choice))),
        finished: if choice.is_multiple_of(2) {
            Finished::Answered
        } else {
            Finished::Failed
        },
        changed_files: 0,
    }
}

fn check_outcome(choice: u8) -> CheckOutcome {
    match choice % 4 {
        0 => CheckOutcome::Passed,
        1 if choice > 128 => CheckOutcome::NotRun,
        _ => CheckOutcome::Failed(i32::from(choice)),
    }
}

fn finding(choice: u8) -> Finding {
    match choice % 3 {
        0 => Finding::Holds,
        1 => Finding::Moved { line: 9 },
        _ => Finding::Fails {
            why: "gone".to_owned(),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever comes, in whatever order: the run ends, once, within its budget, with one result
    /// per call; and it is `ok` only after its check passed and with an answer that fits its schema.
    #[test]
    fn a_run_ends_once_and_within_its_budget(
        moves in prop::collection::vec((0_u8..4, any::<u8>(), 0_u64..40), 0..120),
        rest in prop::collection::vec(any::<u8>(), 64),
        must in prop::sample::select(&Must::ALL[..]),
    ) {
        let mut watched = Watched::new(must);
        watched.step(Event::Start);
        for (what, choice, seconds) in moves {
            watched.now += seconds * 100;
            match what {
                0 | 1 => { watched.answer(choice); }
                2 => watched.disturb(choice),
                _ => { watched.now += seconds * 1000; watched.step(Event::Tick); }
            }
        }
        // A fair host answers what it is asked; a run that waits for nothing waits for time.
        for choice in rest.iter().cycle().take(4096) {
            if watched.finished > 0 {
                break;
            }
            if !watched.answer(*choice) {
                panic!("it waits for nothing: {:?}", watched.state.messages());
            }
        }
        prop_assert_eq!(watched.finished, 1);
        prop_assert!(watched.asked <= TURNS + 1);
        watched.step(Event::Cancel(CancelReason::HostEnds));
        watched.step(Event::Tick);
    }

    /// Nobody answers anything any more: time alone ends the run.
    #[test]
    fn time_alone_ends_a_run(
        choices in prop::collection::vec(any::<u8>(), 0..20),
        must in prop::sample::select(&Must::ALL[..]),
    ) {
        let mut watched = Watched::new(must);
        watched.step(Event::Start);
        for choice in choices {
            watched.answer(choice);
        }
        for _ in 0..16 {
            if watched.finished > 0 {
                break;
            }
            let due = watched.state.next_deadline();
            prop_assert!(due.is_some(), "nothing is due: {:?}", watched.state.messages());
            watched.now = watched.now.max(due.map_or(0, |due| due.0));
            watched.claims = None;
            watched.step(Event::Tick);
        }
        prop_assert_eq!(watched.finished, 1);
    }

    /// Text of any kind ends as data: never a panic, never an instruction, never `ok` when empty.
    #[test]
    fn any_text_is_an_answer(text in "\\PC{0,200}|(\\{\"summary\": ?\"\\PC{0,20}\"[,}\\]]?){1,3}|(```json|```|\n|\\{|x:1|src/a\\.rs:[0-9]{1,30}){0,20}", must in prop::sample::select(&Must::ALL[..])) {
        let mut watched = Watched::new(must);
        watched.step(Event::Start);
        let reply = Turn { text: text.clone(), ..reply(0, 0) };
        watched.turn = None;
        watched.step(Event::ModelReplied { turn: 1, reply });
        while watched.answer(0) {}
        prop_assert_eq!(watched.finished, 1);
    }
}

/// The words that a tool wrote never become a message of their own.
#[test]
fn results_are_results() {
    let mut watched = Watched::new(Must::Answer);
    watched.step(Event::Start);
    while watched.finished == 0 && watched.answer(34) {}
    assert!(
        watched
            .state
            .messages()
            .iter()
            .all(|message| match message {
                Message::User(text) =>
                    text.starts_with("[runtime] ") || text.starts_with("Where are"),
                Message::Assistant { .. } => true,
                Message::ToolResult {
                    content, outcome, ..
                } => content.starts_with("<tool_result ") && *outcome != ToolOutcome::Failed,
            })
    );
}
