//! How a command line was read, as verdicts and explanations repeat it (G2, G5).
//!
//! The room `shell` reads the line; here its answer gets the words and the limits of an explanation.

use deputize_shell::{
    Analysis, Answer, Certainty, Completeness, Effect as Read, Place, Role, Step, Verdict, Voice,
    What,
};
use serde::Serialize;

use crate::Effect;
use crate::effect::shown_text;

/// Commands, effects and rules that an explanation repeats: more than people read. What is left out
/// was judged all the same.
const SHOWN: usize = 64;
/// Words of one command that are repeated.
const SHOWN_WORDS: usize = 32;

/// How a command line was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// Whether all of it was followed.
    pub understood: Understood,
    /// What wasn't.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unclear: Vec<String>,
    /// The commands in it, each with those that it runs after it and deeper.
    pub commands: Vec<Found>,
    /// The rules that spoke, the strictest first.
    pub rules: Vec<Spoken>,
}

/// Whether all of a line was followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Understood {
    /// Every part of it.
    Complete,
    /// Not every part: what was found counts, and nothing is proved.
    Partial,
}

/// A command that was found in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// How deep it lies in wrappers, substitutions and nested shells.
    pub depth: usize,
    /// Its words, with what is unknown as dots.
    pub words: Vec<String>,
    /// First byte of the line that it comes from, and the byte after the last.
    pub span: [usize; 2],
}

/// A rule that spoke about a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Spoken {
    /// Its id.
    pub id: &'static str,
    /// What it alone comes to: `allow`, `ask` or `deny`.
    pub answer: &'static str,
    /// Why, in one sentence without a final stop.
    pub reason: String,
    /// What it is about: a path, a host, a program.
    pub about: String,
    /// First byte of the line that it is about, and the byte after the last.
    pub span: [usize; 2],
    /// What to do instead.
    pub safer: &'static str,
    /// The code that was unwrapped to find it, if it doesn't stand in the line itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwrapped: Option<String>,
}

/// One effect of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShellEffect {
    /// What happens: `run`, `read`, `write`, `delete`, `delete_tree`, `attributes`,
    /// `attributes_tree`, `link`, `execute`, `enter`, `away`, `network` or `act`.
    pub effect: &'static str,
    /// What it happens to: where a path lands, a host, a program; `None` when it can't be told.
    pub target: Option<String>,
    /// A path as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// What lies at a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<&'static str>,
    /// The command that does it.
    pub by: String,
    /// First byte of the line that it comes from, and the byte after the last.
    pub span: [usize; 2],
    /// Whether it was followed, or is only possible.
    pub certainty: &'static str,
    /// The rule that speaks about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
}

impl Reading {
    pub(crate) fn of(analysis: &Analysis, verdict: &Verdict) -> Self {
        let (understood, unclear) = match &analysis.completeness {
            Completeness::Complete => (Understood::Complete, Vec::new()),
            Completeness::Partial(why) => (
                Understood::Partial,
                why.iter().take(SHOWN).map(|why| shown_text(why)).collect(),
            ),
        };
        Self {
            understood,
            unclear,
            commands: analysis.steps.iter().take(SHOWN).map(Found::of).collect(),
            rules: verdict.voices.iter().take(SHOWN).map(Spoken::of).collect(),
        }
    }
}

impl Found {
    fn of(step: &Step) -> Self {
        let more = step.words.len().saturating_sub(SHOWN_WORDS);
        let words = step.words.iter().take(SHOWN_WORDS);
        Self {
            depth: step.depth,
            words: words
                .map(|word| shown_text(word))
                .chain((more > 0).then(|| format!("… {more} more")))
                .collect(),
            span: [step.span.start, step.span.end],
        }
    }

    /// The command in its place in the tree.
    pub(crate) fn line(&self) -> String {
        format!("{}{}", "  ".repeat(self.depth), self.words.join(" "))
    }
}

