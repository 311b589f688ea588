//! `cargo xtask gen`: reference pages from the program itself, so that they can't drift.
//!
//! `docs/reference/cli.md` comes from the program's `--help`, `docs/reference/refusals.md` from the
//! refusals in the sources, `docs/verdicts.md` from the gate, by its example `verdicts`. Shell completions and man pages are made by the program too; they are
//! for packagers, so they go below the target folder and only have to come out.

mod help;
mod refusals;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::arguments::Purpose;
use crate::command;
use crate::failure::Failure;
use crate::sources;
use crate::workspace::{Program, ProgramKind, Workspace};

/// No help text takes a tenth of this.
const HELP_LIMIT: Duration = Duration::from_secs(20);

/// Shells that a completion is made for.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Writes the generated files, or compares them with those that are there.
pub(crate) fn generate(workspace: &Workspace, purpose: Purpose) -> Result<(), Failure> {
    let built = workspace.build_tests()?;
    let program = program(&built, "crates/cli", "deputize")?;
    let verdicts = self::program(&built, "crates/gate", "verdicts")?;
    let help = |words: &[String]| command::within(ours(&program, words).arg("--help"), HELP_LIMIT);
    let pages = [
        ("docs/reference/cli.md", help::page(&help)?),
        (
            "docs/reference/refusals.md",
            refusals::page(&sources::all(workspace)?),
        ),
        (
            "docs/verdicts.md",
            command::within(&mut ours(&verdicts, &[]), HELP_LIMIT)? + "\n",
        ),
    ];
    let mut stale = 0;
    for (path, page) in pages {
        stale += usize::from(!settle(&workspace.root().join(path), &page, purpose)?);
    }
    for_packagers(workspace, &program, &help(&[])?)?;
    match stale {
        0 => Ok(()),
        many => Err(Failure::Findings(many)),
    }
}

/// A program as the tests build it: the same build serves both.
fn program(built: &[Program], folder: &str, name: &str) -> Result<PathBuf, Failure> {
    let ours = built.iter().find(|program| {
        program.name == name
            && program.folder == Path::new(folder)
            && program.kind == ProgramKind::Ordinary
    });
    match ours {
        Some(program) => Ok(program.path.clone()),
        None => Err(Failure::Missing(format!(
            "cargo built no program `{name}` in {folder}"
        ))),
    }
}

/// The program with nothing in its environment that could change a text.
fn ours(program: &Path, words: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args(words).env_clear();
    command
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", "/nonexistent");
    command.env("COLUMNS", "100").env("NO_COLOR", "1");
    command
}

/// Whether the file now says what it should.
fn settle(path: &Path, page: &str, purpose: Purpose) -> Result<bool, Failure> {
    let shown = path.display();
    let there = fs::read_to_string(path).ok();
    if there.as_deref() == Some(page) {
        println!("  {shown} is up to date");
        return Ok(true);
    }
    if purpose == Purpose::Compare {
        println!("  {shown} is out of date: run `cargo xtask gen`");
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Failure::file(folder))?;
    }
    fs::write(path, page).map_err(Failure::file(path))?;
    println!("  {shown} is written");
    Ok(true)
}

/// Completions and man pages, where the program offers them.
fn for_packagers(workspace: &Workspace, program: &Path, help: &str) -> Result<(), Failure> {
    let folder = workspace.scratch().join("share");
    fs::create_dir_all(&folder).map_err(Failure::file(&folder))?;
    let offered = help::commands(help);
    let offers = |name: &str| offered.iter().any(|command| command == name);
    if offers("completions") {
        for shell in SHELLS {
            let words = ["completions".to_owned(), shell.to_owned()];
            let script = command::within(&mut ours(program, &words), HELP_LIMIT)?;
            let path = folder.join(format!("deputize.{shell}"));
            fs::write(&path, script).map_err(Failure::file(&path))?;
        }
    } else {
        println!("  absent: the program has no command `completions`");
    }
    if offers("man") {
        let mut man = ours(program, &["man".to_owned()]);
        let page = command::within(&mut man, HELP_LIMIT)?;
        let path = folder.join("deputize.1");
        fs::write(&path, page).map_err(Failure::file(&path))?;
    } else {
        println!("  absent: the program has no command `man`");
    }
    Ok(())
}
