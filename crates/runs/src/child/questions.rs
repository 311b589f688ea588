//! A call that the gate asks about: put to a person, and what comes of it (S9).

use std::sync::Arc;
use std::time::{Duration, Instant};

use deputize_agent::{Decision, Event as Happened};
use deputize_authority::{Scope, Untrusted};
use deputize_gate::Agreed;
use deputize_ledger::CallAnswered;
use deputize_model::ToolUse;
use tokio::time::timeout;

use super::drive::{Drive, Outcome, Waiting};
use super::toolbox::Question;
use crate::clock::millis;
use crate::{CallAnswer, CallQuestion};

/// How long a question stays open. A person who comes back later starts the run again.
const PATIENCE: Duration = Duration::from_secs(600);

/// Characters of arguments that are put to a person. What can't be shown in full can't be said yes to.
const SHOWN: usize = 8_000;

/// A call that a person was shown, and what they said.
pub(super) struct Answered {
    pub(super) call: u64,
    pub(super) tool: ToolUse,
    /// The call as the gate understood it.
    pub(super) asked: deputize_gate::Call,
    /// How far a yes to it may reach.
    pub(super) longest: Scope,
    pub(super) answer: CallAnswer,
    pub(super) ms: u64,
}

impl Drive<'_> {
    /// Puts a question, where somebody may answer and it can be shown in full.
    pub(super) fn asking(
        &self,
        call: u64,
        tool: &ToolUse,
        question: Question,
        rule: &str,
    ) -> Option<Waiting> {
        let asker = Arc::clone(self.child.asker.as_ref()?);
        let arguments = tool.arguments.to_string();
        if arguments.chars().count() > SHOWN {
            return None;
        }
        let planned = self.child.planned();
        let workdir = planned.grant.workspace().path().to_string_lossy();
        let put = CallQuestion {
            run: self.child.id.to_string(),
            preset: self.child.preset().name(),
            workdir: Untrusted::new(workdir),
            call,
            tool: Untrusted::new(tool.name.clone()),
            arguments: Untrusted::new(arguments),
            rule: rule.to_owned(),
            reasons: question.reasons,
            longest: question.longest,
        };
        let tool = tool.clone();
        Some(Box::pin(async move {
            let begun = Instant::now();
            let answer = timeout(PATIENCE, asker.ask(put)).await;
            Outcome::Answered(Box::new(Answered {
                call,
                tool,
                asked: question.call,
                longest: question.longest,
                answer: answer.unwrap_or(CallAnswer::Nobody),
                ms: millis(begun),
            }))
        }))
    }

    /// Takes an answer: a yes goes to the gate with the call, anything else ends it.
    pub(super) fn answered(
        &mut self,
        answered: Answered,
        waiting: &mut Option<Waiting>,
    ) -> Option<Happened> {
        let Answered {
            call,
            tool,
            asked,
            longest,
            answer,
            ms,
        } = answered;
        let (word, by) = match &answer {
            CallAnswer::Yes(by, _) => ("yes", by.to_string()),
            CallAnswer::No(by) => ("no", by.to_string()),
            CallAnswer::Nobody => ("nobody", String::new()),
        };
        let unapproved = match answer {
            CallAnswer::Yes(..) => None,
            CallAnswer::No(_) => Some("a person was asked about this call and said no"),
            CallAnswer::Nobody => {
                Some("this needs a person's approval, and nobody answered; nobody said no either")
            }
        };
        let agreed = match answer {
            CallAnswer::Yes(by, scope) => Some(Agreed::new(asked, by, scope.min(longest))),
            CallAnswer::No(_) | CallAnswer::Nobody => None,
        };
        let scope = agreed.as_ref().map(|agreed| agreed.scope().name());
        self.write(&CallAnswered {
            call,
            answer: word.to_owned(),
            by,
            scope: scope.unwrap_or_default().to_owned(),
            ms,
        });
        if let Some(message) = unapproved {
            return Some(Happened::CallDecided {
                call,
                decision: Decision::Denied {
                    rule: "call.unapproved".to_owned(),
                    message: message.to_owned(),
                },
            });
        }
        if let Some(agreed) = &agreed {
            self.toolbox.agree(agreed);
        }
        let toolbox = Arc::clone(&self.toolbox);
        *waiting = Some(Box::pin(async move {
            let mut decided = toolbox.decide(&tool, agreed).await;
            if let Ok(decided) = &mut decided {
                // Nobody is asked twice about one call.
                decided.question = None;
            }
            Outcome::Decided {
                call,
                tool,
                decided: decided.map(Box::new),
            }
        }));
        None
    }
}
