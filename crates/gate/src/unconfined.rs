//! What an agent of a workspace is told that nothing confines: the person's own, in another host
//! (G2, G3).
//!
//! Nothing is looked up: a path is what its text says, through no symlink. So this advice is worth
//! less than a child's verdict, and no boundary stands behind it.

use deputize_authority::{CallRule, Level, Mode, RuleKind, Tool, Use};
use deputize_shell::{
    Analysis, Answer, Effect as Read, Opinion, Role, Rule as ShellRule, User, Verdict, What, World,
    analyse, doubted, judge, land, rule as rule_about,
};

use crate::decide::stance::{self, Hold, Stance as Row};
use crate::decide::{is_plainly_ours, told};
use crate::explain::{Explanation, Judged, Step, StepOutcome};
use crate::heard::{Cover, Ear, Heard};
use crate::resolve::normal;
use crate::rule::{self, RuleRef};
use crate::shell::{self, Reading};
use crate::{Class, Contained, Effect};

/// Rules that an explanation repeats as reasons: more than people read.
const REASONS: usize = 16;

/// What another parser sees in a line; `None` when it can't be asked.
pub type SecondOpinion = fn(&str) -> Option<Opinion>;

/// Where an agent stands: the folders, as text.
#[derive(Debug, Clone)]
pub struct Standing {
    world: World,
    is_too_wide: bool,
    rules: Vec<CallRule>,
}

/// What holds an agent's commands in, and how much it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stance {
    /// Nothing holds them in: harmless ones are allowed, harmful ones denied, others asked about.
    Unconfined,
    /// A mode, on a copy without network inside a boundary of this strength.
    Bound(Mode, Level),
}

impl Standing {
    /// Workspaces, the folder that the agent is in, and the home folder; all absolute.
    ///
    /// A workspace that holds the home folder, or everything, is none: what lies in it isn't the
    /// agent's to change.
    #[must_use]
    pub fn new(roots: &[&str], cwd: &str, home: &str, user: User) -> Self {
        let plain = |path: &str| normal(path.as_ref()).to_string_lossy().into_owned();
        let home = plain(home);
        let roots: Vec<String> = roots.iter().map(|root| plain(root)).collect();
        let holds_home = |root: &str| {
            root == "/" || home == root || home.starts_with(&format!("{root}/")) && home != "/"
        };
        let (wide, writable): (Vec<_>, Vec<_>) =
            roots.into_iter().partition(|root| holds_home(root));
        Self {
            world: World {
                cwd: plain(cwd),
                writable,
                readable: Vec::new(),
                home,
                user,
            },
            is_too_wide: !wide.is_empty(),
            rules: Vec::new(),
        }
    }

    /// With the person's own rules about calls.
    #[must_use]
    pub fn with_rules(mut self, rules: Vec<CallRule>) -> Self {
        self.rules = rules;
        self
    }

    fn ear(&self) -> Ear<'_> {
        Ear {
            rules: &self.rules,
            preset: None,
            roots: &self.world.writable,
            home: &self.world.home,
        }
    }

    fn note(&self) -> Option<String> {
        self.is_too_wide.then(|| {
            "a folder that holds the whole home folder is no workspace: start in a project's folder"
                .to_owned()
        })
    }
}

/// A line that was read and judged, by both parsers where the second can change something.
struct Line {
    analysis: Analysis,
    verdict: Verdict,
}

impl Line {
    fn read(command: &str, world: &World, second: SecondOpinion) -> Self {
        let analysis = analyse(command, world);
        let mut verdict = judge(&analysis);
        if verdict.answer == Answer::Allow
            && !second(command).is_some_and(|opinion| opinion.agrees(command))
        {
            verdict = doubted(verdict);
        }
        Self { analysis, verdict }
    }
}

