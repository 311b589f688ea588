//! One judgement: it collects the effects and the steps, and ends in a verdict.

use std::path::{Path, PathBuf};

use deputize_authority::{Mode, Root, RuleKind, SecretRules, Set, Tool, Use};
use deputize_shell::Analysis;

use super::{Context, bash, exec, git, paths, write};
use crate::agreed::longest_yes;
use crate::effect::shown;
use crate::explain::{Step, StepOutcome};
use crate::heard::{Cover, Ear, Heard};
use crate::rule::{self, Rule};
use crate::{
    Allowed, Asked, Bound, Call, CallError, Change, Contained, Denied, Effect, Fact, Reading,
    RuleRef, Sealed, Verdict,
};

/// Roots that a denial repeats.
const SHOWN_ROOTS: usize = 12;

/// Where a judgement ended: the rule, why, and what to do instead.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) rule: RuleRef,
    pub(crate) reason: String,
    pub(crate) instead: String,
    pub(crate) scope: Scope,
}

/// Which roots a denial repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those that may be read.
    Read,
    /// Those that may be written.
    Write,
}

/// What the principal would have to decide.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) rule: RuleRef,
    pub(crate) reasons: Vec<String>,
}

/// Why a call is not allowed as it stands.
#[derive(Debug)]
pub(crate) enum Refuse {
    Deny(Stop),
    Ask(Question),
}

impl<T: Into<Stop>> From<T> for Refuse {
    fn from(stop: T) -> Self {
        Self::Deny(stop.into())
    }
}

impl Stop {
    pub(crate) fn new(
        rule: impl Into<RuleRef>,
        reason: impl Into<String>,
        instead: impl Into<String>,
    ) -> Self {
        Self {
            rule: rule.into(),
            reason: reason.into(),
            instead: instead.into(),
            scope: Scope::Read,
        }
    }

    /// A denial about what may be written.
    pub(crate) fn of_write(
        rule: impl Into<RuleRef>,
        reason: impl Into<String>,
        instead: impl Into<String>,
    ) -> Self {
        Self {
            scope: Scope::Write,
            ..Self::new(rule, reason, instead)
        }
    }
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Self {
        let instead = match error {
            CallError::UnknownTool(_) => "Use one of the tools that were offered",
            CallError::UnknownArgument { .. } => "Send only the arguments in the tool's schema",
            CallError::TooLarge { .. } => "Ask for less, or split the call",
            _ => "Correct the argument and call again",
        };
        Self::new(error.rule(), error.to_string(), instead)
    }
}

/// The rule that an allowance rests on, and what it says.
pub(crate) struct Basis {
    rule: RuleRef,
    says: String,
}

impl From<&'static Rule> for Basis {
    fn from(rule: &'static Rule) -> Self {
        Self {
            rule: rule.into(),
            says: rule.says.to_owned(),
        }
    }
}

impl From<&Heard<'_>> for Basis {
    fn from(heard: &Heard<'_>) -> Self {
        Self {
            rule: heard.named(),
            says: heard.says(),
        }
    }
}

/// What an allowed call rests on.
pub(crate) struct Pass {
    pub(crate) rule: Basis,
    pub(crate) contained: Contained,
    pub(crate) bound: Bound,
}

