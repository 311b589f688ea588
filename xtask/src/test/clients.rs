//! Clients of the protocol server that somebody else wrote: the official Python SDK, and the MCP
//! Inspector. They are installed below the target folder, as `crates/cli/tests/clients` pins them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The copy of what pins a client that stands beside what was installed by it.
const INSTALLED: &str = ".installed-by";

/// What names every package of npm with its digest.
const LOCK: &str = "package-lock.json";

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
    packages(&pins, &tools.join("mcp-inspector"))
}

/// Installs what the lock file beside these pins names, from the npm registry.
pub(super) fn packages(pins: &Path, folder: &Path) -> Result<(), Failure> {
    once(&pins.join(LOCK), folder, |folder| {
        for name in ["package.json", LOCK] {
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

/// Whether a folder holds what the lock file beside these pins names.
pub(super) fn are_installed(pins: &Path, folder: &Path) -> Result<bool, Failure> {
    installed_by(&pins.join(LOCK), folder)
}

fn installed_by(pins: &Path, folder: &Path) -> Result<bool, Failure> {
    let wanted = fs::read(pins).map_err(Failure::file(pins))?;
    Ok(fs::read(folder.join(INSTALLED)).is_ok_and(|there| there == wanted))
}

/// Installs into a new folder, unless it was installed by the same pins.
fn once(
    pins: &Path,
    folder: &Path,
    install: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let name = folder.file_name().unwrap_or_default().display();
    if installed_by(pins, folder)? {
        println!("  {name}: all there");
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(Failure::file(folder))?;
    }
    fs::create_dir_all(folder).map_err(Failure::file(folder))?;
    install(folder)?;
    let stamp = folder.join(INSTALLED);
    fs::copy(pins, &stamp).map_err(Failure::file(&stamp))?;
    Ok(())
}
