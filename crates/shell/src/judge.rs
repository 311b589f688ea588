//! What an analysis is worth to an unconfined agent of a workspace.
//!
//! The tables are read by people. The strictest effect decides; whatever isn't complete is at most
//! asked about. Modes, grants and boundaries are weighed elsewhere, over the same effects.

use std::ops::Range;

use crate::effect::{Analysis, Certainty, Completeness, Effect, Role, What};
use crate::place::{Place, Target};
use crate::rules::{Answer, Rule};

use crate::rules::{destructive, network, opaque, persistence, place, secret};

/// One rule that spoke about a line.
#[derive(Debug, Clone)]
pub struct Voice {
    /// The rule.
    pub rule: &'static Rule,
    /// What it is about: a path, a host, a program.
    pub about: String,
    /// The bytes of the line that it is about.
    pub span: Range<usize>,
    /// The code that was unwrapped to find it, if it doesn't stand in the line itself.
    pub unwrapped: Option<String>,
}

/// What an unconfined agent of a workspace is told about a line.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The answer.
    pub answer: Answer,
    /// The rules that spoke, the strictest first.
    pub voices: Vec<Voice>,
}

/// A row: for these uses of a place, this rule speaks; `None` is harmless.
type Row = (&'static [Place], Option<&'static Rule>);

/// Reading, running as code, and entering a folder.
static READS: &[Row] = &[
    (&[Place::Secret], Some(&secret::READ)),
    (&[Place::SecretInside], Some(&secret::INSIDE)),
    (&[Place::Connection], Some(&network::USE)),
    (
        &[Place::Outside, Place::Startup, Place::Temp, Place::Device],
        Some(&place::READ_OUTSIDE),
    ),
    (&[Place::Unknown], Some(&place::READ_UNKNOWN)),
];

/// Making and changing.
static WRITES: &[Row] = &[
    (&[Place::Startup], Some(&persistence::STARTUP)),
    (&[Place::Device], Some(&destructive::DEVICE)),
    (
        &[Place::Secret, Place::Outside, Place::Readable],
        Some(&place::WRITE_OUTSIDE),
    ),
    (&[Place::Temp], Some(&place::WRITE_TEMP)),
    (&[Place::Connection], Some(&network::USE)),
    (
        &[Place::History, Place::GitInternal],
        Some(&destructive::GIT_INTERNAL),
    ),
    (&[Place::Unknown], Some(&place::WRITE_UNKNOWN)),
];

/// Removing files.
static DELETES: &[Row] = &[
    (
        &[
            Place::Secret,
            Place::Outside,
            Place::Readable,
            Place::Startup,
            Place::Device,
            Place::Stream,
        ],
        Some(&destructive::OUTSIDE),
    ),
    (&[Place::Whole], Some(&destructive::WORKSPACE)),
    (&[Place::Temp], Some(&place::WRITE_TEMP)),
    (
        &[Place::History, Place::GitInternal],
        Some(&destructive::GIT_INTERNAL),
    ),
    (&[Place::SecretInside], Some(&destructive::EMPTIED)),
    (
        &[Place::Unknown, Place::Connection],
        Some(&destructive::UNKNOWN_TARGET),
    ),
];

/// Removing trees, where that differs from removing files.
static TREE_DELETES: &[Row] = &[
    (&[Place::History], Some(&destructive::REPOSITORY)),
    (&[Place::Inside], Some(&destructive::TREE)),
];

/// Changing modes and owners.
static ATTRIBUTES: &[Row] = &[
    (
        &[
            Place::Secret,
            Place::Outside,
            Place::Readable,
            Place::Startup,
            Place::Device,
        ],
        Some(&destructive::ATTRIBUTES),
    ),
    (&[Place::Temp], Some(&place::WRITE_TEMP)),
    (
        &[Place::History, Place::GitInternal],
        Some(&destructive::GIT_INTERNAL),
    ),
    (&[Place::Unknown], Some(&place::WRITE_UNKNOWN)),
];

/// The rule that speaks about an effect, if one does.
#[must_use]
pub fn rule(what: &What) -> Option<&'static Rule> {
    match what {
        What::Run { .. } => None,
        What::Act(rule) => Some(rule),
        What::Network { host } => Some(if host.as_deref().is_some_and(is_metadata) {
            &network::METADATA
        } else {
            &network::USE
        }),
        What::Path { role, target } => path_rule(*role, target),
    }
}