pub(crate) struct Judge<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) steps: Vec<Step>,
    pub(crate) notes: Vec<String>,
    pub(crate) reading: Option<Reading>,
    /// What a command line would do, when the call is one and got as far.
    pub(crate) analysis: Option<Analysis>,
    roots: Vec<String>,
    home: String,
    /// Whether a person said yes to this very call.
    is_agreed: bool,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        let workspace = context.grant.workspace().path().to_string_lossy();
        let home = context.home.map(Path::to_string_lossy);
        Self {
            context,
            analysis: None,
            roots: vec![workspace.into_owned()],
            home: home.map_or_else(|| "/".to_owned(), Into::into),
            effects: Vec::new(),
            is_agreed: false,
            steps: Vec::new(),
            notes: Vec::new(),
            reading: None,
        }
    }

    pub(crate) fn verdict(&mut self, call: Call, facts: &[Fact]) -> Verdict {
        let mut agreed = self.context.agreed.iter();
        self.is_agreed =
            agreed.any(|agreed| agreed.is_about(&call)) && self.context.mode != Mode::Explore;
        let outcome = self.judge(&call, facts);
        match self.heeding(&call, outcome) {
            Ok(pass) => {
                self.steps.push(Step {
                    rule: pass.rule.rule.clone(),
                    outcome: StepOutcome::Pass,
                    text: pass.rule.says,
                });
                Verdict::Allow(Allowed {
                    rule: pass.rule.rule,
                    contained: pass.contained,
                    effects: std::mem::take(&mut self.effects),
                    notes: std::mem::take(&mut self.notes),
                    sealed: Sealed::new(call, pass.bound),
                })
            }
            Err(Refuse::Ask(Question { rule, reasons })) => {
                self.steps.push(Step {
                    rule: rule.clone(),
                    outcome: StepOutcome::Ask,
                    text: reasons.join("; "),
                });
                Verdict::Ask(Asked {
                    call,
                    rule,
                    reasons,
                    scope: longest_yes(self.analysis.as_ref()),
                    effects: std::mem::take(&mut self.effects),
                })
            }
            Err(Refuse::Deny(stop)) => {
                self.steps.push(Step {
                    rule: stop.rule.clone(),
                    outcome: StepOutcome::Stop,
                    text: stop.reason.clone(),
                });
                let effects = std::mem::take(&mut self.effects);
                Verdict::Deny(denied(stop, effects, self.context))
            }
        }
    }

    /// The same outcome, made stricter where a rule of the person's says so.
    fn heeding(&self, call: &Call, outcome: Result<Pass, Refuse>) -> Result<Pass, Refuse> {
        if matches!(outcome, Err(Refuse::Deny(_))) {
            return outcome;
        }
        match self.heard(call) {
            Some(heard) if heard.kind() == RuleKind::Deny => Err(Stop::new(
                heard.named(),
                heard.says(),
                "Leave it as it is, and say in your answer what a person would have to do",
            )
            .into()),
            Some(heard) if heard.kind() == RuleKind::Ask => {
                let pass = outcome?;
                match self.question(heard.named(), vec![heard.says()]) {
                    Ok((rule, _)) if pass.contained == Contained::No => Ok(Pass { rule, ..pass }),
                    Ok(_) => Ok(pass),
                    Err(refuse) => Err(refuse),
                }
            }
            _ => outcome,
        }
    }

    /// A question for a person, unless one said yes to this very call.
    pub(crate) fn question(
        &self,
        rule: RuleRef,
        reasons: Vec<String>,
    ) -> Result<(Basis, Contained), Refuse> {
        match self.is_agreed {
            true => Ok(((&rule::CALL_AGREED).into(), Contained::No)),
            false => Err(Refuse::Ask(Question { rule, reasons })),
        }
    }

    /// The strictest rule of the person's that speaks about a call.
    fn heard(&self, call: &Call) -> Option<Heard<'_>> {
        let ear = self.ear();
        let line = self
            .analysis
            .as_ref()
            .and_then(|line| ear.about_line(line, Cover::Everything));
        let meant = call.path().and_then(|path| self.context.resolve(path).ok());
        let meant = meant.map(|path| (path, used(call)));
        let landed = self.effects.iter().filter_map(|effect| match effect {
            Effect::Read { path, .. } => Some((path.clone(), Use::Read)),
            Effect::Write { path, .. } => Some((path.clone(), Use::Write)),
            _ => None,
        });
        let paths = meant.into_iter().chain(landed);
        let paths = paths.filter_map(|(path, used)| ear.about_path(&path.to_string_lossy(), used));
        ear.about_tool(call.tool())
            .into_iter()
            .chain(line)
            .chain(paths)
            .max_by_key(Heard::kind)
    }

    /// A rule of the person's that allows a command line in whole.
    pub(crate) fn allowed_line(&self) -> Option<Basis> {
        let heard = self
            .ear()
            .about_line(self.analysis.as_ref()?, Cover::Everything)?;
        (heard.kind() == RuleKind::Allow).then(|| Basis::from(&heard))
    }

    /// A rule of the person's that allows a change of a path by a tool.
    pub(crate) fn allowed_change(&self, tool: Tool, path: &Path) -> Option<Basis> {
        let ear = self.ear();
        let heard = ear
            .about_path(&path.to_string_lossy(), Use::Write)
            .or_else(|| ear.about_tool(tool))?;
        (heard.kind() == RuleKind::Allow).then(|| Basis::from(&heard))
    }

    fn ear(&self) -> Ear<'_> {
        Ear {
            rules: self.context.rules,
            preset: Some(self.context.grant.preset()),
            roots: &self.roots,
            home: &self.home,
        }
    }

    fn judge(&mut self, call: &Call, facts: &[Fact]) -> Result<Pass, Refuse> {
        self.granted(call.tool())?;
        self.passed(
            &rule::TOOL_GRANTED,
            format!("the grant lists the tool `{}`", call.tool()),
        );
        call.check()?;
        match call {
            Call::Exec(launch) => Ok(exec::judge(self, launch, facts)?),
            Call::Bash { command, .. } => bash::judge(self, command, facts),
            Call::Git(look) => git::judge(self, look, facts),
            Call::Write { path, .. } => {
                write::judge(self, call.tool(), path, Change::Replace, facts)
            }
            Call::Edit { path, .. } => write::judge(self, call.tool(), path, Change::Edit, facts),
            Call::Read { .. }
            | Call::Ls { .. }
            | Call::Find { .. }
            | Call::Grep { .. }
            | Call::Rank { .. } => Ok(paths::judge(self, call, facts)?),
        }
    }

    pub(crate) fn granted(&self, tool: Tool) -> Result<(), Stop> {
        let tools = &self.context.grant.bounds().tools;
        if tools.permits(&tool) {
            return Ok(());
        }
        let granted: Vec<&str> = Tool::ALL
            .iter()
            .filter(|tool| tools.permits(tool))
            .map(|tool| tool.name())
            .collect();
        let instead = if granted.is_empty() {
            "No tool is granted: answer from what you have".to_owned()
        } else {
            format!("Use one of: {}", granted.join(", "))
        };
        Err(Stop::new(
            &rule::TOOL_NOT_GRANTED,
            format!("the tool `{tool}` is not granted"),
            instead,
        ))
    }

    /// The meaning of a written path, if it lies in a readable root and isn't a secret by name.
    pub(crate) fn lexical(&self, written: &str) -> Result<PathBuf, Stop> {
        let path = self.meant(written)?;
        self.readable(&path)?;
        Ok(path)
    }

    /// The meaning of a written path, wherever it lies.
    pub(crate) fn meant(&self, written: &str) -> Result<PathBuf, Stop> {
        self.context.resolve(written).map_err(|error| {
            Stop::new(
                &rule::PATH_INVALID,
                error.to_string(),
                "Give a path relative to the workspace",
            )
        })
    }

    /// An absolute path in normal form must lie in a readable root and not be a secret by name.
    pub(crate) fn readable(&self, path: &Path) -> Result<(), Stop> {
        if !self.is_readable(path) {
            return Err(Stop::new(
                &rule::PATH_OUTSIDE,
                format!("`{}` lies outside what may be read", shown(path)),
                self.stay_inside(),
            ));
        }
        self.not_secret(path)
    }

    fn is_readable(&self, path: &Path) -> bool {
        let read = &self.context.grant.bounds().read;
        Root::new(path).is_some_and(|root| read.permits(&root))
    }

    /// The canonical path must be as readable as the one that is meant.
    pub(crate) fn canonical(&self, meant: &Path, canonical: &Path) -> Result<(), Stop> {
        if !self.is_readable(canonical) {
            return Err(self.escapes(meant));
        }
        self.not_secret(canonical)
    }

    pub(crate) fn escapes(&self, meant: &Path) -> Stop {
        Stop::new(
            &rule::PATH_ESCAPES,
            format!(
                "`{}` leads out of what may be read, by a symlink",
                shown(meant)
            ),
            self.stay_inside(),
        )
    }

    fn stay_inside(&self) -> String {
        match scope(self.context, Scope::Read).as_slice() {
            [] => "Nothing may be read: answer from what you have".to_owned(),
            roots => format!("Use a path inside {}", roots.join(", ")),
        }
    }

    pub(crate) fn not_secret(&self, path: &Path) -> Result<(), Stop> {
        let rules = SecretRules::allowing(self.context.grant.bounds().secrets.clone());
        match rules.denied(path) {
            None => Ok(()),
            Some(class) => Err(Stop::new(
                &rule::SECRET_DENIED,
                class.reason(&shown(path)),
                "Go on without it, and say in your answer what you could not see; only a person can \
                 allow it",
            )),
        }
    }

    pub(crate) fn passed(&mut self, rule: &'static Rule, text: String) {
        self.steps.push(Step {
            rule: rule.into(),
            outcome: StepOutcome::Pass,
            text,
        });
    }
}

