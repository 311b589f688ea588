//! Root's second pass: the tests that meet the kernel, run as an ordinary user.
//!
//! Tests know where the checkout is by its path. When it lies in a folder that other users can't
//! enter (a root's home, a temporary folder), the user gets a mount namespace in which that folder
//! holds the checkout and nothing else. No mode of any folder is changed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Ignored, Part, hosts, part};
use crate::command;
use crate::failure::Failure;
use crate::ordinary::{Ordinary, blocked, is_root};
use crate::workspace::{Program, ProgramKind, Workspace};

/// Packages whose tests behave differently for a user who isn't root.
const KERNEL_PACKAGES: [&str; 4] = [
    "crates/boundary",
    "crates/cli",
    "crates/testkit",
    "crates/tools",
];

/// Runs in a mount namespace of its own: `sh -c SHOW sh CLOSED CHECKOUT TARGET STAGE FOLDER ID
/// PROGRAM…`. The checkout's own mode may be the obstacle, so its entries are shown, not itself.
const SHOW: &str = r#"
set -eu
closed=$1 checkout=$2 target=$3 stage=$4 folder=$5 id=$6
shift 6
mkdir -p "$stage/checkout" "$stage/target"
mount --bind "$checkout" "$stage/checkout"
mount --bind "$target" "$stage/target"
mount -t tmpfs -o mode=0755 open "$closed"
show() {
    if [ -d "$1" ]; then mkdir -p "$2"; else : > "$2"; fi
    mount --bind "$1" "$2"
}
umask 022
mkdir -p "$checkout"
for entry in "$stage/checkout"/* "$stage/checkout"/.[!.]*; do
    [ ! -e "$entry" ] || show "$entry" "$checkout/${entry##*/}"
done
case $target/ in
    "$checkout"/*) ;;
    "$closed"/*) show "$stage/target" "$target" ;;
esac
cd "$folder"
exec setpriv --reuid "$id" --regid "$id" --clear-groups "$@"
"#;

/// How long the namespace may take to set up.
const SETUP_LIMIT: Duration = Duration::from_mins(1);

/// Runs those tests again; one part for each program.
pub(super) fn pass(
    workspace: &Workspace,
    programs: &[Program],
    filter: Option<&str>,
    ignored: Ignored,
) -> Result<Vec<Part>, Failure> {
    if !is_root() {
        println!("  done already: these tests ran as an ordinary user; root's pass is absent");
        return Ok(Vec::new());
    }
    let programs: Vec<&Program> = programs.iter().filter(|program| meets(program)).collect();
    let user = Ordinary::new("test")?;
    let places = programs.iter().map(|program| program.path.as_path());
    let closed = places.chain([workspace.root()]).find_map(blocked);
    if let Some(closed) = closed {
        println!(
            "  other users can't enter {}: they are given a view of it",
            closed.display()
        );
        let mut trial = shown(workspace, &user, closed, workspace.root());
        trial.arg("true");
        if let Err(failure) = command::within(&mut trial, SETUP_LIMIT) {
            println!("  absent: no such view can be made here\n  {failure}");
            return Ok(Vec::new());
        }
    }
    let mut parts = Vec::new();
    for program in programs {
        let folder = workspace.root().join(&program.folder);
        let mut command = match closed {
            Some(closed) => {
                let mut command = shown(workspace, &user, closed, &folder);
                command.arg(&program.path);
                command
            }
            None => {
                let mut command = Command::new(&program.path);
                user.adopt(&mut command);
                command.current_dir(&folder);
                command
            }
        };
        for name in ["CI", "RUST_BACKTRACE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // What cargo would tell a test, and what keeps snapshots from calling cargo.
        command.env("CARGO_MANIFEST_DIR", &folder);
        command.env("INSTA_WORKSPACE_ROOT", workspace.root());
        command.env("INSTA_UPDATE", "no");
        if ignored == Ignored::Run && hosts::are_met_by(program) {
            command.arg("--include-ignored");
        }
        parts.push(part(&name(program), command.args(filter))?);
    }
    Ok(parts)
}

/// A command, still without its program, that sees the checkout though it lies in `closed`.
fn shown(workspace: &Workspace, user: &Ordinary, closed: &Path, folder: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--propagation",
        "private",
        "--",
        "sh",
        "-c",
        SHOW,
        "sh",
    ]);
    command
        .arg(closed)
        .arg(workspace.root())
        .arg(workspace.target());
    command.arg(user.folder().join("stage")).arg(folder);
    command.arg(user.id().to_string());
    user.furnish(&mut command);
    command
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
