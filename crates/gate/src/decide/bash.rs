//! Shell commands.
//!
//! The line is read, and what it would do is listed with the verdict. It is allowed when the
//! boundary contains it and a copy can undo it (G11), whatever it does. Where it reaches the folder
//! itself, or no namespaces hold it in, a rule of the reading that denies is a denial; else it is
//! allowed when a person approved commands for the run or the mode asks nothing, and a question
//! otherwise (G3).

use std::path::Path;

use deputize_authority::{Consent, Level, Mode, Set};
use deputize_shell::{User, World};

use super::judge::{Basis, Judge, Pass, Refuse, Stop};
use super::stance::{self, Hold, Stance};
use super::{Context, admin, paths, start};
use crate::rule;
use crate::{Bound, BoundLaunch, Class, Contained, Effect, Fact, Means, Query, Reading, shell};

/// Rules of the reading that a question repeats.
const SHOWN_REASONS: usize = 8;
const SHELLS: [&str; 2] = ["bash", "sh"];

pub(crate) fn queries(context: &Context<'_>) -> Vec<Query> {
    start::queries(context, &SHELLS)
}

pub(crate) fn judge(judge: &mut Judge<'_>, command: &str, facts: &[Fact]) -> Result<Pass, Refuse> {
    judge
        .effects
        .push(effect(Path::new("bash"), command, Class::Opaque));
    if judge.context.mode == Mode::Explore {
        return Err(looks_only().into());
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
    let read = read(judge, command);
    let (rule, contained) = weigh(judge, &read)?;
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

/// Reads the line as a child in the workspace would run it, and lists what it would do.
///
/// Further readable roots count as outside, and the grant's bounds don't matter here: so a narrower
/// grant never reads a line as more harmless.
fn read(judge: &mut Judge<'_>, command: &str) -> deputize_shell::Verdict {
    let context = judge.context;
    let workspace = context.grant.workspace().path().to_string_lossy();
    let home = context.home.map(Path::to_string_lossy);
    let world = World {
        cwd: workspace.clone().into_owned(),
        writable: vec![workspace.into_owned()],
        readable: Vec::new(),
        home: home.map_or_else(|| "/".to_owned(), Into::into),
        user: User::Ordinary,
    };
    let analysis = deputize_shell::analyse(command, &world);
    let verdict = deputize_shell::judge(&analysis);
    judge.effects.extend(shell::effects(&analysis));
    judge.reading = Some(Reading::of(&analysis, &verdict));
    judge.analysis = Some(analysis);
    verdict
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

/// Containment, the reading's denial, approval, or the reasons to ask.
fn weigh(judge: &Judge<'_>, read: &deputize_shell::Verdict) -> Result<(Basis, Contained), Refuse> {
    let context = judge.context;
    let mut reasons = uncontained(context);
    let hold = Hold {
        contained: reasons.is_empty(),
        reaches: reaches_the_folder(context),
        approved: context.approved.contains(&Consent::Shell),
    };
    let rule = match stance::of(context.mode, hold, read.answer) {
        Stance::Explore => return Err(looks_only().into()),
        Stance::Contained => return Ok(((&rule::BASH_CONTAINED).into(), Contained::Yes)),
        Stance::Harmful => return Err(harmful(read).into()),
        Stance::Proven => &rule::BASH_PROVEN,
        Stance::Auto => &rule::BASH_AUTO,
        Stance::Approved => &rule::BASH_APPROVED,
        Stance::Ask => {
            if let Some(basis) = judge.allowed_line() {
                return Ok((basis, Contained::No));
            }
            if reasons.is_empty() || context.mode == Mode::Ask {
                reasons.insert(0, "this mode asks about each command".to_owned());
            }
            let spoke = read
                .voices
                .iter()
                .map(|voice| shell::Spoken::of(voice).reason);
            reasons.extend(spoke.take(SHOWN_REASONS));
            return judge.question((&rule::BASH_ASK).into(), reasons);
        }
    };
    Ok((rule.into(), Contained::No))
}

fn looks_only() -> Stop {
    Stop::new(
        &rule::MODE_EXPLORE,
        "this mode looks and runs nothing",
        "Find out by reading, or say what would have to be run",
    )
}

/// The denial of the rule that spoke, with its safer way. A denial of the reading has one.
fn harmful(read: &deputize_shell::Verdict) -> Stop {
    match read.voices.first() {
        Some(voice) => Stop::new(
            voice.rule,
            shell::Spoken::of(voice).reason,
            voice.rule.safer,
        ),
        None => looks_only(),
    }
}

/// Whether what the command does can't be taken back. The network alone isn't that: were it a
/// reason, taking it away would turn a denial into an allowance.
fn reaches_the_folder(context: &Context<'_>) -> bool {
    !context.grant.workspace().mode.is_copy() || context.boundary != Level::Full
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