/// What a file tool uses its path for.
fn used(call: &Call) -> Use {
    match call {
        Call::Write { .. } | Call::Edit { .. } => Use::Write,
        _ => Use::Read,
    }
}

/// A denial in full.
pub(crate) fn denied(stop: Stop, effects: Vec<Effect>, context: &Context<'_>) -> Denied {
    let Stop {
        rule,
        reason,
        instead,
        scope: which,
    } = stop;
    Denied {
        message: told(&rule, &reason, &instead),
        rule,
        reason,
        instead,
        allowed_scope: scope(context, which),
        effects,
    }
}

/// A denial in the words for a model.
pub(crate) fn told(rule: &RuleRef, reason: &str, instead: &str) -> String {
    format!("Denied ({}): {reason}. {instead}.", rule.id)
}

pub(crate) fn scope(context: &Context<'_>, which: Scope) -> Vec<String> {
    let bounds = context.grant.bounds();
    let granted = match which {
        Scope::Read => &bounds.read,
        Scope::Write => &bounds.write,
    };
    if matches!(granted, Set::Any) {
        return vec!["/".to_owned()];
    }
    let workspace = &context.grant.workspace().root;
    let own = granted.permits(workspace).then_some(workspace);
    let roots = || {
        own.into_iter()
            .chain(granted.items().filter(|root| Some(*root) != own))
    };
    let more = roots().count().saturating_sub(SHOWN_ROOTS);
    roots()
        .take(SHOWN_ROOTS)
        .map(|root| shown(root.path()))
        .chain((more > 0).then(|| format!("{more} more")))
        .collect()
}
