//! Hosts that somebody else wrote: Claude Code and Codex, as `crates/cli/tests/hosts` pins them.
//!
//! They are most of a gigabyte and not all open source, so they are installed only when that is asked for.
//! The tests that meet them are ignored otherwise, and counted so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Ignored, Part, clients, part};
use crate::arguments::Hosts;
use crate::failure::Failure;
use crate::workspace::{Program, ProgramKind, Workspace};

/// Says which hosts are met, after installing them where that is asked for. No package's scripts are run:
/// the programs lie in packages of their platform.
pub(super) fn install(workspace: &Workspace, hosts: Hosts) -> Result<Ignored, Failure> {
    let (pins, folder) = (pins(workspace), workspace.target().join("tools/hosts"));
    if hosts == Hosts::Installed {
        clients::packages(&pins, &folder)?;
    } else if !clients::are_installed(&pins, &folder)? {
        println!("  hosts: absent, so their tests are skipped (`--hosts` installs them)");
        return Ok(Ignored::Left);
    }
    println!("  hosts: {}", names(&pins)?);
    Ok(Ignored::Run)
}

/// Runs the tests that meet them.
pub(super) fn pass(
    workspace: &Workspace,
    programs: &[Program],
    filter: Option<&str>,
) -> Result<Vec<Part>, Failure> {
    let programs = programs.iter().filter(|program| are_met_by(program));
    programs
        .map(|program| {
            let mut command = Command::new(&program.path);
            command.current_dir(workspace.root().join(&program.folder));
            part("hosts", command.arg("--ignored").args(filter))
        })
        .collect()
}

/// Whether a program has these tests: every test that it ignores is one of them.
pub(super) fn are_met_by(program: &Program) -> bool {
    program.kind == ProgramKind::Test
        && program.name == "it"
        && program.folder == Path::new("crates/cli")
}

fn pins(workspace: &Workspace) -> PathBuf {
    workspace.root().join("crates/cli/tests/hosts")
}

/// The packages with their versions.
fn names(pins: &Path) -> Result<String, Failure> {
    let path = pins.join("package.json");
    let text = fs::read_to_string(&path).map_err(Failure::file(&path))?;
    let package: Value = serde_json::from_str(&text).unwrap_or_default();
    let packages = package["dependencies"].as_object();
    let names = packages.into_iter().flatten();
    let names: Vec<String> = names
        .map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or_default()))
        .collect();
    Ok(names.join(", "))
}
