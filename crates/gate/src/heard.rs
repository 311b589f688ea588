//! What the person's own rules say about a call (G6).
//!
//! Rules match what a call does: the commands of a line with their words as they are after quotes and
//! variables, the paths and hosts of its effects, the tool. The strictest of those that speak counts.
//!
//! # Invariants
//! - An allowance answers a question. It never lifts a denial, and it covers only what comes from the
//!   command, path or host that it names: whatever else asks still asks.
//! - A line that wasn't followed in whole is never allowed by a rule.
//! - One more rule that denies or asks never makes a verdict milder.

use deputize_authority::{CallRule, Preset, RuleKind, Subject, Tool, Use};
use deputize_shell::{
    Analysis, Answer, Certainty, Class, Completeness, Effect as Read, Place, Role, Step, What,
    rule as rule_about,
};

use crate::effect::shown_text;
use crate::reached;
use crate::rule::{self, RuleRef};

/// What rules are heard about: the person's, and where the call is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ear<'r> {
    pub(crate) rules: &'r [CallRule],
    /// The preset of the child that calls; `None` for nobody's child.
    pub(crate) preset: Option<Preset>,
    /// The workspaces.
    pub(crate) roots: &'r [String],
    pub(crate) home: &'r str,
}

/// How much of a line an allowance must cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cover {
    /// What a built-in rule asks about.
    Questions,
    /// Every command, and every change.
    Everything,
}

/// The word of the person's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard<'r> {
    pub(crate) rule: &'r CallRule,
    /// What it is about, ready to be shown.
    about: String,
}

impl Heard<'_> {
    pub(crate) fn kind(&self) -> RuleKind {
        self.rule.kind
    }

    /// The rule by id and place.
    pub(crate) fn named(&self) -> RuleRef {
        let built_in = match self.rule.kind {
            RuleKind::Allow => &rule::PERSON_ALLOWED,
            RuleKind::Ask => &rule::PERSON_ASKS,
            RuleKind::Deny => &rule::PERSON_DENIED,
        };
        RuleRef {
            id: built_in.id,
            origin: self.rule.place.to_string().into(),
        }
    }

    /// What it says, with its place and the person's reason.
    pub(crate) fn says(&self) -> String {
        let verb = match self.rule.kind {
            RuleKind::Allow => "allows",
            RuleKind::Ask => "asks about",
            RuleKind::Deny => "denies",
        };
        let reason = match &self.rule.reason {
            Some(reason) => format!(" ({})", shown_text(reason)),
            None => String::new(),
        };
        format!(
            "a rule of the person's {verb} it: `{}`{reason}, by {}",
            self.about, self.rule.place
        )
    }
}

