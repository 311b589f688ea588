//! Licences, bans and sources of every dependency, by cargo-deny; advisories where their database
//! can be fetched.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::arguments::Install;
use crate::command;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The version that is installed when there is none: older ones can't read this Cargo.lock.
const VERSION: &str = "0.20.2";

/// How long fetching the advisory database may take: it is a few megabytes.
const FETCH_LIMIT: Duration = Duration::from_secs(60);

/// Runs cargo-deny; builds it below the target folder first, when it is missing and may be built.
pub(super) fn deny(workspace: &Workspace, install: Install) -> Result<(), Failure> {
    let program = match (installed(workspace), install) {
        (Some(program), _) => program,
        (None, Install::Nothing) => {
            println!(
                "  absent: cargo-deny isn't installed, so licences and sources were not checked"
            );
            return Ok(());
        }
        (None, Install::Missing) => build(workspace)?,
    };
    let deny = || {
        let mut command = Command::new(&program);
        command.current_dir(workspace.root());
        command
    };
    let check = ["--log-level", "warn", "check", "--hide-inclusion-graph"];
    let parts = ["licenses", "bans", "sources"];
    command::show(deny().args(check).args(parts))?;
    match command::within(deny().args(["fetch", "db"]), FETCH_LIMIT) {
        Ok(_) => command::show(deny().args(["check", "--disable-fetch", "advisories"])),
        Err(_) => {
            println!("  absent: the advisory database can't be fetched from here");
            Ok(())
        }
    }
}

fn installed(workspace: &Workspace) -> Option<PathBuf> {
    let own = workspace.scratch().join("bin/cargo-deny");
    if own.is_file() {
        return Some(own);
    }
    command::find("cargo-deny")
}

fn build(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let scratch = workspace.scratch();
    println!(
        "  cargo-deny isn't installed: building {VERSION} into {}, once, which takes minutes",
        scratch.join("bin").display()
    );
    let mut cargo = workspace.cargo(&["install", "--quiet", "cargo-deny", "--locked"]);
    cargo
        .args(["--version", VERSION])
        .arg("--root")
        .arg(&scratch);
    command::show(cargo.env("CARGO_TARGET_DIR", scratch.join("build")))?;
    Ok(scratch.join("bin/cargo-deny"))
}
