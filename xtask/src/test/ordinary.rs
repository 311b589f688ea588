//! Root's second pass: the tests that meet the kernel, run as an ordinary user.

use std::path::Path;
use std::process::Command;

use super::{Part, part};
use crate::failure::Failure;
use crate::ordinary::{Ordinary, blocked, is_root};
use crate::workspace::{Program, ProgramKind, Workspace};

/// Packages whose tests behave differently for a user who isn't root.
const KERNEL_PACKAGES: [&str; 3] = ["crates/boundary", "crates/tools", "crates/cli"];

/// Runs those tests again; one part for each program.
pub(super) fn pass(
    workspace: &Workspace,
    programs: &[Program],
    filter: Option<&str>,
) -> Result<Vec<Part>, Failure> {
    if !is_root() {
        println!("  done already: these tests ran as an ordinary user; root's pass is absent");
        return Ok(Vec::new());
    }
    let programs: Vec<&Program> = programs.iter().filter(|program| meets(program)).collect();
    let places = programs.iter().map(|program| program.path.as_path());
    if let Some(closed) = places.chain([workspace.root()]).find_map(blocked) {
        println!("  absent: other users can't pass {}", closed.display());
        return Ok(Vec::new());
    }
    let user = Ordinary::new("test")?;
    let mut parts = Vec::new();
    for program in programs {
        let folder = workspace.root().join(&program.folder);
        let mut command = Command::new(&program.path);
        user.adopt(&mut command);
        command.current_dir(&folder);
        for name in ["CI", "RUST_BACKTRACE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // What cargo would tell a test, and what keeps snapshots from calling cargo.
        command.env("CARGO_MANIFEST_DIR", &folder);
        command.env("INSTA_WORKSPACE_ROOT", workspace.root());
        command.env("INSTA_UPDATE", "no");
        parts.push(part(&name(program), command.args(filter))?);
    }
    Ok(parts)
}

fn meets(program: &Program) -> bool {
    let kernel = KERNEL_PACKAGES
        .iter()
        .any(|folder| program.folder == Path::new(folder));
    program.kind == ProgramKind::Test && kernel
}

fn name(program: &Program) -> String {
    format!(
        "{} {} as an ordinary user",
        program.folder.display(),
        program.name
    )
}
