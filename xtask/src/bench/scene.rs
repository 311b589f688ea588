//! What every row needs: the release build, a user to measure as, and a repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::failure::Failure;
use crate::ordinary::{Ordinary, is_root, open_to_all};
use crate::workspace::{Program, ProgramKind, Workspace};

/// Files in the repository, spread over folders.
const FILES: usize = 300;
const FOLDERS: usize = 20;

/// Whom a side runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum As {
    /// A user without rights.
    Ordinary,
    /// Root.
    Root,
}

/// The things that are measured and where they are.
pub(super) struct Scene {
    /// Holds the folder too; `None` where we aren't root, and run as ourselves.
    user: Option<Ordinary>,
    /// Removed by `user`, or by this scene where there is none.
    folder: PathBuf,
    program: PathBuf,
    examples: Vec<Program>,
}

impl Scene {
    /// Builds the program and these measuring programs, and lays out the folders.
    pub(super) fn set(workspace: &Workspace, examples: &[String]) -> Result<Self, Failure> {
        let built = workspace.build_release(examples)?;
        let ours = |program: &&Program| program.kind == ProgramKind::Ordinary;
        let (programs, examples): (Vec<&Program>, Vec<&Program>) = built
            .iter()
            .filter(ours)
            .partition(|program| program.name == "deputize");
        let Some(program) = programs.first() else {
            return Err(Failure::Missing(
                "cargo built no program `deputize`".to_owned(),
            ));
        };
        let user = if is_root() {
            Some(Ordinary::new("bench")?)
        } else {
            None
        };
        let folder = match &user {
            Some(user) => user.folder().to_owned(),
            None => own_folder()?,
        };
        let mut scene = Self {
            user,
            program: folder.join("deputize"),
            folder,
            examples: Vec::new(),
        };
        // A copy in a folder that everybody can enter: the checkout may lie in a closed one.
        copy(&program.path, &scene.program)?;
        for example in examples {
            let path = scene.folder.join(&example.name);
            copy(&example.path, &path)?;
            let example = example.clone();
            scene.examples.push(Program { path, ..example });
        }
        for who in scene.everybody() {
            scene.lay_repository(who)?;
        }
        Ok(scene)
    }

    /// The release build of the program.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// A release build of one of the measuring programs.
    pub(super) fn example(&self, name: &str) -> Option<&Path> {
        let found = self.examples.iter().find(|example| example.name == name);
        found.map(|example| example.path.as_path())
    }

    /// Whom to measure as: the ordinary user first.
    pub(super) fn everybody(&self) -> Vec<As> {
        match self.user {
            Some(_) => vec![As::Ordinary, As::Root],
            None => vec![As::Ordinary],
        }
    }

    /// The repository that somebody works in.
    pub(super) fn repository(&self, who: As) -> PathBuf {
        self.folder.join(match who {
            As::Ordinary => "repository",
            As::Root => "root-repository",
        })
    }

    /// Makes a command run as somebody, in their repository.
    pub(super) fn command(&self, who: As, program: &Path) -> Command {
        let mut command = Command::new(program);
        match (&self.user, who) {
            (Some(user), As::Ordinary) => user.adopt(&mut command),
            _ => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                command
                    .env_clear()
                    .env("PATH", path)
                    .env("HOME", &self.folder);
            }
        }
        command.current_dir(self.repository(who));
        command
    }

    /// A repository with one commit, and with a secret that a boundary has to hide.
    fn lay_repository(&self, who: As) -> Result<(), Failure> {
        let root = self.repository(who);
        for index in 0..FILES {
            let folder = root.join(format!("folder-{:02}", index % FOLDERS));
            fs::create_dir_all(&folder).map_err(Failure::file(&folder))?;
            let file = folder.join(format!("file-{index:03}.txt"));
            let text = format!("line of file {index}\n").repeat(40);
            fs::write(&file, text).map_err(Failure::file(&file))?;
        }
        let ignored = root.join(".gitignore");
        fs::write(&ignored, ".env\n").map_err(Failure::file(&ignored))?;
        let secret = root.join(".env");
        fs::write(&secret, "TOKEN=none\n").map_err(Failure::file(&secret))?;
        for arguments in [
            "init --quiet",
            "add --all",
            "-c user.name=bench -c user.email=bench@example.org commit --quiet --message=files",
        ] {
            let mut git = Command::new("git");
            git.args(arguments.split(' ')).current_dir(&root);
            git.env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_SYSTEM", "/dev/null");
            command::capture(&mut git)?;
        }
        match (&self.user, who) {
            (Some(user), As::Ordinary) => user.give(&root),
            _ => Ok(()),
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if self.user.is_none() {
            // What can't be removed lies in the temporary folder: nothing more to do about it.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn own_folder() -> Result<PathBuf, Failure> {
    let folder = std::env::temp_dir().join(format!("deputize-bench-{}", std::process::id()));
    fs::create_dir(&folder).map_err(Failure::file(&folder))?;
    open_to_all(&folder)?;
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map_err(Failure::file(to))?;
    open_to_all(to)
}