impl<'r> Ear<'r> {
    fn holding(&self) -> impl Iterator<Item = &'r CallRule> {
        let (preset, roots) = (self.preset, self.roots);
        self.rules
            .iter()
            .filter(move |rule| rule.holds(preset, roots))
    }

    /// What they say about a tool as such.
    pub(crate) fn about_tool(&self, tool: Tool) -> Option<Heard<'r>> {
        let about = self
            .holding()
            .filter(|rule| rule.subject == Subject::Tool(tool));
        strictest(about.map(|rule| Heard {
            rule,
            about: tool.name().to_owned(),
        }))
    }

    /// What they say about one path of a file tool.
    pub(crate) fn about_path(&self, path: &str, used: Use) -> Option<Heard<'r>> {
        strictest(self.holding().filter_map(|rule| match &rule.subject {
            Subject::Path(pattern, uses)
                if (uses.is_empty() || uses.contains(&used))
                    && pattern.covers(path, self.roots, self.home) =>
            {
                Some(Heard {
                    rule,
                    about: shown_text(path),
                })
            }
            _ => None,
        }))
    }

    /// What they say about a line: a denial, else a question, else an allowance of all that must be
    /// covered.
    pub(crate) fn about_line(&self, analysis: &Analysis, cover: Cover) -> Option<Heard<'r>> {
        let strict = self.holding().filter(|rule| rule.kind != RuleKind::Allow);
        let spoken = strict.filter_map(|rule| self.speaks(rule, analysis));
        strictest(spoken).or_else(|| self.allowance(analysis, cover))
    }

    /// Whether a rule that denies or asks is about any part of a line.
    fn speaks(&self, rule: &'r CallRule, analysis: &Analysis) -> Option<Heard<'r>> {
        let heard = |about: &str| {
            Some(Heard {
                rule,
                about: shown_text(about),
            })
        };
        match &rule.subject {
            Subject::Command(words) => {
                let found = analysis.steps.iter().find(|step| is_command(step, words));
                found.and_then(|step| heard(&step.words.join(" ")))
            }
            Subject::Exact(words) => {
                let found = analysis.steps.iter().find(|step| step.words == *words);
                found.and_then(|step| heard(&step.words.join(" ")))
            }
            Subject::Path(_, uses) => {
                let found = analysis.effects.iter().find(|effect| {
                    used(effect).is_some_and(|used| uses.is_empty() || uses.contains(&used))
                        && self.touches(&rule.subject, effect)
                });
                found.and_then(|effect| match &effect.what {
                    What::Path { target, .. } => {
                        heard(target.path.as_ref().unwrap_or(&target.shown))
                    }
                    _ => None,
                })
            }
            Subject::Host(_) => analysis
                .effects
                .iter()
                .find_map(|effect| match &effect.what {
                    What::Network { host: Some(host) } if rule.subject.is_host(host) => heard(host),
                    _ => None,
                })
                .or_else(|| reached::named(rule, analysis).and_then(|host| heard(&host))),
            Subject::Tool(_) => None,
        }
    }

    /// Whether a path effect reaches what a pattern covers, by itself or by what lies below.
    fn touches(&self, subject: &Subject, effect: &Read) -> bool {
        let (Subject::Path(pattern, _), What::Path { role, target }) = (subject, &effect.what)
        else {
            return false;
        };
        let Some(path) = &target.path else {
            return false;
        };
        let everything_below = matches!(role, Role::DeleteTree | Role::AttributesTree | Role::Away);
        if target.pattern {
            // Which of the names it matches can't be told: what it may match counts.
            // A name that a search looks for may lie at any depth, so its last name never counts.
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let folder = folder
                .split_inclusive('/')
                .take_while(|name| !name.contains(['*', '?', '[']))
                .collect::<String>();
            let folder = folder.trim_end_matches('/');
            return pattern.reaches_below(
                if folder.is_empty() { "/" } else { folder },
                self.roots,
                self.home,
            );
        }
        pattern.covers(path, self.roots, self.home)
            || everything_below && pattern.reaches_below(path, self.roots, self.home)
    }

    /// An allowance, if rules that allow cover every question of a line.
    fn allowance(&self, analysis: &Analysis, cover: Cover) -> Option<Heard<'r>> {
        if analysis.completeness != Completeness::Complete {
            return None;
        }
        let mut first: Option<Heard<'r>> = None;
        let mut keep = |heard: Option<Heard<'r>>| {
            let found = heard.is_some();
            first = first.take().or(heard);
            found
        };
        for effect in &analysis.effects {
            let answer = rule_about(&effect.what).map_or(Answer::Allow, |rule| rule.answer);
            let asks = match (answer, effect.certainty) {
                (Answer::Deny, _) => return None,
                (Answer::Ask, Certainty::Followed) => true,
                _ => cover == Cover::Everything && effect.step.is_none() && changes(effect),
            };
            if asks && !keep(self.allows(effect, analysis)) {
                return None;
            }
        }
        if cover == Cover::Everything {
            for at in 0..analysis.steps.len() {
                if !keep(self.allows_step(analysis, at, Breadth::Arguments)) {
                    return None;
                }
            }
        }
        first
    }

    fn allows(&self, effect: &Read, analysis: &Analysis) -> Option<Heard<'r>> {
        let by_command = effect.step.and_then(|step| {
            let breadth = match &effect.what {
                What::Path { .. } => Breadth::Exact,
                What::Act(rule) if rule.class == Class::Opaque && !NAMED.contains(&rule.id) => {
                    Breadth::Exact
                }
                _ => Breadth::Arguments,
            };
            match &effect.what {
                What::Act(rule) if NEVER.contains(&rule.id) => None,
                _ => self.allows_step(analysis, step, breadth),
            }
        });
        by_command.or_else(|| self.allows_what(effect))
    }

    /// The allowance of a path or a host by itself.
    fn allows_what(&self, effect: &Read) -> Option<Heard<'r>> {
        self.holding().find_map(|rule| {
            let about = match (&rule.subject, &effect.what) {
                _ if rule.kind != RuleKind::Allow => None,
                (Subject::Path(pattern, uses), What::Path { role, target }) => {
                    let path = target.path.as_deref().filter(|_| !target.pattern)?;
                    let is_for =
                        uses.is_empty() || used(effect).is_some_and(|it| uses.contains(&it));
                    let tree = matches!(role, Role::DeleteTree | Role::AttributesTree);
                    let covers = match tree || target.place == Place::Whole {
                        true => pattern.covers_tree(path, self.roots, self.home),
                        false => pattern.covers(path, self.roots, self.home),
                    };
                    (is_for && covers).then_some(path)
                }
                (Subject::Host(_), What::Network { host: Some(host) }) => {
                    rule.subject.is_host(host).then_some(host.as_str())
                }
                _ => None,
            };
            about.map(|about| Heard {
                rule,
                about: shown_text(about),
            })
        })
    }

    /// The allowance of a command, or of one that runs it with exactly these arguments.
    fn allows_step(&self, analysis: &Analysis, at: usize, breadth: Breadth) -> Option<Heard<'r>> {
        let step = analysis.steps.get(at)?;
        let own = self.holding().find(|rule| {
            rule.kind == RuleKind::Allow
                && self.is_here(step)
                && match &rule.subject {
                    Subject::Exact(words) => is_exactly(step, words),
                    Subject::Command(words) => breadth == Breadth::Arguments && begins(step, words),
                    _ => false,
                }
        });
        if let Some(rule) = own {
            return Some(Heard {
                rule,
                about: shown_text(&step.words.join(" ")),
            });
        }
        // A parent stands before what it runs, so this ends.
        step.parent
            .filter(|parent| *parent < at)
            .and_then(|parent| self.allows_step(analysis, parent, Breadth::Exact))
    }

    /// Whether a command runs in a workspace, as it would if it were the whole line.
    fn is_here(&self, step: &Step) -> bool {
        step.plain
            && step.cwd.as_deref().is_some_and(|cwd| {
                self.roots.iter().any(|root| {
                    cwd.strip_prefix(root.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                })
            })
    }
}

