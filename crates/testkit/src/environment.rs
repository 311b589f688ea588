//! A home, a workspace and an environment that hold nothing of the machine's.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::patience::PATIENCE;
use crate::redaction::Redaction;
use crate::running::{Outcome, Running};
use crate::tree::Tree;
use crate::user::OrdinaryUser;

/// The programs of a bare system, and nothing from a home.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Folders for one test, removed when it ends: `home`, `workspace`, `tmp`, `run`, side by side, so
/// that none holds another.
#[derive(Debug)]
pub struct TestEnv {
    folder: TempDir,
    program: PathBuf,
    user: Option<OrdinaryUser>,
}

impl TestEnv {
    /// Folders for a test of `program`: `TestEnv::new(env!("CARGO_BIN_EXE_deputize"))`.
    ///
    /// # Panics
    /// When the folders can't be made.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self::make(program.into(), None)
    }

    /// The same for a program that runs as somebody else: a test that runs as root.
    ///
    /// # Panics
    /// When the folders can't be made or given away.
    #[must_use]
    pub fn for_user(program: impl Into<PathBuf>, user: OrdinaryUser) -> Self {
        Self::make(program.into(), Some(user))
    }

    fn make(program: PathBuf, user: Option<OrdinaryUser>) -> Self {
        // A short name: a socket's path below it has to fit into 108 bytes.
        let folder = tempfile::Builder::new().prefix("dp").tempdir().unwrap();
        let environment = Self {
            folder,
            program,
            user,
        };
        for (path, mode) in [
            (environment.root().to_owned(), 0o755),
            (environment.home(), 0o700),
            (environment.workspace(), 0o755),
            (environment.temporary(), 0o700),
            (environment.runtime(), 0o700),
        ] {
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        environment.give();
        environment
    }

    /// The folder that holds all the others.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The user's home.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Where commands start.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.root().join("workspace")
    }

    /// `TMPDIR`.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.root().join("tmp")
    }

    /// `XDG_RUNTIME_DIR`.
    #[must_use]
    pub fn runtime(&self) -> PathBuf {
        self.root().join("run")
    }

    /// `XDG_STATE_HOME`.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.home().join(".local/state")
    }

    /// `XDG_CONFIG_HOME`.
    #[must_use]
    pub fn configuration(&self) -> PathBuf {
        self.home().join(".config")
    }

    /// Lays out the workspace; what is laid belongs to the user of this environment.
    pub fn lay(&self, with: impl FnOnce(&Tree<'_>)) -> &Self {
        with(&Tree::at(&self.workspace()));
        self.give();
        self
    }

    /// Hands everything over to the user, where there is another one.
    pub fn give(&self) {
        if let Some(user) = self.user {
            user.give(self.root());
        }
    }

    /// Prepares a call of the program with these arguments.
    #[must_use]
    pub fn call<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Invocation<'_> {
        let mut command = self.command(&self.program);
        command.args(arguments);
        Invocation {
            environment: self,
            command,
            stdin: Vec::new(),
            limit: PATIENCE,
        }
    }

    /// Runs the program with these arguments and waits for its end.
    ///
    /// # Panics
    /// When it can't be started or doesn't end in time.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Outcome {
        self.call(arguments).run()
    }

    /// Any program, in this environment and in the workspace.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.workspace()).env_clear();
        command
            .env("HOME", self.home())
            .env("PATH", PATH)
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env("TMPDIR", self.temporary())
            .env("XDG_CACHE_HOME", self.home().join(".cache"))
            .env("XDG_CONFIG_HOME", self.configuration())
            .env("XDG_DATA_HOME", self.home().join(".local/share"))
            .env("XDG_STATE_HOME", self.state())
            .env("XDG_RUNTIME_DIR", self.runtime())
            // Where nobody listens: a model that runs on the machine isn't the test's.
            .env("OLLAMA_HOST", "127.0.0.1:1");
        if let Some(user) = self.user {
            user.adopt(&mut command);
        }
        command
    }

    /// Text with the paths, ids, digests and times of this run replaced by names.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        self.redaction().apply(text)
    }

    fn redaction(&self) -> Redaction {
        let (home, workspace) = (self.home(), self.workspace());
        Redaction::new([
            (self.root(), "ROOT"),
            (home.as_path(), "HOME"),
            (workspace.as_path(), "WORKSPACE"),
            (self.program.as_path(), "PROGRAM"),
        ])
    }
}

/// A call of the program, not yet started.
#[derive(Debug)]
pub struct Invocation<'a> {
    environment: &'a TestEnv,
    command: Command,
    stdin: Vec<u8>,
    limit: Duration,
}

impl Invocation<'_> {
    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn without_env(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Gives it something to read; without, standard input is empty.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Starts it in another folder than the workspace.
    #[must_use]
    pub fn in_folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// How long it may run.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Changes the command in a way that has no method here, such as [`crate::cage`].
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Command)) -> Self {
        change(&mut self.command);
        self
    }

    /// Starts it and goes on.
    ///
    /// # Panics
    /// When it can't be started.
    #[track_caller]
    #[must_use]
    pub fn start(mut self) -> Running {
        let redaction = self.environment.redaction();
        Running::start(&mut self.command, self.stdin, self.limit, redaction)
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it can't be started or doesn't end in time.
    #[track_caller]
    pub fn run(self) -> Outcome {
        self.start().wait()
    }

    /// The command itself, for [`crate::Terminal::start`].
    #[must_use]
    pub fn into_command(self) -> Command {
        self.command
    }
}
