//! Clients of the protocol server that somebody else wrote: the official Python SDK, and the MCP
//! Inspector. They are installed below the target folder, as `crates/cli/tests/clients` pins them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The copy of what pins a client that stands beside what was installed by it.
const INSTALLED: &str = ".installed-by";

/// The interpreter that every user may run, where there is one.
const PYTHON: &str = "/usr/bin/python3";

/// Installs both, where they aren't there yet. No package's scripts are run.
pub(super) fn install(workspace: &Workspace) -> Result<(), Failure> {
    let pins = workspace.root().join("crates/cli/tests/clients");
    let tools = workspace.target().join("tools");
    let requirements = pins.join("requirements.txt");
    once(&requirements, &tools.join("mcp-python"), |folder| {
        let mut pip = Command::new(if Path::new(PYTHON).is_file() {
            PYTHON
        } else {
            "python3"
        });
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-compile",
            "--no-deps",
        ]);
        pip.args(["--disable-pip-version-check", "--only-binary", ":all:"]);
        pip.args(["--root-user-action", "ignore", "--target"]);
        pip.arg(folder).arg("--requirement").arg(&requirements);
        command::show(&mut pip)
    })?;
    let lock = pins.join("package-lock.json");
    once(&lock, &tools.join("mcp-inspector"), |folder| {
        for name in ["package.json", "package-lock.json"] {
            let from = pins.join(name);
            fs::copy(&from, folder.join(name)).map_err(Failure::file(&from))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        // The engine is the one that tests run it with.
        npm.env("npm_config_engine_strict", "false")
            .env("npm_config_loglevel", "error")
            .current_dir(folder);
        command::show(&mut npm)
    })
}

/// Installs into a new folder, unless it was installed by the same pins.
fn once(
    pins: &PathBuf,
    folder: &Path,
    install: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let wanted = fs::read(pins).map_err(Failure::file(pins))?;
    let stamp = folder.join(INSTALLED);
    let name = folder.file_name().unwrap_or_default().display();
    if fs::read(&stamp).is_ok_and(|there| there == wanted) {
        println!("  {name}: all there");
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(Failure::file(folder))?;
    }
    fs::create_dir_all(folder).map_err(Failure::file(folder))?;
    install(folder)?;
    fs::write(&stamp, wanted).map_err(Failure::file(&stamp))
}