fn path_rule(role: Role, target: &Target) -> Option<&'static Rule> {
    if role >= Role::Write
        && role <= Role::AttributesTree
        && matches!(target.place, Place::Protected(_))
    {
        return Some(&persistence::PROTECTED);
    }
    let tables: &[&[Row]] = match role {
        Role::Away => return None,
        Role::Read | Role::Execute | Role::Enter => &[READS],
        Role::Write => &[WRITES],
        Role::Delete => &[DELETES],
        Role::DeleteTree => &[TREE_DELETES, DELETES],
        Role::Attributes | Role::AttributesTree => &[ATTRIBUTES],
        Role::LinkTo => {
            return match target.place {
                Place::Secret => Some(&secret::READ),
                Place::Outside
                | Place::Readable
                | Place::Startup
                | Place::Temp
                | Place::Device
                | Place::Unknown => Some(&place::LINK_OUTSIDE),
                _ => None,
            };
        }
    };
    let rule = tables
        .iter()
        .flat_map(|table| table.iter())
        .find(|(places, _)| places.contains(&target.place))
        .and_then(|(_, rule)| *rule);
    match (role, target.place) {
        // Somewhere in the workspace, but nobody can say where.
        (Role::Delete | Role::DeleteTree, Place::Inside) if target.path.is_none() => {
            Some(&destructive::UNKNOWN_TARGET)
        }
        // What is plainly one file, or some of a kind, is no tree.
        (Role::DeleteTree, Place::Inside) if target.path.as_deref().is_some_and(names_file) => None,
        // Scratch space as a whole belongs to everybody.
        (Role::Delete | Role::DeleteTree, Place::Temp)
            if target.path.as_deref().is_some_and(|path| {
                matches!(
                    path,
                    "/tmp" | "/var/tmp" | "/dev/shm" | "/tmp/*" | "/var/tmp/*"
                )
            }) =>
        {
            Some(&destructive::OUTSIDE)
        }
        // Changing every mode or owner at once, and many files at once.
        (Role::AttributesTree, Place::Whole) => Some(&destructive::ATTRIBUTES_TREE),
        // Every file that there is, git's own and secrets too, by a list of names.
        (Role::Write, Place::Whole) if target.path.is_none() => Some(&destructive::BULK),
        // Names that begin with a dot, all of them: what configures an agent or a shell is among them.
        (Role::Write, Place::Whole) if target.may_be_secret => Some(&persistence::PROTECTED),
        (Role::Read | Role::Execute, _) if rule.is_none() && target.may_be_secret => {
            Some(&secret::INSIDE)
        }
        (
            Role::Enter,
            Place::Temp | Place::Outside | Place::Unknown | Place::Startup | Place::SecretInside,
        ) => None,
        _ => rule,
    }
}

/// Whether a path ends as files do and folders don't.
fn names_file(path: &str) -> bool {
    const ENDS: &str = "json lock txt log md rs py js ts tsx jsx html css yml yaml toml csv tmp bak orig out \
                        so png jpg svg sh pid sqlite tgz gz zip tar xml ini cfg go c h cpp java rb swp";
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.')
        .is_some_and(|(stem, end)| !stem.is_empty() && ENDS.split(' ').any(|known| known == end))
}

/// The services that hand out a cloud's credentials.
fn is_metadata(host: &str) -> bool {
    const HOSTS: [&str; 7] = [
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "metadata.google.internal",
        "metadata",
        "fd00:ec2::254",
        "2852039166",
    ];
    let host = host.trim_matches(['[', ']']).trim_end_matches('.');
    HOSTS.contains(&host)
}

/// What an effect alone comes to.
#[must_use]
pub fn answer(what: &What) -> Answer {
    rule(what).map_or(Answer::Allow, |rule| rule.answer)
}

/// What an unconfined agent of a workspace is told about a line.
#[must_use]
pub fn judge(analysis: &Analysis) -> Verdict {
    let mut voices: Vec<Voice> = Vec::new();
    for effect in &analysis.effects {
        let Some(rule) = rule(&effect.what) else {
            continue;
        };
        // What is only possible can deny, and nothing else.
        if effect.certainty == Certainty::Possible && rule.answer != Answer::Deny {
            continue;
        }
        let voice = voice(rule, effect);
        if !voices
            .iter()
            .any(|known| known.rule == rule && known.about == voice.about)
        {
            voices.push(voice);
        }
    }
    if let Completeness::Partial(reasons) = &analysis.completeness
        && !voices.iter().any(|voice| voice.rule.answer >= Answer::Ask)
    {
        voices.push(Voice {
            rule: &opaque::PART,
            about: reasons.join("; "),
            span: 0..0,
            unwrapped: None,
        });
    }
    voices.sort_by_key(|voice| std::cmp::Reverse(voice.rule.answer));
    let answer = voices
        .first()
        .map_or(Answer::Allow, |voice| voice.rule.answer);
    Verdict { answer, voices }
}

fn voice(rule: &'static Rule, effect: &Effect) -> Voice {
    let about = match &effect.what {
        What::Path { target, .. } => target.path.clone().unwrap_or_else(|| target.shown.clone()),
        What::Network { host } => host.clone().unwrap_or_default(),
        What::Act(_) | What::Run { .. } => effect.by.clone(),
    };
    Voice {
        rule,
        about,
        span: effect.span.clone(),
        unwrapped: effect.unwrapped.clone(),
    }
}

/// The same verdict, at most `ask`: another parser read the line differently.
#[must_use]
pub fn doubted(mut verdict: Verdict) -> Verdict {
    if verdict.answer == Answer::Allow {
        verdict.answer = Answer::Ask;
        verdict.voices.push(Voice {
            rule: &opaque::SECOND_OPINION,
            about: String::new(),
            span: 0..0,
            unwrapped: None,
        });
    }
    verdict
}
