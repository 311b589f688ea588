//! Where the sources are, and how cargo is called.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::command;
use crate::failure::Failure;

/// The checkout that this program was built from.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

/// A program that cargo built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// Folder of the package: `crates/boundary`.
    pub(crate) folder: PathBuf,
    /// Name of the target: `it`, `deputize`.
    pub(crate) name: String,
    /// What it is.
    pub(crate) kind: ProgramKind,
    /// The file.
    pub(crate) path: PathBuf,
}

/// What a built program is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    /// Runs tests.
    Test,
    /// A binary or an example as people run it.
    Ordinary,
}

impl Workspace {
    /// The parent of the folder that xtask was compiled in.
    pub(crate) fn here() -> Self {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            root: own.parent().unwrap_or(own).to_owned(),
        }
    }

    /// The folder of the workspace.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The cargo that started us, in the workspace's folder.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(arguments).current_dir(&self.root);
        // Cargo tells a program about its own package: an inner cargo must not inherit that, or
        // build scripts that watch these variables are built again.
        for (name, _) in std::env::vars_os() {
            let told = name.to_str().is_some_and(|name| {
                name.starts_with("CARGO_PKG_")
                    || name.starts_with("CARGO_MANIFEST_")
                    || name == "CARGO_BIN_NAME"
                    || name == "CARGO_PRIMARY_PACKAGE"
            });
            if told {
                command.env_remove(name);
            }
        }
        command
    }

    /// Where cargo builds.
    pub(crate) fn target(&self) -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        self.root.join(target.unwrap_or_else(|| "target".into()))
    }

    /// Folder for what a task keeps between runs.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.target().join("xtask")
    }

    /// `cargo metadata`, with the resolved graph. Fails when Cargo.lock is out of date.
    pub(crate) fn metadata(&self) -> Result<Value, Failure> {
        let mut cargo = self.cargo(&["metadata", "--format-version", "1", "--locked"]);
        let text = command::capture(&mut cargo)?;
        serde_json::from_str(&text).map_err(|error| Failure::Output {
            program: "cargo metadata".to_owned(),
            reason: error.to_string(),
        })
    }

    /// Builds the programs and everything that tests them, in the one profile and feature set that
    /// all steps share, and says where they are.
    pub(crate) fn build_tests(&self) -> Result<Vec<Program>, Failure> {
        self.build(&["build", "--workspace", "--all-targets"])
    }

    /// Builds what people run, as it is released, and these measuring programs beside it.
    pub(crate) fn build_release(&self, examples: &[String]) -> Result<Vec<Program>, Failure> {
        let mut arguments = vec!["build", "--release", "--package", "deputize"];
        arguments.extend(["--package", "deputize-runs", "--bin", "deputize"]);
        arguments.extend(examples.iter().flat_map(|name| ["--example", name]));
        self.build(&arguments)
    }

    fn build(&self, arguments: &[&str]) -> Result<Vec<Program>, Failure> {
        let mut cargo = self.cargo(arguments);
        println!("  $ {}", command::typed(&cargo));
        cargo.arg("--message-format=json-render-diagnostics");
        cargo.stderr(std::process::Stdio::inherit());
        let messages = command::capture(&mut cargo)?;
        Ok(messages
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter_map(|message| self.program(&message))
            .collect())
    }

    fn program(&self, message: &Value) -> Option<Program> {
        let path = message["executable"].as_str()?;
        let manifest = Path::new(message["manifest_path"].as_str()?);
        let folder = manifest.parent()?;
        let kind = match message["profile"]["test"].as_bool()? {
            true => ProgramKind::Test,
            false => ProgramKind::Ordinary,
        };
        Some(Program {
            folder: folder.strip_prefix(&self.root).unwrap_or(folder).to_owned(),
            name: message["target"]["name"].as_str()?.to_owned(),
            kind,
            path: path.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_program_is_recognised() {
        let workspace = Workspace { root: "/w".into() };
        let message = serde_json::json!({
            "reason": "compiler-artifact",
            "manifest_path": "/w/crates/cli/Cargo.toml",
            "target": {"name": "it", "kind": ["test"]},
            "profile": {"test": true},
            "executable": "/w/target/debug/deps/it-0",
        });
        let expected = Program {
            folder: "crates/cli".into(),
            name: "it".to_owned(),
            kind: ProgramKind::Test,
            path: "/w/target/debug/deps/it-0".into(),
        };
        assert_eq!(workspace.program(&message), Some(expected));
        let library = serde_json::json!({"reason": "compiler-artifact", "executable": null});
        assert_eq!(workspace.program(&library), None);
    }
}