impl Spoken {
    pub(crate) fn of(voice: &Voice) -> Self {
        let about = shown_text(&voice.about);
        let reason = match about.as_str() {
            "" => format!("it {}", voice.rule.reason),
            about => format!("it {}: `{about}`", voice.rule.reason),
        };
        Self {
            id: voice.rule.id,
            answer: word(voice.rule.answer),
            reason,
            about,
            span: [voice.span.start, voice.span.end],
            safer: voice.rule.safer,
            unwrapped: voice.unwrapped.as_deref().map(shown_text),
        }
    }

    /// What to do instead, and of what part of the line.
    pub(crate) fn advice(&self) -> String {
        let [from, to] = self.span;
        match &self.unwrapped {
            Some(code) => format!("{} ({}, in `{code}`)", self.safer, self.id),
            None => format!("{} ({}, bytes {from}..{to})", self.safer, self.id),
        }
    }
}

impl ShellEffect {
    fn of(read: &Read) -> Self {
        let (effect, target, written, place) = match &read.what {
            What::Run { program } => ("run", Some(shown_text(program)), None, None),
            What::Act(rule) => ("act", Some(rule.id.to_owned()), None, None),
            What::Network { host } => ("network", host.as_deref().map(shown_text), None, None),
            What::Path { role, target } => (
                role_name(*role),
                target.path.as_deref().map(shown_text),
                Some(shown_text(&target.shown)),
                Some(place_name(target.place)),
            ),
        };
        Self {
            effect,
            target,
            written,
            place,
            by: match read.by.as_str() {
                "" => "the shell".to_owned(),
                by => shown_text(by),
            },
            span: [read.span.start, read.span.end],
            certainty: match read.certainty {
                Certainty::Followed => "followed",
                Certainty::Possible => "possible",
            },
            rule: deputize_shell::rule(&read.what).map(|rule| rule.id),
        }
    }

    pub(crate) fn describe(&self) -> String {
        let target = self.target.as_deref().or(self.written.as_deref());
        let target = target.unwrap_or("something that can't be told");
        let verb = match self.effect {
            "run" => return format!("runs {target}"),
            "act" => return format!("does what `{target}` is about, by {}", self.by),
            "network" => "talks to",
            "read" => "reads",
            "write" => "writes",
            "delete" => "deletes",
            "delete_tree" => "deletes all of",
            "attributes" => "changes the mode or owner of",
            "attributes_tree" => "changes modes or owners below",
            "link" => "makes a link to",
            "execute" => "runs the code in",
            "away" => "takes away from",
            _ => "goes to",
        };
        let place = match self.place {
            Some(place) => format!(" ({place})"),
            None => String::new(),
        };
        format!("{verb} {target}{place}, by {}", self.by)
    }
}

/// The effects of a line as verdicts list them.
pub(crate) fn effects(analysis: &Analysis) -> impl Iterator<Item = Effect> {
    let shown = analysis.effects.iter().take(SHOWN);
    shown.map(|effect| Effect::Shell(ShellEffect::of(effect)))
}

pub(crate) fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Allow => "allow",
        Answer::Ask => "ask",
        Answer::Deny => "deny",
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Read => "read",
        Role::Write => "write",
        Role::Delete => "delete",
        Role::DeleteTree => "delete_tree",
        Role::Attributes => "attributes",
        Role::AttributesTree => "attributes_tree",
        Role::LinkTo => "link",
        Role::Execute => "execute",
        Role::Enter => "enter",
        Role::Away => "away",
    }
}

fn place_name(place: Place) -> &'static str {
    match place {
        Place::Whole => "the whole workspace",
        Place::History => "the repository's history",
        Place::GitInternal => "git's own files",
        Place::Protected(_) => "protected",
        Place::Generated => "build output",
        Place::SecretInside => "a secret in the workspace",
        Place::Inside => "in the workspace",
        Place::Readable => "readable",
        Place::Temp => "scratch space",
        Place::Stream => "a stream",
        Place::Connection => "a connection",
        Place::Device => "a device",
        Place::Startup => "run at a start",
        Place::Secret => "a secret",
        Place::Outside => "outside the workspace",
        Place::Unknown => "unknown",
    }
}
