//! Asks the model: what a turn may cost, when to say that the end is near, and the last turn.

use deputize_authority::Dimension;
use deputize_model::{
    Allowance, Message, ModelError, Opaque, Stop, ToolSpec, ToolUse, Turn, TurnRequest, Usage,
    UsageSource,
};

use super::{Asking, Ending, GRACE_MS, Phase, Purpose, State, Stream};
use crate::clock::Idle;
use crate::contract::{self, MAX_TEXT_BYTES};
use crate::evidence::cut;
use crate::{Amounts, Effect, Exhausted, Gauge, Notice, OfferedTool, Reservation};

/// The output tokens that the last turn may have: a result, not an essay.
const CLOSING_OUTPUT_TOKENS: u64 = 2048;

/// Fewer output tokens than this aren't worth a turn.
const MIN_OUTPUT_TOKENS: u64 = 256;

/// Bytes of text per token, for estimates.
const BYTES_PER_TOKEN: u64 = 4;

/// Dimensions that end a run when they are used up. One of them that was zero from the start is a
/// thing that the run doesn't have, not one that it used up; a run without turns, tokens or money
/// can do nothing at all.
const COUNTED: [(Dimension, WhenZero); 7] = [
    (Dimension::Turns, WhenZero::Ends),
    (Dimension::ToolCalls, WhenZero::Lacks),
    (Dimension::Commands, WhenZero::Lacks),
    (Dimension::CostMicros, WhenZero::Ends),
    (Dimension::Tokens, WhenZero::Ends),
    (Dimension::OutputBytes, WhenZero::Ends),
    (Dimension::ChangedFiles, WhenZero::Lacks),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenZero {
    Ends,
    Lacks,
}

/// A turn that fits the budget.
struct Plan {
    reservation: Reservation,
    input_tokens: u64,
    output_tokens: u64,
}

impl State {
    /// Asks for the next turn, or for the last one when there is no room for another.
    pub(super) fn begin_turn(&mut self) {
        self.hear_principal();
        if let Some(dimension) = self.time_is_up().or_else(|| self.used_up()) {
            self.exhausted(dimension);
            return;
        }
        let near = self.nearly_used_up();
        let advice = (!near.is_empty()).then(|| wrap_up(&near));
        let planned = self.plan(Purpose::Working, advice.as_deref().unwrap_or_default());
        match planned {
            Err(exhausted) => self.exhausted(exhausted.dimension),
            Ok(plan) => {
                if let Some(advice) = advice {
                    self.messages.push(Message::User(advice));
                    let dimensions: Vec<Dimension> =
                        near.iter().map(|gauge| gauge.dimension).collect();
                    self.told.extend(&dimensions);
                    self.notice(Notice::WrapUp(dimensions));
                }
                self.ask(plan, Purpose::Working);
            }
        }
    }

    /// Takes a dimension as used up: what is under way is given up, and one turn without tools
    /// writes the result.
    pub(super) fn exhausted(&mut self, dimension: Dimension) {
        self.ending = Some(Ending::Exhausted(dimension));
        self.notice(Notice::Exhausted(dimension));
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Proving(draft) => {
                self.check_cut_short(draft, dimension);
                return;
            }
            other => self.phase = other,
        }
        self.give_up("the run's budget is used up");
        self.hear_principal();
        let text = closing(self.meter.gauge(dimension));
        match self.plan(Purpose::Closing, &text) {
            Err(_) => {
                self.warnings.push(format!(
                    "budget: no room for a last turn after {dimension} was used up"
                ));
                self.salvage();
            }
            Ok(plan) => {
                self.messages.push(Message::User(text));
                self.deadline = Some(self.closing_deadline(dimension));
                self.ask(plan, Purpose::Closing);
            }
        }
    }

    pub(super) fn model_replied(&mut self, turn: u64, reply: Turn) {
        let Some(asking) = self.asking(turn) else {
            return;
        };
        self.alive();
        let purpose = asking.purpose;
        let price = reply.price.or(self.meter.price());
        let cost = match (reply.cost_micros, price) {
            (Some(cost), _) => {
                self.meter.hear_cost(cost);
                cost
            }
            (None, price) => price.map_or(0, |price| reply.usage.cost_micros(price)),
        };
        self.hear_source(reply.usage_source);
        self.settle_turn(asking, reply.usage, cost, reply.text.len());
        self.messages.push(Message::Assistant {
            text: cut(&reply.text, MAX_TEXT_BYTES),
            calls: reply.calls.clone(),
            opaque: reply.opaque.clone(),
        });
        match purpose {
            Purpose::Working if !reply.calls.is_empty() => self.take_calls(reply.calls),
            // The principal said more while the child wrote its answer: it isn't the last one.
            Purpose::Working if !self.steers.is_empty() => self.begin_turn(),
            Purpose::Working => self.answer(&reply.text, reply.stop),
            Purpose::Closing => {
                self.refuse_all(reply.calls, "this turn has no tools");
                self.answer(&reply.text, reply.stop);
            }
        }
    }

    pub(super) fn model_failed(&mut self, turn: u64, error: &ModelError) {
        let Some(asking) = self.asking(turn) else {
            return;
        };
        self.alive();
        let purpose = asking.purpose;
        // Where nobody said what the attempt used, the input was sent.
        let usage = error.usage().unwrap_or(Usage {
            input_tokens: asking.input_tokens,
            ..Usage::NONE
        });
        self.settle_lost(asking, usage);
        self.warnings.push(format!("{}: {error}", error.code()));
        if let (Purpose::Working, ModelError::OverBudget { text, .. }) = (purpose, error) {
            self.messages.push(Message::Assistant {
                text: cut(text, MAX_TEXT_BYTES),
                calls: Vec::new(),
                opaque: None,
            });
            let cost_leads = self.meter.limit(Dimension::CostMicros).is_some();
            self.exhausted(if cost_leads {
                Dimension::CostMicros
            } else {
                Dimension::Tokens
            });
            return;
        }
        if purpose == Purpose::Working {
            self.ending = Some(Ending::Failed(error.code()));
        }
        self.salvage();
    }

    /// Takes the turn that is asked for, if it is that one.
    fn asking(&mut self, turn: u64) -> Option<Asking> {
        if turn != self.turns {
            return None;
        }
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Asking(asking) => Some(asking),
            other => {
                self.phase = other;
                None
            }
        }
    }

    /// Gives up the turn that is asked for.
    pub(super) fn drop_model(&mut self, asking: Asking) {
        self.effects.push(Effect::DropModel { turn: self.turns });
        let usage = Usage {
            input_tokens: asking.input_tokens,
            ..Usage::NONE
        };
        self.settle_lost(asking, usage);
    }

    /// Settles a turn that came to nothing: what was used of it is paid for.
    fn settle_lost(&mut self, asking: Asking, usage: Usage) {
        let cost = self.meter.expected_cost(usage);
        self.settle_turn(asking, usage, cost, 0);
    }

    /// Says once that tokens are estimated.
    fn hear_source(&mut self, source: UsageSource) {
        if source == UsageSource::Estimated && !self.usage_estimated {
            self.usage_estimated = true;
            self.warnings
                .push("usage: tokens are estimated from the text; nobody reported them".to_owned());
        }
    }

    fn answer(&mut self, text: &str, stop: Stop) {
        let mut draft = contract::read(text, &self.brief.workspace);
        if draft.summary.is_empty() {
            // A last turn that says nothing changes nothing about why the run ends.
            match self.ending {
                Some(_) => self.salvage(),
                None => self.fail("empty_result", "the final text is empty"),
            }
            return;
        }
        if stop == Stop::Length {
            draft
                .warnings
                .push("answer: cut short at the limit of output tokens".to_owned());
        }
        match self.ending {
            Some(_) => self.prove_last(text, draft),
            None => self.prove(text, draft),
        }
    }

    fn ask(&mut self, plan: Plan, purpose: Purpose) {
        self.turns += 1;
        let tools = match purpose {
            Purpose::Working => self.specs(),
            Purpose::Closing => Vec::new(),
        };
        self.effects.push(Effect::AskModel {
            turn: self.turns,
            request: TurnRequest {
                system: self.system.clone(),
                messages: self.messages.clone(),
                tools,
                max_output_tokens: plan.output_tokens,
                allowance: self.allowance(&plan),
            },
        });
        self.phase = Phase::Asking(Asking {
            reservation: plan.reservation,
            input_tokens: plan.input_tokens,
            stream: Stream::Pending,
            purpose,
        });
    }

    /// What is left for a turn: what was reserved for it, and what nobody reserved.
    fn allowance(&self, plan: &Plan) -> Allowance {
        let reserved = self.amounts(plan.input_tokens, plan.output_tokens);
        let left = |dimension| {
            let left: u64 = self.meter.remaining(dimension)?;
            Some(left.saturating_add(reserved.get(dimension)))
        };
        Allowance {
            tokens: left(Dimension::Tokens),
            cost_micros: left(Dimension::CostMicros),
        }
    }

    fn settle_turn(&mut self, asking: Asking, usage: Usage, cost: u64, text_bytes: usize) {
        self.usage += usage;
        let used = Amounts::NONE
            .with(Dimension::Turns, 1)
            .with(Dimension::Tokens, usage.counted())
            .with(Dimension::CostMicros, cost)
            .with(Dimension::OutputBytes, text_bytes as u64);
        self.meter.settle(asking.reservation, &used);
    }

    /// Reserves a turn. It gets the most output that fits; a turn that goes on with the task leaves
    /// room for the last one, whose own turn is beyond the limit of turns.
    fn plan(&mut self, purpose: Purpose, more_text: &str) -> Result<Plan, Exhausted> {
        let input_tokens = self.input_tokens(purpose, more_text);
        let (turns, wanted) = match purpose {
            Purpose::Working => (1, self.brief.max_output_tokens),
            Purpose::Closing => (0, self.brief.max_output_tokens.min(CLOSING_OUTPUT_TOKENS)),
        };
        let least = wanted.clamp(1, MIN_OUTPUT_TOKENS);
        let mut output_tokens = wanted.max(1);
        loop {
            let ask = self
                .amounts(input_tokens, output_tokens)
                .with(Dimension::Turns, turns);
            let last = match purpose {
                Purpose::Working => self.amounts(input_tokens + output_tokens, least),
                Purpose::Closing => Amounts::NONE,
            };
            match self.meter.fits(&ask.plus(&last)) {
                Ok(()) => {
                    return Ok(Plan {
                        reservation: self.meter.reserve(ask)?,
                        input_tokens,
                        output_tokens,
                    });
                }
                Err(exhausted) if output_tokens <= least => return Err(exhausted),
                Err(_) => output_tokens = (output_tokens / 2).max(least),
            }
        }
    }

    fn amounts(&self, input_tokens: u64, output_tokens: u64) -> Amounts {
        let usage = Usage {
            input_tokens,
            output_tokens,
            ..Usage::NONE
        };
        let cost = self.meter.expected_cost(usage);
        Amounts::NONE
            .with(Dimension::Tokens, usage.counted())
            .with(Dimension::CostMicros, cost)
            .with(
                Dimension::OutputBytes,
                output_tokens.saturating_mul(BYTES_PER_TOKEN),
            )
    }

    /// An estimate of a request's input: a token for every four characters.
    fn input_tokens(&self, purpose: Purpose, more_text: &str) -> u64 {
        let calls = |calls: &[ToolUse]| -> usize {
            calls
                .iter()
                .map(|call| call.name.len() + call.arguments.to_string().chars().count())
                .sum()
        };
        let messages: usize = self
            .messages
            .iter()
            .map(|message| match message {
                Message::User(text) => text.chars().count(),
                Message::Assistant {
                    text,
                    calls: asked,
                    opaque,
                } => {
                    let opaque = opaque.as_ref().map_or(0, Opaque::bytes);
                    text.chars().count() + calls(asked) + opaque
                }
                Message::ToolResult { content, .. } => content.chars().count(),
            })
            .sum();
        let tools: usize = match purpose {
            Purpose::Working => self.brief.tools.iter().map(described).sum(),
            Purpose::Closing => 0,
        };
        let characters = self.system.chars().count() + messages + tools + more_text.chars().count();
        (characters as u64).div_ceil(BYTES_PER_TOKEN)
    }

    fn specs(&self) -> Vec<ToolSpec> {
        self.brief
            .tools
            .iter()
            .map(|offered| offered.spec.clone())
            .collect()
    }

    /// The wall clock, when it has run out. (The idle clock began anew with the event at hand.)
    pub(super) fn time_is_up(&self) -> Option<Dimension> {
        self.clock.run_out(self.meter.budget(), Idle::Excused)
    }

    fn used_up(&self) -> Option<Dimension> {
        COUNTED
            .into_iter()
            .find(|(dimension, when_zero)| {
                self.meter.limit(*dimension).is_some_and(|limit| {
                    self.meter.used(*dimension) >= limit
                        && (limit > 0 || *when_zero == WhenZero::Ends)
                })
            })
            .map(|(dimension, _)| dimension)
    }

    /// The dimensions that the child is to be told about now. Silence isn't one of them: it begins
    /// anew with every event.
    fn nearly_used_up(&self) -> Vec<Gauge> {
        Dimension::ALL
            .into_iter()
            .filter(|dimension| *dimension != Dimension::IdleSeconds)
            .filter(|dimension| !self.told.contains(dimension))
            .map(|dimension| self.gauge(dimension))
            .filter(Gauge::is_nearly_used_up)
            .collect()
    }

    /// The gauge of any dimension, clocks included.
    pub(super) fn gauge(&self, dimension: Dimension) -> Gauge {
        let mut gauge = self.meter.gauge(dimension);
        match dimension {
            Dimension::WallSeconds => gauge.used = self.clock.wall_ms() / 1000,
            Dimension::IdleSeconds => gauge.used = self.clock.silent_ms() / 1000,
            _ => {}
        }
        gauge
    }

    /// The rest of the wall clock, and never less than the grace. A model that has fallen silent
    /// gets the grace and no more.
    fn closing_deadline(&self, exhausted: Dimension) -> crate::Millis {
        if exhausted == Dimension::IdleSeconds {
            return self.clock.now().plus(GRACE_MS);
        }
        let rest = self.meter.budget().wall_seconds.map_or(0, |seconds| {
            seconds
                .saturating_mul(1000)
                .saturating_sub(self.clock.wall_ms())
        });
        self.clock.now().plus(rest.max(GRACE_MS))
    }
}

fn described(offered: &OfferedTool) -> usize {
    offered.spec.name.len()
        + offered.spec.description.chars().count()
        + offered.spec.parameters.to_string().chars().count()
}

fn wrap_up(near: &[Gauge]) -> String {
    let used: Vec<String> = near.iter().map(ToString::to_string).collect();
    format!(
        "[runtime] Most of the budget is used: {}. Come to an end: finish what is needed most, then \
         write the final answer.",
        used.join(", ")
    )
}

fn closing(gauge: Gauge) -> String {
    format!(
        "[runtime] The budget is used up ({gauge}). No tool can be called any more. Write the final \
         answer now, from what you have seen; say what is missing."
    )
}
