//! A workspace in a temporary folder, and a worker that serves it through the gate.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use deputize_authority::{
    Bounds, Consent, Grant, Layer, Level, Preset, Promise, Root, Set, Workspace, WorkspaceMode,
};
use deputize_gate::{Call, Context, Denied, Fact, Query, Sealed, Verdict, admit, decide, queries};
use deputize_tools::{Request, Response, ToolFailure, ToolOutput, Worker};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct World {
    _dir: TempDir,
    /// `work` is the workspace, `out` a folder beside it.
    base: PathBuf,
    pub(crate) grant: Grant,
    pub(crate) worker: Worker,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Output(ToolOutput),
    Failed(ToolFailure),
    Denied(Denied),
}

impl World {
    pub(crate) fn new() -> Self {
        Self::granting(|_| Vec::new())
    }

    /// A world in memory where that can be had: for tests that make very many entries.
    pub(crate) fn in_memory() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        Self::within(dir, |_| Vec::new())
    }

    /// A world with more readable roots than the workspace.
    pub(crate) fn granting(more: impl FnOnce(&Path) -> Vec<PathBuf>) -> Self {
        Self::within(tempfile::tempdir().unwrap(), more)
    }

    fn within(dir: TempDir, more: impl FnOnce(&Path) -> Vec<PathBuf>) -> Self {
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir(base.join("work")).unwrap();
        fs::create_dir(base.join("out")).unwrap();
        let grant = grant(&base.join("work"), more(&base));
        let worker = Worker::open(&grant).unwrap();
        Self {
            _dir: dir,
            base,
            grant,
            worker,
        }
    }

    /// A world whose child may change the workspace itself.
    pub(crate) fn changing() -> Self {
        Self::changing_in(tempfile::tempdir().unwrap())
    }

    pub(crate) fn changing_in(dir: TempDir) -> Self {
        let mut world = Self::within(dir, |_| Vec::new());
        let workspace = world.base.join("work");
        world.grant = grant_of(Preset::General, &workspace, Vec::new());
        world.worker = Worker::open(&world.grant).unwrap();
        world
    }

    /// Another child of the same kind in the same folder.
    pub(crate) fn another_worker(&self) -> Worker {
        Worker::open(&self.grant).unwrap()
    }

    pub(crate) fn content(&self, path: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.path(path)).unwrap()
    }

    /// The names in a folder of the workspace, sorted.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(path))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join("work").join(path)
    }

    pub(crate) fn file(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            grant: &self.grant,
            mode: self.grant.mode(),
            home: None,
            boundary: Level::Full,
            held: &Promise::ALL,
            approved: &[Consent::Write],
            agreed: &[],
            rules: &[],
        }
    }

    pub(crate) fn facts(&mut self, asked: Vec<Query>) -> Vec<Fact> {
        match ask(&mut self.worker, &Request::Facts(asked)) {
            Response::Facts(facts) => facts,
            other => panic!("{other:?}"),
        }
    }

    /// Facts and verdict: all that happens before a call runs.
    pub(crate) fn judge(&mut self, tool: &str, arguments: &Value) -> Verdict {
        let call = match admit(tool, arguments, &self.context()) {
            Ok(call) => call,
            Err(denied) => return Verdict::Deny(*denied),
        };
        let asked = queries(&call, &self.context());
        let facts = self.facts(asked);
        decide(call, &facts, &self.context())
    }

    pub(crate) fn run(&mut self, sealed: Sealed<Call>) -> Outcome {
        match ask(&mut self.worker, &Request::Run(Box::new(sealed))) {
            Response::Output(output) => Outcome::Output(output),
            Response::Failed(failure) => Outcome::Failed(failure),
            other => panic!("{other:?}"),
        }
    }

    /// A call on its whole way: gate, facts, verdict, worker.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Outcome {
        match self.judge(tool, &arguments) {
            Verdict::Allow(allowed) => self.run(allowed.sealed),
            Verdict::Deny(denied) => Outcome::Denied(denied),
            Verdict::Ask(asked) => panic!("{asked:?}"),
        }
    }

    /// The result of a call that must have one, as a model gets it.
    #[track_caller]
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        match self.call(tool, arguments) {
            Outcome::Output(output) => output.rendered(),
            other => panic!("{other:?}"),
        }
    }

    /// The code of a failure, or the rule of a denial.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        match self.call(tool, arguments) {
            Outcome::Failed(failure) => failure.code,
            Outcome::Denied(denied) => denied.rule.id.to_owned(),
            Outcome::Output(output) => panic!("{output:?}"),
        }
    }
}

pub(crate) fn ask(worker: &mut Worker, request: &Request) -> Response {
    Response::decode(&worker.answer(&request.encode())).unwrap()
}

pub(crate) fn grant(workspace: &Path, more: Vec<PathBuf>) -> Grant {
    grant_of(Preset::ReadOnly, workspace, more)
}

fn grant_of(preset: Preset, workspace: &Path, more: Vec<PathBuf>) -> Grant {
    let stat = fs::metadata(workspace).unwrap();
    let workspace = Workspace {
        root: Root::new(workspace).unwrap(),
        device: stat.dev(),
        inode: stat.ino(),
        mode: WorkspaceMode::Direct,
    };
    let roots = more
        .into_iter()
        .map(|path| Root::new(path).unwrap())
        .chain([workspace.root.clone()]);
    let request = Bounds {
        read: Set::only(roots),
        write: Set::only([workspace.root.clone()]),
        ..Bounds::ANY
    };
    Grant::of_principal(preset, workspace, Bounds::ANY)
        .attenuate(Layer::Preset, &preset.bounds())
        .attenuate(Layer::Request, &request)
}

pub(crate) fn fifo(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
}
