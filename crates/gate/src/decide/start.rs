//! What every program start must meet: the folder, the promises, and the programs of our tools.

use std::ffi::OsStr;
use std::path::Path;

use deputize_authority::Level;

use super::judge::{Judge, Stop};
use super::{Context, paths};
use crate::effect::shown;
use crate::rule;
use crate::{DEFAULT_SEARCH, Fact, Identity, Kind, PathFact, Query};

/// The questions of a tool that starts programs in the workspace.
pub(crate) fn queries(context: &Context<'_>, programs: &[&str]) -> Vec<Query> {
    let cwd = context.grant.workspace().path();
    let folder = Query::Path {
        path: cwd.to_owned(),
    };
    let programs = programs.iter().map(|name| Query::Program {
        name: (*name).into(),
        cwd: cwd.to_owned(),
        search: DEFAULT_SEARCH.iter().map(Into::into).collect(),
    });
    std::iter::once(folder).chain(programs).collect()
}

/// The program that answers a question of [`queries`]; `None` when this machine has none.
pub(crate) fn program(name: &str, fact: &Fact) -> Result<Option<Identity>, Stop> {
    match fact {
        Fact::Program(fact) if fact.asked == OsStr::new(name) => {
            Ok(fact.canonical.as_ref().map(|canonical| Identity {
                canonical: canonical.clone(),
                device: fact.device,
                inode: fact.inode,
            }))
        }
        _ => Err(paths::no_facts(Path::new(name))),
    }
}

pub(crate) fn missing(name: &str) -> Stop {
    Stop::new(
        &rule::PROGRAM_MISSING,
        format!("this machine has no `{name}` where programs are looked for"),
        "Go on without it, and say in your answer what could not be run",
    )
}

/// The folder that a program starts in.
pub(crate) fn working_folder(
    judge: &mut Judge<'_>,
    cwd: &Path,
    fact: &PathFact,
) -> Result<Identity, Stop> {
    if fact.asked != cwd {
        return Err(paths::no_facts(cwd));
    }
    judge.readable(cwd)?;
    let wrong = |rule, reason: &str| {
        Err(Stop::new(
            rule,
            format!("the working folder `{}` {reason}", shown(cwd)),
            "Start it in the workspace",
        ))
    };
    let Some(found) = paths::look(judge, fact)? else {
        return wrong(&rule::CWD_NOT_A_FOLDER, "doesn't exist");
    };
    if fact.kind != Kind::Folder {
        return wrong(&rule::CWD_NOT_A_FOLDER, "is no folder");
    }
    // A copy shows another folder in this place; what lies below it was compared when it was made.
    let workspace = judge.context.grant.workspace();
    let is_workspace = !workspace.mode.is_copy() && found.canonical == workspace.path();
    if is_workspace && (found.device, found.inode) != (workspace.device, workspace.inode) {
        return wrong(
            &rule::CWD_CHANGED,
            "is another folder than the one that was granted",
        );
    }
    Ok(found)
}

/// There must be a boundary, and it must hold what the preset needs.
pub(crate) fn contained(judge: &Judge<'_>) -> Result<(), Stop> {
    let context = judge.context;
    if context.boundary == Level::None {
        return Err(Stop::new(
            &rule::EXEC_UNCONTAINED,
            "there is no boundary around the command",
            "See `deputize doctor` for what this machine lacks",
        ));
    }
    let lacking: Vec<&str> = context
        .grant
        .preset()
        .needs()
        .iter()
        .filter(|promise| !context.held.contains(promise))
        .map(|promise| promise.name())
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Stop::new(
        &rule::EXEC_PROMISE_MISSING,
        format!("the boundary does not hold: {}", lacking.join(", ")),
        "See `deputize doctor` for what this machine lacks",
    ))
}
