//! Makes the result: from the child's answer, or from what is left of its work.
//!
//! The status, in this order: `cancelled` when somebody stopped the run; `budget_exhausted` when a
//! dimension was used up; `error` when it failed; `blocked` when the child says so and something was
//! refused, or when everything that it tried was refused and no evidence holds; else `ok`. A child
//! that says it was blocked when nothing was refused didn't finish: that is `error`.

use deputize_authority::{Untrusted, escape};
use deputize_model::Message;

use super::{Ending, GRACE_MS, Phase, State};
use crate::contract::{self, Draft, Says};
use crate::evidence::{Claim, MAX_EVIDENCE, MAX_PATH_BYTES, Source, Stated, cut, relative};
use crate::mention::mentions;
use crate::{Blocked, CancelReason, Effect, Evidence, Finding, RunResult, Status};

/// Places that are salvaged from one tool result.
const MAX_SALVAGED_PER_RESULT: usize = 4;

/// Places that are salvaged from a whole run.
const MAX_SALVAGED: usize = 32;

/// The most bytes of a text beside calls that are quoted: what it found so far, not how it thinks.
const MAX_ASIDE_BYTES: usize = 4 * 1024;

/// The most bytes of a finding's reason that are repeated in a warning.
const MAX_WHY_BYTES: usize = 200;

impl State {
    /// Ends the run as failed, with what it has.
    pub(super) fn fail(&mut self, code: &'static str, what: &str) {
        self.ending = Some(Ending::Failed(code));
        self.warnings.push(format!("{code}: {what}"));
        self.give_up("the run has failed");
        self.salvage();
    }

