//! Looks at a repository.
//!
//! Git is started with everything switched off that a repository could make it run, so what a look
//! does is known. A boundary is around it all the same: it must be there, and hold what the preset
//! needs.

use std::path::{Path, PathBuf};

use deputize_authority::{Consent, Mode, SecretRules};

use super::judge::{Judge, Pass, Refuse, Stop};
use super::{paths, start};
use crate::effect::shown;
use crate::rule;
use crate::{Bound, BoundLaunch, Class, Contained, Effect, Fact, GitLook, GitMeans, Means, Query};

const PROGRAMS: [&str; 2] = ["sh", "git"];

pub(crate) fn queries(judge: &Judge<'_>, look: &GitLook) -> Vec<Query> {
    match inside(judge, look) {
        Ok(_) => start::queries(judge.context, &PROGRAMS),
        Err(_) => Vec::new(),
    }
}

pub(crate) fn judge(judge: &mut Judge<'_>, look: &GitLook, facts: &[Fact]) -> Result<Pass, Refuse> {
    judge.effects.push(effect(Path::new("git"), look));
    let inside = inside(judge, look)?;
    let cwd = judge.context.grant.workspace().path();
    let [Fact::Path(folder), sh, git] = facts else {
        return Err(paths::no_facts(cwd).into());
    };
    let cwd = start::working_folder(judge, cwd, folder)?;
    let sh = start::program("sh", sh)?.ok_or_else(|| start::missing("sh"))?;
    let git = start::program("git", git)?.ok_or_else(|| start::missing("git"))?;
    judge.effects = vec![effect(&git.canonical, look)];
    start::contained(judge)?;
    let context = judge.context;
    let is_kept_from_writing =
        context.mode == Mode::Explore || context.grant.workspace().mode.is_copy();
    let (rule, contained) = if is_kept_from_writing {
        ((&rule::GIT_READ).into(), Contained::No)
    } else if context.approved.contains(&Consent::Shell) || context.mode == Mode::AutoAll {
        ((&rule::GIT_APPROVED).into(), Contained::No)
    } else {
        let reason = "git would run where it can change the workspace itself";
        judge.question((&rule::GIT_ASK).into(), vec![reason.to_owned()])?
    };
    Ok(Pass {
        rule,
        contained,
        bound: Bound::Launch(BoundLaunch {
            cwd,
            program: Some(sh),
            means: Means::Git(Box::new(GitMeans {
                git,
                paths: inside,
                hidden: hidden(judge, look),
            })),
        }),
    })
}

/// Secrets that were committed once are in the history: changed lines of them are left out (G9).
fn hidden(judge: &Judge<'_>, look: &GitLook) -> Vec<String> {
    if !look.shows_lines() {
        return Vec::new();
    }
    let allowed = judge.context.grant.bounds().secrets.clone();
    SecretRules::allowing(allowed).globs().collect()
}

fn effect(git: &Path, look: &GitLook) -> Effect {
    let words = ["git", look.op()].map(Into::into).into_iter();
    Effect::Execute {
        program: git.to_owned(),
        argv: words
            .chain(look.rev().map(Into::into))
            .chain(look.paths().iter().map(Into::into))
            .collect(),
        class: Class::History,
    }
}

/// The paths of a look, relative to the workspace. Git follows no symlink to a path that it is
/// given, so where links lead doesn't matter.
fn inside(judge: &Judge<'_>, look: &GitLook) -> Result<Vec<PathBuf>, Stop> {
    let workspace = judge.context.grant.workspace().path();
    look.paths()
        .iter()
        .map(|written| {
            let path = judge.lexical(written)?;
            let relative = path.strip_prefix(workspace).map_err(|_| {
                Stop::new(
                    &rule::PATH_OUTSIDE,
                    format!("`{}` lies outside the workspace's repository", shown(&path)),
                    format!("Use a path inside {}", shown(workspace)),
                )
            })?;
            Ok(relative.to_owned())
        })
        .collect()
}
