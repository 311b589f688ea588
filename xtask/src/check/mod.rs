//! `cargo xtask check`: what can be said about the sources without running them.
//!
//! Every step runs, whatever the earlier ones said; the names of those that failed stand at the
//! end. A step that can't run here says so in the output and doesn't count as passed.

mod coverage;
mod deny;
mod layers;
mod links;
mod rooms;
mod sizes;

use std::process::Command;

use crate::arguments::{Install, Purpose};
use crate::command;
use crate::extension;
use crate::failure::Failure;
use crate::generate;
use crate::sources;
use crate::workspace::Workspace;

/// Runs every check.
pub(crate) fn check(workspace: &Workspace, install: Install) -> Result<(), Failure> {
    type Step<'a> = (&'static str, Box<dyn Fn() -> Result<(), Failure> + 'a>);
    let steps: [Step<'_>; 10] = [
        (
            "format",
            Box::new(|| cargo(workspace, &["fmt", "--all", "--check"])),
        ),
        ("layers", Box::new(|| layers(workspace))),
        (
            "sizes",
            Box::new(|| report(sizes::findings(&sources::all(workspace)?))),
        ),
        (
            "coverage",
            Box::new(|| report(coverage::findings(workspace)?)),
        ),
        ("links", Box::new(|| report(links::findings(workspace)?))),
        ("licences", Box::new(|| deny::deny(workspace, install))),
        ("lints", Box::new(|| lints(workspace))),
        ("docs", Box::new(|| docs(workspace))),
        ("extension", Box::new(|| extension(workspace))),
        (
            "generated",
            Box::new(|| generate::generate(workspace, Purpose::Compare)),
        ),
    ];
    let mut failed = Vec::new();
    for (name, step) in &steps {
        println!("== {name}");
        if let Err(failure) = step() {
            println!("  {failure}");
            failed.push(*name);
        }
    }
    if failed.is_empty() {
        println!("== every check passed that ran");
        return Ok(());
    }
    Err(Failure::Checks(failed))
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Result<(), Failure> {
    command::show(&mut workspace.cargo(arguments))
}

fn lints(workspace: &Workspace) -> Result<(), Failure> {
    let arguments = "clippy --quiet --workspace --all-targets -- -D warnings";
    cargo(workspace, &arguments.split(' ').collect::<Vec<_>>())
}

fn docs(workspace: &Workspace) -> Result<(), Failure> {
    let mut cargo: Command = workspace.cargo(&["doc", "--quiet", "--no-deps", "--workspace"]);
    command::show(cargo.env("RUSTDOCFLAGS", "-D warnings"))
}

fn extension(workspace: &Workspace) -> Result<(), Failure> {
    report(extension::version_differs(workspace)?)?;
    if extension::is_installed(workspace) {
        return extension::check(workspace);
    }
    println!("  absent: `cargo xtask test` installs what checks it, and checks it too");
    Ok(())
}

fn layers(workspace: &Workspace) -> Result<(), Failure> {
    let mut findings = layers::findings(&workspace.metadata()?);
    findings.extend(rooms::findings(workspace)?);
    report(findings)
}

/// Prints findings; any is a failure.
fn report(findings: Vec<String>) -> Result<(), Failure> {
    for finding in &findings {
        println!("  {finding}");
    }
    match findings.len() {
        0 => Ok(()),
        many => Err(Failure::Findings(many)),
    }
}