    pub(super) fn cancel(&mut self, reason: CancelReason) {
        let draft = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Checking(draft) => Some(draft),
            Phase::Proving(draft) => {
                self.drop_check("the run was stopped");
                Some(draft)
            }
            other => {
                self.phase = other;
                None
            }
        };
        self.ending = Some(Ending::Cancelled(reason));
        self.warnings.push(format!("cancelled: {reason}"));
        self.give_up("the run was stopped");
        let mut draft = draft.unwrap_or_else(|| self.salvaged());
        if !draft.claims.is_empty() {
            draft.warnings.push(format!(
                "evidence: {} places could not be looked up any more",
                draft.claims.len()
            ));
            draft.claims.clear();
        }
        self.finish(draft, Vec::new());
    }

    /// Ends the run with what is left of its work.
    pub(super) fn salvage(&mut self) {
        let draft = self.salvaged();
        self.look_up(draft);
    }

    /// Has the claims of a draft looked up.
    pub(super) fn look_up(&mut self, draft: Draft) {
        if draft.claims.is_empty() {
            self.finish(draft, Vec::new());
            return;
        }
        let claims = draft
            .claims
            .iter()
            .map(|stated| stated.claim.clone())
            .collect();
        self.effects.push(Effect::CheckEvidence(claims));
        self.deadline = Some(self.clock.now().plus(GRACE_MS));
        self.phase = Phase::Checking(draft);
    }

    pub(super) fn evidence_checked(&mut self, findings: Vec<Finding>) {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Checking(draft) => self.settle_claims(draft, findings),
            other => self.phase = other,
        }
    }

    /// Writing or checking the result took too long.
    pub(super) fn deadline_passed(&mut self) {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Checking(draft) => self.settle_claims(draft, Vec::new()),
            other => {
                self.phase = other;
                self.warnings
                    .push("answer: the last turn took too long".to_owned());
                self.give_up("the run's time is used up");
                self.salvage();
            }
        }
    }

    /// Keeps the claims that hold.
    fn settle_claims(&mut self, mut draft: Draft, findings: Vec<Finding>) {
        let mut evidence = Vec::new();
        let mut findings = findings.into_iter();
        for (mut stated, number) in std::mem::take(&mut draft.claims).into_iter().zip(1_u64..) {
            let place = stated.claim.shown();
            let problem = match findings.next() {
                Some(Finding::Holds) => None,
                Some(Finding::Moved { line }) => {
                    draft.warnings.push(format!(
                        "evidence {number}: {place}: the quote is on line {line}"
                    ));
                    stated.claim.line = Some(line);
                    None
                }
                Some(Finding::Fails { why }) => Some(escape(&cut(&why, MAX_WHY_BYTES))),
                None => Some("could not be looked up".to_owned()),
            };
            match problem {
                None => evidence.push(held(stated)),
                Some(why) if stated.is_worth_a_warning() => draft
                    .warnings
                    .push(format!("evidence {number}: {place}: {why}")),
                Some(_) => {}
            }
        }
        self.finish(draft, evidence);
    }

    fn finish(&mut self, draft: Draft, evidence: Vec<Evidence>) {
        self.phase = Phase::Done;
        self.warnings.extend(draft.warnings);
        let status = self.status(draft.says, &evidence);
        let blocked = (!self.refusals.is_empty()).then(|| Blocked {
            reason: match self.refused_calls {
                1 => "one call was refused".to_owned(),
                count => format!("{count} calls were refused"),
            },
            details: std::mem::take(&mut self.refusals),
        });
        self.effects.push(Effect::Finish(Box::new(RunResult {
            run: self.brief.run.clone(),
            status,
            model: self.brief.model.clone(),
            model_label: self.brief.model_label,
            summary: Untrusted::new(draft.summary),
            answer: self.answer.take(),
            evidence,
            warnings: std::mem::take(&mut self.warnings),
            blocked,
            usage: self.spent(),
            changes: Vec::new(),
            checks: std::mem::take(&mut self.checks),
            receipt: None,
        })));
    }

    fn status(&mut self, says: Says, evidence: &[Evidence]) -> Status {
        match self.ending {
            Some(Ending::Cancelled(_)) => return Status::Cancelled,
            Some(Ending::Exhausted(_)) => return Status::BudgetExhausted,
            Some(Ending::Failed(_)) => return Status::Error,
            None => {}
        }
        let was_refused = self.refused_calls > 0;
        let got_nowhere = self.answered_calls == 0 && evidence.is_empty();
        match says {
            Says::Blocked if !was_refused => {
                self.warnings.push(
                    "blocked: the child says that it was blocked, but nothing was refused"
                        .to_owned(),
                );
                Status::Error
            }
            Says::Blocked => Status::Blocked,
            Says::Done if was_refused && got_nowhere => Status::Blocked,
            Says::Done => Status::Ok,
        }
    }

    /// What is left: the last answer that the child gave, if it gave one, and the places that it
    /// looked at. What it wrote beside its calls is no answer, and is quoted as what it is.
    fn salvaged(&self) -> Draft {
        let written = self
            .messages
            .iter()
            .rev()
            .find_map(|message| match message {
                Message::Assistant { text, calls, .. } => {
                    let draft = contract::read(text, &self.brief.workspace);
                    (!draft.summary.is_empty()).then_some((draft, calls.is_empty()))
                }
                Message::User(_) | Message::ToolResult { .. } => None,
            });
        let mut draft = match written {
            Some((mut draft, true)) => {
                draft
                    .warnings
                    .push("summary: the last answer before the run ended".to_owned());
                draft
            }
            Some((mut draft, false)) => {
                draft.summary = format!(
                    "The run ended before it wrote an answer ({}). Beside its last calls it wrote: \
                     \"{}\"",
                    self.cause(),
                    cut(&draft.summary, MAX_ASIDE_BYTES)
                );
                draft
            }
            None => Draft {
                summary: format!("The run ended before it wrote anything ({}).", self.cause()),
                ..Draft::default()
            },
        };
        for stated in self.places_looked_at() {
            let is_known = draft
                .claims
                .iter()
                .any(|known| known.claim.path == stated.claim.path);
            if !is_known && draft.claims.len() < MAX_EVIDENCE {
                draft.claims.push(stated);
            }
        }
        draft
    }

    fn cause(&self) -> String {
        match &self.ending {
            Some(Ending::Exhausted(dimension)) => format!("{dimension} used up"),
            Some(Ending::Failed(code)) => (*code).to_owned(),
            Some(Ending::Cancelled(reason)) => reason.to_string(),
            None => "no reason known".to_owned(),
        }
    }

    /// Files that calls named and got an answer for, and places that those answers mention.
    fn places_looked_at(&self) -> Vec<Stated> {
        let workspace = &self.brief.workspace;
        let mut asked: Vec<(&str, &str, &'static str)> = Vec::new();
        let mut places = Vec::new();
        for message in &self.messages {
            match message {
                Message::Assistant { calls, .. } => {
                    asked.clear();
                    asked.extend(calls.iter().filter_map(|call| {
                        let path = call.arguments.get("path")?.as_str()?;
                        let note = match call.name.as_str() {
                            "read" => LOOKED_AT,
                            "write" | "edit" => WRITTEN,
                            _ => return None,
                        };
                        Some((call.id.as_str(), path, note))
                    }));
                }
                Message::ToolResult {
                    id,
                    content,
                    outcome: deputize_model::ToolOutcome::Answered,
                } => {
                    let named = asked
                        .iter()
                        .find(|(call, _, _)| call == id)
                        .map(|(_, path, note)| (relative(path, workspace), *note))
                        .filter(|(path, _)| !path.is_empty() && path.len() <= MAX_PATH_BYTES);
                    match named {
                        Some((path, note)) => places.push(observed(path, None, note)),
                        None => places.extend(
                            mentions(content, workspace, MAX_SALVAGED_PER_RESULT)
                                .into_iter()
                                .map(|found| {
                                    observed(&found.claim.path, found.claim.line, LOOKED_AT)
                                }),
                        ),
                    }
                }
                Message::User(_) | Message::ToolResult { .. } => {}
            }
            if places.len() >= MAX_SALVAGED {
                break;
            }
        }
        places
    }
}

/// What is noted about a place that a call looked at, or that its output names.
const LOOKED_AT: &str = "looked at during the run";

/// What is noted about a file that a call wrote.
const WRITTEN: &str = "written during the run";

fn observed(path: &str, line: Option<u64>, note: &str) -> Stated {
    Stated {
        claim: Claim {
            path: path.to_owned(),
            line,
            quote: None,
        },
        note: note.to_owned(),
        source: Source::Observed,
    }
}

fn held(stated: Stated) -> Evidence {
    Evidence {
        path: Untrusted::new(stated.claim.path),
        line: stated.claim.line,
        note: Untrusted::new(stated.note),
        quote: stated.claim.quote.map(Untrusted::new),
    }
}
