//! Calls that change one file: write and edit.

use std::path::{Component, Path, PathBuf};

use deputize_authority::{
    Consent, Level, Mode, Promise, ProtectedKind, Root, Tool, protected_anywhere, protected_outside,
};

use super::judge::{Basis, Judge, Pass, Refuse, Scope, Stop, scope};
use super::paths;
use crate::effect::shown;
use crate::rule::{self, Rule};
use crate::{Bound, BoundPath, Change, Contained, Effect, Fact, Fresh, Identity, Kind, PathFact};

pub(crate) fn judge(
    judge: &mut Judge<'_>,
    tool: Tool,
    written: &str,
    change: Change,
    facts: &[Fact],
) -> Result<Pass, Refuse> {
    if let Ok(path) = judge.context.resolve(written) {
        judge.effects.push(Effect::Write { path, change });
    }
    if judge.context.mode == Mode::Explore {
        return Err(Stop::new(
            &rule::MODE_EXPLORE,
            "this mode looks and changes nothing",
            "Say in your answer what would have to be changed",
        )
        .into());
    }
    let path = lexical(judge, written)?;
    let fact = match facts {
        [Fact::Path(fact)] if fact.asked == path => fact,
        _ => return Err(paths::no_facts(&path).into()),
    };
    let found = paths::look_for_more(judge, fact)?;
    let (target, fresh) = match &found {
        Some(found) => {
            suits(fact)?;
            (found.canonical.clone(), None)
        }
        None => {
            let fresh = fresh(fact)?;
            (fresh.folder.canonical.join(&fresh.rest), Some(fresh))
        }
    };
    may_change(judge, &target)?;
    let change = match (&found, change) {
        (None, Change::Replace) => Change::Create,
        (_, change) => change,
    };
    if found.is_none() && change == Change::Edit {
        let text = format!("nothing is at `{}`, and the tool will say so", shown(&path));
        judge.passed(&rule::PATH_MISSING, text);
    }
    judge.effects = vec![Effect::Write {
        path: target.clone(),
        change,
    }];
    contained(judge)?;
    let (rule, contained) = stance(judge, tool, &target)?;
    Ok(Pass {
        rule,
        contained,
        bound: Bound::Path(BoundPath { path, found, fresh }),
    })
}

/// The meaning of a written path, if it may be changed whatever is there.
pub(crate) fn lexical(judge: &Judge<'_>, written: &str) -> Result<PathBuf, Stop> {
    let path = judge.meant(written)?;
    may_change(judge, &path)?;
    judge.readable(&path)?;
    Ok(path)
}

/// Inside the writable roots, not a secret, and not protected.
fn may_change(judge: &Judge<'_>, path: &Path) -> Result<(), Stop> {
    let write = &judge.context.grant.bounds().write;
    if !Root::new(path).is_some_and(|root| write.permits(&root)) {
        let instead = match scope(judge.context, Scope::Write).as_slice() {
            [] => "Nothing may be written: say in your answer what would have to be".to_owned(),
            roots => format!("Use a path inside {}", roots.join(", ")),
        };
        return Err(Stop::of_write(
            &rule::WRITE_OUTSIDE,
            format!("`{}` lies outside what may be written", shown(path)),
            instead,
        ));
    }
    judge.not_secret(path)?;
    match protection(judge, path) {
        None => Ok(()),
        Some(kind) => Err(protected(kind, path)),
    }
}

/// The class of a protected path, at whatever depth it lies: every folder may be a project of its own.
/// What a login or a service runs counts in a root that was granted around it, not in one below it.
fn protection(judge: &Judge<'_>, path: &Path) -> Option<ProtectedKind> {
    let grant = judge.context.grant;
    let relative = path.strip_prefix(grant.workspace().path()).unwrap_or(path);
    let is_gits = |path: &Path| {
        path.iter()
            .any(|name| name.eq_ignore_ascii_case(".git"))
            .then_some(ProtectedKind::Git)
    };
    let inside = protected_anywhere(relative).or_else(|| is_gits(path));
    inside.or_else(|| {
        let (kind, place) = protected_outside(path, judge.context.home)?;
        let mut roots = grant.bounds().write.items();
        let granted = roots.any(|root| root.path().starts_with(&place));
        (!granted).then_some(kind)
    })
}

