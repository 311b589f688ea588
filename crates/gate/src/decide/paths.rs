//! Calls that look at one path: read, ls, find, grep.

use std::path::Path;

use super::judge::{Judge, Pass, Stop};
use crate::effect::shown;
use crate::rule;
use crate::{
    Bound, BoundPath, Call, Contained, Effect, Fact, Identity, Kind, Outcome, PathFact, Reach,
};

pub(crate) fn judge(judge: &mut Judge<'_>, call: &Call, facts: &[Fact]) -> Result<Pass, Stop> {
    // Each of these calls has a path; were one without, nothing below would allow it.
    let written = call.path().unwrap_or_default();
    let reach = reach(call);
    if let Ok(path) = judge.context.resolve(written) {
        judge.effects.push(Effect::Read { path, reach });
    }
    let path = judge.lexical(written)?;
    let fact = match facts {
        [Fact::Path(fact)] if fact.asked == path => fact,
        _ => return Err(no_facts(&path)),
    };
    let found = look(judge, fact)?;
    if let Some(identity) = &found {
        judge.effects = vec![Effect::Read {
            path: identity.canonical.clone(),
            reach,
        }];
        suits(call, fact.kind, &path)?;
        note_links(judge, fact);
    }
    Ok(Pass {
        rule: (&rule::READ_ALLOWED).into(),
        contained: Contained::No,
        bound: Bound::Path(BoundPath {
            path,
            found,
            fresh: None,
        }),
    })
}

/// Judges what is at a path: inside, not a secret, and what it is. `None` when nothing is there, and
/// the tool will say so.
pub(crate) fn look(judge: &mut Judge<'_>, fact: &PathFact) -> Result<Option<Identity>, Stop> {
    let found = look_for_more(judge, fact)?;
    if found.is_none() {
        let text = format!(
            "nothing is at `{}`, and the tool will say so",
            shown(&fact.asked)
        );
        judge.passed(&rule::PATH_MISSING, text);
    }
    Ok(found)
}

/// The same, for a caller who goes on where nothing is.
pub(crate) fn look_for_more(
    judge: &mut Judge<'_>,
    fact: &PathFact,
) -> Result<Option<Identity>, Stop> {
    let meant = &fact.asked;
    let stop = |rule, reason: &str, instead: &str| {
        Err(Stop::new(
            rule,
            format!("`{}` {reason}", shown(meant)),
            instead,
        ))
    };
    match fact.outcome {
        Outcome::Resolved | Outcome::Missing => {}
        Outcome::Escapes => return Err(judge.escapes(meant)),
        Outcome::Loop => {
            return stop(
                &rule::PATH_LOOP,
                "is a circle of symlinks",
                "Use the path of a real file",
            );
        }
        Outcome::Denied => {
            return stop(
                &rule::PATH_DENIED,
                "can't be looked at with this account's rights",
                "Use another path",
            );
        }
        Outcome::Failed => {
            return stop(&rule::PATH_FAILED, "can't be looked up", "Use another path");
        }
    }
    let Some(canonical) = &fact.canonical else {
        return Err(no_facts(meant));
    };
    judge.canonical(meant, canonical)?;
    if fact.outcome == Outcome::Missing {
        return Ok(None);
    }
    judge.passed(
        &rule::PATH_INSIDE,
        format!(
            "`{}` is {} inside the readable roots",
            shown(canonical),
            fact.kind.name()
        ),
    );
    Ok(Some(Identity {
        canonical: canonical.clone(),
        device: fact.device,
        inode: fact.inode,
    }))
}

pub(crate) fn no_facts(path: &Path) -> Stop {
    Stop::new(
        &rule::FACTS_MISSING,
        format!("nothing is known about `{}`", shown(path)),
        "Call again; if it happens again, report it as a fault of Deputize",
    )
}

fn reach(call: &Call) -> Reach {
    match call {
        Call::Read { .. } => Reach::File,
        Call::Ls { .. } => Reach::Folder,
        _ => Reach::Recursive,
    }
}

/// Whether the tool can do something with what is there. A pipe would wait for ever, a device may
/// act on being opened.
fn suits(call: &Call, kind: Kind, path: &Path) -> Result<(), Stop> {
    let wrong = |rule, instead: &str| {
        Err(Stop::new(
            rule,
            format!("`{}` is {}", shown(path), kind.name()),
            instead,
        ))
    };
    match (call, kind) {
        (Call::Read { .. }, Kind::Folder) => wrong(&rule::PATH_NOT_A_FILE, "List a folder with ls"),
        (Call::Read { .. }, Kind::File)
        | (Call::Grep { .. } | Call::Rank { .. }, Kind::File | Kind::Folder)
        | (Call::Find { .. }, Kind::Folder)
        | (Call::Ls { .. }, _) => Ok(()),
        (Call::Read { .. } | Call::Grep { .. } | Call::Rank { .. }, _) => {
            wrong(&rule::PATH_NOT_A_FILE, "Use the path of a regular file")
        }
        _ => wrong(&rule::PATH_NOT_A_FOLDER, "Use the path of a folder"),
    }
}

/// No path check can see where else a file with several names is: the record says so.
fn note_links(judge: &mut Judge<'_>, fact: &PathFact) {
    if fact.kind == Kind::File && fact.links > 1 {
        judge.notes.push(format!(
            "the file has {} names, and others may lie outside the readable roots",
            fact.links
        ));
    }
}
