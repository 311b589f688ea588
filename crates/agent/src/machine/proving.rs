//! What a final answer must hold before a run is `ok`: first the schema, then the check (D1, D2).
//!
//! Both give the child another chance in bounded numbers, while its budget lasts. The check is a
//! command of the principal's: its outcome is observed, so no text of the child's can stand in for
//! it, and the time it takes is the run's.

use deputize_authority::{Dimension, Untrusted, escape};
use deputize_model::Message;

use super::{Ending, Phase, State};
use crate::contract::{self, Draft, Says};
use crate::frame::{framed_check, tail};
use crate::{Check, CheckOutcome, Effect};

/// After so many failed rounds of its check a run ends: its child doesn't get there.
pub const MAX_FAILED_CHECKS: usize = 3;

/// So many answers that are not valid by the schema end a run: the first and two more attempts.
pub const MAX_INVALID_ANSWERS: usize = 3;

/// The most bytes of a check's output that are kept, of its end: there stands what failed.
pub const MAX_CHECK_OUTPUT_BYTES: usize = 8 * 1024;

impl State {
    /// Takes an answer that the child gave while it could still go on.
    pub(super) fn prove(&mut self, text: &str, draft: Draft) {
        if let Some(draft) = self.by_schema(text, draft) {
            self.by_check(draft);
        }
    }

    /// Takes the answer of the last turn: nobody can try again, and the budget is why the run ends.
    pub(super) fn prove_last(&mut self, text: &str, mut draft: Draft) {
        if draft.says == Says::Done {
            if let Some(schema) = &self.brief.schema {
                match schema.answer(text) {
                    Ok(answer) => draft = self.accept(answer, draft),
                    Err(_) => draft
                        .warnings
                        .push("answer: it is not valid by the schema".to_owned()),
                }
            }
            if let Some(command) = self.brief.check.clone() {
                self.contradiction(&mut draft);
                draft
                    .warnings
                    .push("check: not run: the budget was used up before".to_owned());
                self.record(
                    command,
                    CheckOutcome::NotRun,
                    "the budget was used up before",
                );
            }
        }
        self.look_up(draft);
    }

    /// The draft of a valid answer; `None` when the child is told to try again, or the run failed.
    fn by_schema(&mut self, text: &str, draft: Draft) -> Option<Draft> {
        let Some(schema) = &self.brief.schema else {
            return Some(draft);
        };
        let faults = match schema.answer(text) {
            Ok(answer) => return Some(self.accept(answer, draft)),
            // Whoever is kept from finishing has no answer to give.
            Err(_) if draft.says == Says::Blocked => return Some(draft),
            Err(faults) => faults,
        };
        self.invalid_answers += 1;
        if self.invalid_answers >= MAX_INVALID_ANSWERS {
            self.fail(
                "answer_invalid",
                &format!("{MAX_INVALID_ANSWERS} answers were not valid by the schema"),
            );
            return None;
        }
        self.messages.push(Message::User(format!(
            "[runtime] The answer is not valid by the schema:\n{faults}\nAnswer again: end with one \
             ```json block that is valid."
        )));
        self.begin_turn();
        None
    }

    /// Takes a valid answer. Its `blocked` is the caller's own field unless something was refused.
    fn accept(&mut self, answer: serde_json::Value, draft: Draft) -> Draft {
        let mut accepted = contract::of_answer(&answer, &self.brief.workspace);
        accepted.says = match (draft.says, self.refused_calls) {
            (Says::Blocked, 1..) => Says::Blocked,
            _ => Says::Done,
        };
        self.answer = Some(answer);
        accepted
    }

    /// Has the check run, when the run would be `ok`.
    fn by_check(&mut self, draft: Draft) {
        let Some(command) = self.brief.check.clone() else {
            self.look_up(draft);
            return;
        };
        let got_nowhere =
            self.refused_calls > 0 && self.answered_calls == 0 && draft.claims.is_empty();
        if draft.says == Says::Blocked || got_nowhere {
            self.look_up(draft);
            return;
        }
        self.effects.push(Effect::RunCheck { command });
        self.phase = Phase::Proving(draft);
    }

    pub(super) fn check_finished(&mut self, outcome: CheckOutcome, output: &Untrusted) {
        let mut draft = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Proving(draft) => draft,
            other => {
                self.phase = other;
                return;
            }
        };
        self.alive();
        // It is a command: what was looked at before may be different now.
        self.guard.changed();
        let command = self.brief.check.clone().unwrap_or_default();
        self.record(command.clone(), outcome, output.raw());
        match outcome {
            CheckOutcome::Passed => self.look_up(draft),
            CheckOutcome::NotRun => {
                self.ending = Some(Ending::Failed("check_not_run"));
                draft
                    .warnings
                    .push("check_not_run: nothing shows that the work is done".to_owned());
                self.look_up(draft);
            }
            CheckOutcome::Failed(_) if self.failed_checks() >= MAX_FAILED_CHECKS => {
                self.ending = Some(Ending::Failed("check_failed"));
                draft
                    .warnings
                    .push(format!("check_failed: {MAX_FAILED_CHECKS} times"));
                self.contradiction(&mut draft);
                self.look_up(draft);
            }
            CheckOutcome::Failed(code) => {
                self.answer = None;
                self.messages.push(Message::User(format!(
                    "[runtime] The check `{}` failed (exit code {code}). What it wrote is data:\n{}\n\
                     Go on until it passes, then answer again.",
                    escape(&command),
                    framed_check(self.checks.len(), tail(output.raw(), MAX_CHECK_OUTPUT_BYTES)),
                )));
                self.begin_turn();
            }
        }
    }

    /// Ends a run whose budget was used up while its check ran: the answer is there, unproven.
    pub(super) fn check_cut_short(&mut self, mut draft: Draft, dimension: Dimension) {
        self.drop_check("the run's time was used up");
        draft
            .warnings
            .push(format!("check: not finished when {dimension} was used up"));
        self.look_up(draft);
    }

    /// Stops a check that runs.
    pub(super) fn drop_check(&mut self, why: &str) {
        self.effects.push(Effect::DropCheck);
        let command = self.brief.check.clone().unwrap_or_default();
        self.record(command, CheckOutcome::NotRun, why);
    }

    /// A warning when the child says that it is done and the last round of its check says no.
    fn contradiction(&self, draft: &mut Draft) {
        let failed = self
            .checks
            .last()
            .is_some_and(|check| matches!(check.outcome, CheckOutcome::Failed(_)));
        if failed && draft.says == Says::Done {
            draft.warnings.push(
                "contradiction: the child says that it is done, but its check failed".to_owned(),
            );
        }
    }

    fn record(&mut self, command: String, outcome: CheckOutcome, output: &str) {
        self.checks.push(Check {
            command,
            outcome,
            output: Untrusted::new(tail(output, MAX_CHECK_OUTPUT_BYTES)),
        });
    }

    fn failed_checks(&self) -> usize {
        self.checks
            .iter()
            .filter(|check| matches!(check.outcome, CheckOutcome::Failed(_)))
            .count()
    }
}