/// How exactly an allowance must name a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breadth {
    /// By program and sub-command.
    Arguments,
    /// By all of its arguments.
    Exact,
}

/// What isn't known about a program as such: to name the program answers it.
const NAMED: [&str; 3] = ["opaque.program", "opaque.script", "opaque.interactive"];

/// What no rule about a command answers: it isn't about the command's words.
const NEVER: [&str; 6] = [
    "opaque.part",
    "opaque.limit",
    "opaque.letters",
    "opaque.hidden",
    "opaque.value",
    "opaque.syntax",
];

fn strictest<'r>(heard: impl Iterator<Item = Heard<'r>>) -> Option<Heard<'r>> {
    heard.reduce(|best, next| {
        if next.kind() > best.kind() {
            next
        } else {
            best
        }
    })
}

/// What a path effect uses its path for.
fn used(effect: &Read) -> Option<Use> {
    match &effect.what {
        What::Path { role, .. } => Some(match role {
            Role::Read | Role::LinkTo | Role::Execute | Role::Enter => Use::Read,
            Role::Write | Role::Attributes | Role::AttributesTree => Use::Write,
            Role::Delete | Role::DeleteTree | Role::Away => Use::Delete,
        }),
        _ => None,
    }
}

fn changes(effect: &Read) -> bool {
    used(effect).is_some_and(|used| used != Use::Read)
        && !matches!(&effect.what, What::Path { target, .. } if target.place == Place::Stream)
}

/// Exactly these words, none of them a pattern or partly unknown.
fn is_exactly(step: &Step, words: &[String]) -> bool {
    step.words == words && step.literal.iter().all(|literal| *literal)
}

/// These words first, as they stand.
fn begins(step: &Step, words: &[String]) -> bool {
    step.words.len() >= words.len()
        && step
            .words
            .iter()
            .zip(words)
            .all(|(found, named)| found == named)
        && step
            .literal
            .iter()
            .take(words.len())
            .all(|literal| *literal)
}

/// Whether a command is a program with a sub-command, whatever options stand between and however the
/// program is found. An option may take the word behind it.
fn is_command(step: &Step, words: &[String]) -> bool {
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_lowercase();
    let (Some(program), Some((named, commands))) = (step.words.first(), words.split_first()) else {
        return false;
    };
    if base(program) != base(named) {
        return false;
    }
    let mut commands = commands.iter().peekable();
    let mut after_option = false;
    for word in &step.words[1..] {
        match commands.peek() {
            None => return true,
            Some(command) if *command == word => {
                commands.next();
                after_option = false;
            }
            Some(_) if word.starts_with(['-', '+']) => after_option = true,
            Some(_) if after_option => after_option = false,
            Some(_) => return false,
        }
    }
    commands.next().is_none()
}