/// Explains a command line to an agent that stands there.
#[must_use]
pub fn explain_line(
    command: &str,
    standing: &Standing,
    stance: Stance,
    second: SecondOpinion,
) -> Explanation {
    if is_plainly_ours(command) {
        let effect = Effect::Execute {
            program: "bash".into(),
            argv: vec!["bash".into(), "-c".into(), command.into()],
            class: Class::Admin,
        };
        return plain_denial(
            RuleRef::from(&rule::ADMIN_DENIED),
            "the command administers Deputize itself".to_owned(),
            "Leave that to a person",
            vec![effect],
        );
    }
    let line = Line::read(command, &standing.world, second);
    let mut explanation = unconfined(&line, standing);
    if let Stance::Bound(mode, boundary) = stance {
        bind(&mut explanation, &line, mode, boundary);
        explanation.judged = Judged::bound(mode, boundary);
    }
    if standing.rules.is_empty() {
        return explanation;
    }
    // Where the line alone decides, what it asks about must be covered; where each is asked about,
    // all of it.
    let cover = match stance {
        Stance::Unconfined | Stance::Bound(Mode::AutoAll, _) => Cover::Questions,
        Stance::Bound(..) => Cover::Everything,
    };
    let ear = standing.ear();
    let spoken = ear.about_line(&line.analysis, cover);
    let heard = strictest_of(ear.about_tool(Tool::Bash), spoken);
    let is_doubted = || second(command).is_none_or(|opinion| !opinion.agrees(command));
    if let Some(heard) = heard
        && (heard.kind() != RuleKind::Allow || explanation.verdict == "ask" && !is_doubted())
    {
        heed(&mut explanation, &heard);
    }
    explanation
}

fn strictest_of<'r>(one: Option<Heard<'r>>, other: Option<Heard<'r>>) -> Option<Heard<'r>> {
    one.into_iter().chain(other).max_by_key(Heard::kind)
}

/// The same explanation, with the word of a rule of the person's above it: a denial always, a
/// question where it would be allowed, an allowance where it would be asked about.
fn heed(explanation: &mut Explanation, heard: &Heard<'_>) {
    let rule = heard.named();
    let (from, word, outcome) = match heard.kind() {
        RuleKind::Deny => ("", "deny", StepOutcome::Stop),
        RuleKind::Ask => ("allow", "ask", StepOutcome::Ask),
        RuleKind::Allow => ("ask", "allow", StepOutcome::Pass),
    };
    if !from.is_empty() && explanation.verdict != from || explanation.verdict == word {
        return;
    }
    if word == "allow" {
        explanation.reasons.clear();
    }
    settle(explanation, word, &rule, outcome, heard.says());
    explanation.contained = Contained::No;
    explanation.message = (word == "deny").then(|| {
        let instead = "Leave it as it is, and say what a person would have to do";
        told(&rule, &heard.says(), instead)
    });
    explanation.origin = rule.origin.into_owned();
}

/// Whether a line that was explained may change something.
pub(crate) fn changes(explanation: &Explanation) -> bool {
    explanation.effects.iter().any(|effect| match effect {
        Effect::Shell(effect) => {
            let looks = ["run", "read", "enter", "execute"].contains(&effect.effect);
            !looks && effect.place != Some("a stream")
        }
        Effect::Read { .. } => false,
        Effect::Write { .. } | Effect::Execute { .. } => true,
    })
}

/// Explains what an agent that stands there is told about one path of a file tool.
#[must_use]
pub fn explain_path(path: &str, role: Role, tool: Tool, standing: &Standing) -> Explanation {
    let target = land(path, &standing.world);
    let effect = Read {
        what: What::Path {
            role,
            target: target.clone(),
        },
        span: 0..0,
        by: "a file tool".to_owned(),
        certainty: deputize_shell::Certainty::Followed,
        unwrapped: None,
        step: None,
    };
    let spoke: Option<&'static ShellRule> = rule_about(&effect.what);
    let analysis = Analysis {
        effects: vec![effect],
        completeness: deputize_shell::Completeness::Complete,
        steps: Vec::new(),
    };
    let verdict = judge(&analysis);
    let mut explanation = unconfined(&Line { analysis, verdict }, standing);
    if spoke.is_none() {
        explanation.rule = rule::PATH_LEFT.id;
        explanation.reasons = vec![rule::PATH_LEFT.says.to_owned()];
    }
    let used = match role {
        Role::Write | Role::Attributes | Role::AttributesTree => Use::Write,
        Role::Delete | Role::DeleteTree | Role::Away => Use::Delete,
        Role::Read | Role::LinkTo | Role::Execute | Role::Enter => Use::Read,
    };
    let ear = standing.ear();
    let landed = target
        .path
        .as_deref()
        .and_then(|path| ear.about_path(path, used));
    if let Some(heard) = strictest_of(ear.about_tool(tool), landed) {
        heed(&mut explanation, &heard);
    }
    explanation
}

