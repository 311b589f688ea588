//! What a run says while it goes on: to the face that watches, and into its ledger.

use deputize_agent::CheckOutcome;
use deputize_authority::{Untrusted, escape};
use deputize_gate::Contained;
use deputize_ledger::{CallDecided, CallFinished, Checked, CopyMade, ModelTurn, Noticed, Tokens};
use deputize_model::{ToolUse, Turn};

use super::commands::CheckRan;
use super::drive::Drive;
use super::ground::{Ground, RunCopy};
use super::toolbox::{Decided, Ran};
use crate::clock::wall_ms;
use crate::{Event, RunError, record};

/// Characters of a call's arguments that a face shows.
const PREVIEW: usize = 120;

impl Drive<'_> {
    pub(super) fn show_start(&self) {
        let planned = self.child.planned();
        self.show(Event::Started {
            run: self.child.id.to_string(),
            preset: self.child.preset().name().to_owned(),
            workdir: escape(&planned.grant.workspace().path().to_string_lossy()),
            model: planned.model,
            label: planned.label,
        });
    }

    /// Says once, when it stands, what boundary there is.
    pub(super) fn tell_boundary(&mut self) {
        if self.boundary_told {
            return;
        }
        let Some(Ground { hosted, copy }) = self.toolbox.footing.started() else {
            return;
        };
        self.boundary_told = true;
        let weaker = hosted
            .weaker
            .as_ref()
            .map(|weaker| format!("{}; {}", weaker.why, weaker.fix));
        self.show(Event::Boundary {
            level: hosted.plan.level,
            weaker,
        });
        self.write(&record::boundary(&hosted.plan, Some(&hosted.self_test)));
        if let Some(copy) = copy {
            self.tell_copy(&copy);
        }
    }

    fn tell_copy(&mut self, copy: &RunCopy) {
        let mut notes = Vec::new();
        if let Some(why) = &copy.instead {
            notes.push(format!(
                "the folder was copied whole, since no overlay can be had here: {why}"
            ));
        }
        notes.extend(copy.record().notes.iter().cloned());
        for note in &notes {
            self.show(Event::Notice {
                code: "copy".to_owned(),
                message: escape(note),
            });
        }
        self.write(&CopyMade {
            method: record::word(&copy.record().kind),
            notes,
        });
    }

    pub(super) fn write_turn(&mut self, turn: u64, reply: &Turn, ms: u64) {
        let usage = reply.usage;
        let price = reply.price.or(self.child.model.price());
        self.write(&ModelTurn {
            turn,
            model: reply.model.clone(),
            tokens: Tokens {
                input: usage.input_tokens.saturating_add(usage.cache_write_tokens),
                cached: usage.cached_input_tokens,
                output: usage.output_tokens,
            },
            cost_micros: reply
                .cost_micros
                .or_else(|| price.map(|price| usage.cost_micros(price))),
            ms,
            calls: u64::try_from(reply.calls.len()).unwrap_or(u64::MAX),
        });
    }

    pub(super) fn write_decision(&mut self, call: u64, tool: &ToolUse, decided: &Decided) {
        self.show(Event::Call {
            call,
            tool: Untrusted::new(tool.name.clone()).preview(PREVIEW),
            preview: Untrusted::new(tool.arguments.to_string()).preview(PREVIEW),
            verdict: match decided.verdict {
                deputize_ledger::Verdict::Allow if decided.contained == Contained::Yes => {
                    "allow (contained)"
                }
                deputize_ledger::Verdict::Allow => "allow",
                deputize_ledger::Verdict::Ask => "ask",
                deputize_ledger::Verdict::Deny => "deny",
            },
            rule: decided.rule.clone(),
        });
        self.write(&CallDecided {
            call,
            tool: tool.name.clone(),
            arguments: tool.arguments.clone(),
            verdict: decided.verdict,
            rule: decided.rule.clone(),
            reason: decided.reason.clone(),
        });
    }

    pub(super) fn write_end(&mut self, call: u64, ran: &Ran, ms: u64) {
        self.write(&CallFinished {
            call,
            outcome: ran.code.clone(),
            bytes: ran.bytes,
            ms,
        });
    }

    pub(super) fn write_check(&mut self, command: String, ran: &CheckRan) {
        let outcome = match ran.outcome {
            CheckOutcome::Passed => "passed".to_owned(),
            CheckOutcome::Failed(code) => format!("failed ({code})"),
            CheckOutcome::NotRun => "not run".to_owned(),
        };
        self.show(Event::Notice {
            code: "check".to_owned(),
            message: format!("{}: {outcome}", escape(&command)),
        });
        self.write(&Checked {
            command,
            outcome,
            ms: ran.ms,
        });
    }

    pub(super) fn notice(&mut self, code: &str, message: String) {
        self.show(Event::Notice {
            code: code.to_owned(),
            message: message.clone(),
        });
        self.write(&Noticed {
            code: code.to_owned(),
            message,
        });
    }

    pub(super) fn write<R: deputize_ledger::Record>(&mut self, record: &R) {
        if self.ledger_broken.is_none()
            && let Err(error) = self.ledger.record(record, wall_ms())
        {
            self.ledger_broken = Some(RunError::Ledger(error).refusal().reason);
        }
    }

    pub(super) fn show(&self, event: Event) {
        // A face that is gone misses nothing that isn't in the ledger.
        let _ = self.events.send(event);
    }
}