fn protected(kind: ProtectedKind, path: &Path) -> Stop {
    let (rule, what): (&'static Rule, &str) = match kind {
        ProtectedKind::Git => (&rule::WRITE_PROTECTED_GIT, "git runs or obeys it"),
        ProtectedKind::Agent => (
            &rule::WRITE_PROTECTED_AGENT,
            "coding agents take it as configuration",
        ),
        ProtectedKind::Instructions => (
            &rule::WRITE_PROTECTED_INSTRUCTIONS,
            "coding agents take it as their principal's word",
        ),
        ProtectedKind::Editor => (&rule::WRITE_PROTECTED_EDITOR, "editors run what is in it"),
        ProtectedKind::Startup => (
            &rule::WRITE_PROTECTED_STARTUP,
            "shells and logins run what is in it",
        ),
    };
    Stop::of_write(
        rule,
        format!(
            "`{}` is protected: {what}, outside the boundary",
            shown(path)
        ),
        "Leave it as it is, and say in your answer what a person would have to change there",
    )
}

/// A file that can be replaced without touching anything else.
fn suits(fact: &PathFact) -> Result<(), Stop> {
    if fact.kind != Kind::File {
        return Err(Stop::of_write(
            &rule::PATH_NOT_A_FILE,
            format!("`{}` is {}", shown(&fact.asked), fact.kind.name()),
            "Use the path of a regular file",
        ));
    }
    if fact.links > 1 {
        return Err(Stop::of_write(
            &rule::WRITE_HARD_LINK,
            format!(
                "`{}` has {} names, and others may lie elsewhere",
                shown(&fact.asked),
                fact.links
            ),
            "Copy it to a new name first and change the copy",
        ));
    }
    Ok(())
}

/// Where a new file would come to be.
fn fresh(fact: &PathFact) -> Result<Fresh, Stop> {
    let is_plain = !fact.rest.as_os_str().is_empty()
        && fact
            .rest
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
    match &fact.canonical {
        Some(canonical) if is_plain => Ok(Fresh {
            folder: Identity {
                canonical: canonical.clone(),
                device: fact.device,
                inode: fact.inode,
            },
            rest: fact.rest.clone(),
        }),
        _ => Err(paths::no_facts(&fact.asked)),
    }
}

fn contained(judge: &Judge<'_>) -> Result<(), Stop> {
    let context = judge.context;
    if context.boundary != Level::None && context.held.contains(&Promise::Write) {
        return Ok(());
    }
    Err(Stop::of_write(
        &rule::WRITE_UNCONTAINED,
        "there is no boundary that keeps writes inside",
        "See `deputize doctor` for what this machine lacks",
    ))
}

/// A copy, an approval, or the reason to ask.
fn stance(judge: &Judge<'_>, tool: Tool, target: &Path) -> Result<(Basis, Contained), Refuse> {
    let context = judge.context;
    let workspace = context.grant.workspace();
    let is_in_a_copy = workspace.mode.is_copy() && target.starts_with(workspace.path());
    let reason = match context.mode {
        Mode::Explore | Mode::Ask => "this mode asks about each change".to_owned(),
        Mode::AutoEdit | Mode::AutoAll if is_in_a_copy => {
            return Ok(((&rule::WRITE_CONTAINED).into(), Contained::Yes));
        }
        Mode::AutoAll => return Ok(((&rule::WRITE_AUTO).into(), Contained::No)),
        Mode::AutoEdit if context.approved.contains(&Consent::Write) => {
            return Ok(((&rule::WRITE_APPROVED).into(), Contained::No));
        }
        Mode::AutoEdit => format!("it changes `{}` itself, not a copy", shown(target)),
    };
    if context.mode != Mode::Explore
        && let Some(basis) = judge.allowed_change(tool, target)
    {
        return Ok((basis, Contained::No));
    }
    judge.question((&rule::WRITE_ASK).into(), vec![reason])
}
