//! Program starts: `deputize exec`.
//!
//! What a program does can't be told from its arguments, so nothing is proved about it here. It is
//! allowed when the boundary contains whatever it does (G11), and not otherwise.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use deputize_authority::{CommandRule, Mode};

use super::admin::{self, is_ours};
use super::judge::{Judge, Pass, Stop};
use super::{Context, paths, start};
use crate::effect::shown;
use crate::resolve::normal;
use crate::rule;
use crate::{
    Bound, BoundLaunch, Class, Contained, Effect, Fact, Identity, Launch, Means, ProgramFact, Query,
};

pub(crate) fn queries(launch: &Launch, context: &Context<'_>) -> Vec<Query> {
    let cwd = cwd(launch, context);
    let program = Query::Program {
        name: launch.program().to_owned(),
        cwd: cwd.clone(),
        search: launch.search().to_vec(),
    };
    vec![Query::Path { path: cwd }, program]
}

pub(crate) fn judge(judge: &mut Judge<'_>, launch: &Launch, facts: &[Fact]) -> Result<Pass, Stop> {
    judge.effects.push(effect(launch, None, Class::Opaque));
    if judge.context.mode == Mode::Explore {
        return Err(Stop::new(
            &rule::MODE_EXPLORE,
            "this mode looks and runs nothing",
            "Find out by reading, or say what would have to be run",
        ));
    }
    not_ourselves(judge, launch, launch.program())?;
    let [Fact::Path(folder), Fact::Program(program)] = facts else {
        return Err(paths::no_facts(&cwd(launch, judge.context)));
    };
    let cwd = start::working_folder(judge, &cwd(launch, judge.context), folder)?;
    let program = program_file(judge, launch, program)?;
    granted(judge, launch)?;
    start::contained(judge)?;
    Ok(Pass {
        rule: (&rule::EXEC_CONTAINED).into(),
        contained: Contained::Yes,
        bound: Bound::Launch(BoundLaunch {
            cwd,
            program,
            means: Means::Literal,
        }),
    })
}

fn cwd(launch: &Launch, context: &Context<'_>) -> PathBuf {
    normal(&context.grant.workspace().path().join(launch.cwd()))
}

fn effect(launch: &Launch, program: Option<&Path>, class: Class) -> Effect {
    Effect::Execute {
        program: program.unwrap_or(Path::new(launch.program())).to_owned(),
        argv: launch.argv().to_vec(),
        class,
    }
}

fn not_ourselves(judge: &mut Judge<'_>, launch: &Launch, program: &OsStr) -> Result<(), Stop> {
    if !is_ours(program) {
        return Ok(());
    }
    judge.effects = vec![effect(launch, Some(Path::new(program)), Class::Admin)];
    Err(admin::denied())
}

fn program_file(
    judge: &mut Judge<'_>,
    launch: &Launch,
    fact: &ProgramFact,
) -> Result<Option<Identity>, Stop> {
    if fact.asked != launch.program() {
        return Err(paths::no_facts(Path::new(launch.program())));
    }
    let Some(canonical) = &fact.canonical else {
        judge.passed(
            &rule::PATH_MISSING,
            format!(
                "no program `{}` was found, and the start will say so",
                shown(Path::new(launch.program()))
            ),
        );
        return Ok(None);
    };
    not_ourselves(judge, launch, canonical.as_os_str())?;
    judge.effects = vec![effect(launch, Some(canonical), Class::Opaque)];
    Ok(Some(Identity {
        canonical: canonical.clone(),
        device: fact.device,
        inode: fact.inode,
    }))
}

fn granted(judge: &Judge<'_>, launch: &Launch) -> Result<(), Stop> {
    let bounds = judge.context.grant.bounds();
    // Rules are text, so they can only cover the leading arguments that are text too.
    let words = launch
        .argv()
        .iter()
        .map_while(|argument| argument.to_str().map(str::to_owned))
        .collect();
    if !bounds.commands.permits(&CommandRule(words)) {
        return Err(Stop::new(
            &rule::COMMAND_NOT_GRANTED,
            format!(
                "the command `{}` is not granted",
                shown(Path::new(launch.program()))
            ),
            "Use a command that was granted, or ask for it",
        ));
    }
    match launch.env().iter().find(|name| !bounds.env.permits(name)) {
        None => Ok(()),
        Some(name) => Err(Stop::new(
            &rule::ENV_NOT_GRANTED,
            format!(
                "the environment variable `{}` is not granted",
                shown(Path::new(&name.0))
            ),
            "Start it without that variable, or ask for it by name",
        )),
    }
}
