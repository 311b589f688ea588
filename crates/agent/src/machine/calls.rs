//! Runs what the model asks for: in order, each through the gate, each with exactly one result.

use deputize_authority::{Dimension, Untrusted};
use deputize_model::{Message, ToolOutcome, ToolUse};

use super::{Calling, Current, Phase, Stage, State};
use crate::frame::framed;
use crate::{
    Amounts, CallKind, CallOutcome, Decision, Effect, Exhausted, Finished, Notice, Refused,
};

/// The most calls of one turn that are run; the rest is answered as failed.
pub const MAX_CALLS_PER_TURN: usize = 128;

/// After so many calls in a row that were none (unknown tool, unreadable arguments, a third
/// repetition) a run ends: its model doesn't get anywhere.
pub const MAX_INVALID_IN_A_ROW: u64 = 5;

/// The refusals that a result lists; their number is in its usage.
const MAX_REFUSALS: usize = 64;

impl State {
    /// Takes the calls of a turn. There is at least one.
    pub(super) fn take_calls(&mut self, calls: Vec<ToolUse>) {
        self.phase = Phase::Calling(Calling {
            left: MAX_CALLS_PER_TURN,
            queue: calls.into(),
            current: None,
        });
        self.next_call();
    }

    /// Goes on with the next call of the turn, or with the next turn.
    fn next_call(&mut self) {
        let time_is_up = self.time_is_up();
        while let Phase::Calling(calling) = &mut self.phase {
            if let Some(dimension) = time_is_up {
                self.exhausted(dimension);
                return;
            }
            let Some(tool) = calling.queue.pop_front() else {
                self.begin_turn();
                return;
            };
            self.calls += 1;
            let number = self.calls;
            if calling.left == 0 {
                let content = format!("not run: more than {MAX_CALLS_PER_TURN} calls in one turn");
                self.result(number, &tool, ToolOutcome::Failed, &content);
                continue;
            }
            calling.left -= 1;
            let kind = self.brief.kind(&tool.name);
            match self.meter.reserve(cost_of(kind)) {
                Err(exhausted) => self.no_budget(number, &tool, exhausted),
                Ok(reservation) => {
                    if kind != CallKind::Poll
                        && let Err(earlier) = self.guard.admit(number, &tool)
                    {
                        self.meter.settle(reservation, &ONE_CALL);
                        self.repeated(number, &tool, earlier);
                        continue;
                    }
                    self.effects.push(Effect::Call {
                        call: number,
                        tool: tool.clone(),
                    });
                    self.alive();
                    self.set_current(Current {
                        number,
                        tool,
                        kind,
                        reservation,
                        stage: Stage::Deciding,
                    });
                    return;
                }
            }
        }
    }

    pub(super) fn call_decided(&mut self, call: u64, decision: Decision) {
        if self.current(call, Stage::Deciding).is_none() {
            return;
        }
        self.clock.go_on();
        self.alive();
        if decision == Decision::Allowed {
            if let Some(current) = self.current(call, Stage::Deciding) {
                current.stage = Stage::Running;
            }
            return;
        }
        let Some(current) = self.take_current() else {
            return;
        };
        self.meter.settle(current.reservation, &ONE_CALL);
        match decision {
            Decision::Allowed => {}
            Decision::Denied { rule, message } => {
                self.refused(call, &current.tool, rule, message);
            }
            Decision::Invalid { message } => {
                self.result(call, &current.tool, ToolOutcome::Failed, &message);
                self.invalid();
            }
        }
        self.next_call();
    }

    pub(super) fn call_finished(&mut self, call: u64, outcome: CallOutcome) {
        if self.current(call, Stage::Running).is_none() {
            return;
        }
        let Some(current) = self.take_current() else {
            return;
        };
        self.alive();
        let used = cost_of(current.kind).with(Dimension::ChangedFiles, outcome.changed_files);
        self.meter.settle(current.reservation, &used);
        self.invalid_in_a_row = 0;
        let told = match outcome.finished {
            Finished::Answered => {
                self.answered_calls += 1;
                ToolOutcome::Answered
            }
            Finished::Failed => ToolOutcome::Failed,
        };
        let answer = outcome.content.raw();
        self.guard
            .finished(&current.tool, current.kind, told, answer);
        self.result(call, &current.tool, told, outcome.content.raw());
        self.next_call();
    }

