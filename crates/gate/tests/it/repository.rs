//! A real repository in a temporary folder, and looks at it as they are sealed.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use deputize_authority::{
    Bounds, Grant, Layer, Level, Preset, Promise, Set, Tool, Workspace, WorkspaceMode,
};
use deputize_gate::{
    Call, Context, Fact, Kind, Outcome, PathFact, ProgramFact, Sealed, Verdict, decide,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::world::root;

/// `work` is the workspace; programs of the attacker leave their names in `canaries`.
pub(crate) struct Repository {
    _dir: TempDir,
    base: PathBuf,
}

impl Repository {
    /// A repository with two commits, a changed file and a staged one.
    pub(crate) fn new() -> Self {
        let repository = Self::empty();
        repository.git(&["init", "-q", "-b", "main"]);
        repository.write("a.txt", "one\ntwo\n");
        repository.write("sub/b.txt", "b\n");
        repository.git(&["add", "."]);
        repository.git(&["commit", "-q", "-m", "first"]);
        repository.write("a.txt", "one\ntwo\nthree\n");
        repository.git(&["commit", "-q", "-a", "-m", "second"]);
        repository.write("a.txt", "one\nTWO\nthree\n");
        repository.write("sub/b.txt", "staged\n");
        repository.git(&["add", "sub/b.txt"]);
        repository
    }

    /// A folder that is no repository.
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir(base.join("work")).unwrap();
        fs::create_dir(base.join("canaries")).unwrap();
        let canary = base.join("canary");
        let log = base.join("canaries");
        // It passes its input on, as a filter does, and reads none where there is none.
        fs::write(
            &canary,
            format!(
                "#!/bin/sh\n: > {}/sung\nexec cat 2>/dev/null\n",
                log.display()
            ),
        )
        .unwrap();
        fs::set_permissions(&canary, fs::Permissions::from_mode(0o755)).unwrap();
        Self { _dir: dir, base }
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join("work").join(path)
    }

    pub(crate) fn beside(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn append(&self, path: impl AsRef<Path>, content: &str) {
        let before = fs::read_to_string(self.path(&path)).unwrap_or_default();
        self.write(path, &format!("{before}{content}"));
    }

    /// The same, and it reads nothing: its partner would wait for it.
    pub(crate) fn mute_canary(&self) -> String {
        let path = self.base.join("mute");
        let log = self.base.join("canaries");
        fs::write(
            &path,
            format!("#!/bin/sh\n: > {}/sung\nexit 1\n", log.display()),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    /// A program that leaves a name behind.
    pub(crate) fn canary(&self) -> String {
        self.base.join("canary").display().to_string()
    }

    /// The names that were left behind, and forgets them.
    pub(crate) fn sung(&self) -> Vec<String> {
        let folder = self.base.join("canaries");
        let names: Vec<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        for name in &names {
            fs::remove_file(folder.join(name)).unwrap();
        }
        names
    }

    fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &self.base)
            .stdin(std::process::Stdio::null());
        command
    }

    /// Git as anybody runs it.
    pub(crate) fn plainly(&self, folder: &Path, arguments: &[&str]) -> Output {
        self.plain_command(folder, arguments).output().unwrap()
    }

    pub(crate) fn plain_command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command(&program("git"), folder);
        command
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
            .args(arguments);
        command
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in("", arguments)
    }

    pub(crate) fn git_in(&self, folder: &str, arguments: &[&str]) -> String {
        let output = self.plainly(&self.path(folder), arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn grant(&self) -> Grant {
        let path = self.path("");
        let path: PathBuf = path.components().collect();
        let stat = fs::metadata(&path).unwrap();
        let workspace = Workspace {
            root: root(&path),
            device: stat.dev(),
            inode: stat.ino(),
            mode: WorkspaceMode::Direct,
        };
        let bounds = Bounds {
            read: Set::only([workspace.root.clone()]),
            write: Set::none(),
            tools: Set::only([Tool::Git]),
            secrets: Set::none(),
            ..Bounds::ANY
        };
        Grant::of_principal(Preset::ReadOnlyGit, workspace, Bounds::ANY)
            .attenuate(Layer::Request, &bounds)
    }

    /// The sealed call of a look.
    pub(crate) fn sealed(&self, arguments: &Value) -> Sealed<Call> {
        let grant = self.grant();
        let context = Context {
            grant: &grant,
            mode: grant.mode(),
            home: None,
            boundary: Level::Full,
            held: &Promise::ALL,
            approved: &[],
            agreed: &[],
            rules: &[],
        };
        let workspace = grant.workspace();
        let folder = Fact::Path(PathFact {
            asked: workspace.path().to_owned(),
            outcome: Outcome::Resolved,
            canonical: Some(workspace.path().to_owned()),
            rest: PathBuf::new(),
            kind: Kind::Folder,
            device: workspace.device,
            inode: workspace.inode,
            links: 2,
            size: 0,
        });
        let facts = [folder, found("sh"), found("git")];
        let call = Call::parse("git", arguments).unwrap();
        match decide(call, &facts, &context) {
            Verdict::Allow(allowed) => allowed.sealed,
            other => panic!("{other:?}"),
        }
    }

    /// Runs a look exactly as it was sealed, after a trip over the wire.
    pub(crate) fn look(&self, arguments: &Value) -> Output {
        self.look_command(arguments).output().unwrap()
    }

    pub(crate) fn look_command(&self, arguments: &Value) -> Command {
        let sealed = Sealed::received(&self.sealed(arguments).encode()).unwrap();
        let start = sealed.start().unwrap();
        let program = &start.program.unwrap().canonical;
        let mut command = self.command(program, &start.cwd.canonical);
        command
            .arg0(&start.argv[0])
            .args(&start.argv[1..])
            .envs(start.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What a look that must succeed says.
    #[track_caller]
    pub(crate) fn told(&self, arguments: &Value) -> String {
        let output = self.look(arguments);
        assert!(output.status.success(), "{arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

fn program(name: &str) -> PathBuf {
    ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("these tests need `{name}`"))
        .canonicalize()
        .unwrap()
}

fn found(name: &str) -> Fact {
    let canonical = program(name);
    let stat = fs::metadata(&canonical).unwrap();
    Fact::Program(ProgramFact {
        asked: name.into(),
        device: stat.dev(),
        inode: stat.ino(),
        canonical: Some(canonical),
    })
}
