//! Why the gate says what it says, as an ordered chain, for people and for scripts.

use std::fmt::Write as _;

use deputize_authority::{Level, Mode, WorkspaceMode};
use serde::Serialize;

use crate::decide::{Context, Judge};
use crate::{Call, Contained, Denied, Effect, Fact, Reading, RuleRef, Verdict};

/// One rule that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The rule.
    pub rule: RuleRef,
    /// Whether the call passed it.
    pub outcome: StepOutcome,
    /// What was found, in one sentence without a final stop.
    pub text: String,
}

/// Whether a call passed a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// It went on to the next.
    Pass,
    /// It is a question to the principal.
    Ask,
    /// It ended there.
    Stop,
}

/// What a call was judged by, beside the call itself: a row and a column of `docs/verdicts.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// The mode, or `unconfined`: by the reading alone.
    pub mode: &'static str,
    /// The level of the boundary.
    pub boundary: &'static str,
    /// Where changes of the workspace go.
    pub workspace: &'static str,
}

impl Judged {
    /// As an agent of another host is judged, which nothing confines.
    pub(crate) const UNCONFINED: Self = Self {
        mode: "unconfined",
        boundary: Level::None.label(),
        workspace: WorkspaceMode::Direct.name(),
    };

    /// As a line in a mode and a boundary is, on a copy.
    pub(crate) fn bound(mode: Mode, boundary: Level) -> Self {
        Self {
            mode: mode.name(),
            boundary: boundary.label(),
            workspace: WorkspaceMode::CopyOnWrite.name(),
        }
    }

    fn by(context: &Context<'_>) -> Self {
        Self {
            mode: context.mode.name(),
            boundary: context.boundary.label(),
            workspace: context.grant.workspace().mode.name(),
        }
    }
}

/// A verdict with its whole chain. The JSON form is stable: `verdict`, `rule`, `reasons`,
/// `effects`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// `allow`, `ask` or `deny`.
    pub verdict: &'static str,
    /// Whether it is allowed because the boundary contains it.
    pub contained: Contained,
    /// The id of the rule that the verdict rests on.
    pub rule: &'static str,
    /// Where that rule came from.
    pub origin: String,
    /// What it was judged by.
    pub judged: Judged,
    /// Why, the deciding reason first.
    pub reasons: Vec<String>,
    /// What the call does, as far as it was analysed.
    pub effects: Vec<Effect>,
    /// The chain, in the order of judgement.
    pub steps: Vec<Step>,
    /// What the model is told, when the call is denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The roots that may be read, when the call is denied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_scope: Vec<String>,
    /// How a command line was read, when the call is one and got as far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<Reading>,
}

/// Explains a call, by the same judgement that [`crate::decide`] makes.
///
/// `call` is what [`crate::admit`] gave: a denial at the first door is explained too.
#[must_use]
pub fn explain(
    call: Result<Call, Box<Denied>>,
    facts: &[Fact],
    context: &Context<'_>,
) -> Explanation {
    match call {
        Ok(call) => {
            let mut judge = Judge::new(context);
            let verdict = judge.verdict(call, facts);
            Explanation::of(verdict, judge.steps, judge.reading, Judged::by(context))
        }
        Err(denied) => {
            let step = Step {
                rule: denied.rule.clone(),
                outcome: StepOutcome::Stop,
                text: denied.reason.clone(),
            };
            Explanation::of(
                Verdict::Deny(*denied),
                vec![step],
                None,
                Judged::by(context),
            )
        }
    }
}

impl Explanation {
    fn of(verdict: Verdict, steps: Vec<Step>, shell: Option<Reading>, judged: Judged) -> Self {
        let word = verdict.word();
        let rule = verdict.rule().clone();
        let effects = verdict.effects().to_vec();
        let (contained, reasons, message, allowed_scope) = match verdict {
            Verdict::Allow(allowed) => {
                let last = steps.last().map(|step| step.text.clone());
                let reasons = last.into_iter().chain(allowed.notes).collect();
                (allowed.contained, reasons, None, Vec::new())
            }
            Verdict::Ask(asked) => (Contained::No, asked.reasons, None, Vec::new()),
            Verdict::Deny(denied) => (
                Contained::No,
                vec![denied.reason],
                Some(denied.message),
                denied.allowed_scope,
            ),
        };
        Self {
            verdict: word,
            contained,
            rule: rule.id,
            origin: rule.origin.into_owned(),
            judged,
            reasons,
            effects,
            steps,
            message,
            allowed_scope,
            shell,
        }
    }

    /// The explanation for a terminal, with a final line break. Foreign text in it is escaped.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        let contained = match self.contained {
            Contained::Yes => " (contained)",
            Contained::No => "",
        };
        // Writing to a String can't fail.
        let _ = writeln!(
            out,
            "{}{contained} by {} ({})",
            self.verdict, self.rule, self.origin
        );
        let Judged {
            mode,
            boundary,
            workspace,
        } = self.judged;
        let _ = writeln!(
            out,
            "  judged  mode {mode}, boundary {boundary}, workspace {workspace}"
        );
        for command in self.shell.iter().flat_map(|shell| &shell.commands) {
            let _ = writeln!(out, "  runs    {}", command.line());
        }
        for effect in &self.effects {
            let _ = writeln!(out, "  effect  {}", effect.describe());
        }
        for step in &self.steps {
            let mark = match step.outcome {
                StepOutcome::Pass => "pass",
                StepOutcome::Ask => "ask ",
                StepOutcome::Stop => "stop",
            };
            let _ = writeln!(out, "  {mark}    {}: {}", step.rule.id, step.text);
        }
        let is_step = |text: &String| self.steps.iter().any(|step| step.text == *text);
        for spoken in self.shell.iter().flat_map(|shell| &shell.rules) {
            if !is_step(&spoken.reason) {
                let _ = writeln!(out, "  rule    {}: {}", spoken.id, spoken.reason);
            }
            if self.verdict != "allow" {
                let _ = writeln!(out, "  safer   {}", spoken.advice());
            }
        }
        for note in self.reasons.iter().skip(1).filter(|note| !is_step(note)) {
            let _ = writeln!(out, "  note    {note}");
        }
        if let Some(message) = &self.message {
            let _ = writeln!(out, "  told    {message}");
        }
        out
    }
}
