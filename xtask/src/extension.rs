//! The extension for Pi (`packages/pi`): its tools and the real Pi are installed from the npm registry, as
//! its lock file says; it is checked and built.
//!
//! Neither what is installed nor what is built is committed: the lock file pins every byte, and a build takes a
//! second.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::command;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The copy of the lock file that stands beside what was installed by it.
const INSTALLED: &str = "node_modules/.installed-by";

/// The folder of the extension's package.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root().join("packages/pi")
}

/// Installs what the lock file names, where that isn't there yet. No package's scripts are run.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    let folder = folder(workspace);
    let lock = folder.join("package-lock.json");
    let wanted = fs::read(&lock).map_err(Failure::file(&lock))?;
    let stamp = folder.join(INSTALLED);
    if fs::read(&stamp).is_ok_and(|there| there == wanted) {
        println!("  packages/pi: all there");
        return Ok(());
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    command::show(npm(workspace).args(arguments))?;
    fs::write(&stamp, wanted).map_err(Failure::file(&stamp))
}

/// Whether it was installed.
pub(crate) fn is_installed(workspace: &Workspace) -> bool {
    folder(workspace).join(INSTALLED).is_file()
}

/// The Node that Pi runs on, where it was installed.
pub(crate) fn node(workspace: &Workspace) -> Option<PathBuf> {
    let folder = folder(workspace).join("node_modules");
    ["x64", "arm64"]
        .iter()
        .map(|machine| folder.join(format!("node-linux-{machine}/bin/node")))
        .find(|path| path.is_file())
}

/// Formatting and types.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    command::show(npm(workspace).args(["run", "--silent", "check"]))
}

/// Builds `dist`.
pub(crate) fn build(workspace: &Workspace) -> Result<(), Failure> {
    command::show(npm(workspace).args(["run", "--silent", "build"]))
}

/// Makes the npm packages in `target/pack`: the extension, and the program for this machine's platform, built for
/// release.
pub(crate) fn pack(workspace: &Workspace) -> Result<(), Failure> {
    install(workspace)?;
    check(workspace)?;
    build(workspace)?;
    command::show(&mut workspace.cargo(&["build", "--release", "--package", "deputize"]))?;
    let program = workspace.target().join("release/deputize");
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let out = workspace.target().join("pack");
    let mut pack = Command::new("node");
    pack.arg(folder(workspace).join("pack.mjs")).arg(&out);
    pack.arg(format!("linux-{machine}={}", program.display()));
    command::show(&mut pack)?;
    println!("  {}", out.display());
    Ok(())
}

/// Whether the package has the version of the program: the extension speaks to no other.
pub(crate) fn version_differs(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let path = folder(workspace).join("package.json");
    let text = fs::read_to_string(&path).map_err(Failure::file(&path))?;
    let own = env!("CARGO_PKG_VERSION");
    let same = serde_json::from_str::<serde_json::Value>(&text)
        .is_ok_and(|package| package["version"] == own);
    Ok(match same {
        true => Vec::new(),
        false => vec![format!("packages/pi/package.json is not of version {own}")],
    })
}

fn npm(workspace: &Workspace) -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(folder(workspace));
    // The engine is Pi's: what builds runs on older ones, and Pi itself on the one that is installed.
    npm.env("npm_config_engine_strict", "false")
        .env("npm_config_loglevel", "error");
    npm
}
