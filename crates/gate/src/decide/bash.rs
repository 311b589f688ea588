//! Shell commands.
//!
//! What a shell does can't be told from the line, so nothing is proved about it here. It is allowed
//! when the boundary contains it and a copy can undo it (G11), or when a person approved commands
//! for the run; else it is a question.

use std::path::Path;

use deputize_authority::{Consent, Level, Mode, Set};

use super::judge::{Judge, Pass, Question, Refuse, Stop};
use super::{Context, admin, paths, start};
use crate::rule::{self, Rule};
use crate::{Bound, BoundLaunch, Class, Contained, Effect, Fact, Means, Query};

const SHELLS: [&str; 2] = ["bash", "sh"];

pub(crate) fn queries(context: &Context<'_>) -> Vec<Query> {
    start::queries(context, &SHELLS)
}

pub(crate) fn judge(judge: &mut Judge<'_>, command: &str, facts: &[Fact]) -> Result<Pass, Refuse> {
    judge
        .effects
        .push(effect(Path::new("bash"), command, Class::Opaque));
    if judge.context.grant.mode() == Mode::Explore {
        return Err(Stop::new(
            &rule::MODE_EXPLORE,
            "this mode looks and runs nothing",
            "Find out by reading, or say what would have to be run",
        )
        .into());
    }
    if admin::is_plainly_ours(command) {
        judge.effects = vec![effect(Path::new("bash"), command, Class::Admin)];
        return Err(admin::denied().into());
    }
    let cwd = judge.context.grant.workspace().path();
    let [Fact::Path(folder), bash, sh] = facts else {
        return Err(paths::no_facts(cwd).into());
    };
    let cwd = start::working_folder(judge, cwd, folder)?;
    let (program, means) = match (start::program("bash", bash)?, start::program("sh", sh)?) {
        (Some(bash), _) => (bash, Means::Bash),
        (None, Some(sh)) => (sh, Means::Sh),
        (None, None) => return Err(start::missing("bash").into()),
    };
    judge.effects = vec![effect(&program.canonical, command, Class::Opaque)];
    all_commands(judge)?;
    start::contained(judge)?;
    let (rule, contained) = stance(judge)?;
    Ok(Pass {
        rule,
        contained,
        bound: Bound::Launch(BoundLaunch {
            cwd,
            program: Some(program),
            means,
        }),
    })
}

fn effect(program: &Path, command: &str, class: Class) -> Effect {
    Effect::Execute {
        program: program.to_owned(),
        argv: vec!["bash".into(), "-c".into(), command.into()],
        class,
    }
}

/// A line can run anything, so a grant of some commands is no grant of lines.
fn all_commands(judge: &Judge<'_>) -> Result<(), Stop> {
    if matches!(judge.context.grant.bounds().commands, Set::Any) {
        return Ok(());
    }
    Err(Stop::new(
        &rule::COMMAND_NOT_GRANTED,
        "only some commands are granted, and what a shell command line runs can't be told from it",
        "Find out by reading, or say what would have to be run",
    ))
}

/// Containment, approval, or the reasons to ask.
fn stance(judge: &Judge<'_>) -> Result<(&'static Rule, Contained), Refuse> {
    let context = judge.context;
    let reasons = uncontained(context);
    match context.grant.mode() {
        Mode::Explore | Mode::Ask => {}
        Mode::AutoEdit | Mode::AutoAll if reasons.is_empty() => {
            return Ok((&rule::BASH_CONTAINED, Contained::Yes));
        }
        Mode::AutoAll => return Ok((&rule::BASH_AUTO, Contained::No)),
        Mode::AutoEdit if context.approved.contains(&Consent::Shell) => {
            return Ok((&rule::BASH_APPROVED, Contained::No));
        }
        Mode::AutoEdit => {}
    }
    let reasons = match reasons.as_slice() {
        [] => vec!["this mode asks about each command".to_owned()],
        _ => reasons,
    };
    Err(Refuse::Ask(Question {
        rule: &rule::BASH_ASK,
        reasons,
    }))
}

/// Why the effects of a command are not all held in and undone with the workspace.
fn uncontained(context: &Context<'_>) -> Vec<String> {
    let bounds = context.grant.bounds();
    let mut reasons = Vec::new();
    if !context.grant.workspace().mode.is_copy() {
        reasons.push(
            "the command changes the workspace itself, and nothing can undo all it may do"
                .to_owned(),
        );
    }
    if !(bounds.hosts.is_none() && bounds.ports.is_none()) {
        reasons.push("the command can reach the network".to_owned());
    }
    if context.boundary != Level::Full {
        reasons.push(format!(
            "the boundary is {}, without namespaces",
            context.boundary
        ));
    }
    reasons
}