    /// Gives up what is under way; every call that was asked for gets its result.
    pub(super) fn give_up(&mut self, why: &str) {
        self.clock.go_on();
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Asking(asking) => self.drop_model(asking),
            Phase::Calling(calling) => {
                if let Some(current) = calling.current {
                    self.effects.push(Effect::DropCall {
                        call: current.number,
                    });
                    // What it did before it was stopped isn't known: it counts in full.
                    self.meter
                        .settle(current.reservation, &cost_of(current.kind));
                    let content = format!("stopped: {why}");
                    self.result(current.number, &current.tool, ToolOutcome::Failed, &content);
                }
                self.refuse_all(calling.queue, why);
            }
            Phase::Proving(_) => self.drop_check(why),
            Phase::New | Phase::Checking(_) | Phase::Done => {}
        }
    }

    /// Answers calls that are not run.
    pub(super) fn refuse_all(&mut self, calls: impl IntoIterator<Item = ToolUse>, why: &str) {
        for tool in calls {
            self.calls += 1;
            let content = format!("not run: {why}");
            self.result(self.calls, &tool, ToolOutcome::Refused, &content);
        }
    }

    /// The current call, when it is that one and so far.
    pub(super) fn current(&mut self, call: u64, stage: Stage) -> Option<&mut Current> {
        match &mut self.phase {
            Phase::Calling(calling) => calling
                .current
                .as_mut()
                .filter(|current| current.number == call && current.stage == stage),
            _ => None,
        }
    }

    fn take_current(&mut self) -> Option<Current> {
        match &mut self.phase {
            Phase::Calling(calling) => calling.current.take(),
            _ => None,
        }
    }

    fn set_current(&mut self, current: Current) {
        if let Phase::Calling(calling) = &mut self.phase {
            calling.current = Some(current);
        }
    }

    fn refused(&mut self, call: u64, tool: &ToolUse, rule: String, message: String) {
        self.result(call, tool, ToolOutcome::Refused, &message);
        self.refused_calls += 1;
        if self.refusals.len() < MAX_REFUSALS {
            self.refusals.push(Refused {
                call,
                tool: Untrusted::new(tool.name.clone()),
                rule,
                message,
            });
        }
    }

    /// A call that the budget has no room for. What the run never had was refused to it; what it
    /// used up ends it soon.
    fn no_budget(&mut self, call: u64, tool: &ToolUse, exhausted: Exhausted) {
        let Exhausted {
            dimension, limit, ..
        } = exhausted;
        if limit == 0 {
            let message = format!("not run: this run has no budget for {dimension}");
            self.refused(call, tool, format!("budget:{dimension}"), message);
        } else {
            let message = format!("not run: the budget for {dimension} ({limit}) is used up");
            self.result(call, tool, ToolOutcome::Refused, &message);
        }
    }

    fn repeated(&mut self, call: u64, tool: &ToolUse, earlier: u64) {
        let content = format!(
            "not run: the same call was made before and nothing has changed since; see the result \
             of call #{earlier}"
        );
        self.result(call, tool, ToolOutcome::Refused, &content);
        self.notice(Notice::Repeated {
            call,
            tool: tool.name.clone(),
            earlier,
        });
        self.invalid();
    }

    fn invalid(&mut self) {
        self.invalid_in_a_row += 1;
        if self.invalid_in_a_row >= MAX_INVALID_IN_A_ROW {
            self.fail(
                "no_valid_calls",
                &format!("{MAX_INVALID_IN_A_ROW} calls in a row could not be run"),
            );
        }
    }

    /// Puts the one result of a call into the conversation.
    fn result(&mut self, call: u64, tool: &ToolUse, outcome: ToolOutcome, content: &str) {
        self.messages.push(Message::ToolResult {
            id: tool.id.clone(),
            content: framed(call, &tool.name, outcome, content),
            outcome,
        });
    }
}

const ONE_CALL: Amounts = cost_of(CallKind::Look);

/// What a call reserves. How many files a command changes is known only afterwards.
const fn cost_of(kind: CallKind) -> Amounts {
    let one_call = Amounts::NONE.with(Dimension::ToolCalls, 1);
    match kind {
        CallKind::Look | CallKind::Poll => one_call,
        CallKind::Change => one_call.with(Dimension::ChangedFiles, 1),
        CallKind::Run => one_call.with(Dimension::Commands, 1),
    }
}