fn unconfined(line: &Line, standing: &Standing) -> Explanation {
    let reading = Reading::of(&line.analysis, &line.verdict);
    let answer = line.verdict.answer;
    let deciding = reading.rules.first().filter(|_| answer != Answer::Allow);
    let proven = RuleRef::from(&rule::BASH_PROVEN);
    let rule = line.verdict.voices.first().map(|voice| voice.rule);
    let rule = match (deciding, rule) {
        (Some(_), Some(rule)) => RuleRef::from(rule),
        _ => proven.clone(),
    };
    let mut steps: Vec<Step> = Vec::new();
    for (voice, spoken) in line.verdict.voices.iter().zip(&reading.rules) {
        steps.push(Step {
            rule: RuleRef::from(voice.rule),
            outcome: match voice.rule.answer {
                Answer::Allow => StepOutcome::Pass,
                Answer::Ask => StepOutcome::Ask,
                Answer::Deny => StepOutcome::Stop,
            },
            text: spoken.reason.clone(),
        });
    }
    let mut reasons: Vec<String> = match deciding {
        Some(_) => {
            let spoken = reading.rules.iter().take(REASONS);
            spoken.map(|spoken| spoken.reason.clone()).collect()
        }
        None => {
            let text = rule::BASH_PROVEN.says.to_owned();
            steps.push(Step {
                rule: proven,
                outcome: StepOutcome::Pass,
                text: text.clone(),
            });
            vec![text]
        }
    };
    let message = (answer == Answer::Deny)
        .then(|| deciding.map(|spoken| told(&rule, &spoken.reason, spoken.safer)))
        .flatten();
    reasons.extend(standing.note().filter(|_| answer != Answer::Allow));
    Explanation {
        verdict: shell::word(answer),
        contained: Contained::No,
        rule: rule.id,
        origin: rule.origin.into_owned(),
        judged: Judged::UNCONFINED,
        reasons,
        effects: shell::effects(&line.analysis).collect(),
        steps,
        message,
        allowed_scope: Vec::new(),
        shell: Some(reading),
    }
}

/// The same line in a mode and a boundary, on a copy without network: by the table of children.
fn bind(explanation: &mut Explanation, line: &Line, mode: Mode, boundary: Level) {
    let hold = Hold {
        contained: boundary == Level::Full,
        reaches: boundary != Level::Full,
        approved: false,
    };
    let (word, rule, outcome, reason) = match stance::of(mode, hold, line.verdict.answer) {
        // The reading has said so.
        Row::Harmful | Row::Proven => return,
        Row::Explore => (
            "deny",
            &rule::MODE_EXPLORE,
            StepOutcome::Stop,
            "this mode looks and runs nothing".to_owned(),
        ),
        Row::Contained => {
            explanation.contained = Contained::Yes;
            let says = rule::BASH_CONTAINED.says.to_owned();
            ("allow", &rule::BASH_CONTAINED, StepOutcome::Pass, says)
        }
        Row::Auto | Row::Approved => {
            let says = rule::BASH_AUTO.says.to_owned();
            ("allow", &rule::BASH_AUTO, StepOutcome::Pass, says)
        }
        Row::Ask => {
            let reason = match mode {
                Mode::Ask => "this mode asks about each command".to_owned(),
                _ => format!("the boundary is {boundary}, without namespaces"),
            };
            ("ask", &rule::BASH_ASK, StepOutcome::Ask, reason)
        }
    };
    let rule = RuleRef::from(rule);
    explanation.message = (word == "deny").then(|| {
        let instead = "Find out by reading, or say what would have to be run";
        told(&rule, &reason, instead)
    });
    settle(explanation, word, &rule, outcome, reason);
}

/// Puts another rule's word above what the line alone comes to.
fn settle(
    explanation: &mut Explanation,
    verdict: &'static str,
    rule: &RuleRef,
    outcome: StepOutcome,
    text: String,
) {
    explanation.verdict = verdict;
    explanation.rule = rule.id;
    if explanation.reasons.first().map(String::as_str) == Some(rule::BASH_PROVEN.says) {
        explanation.reasons.clear();
    }
    explanation.reasons.insert(0, text.clone());
    explanation.steps.push(Step {
        rule: rule.clone(),
        outcome,
        text,
    });
}

fn plain_denial(rule: RuleRef, reason: String, instead: &str, effects: Vec<Effect>) -> Explanation {
    Explanation {
        verdict: "deny",
        contained: Contained::No,
        rule: rule.id,
        message: Some(told(&rule, &reason, instead)),
        reasons: vec![reason.clone()],
        effects,
        steps: vec![Step {
            rule: rule.clone(),
            outcome: StepOutcome::Stop,
            text: reason,
        }],
        origin: rule.origin.into_owned(),
        judged: Judged::UNCONFINED,
        allowed_scope: Vec::new(),
        shell: None,
    }
}
