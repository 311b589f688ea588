//! A person's folder, a run's folder, and a child that writes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use deputize_testkit::{Tree, until};
use deputize_workspace::{
    ApplyRequest, BaseFolder, Change, Conflicts, CopyKind, Disposition, Layers, Manifest, Outcome,
    Plan, RelPath, WorkingCopy,
};
use tempfile::TempDir;

/// Both kinds of copies: what holds for one must hold for the other.
pub(crate) const KINDS: [CopyKind; 2] = [CopyKind::Overlay, CopyKind::Mirror];

pub(crate) struct Scene {
    _folder: TempDir,
    pub(crate) base: PathBuf,
    pub(crate) run: PathBuf,
}

impl Scene {
    /// Lays out the person's folder and makes a copy of it.
    pub(crate) fn new(kind: CopyKind, lay: impl FnOnce(&Tree<'_>)) -> Self {
        Self::at(kind, |root| lay(&Tree::at(root)))
    }

    /// The same for a layout that needs the folder's path.
    pub(crate) fn at(kind: CopyKind, lay: impl FnOnce(&Path)) -> Self {
        Self::within(tempfile::tempdir().unwrap(), kind, lay)
    }

    /// The same where no disk is waited for, if there is such a place.
    pub(crate) fn in_memory(kind: CopyKind, lay: impl FnOnce(&Path)) -> Self {
        let memory = tempfile::tempdir_in("/dev/shm");
        Self::within(memory.or_else(|_| tempfile::tempdir()).unwrap(), kind, lay)
    }

    fn within(folder: TempDir, kind: CopyKind, lay: impl FnOnce(&Path)) -> Self {
        let (base, run) = (folder.path().join("base"), folder.path().join("run"));
        fs::create_dir(&base).unwrap();
        fs::create_dir(&run).unwrap();
        lay(&base);
        settle(&base);
        let scene = Self {
            _folder: folder,
            base,
            run,
        };
        WorkingCopy::create(&scene.run, scene.base_folder(), kind).unwrap();
        scene
    }

    /// A second run's copy of the same folder, which this scene still owns.
    pub(crate) fn another(&self, run: &Path, kind: CopyKind) -> Self {
        WorkingCopy::create(run, self.base_folder(), kind).unwrap();
        Self {
            _folder: tempfile::tempdir().unwrap(),
            base: self.base.clone(),
            run: run.to_owned(),
        }
    }

    pub(crate) fn base_folder(&self) -> BaseFolder {
        folder_of(&self.base)
    }

    pub(crate) fn copy(&self) -> WorkingCopy {
        WorkingCopy::open(&self.run).unwrap()
    }

    /// The child runs a script in its copy.
    #[track_caller]
    pub(crate) fn edit(&self, script: &str) {
        let output = self.child(script).output().unwrap();
        assert!(
            output.status.success(),
            "{script}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn child(&self, script: &str) -> Command {
        match self.copy().layers() {
            Layers::Mirror { tree } | Layers::Clone { tree, .. } => {
                let mut command = Command::new("sh");
                command.args(["-ec", script]).current_dir(tree);
                command
            }
            Layers::Overlay { upper, work } => {
                let options = format!(
                    "userxattr,lowerdir={},upperdir={},workdir={}",
                    self.base.display(),
                    upper.display(),
                    work.display()
                );
                let mount = "mount -t overlay overlay -o \"$1\" \"$2\" && cd \"$2\" && eval \"$3\"";
                let mut command = Command::new("unshare");
                command.args(["-Urm", "sh", "-ec", mount, "sh", &options]);
                command.arg(&self.base).arg(script);
                command
            }
        }
    }

    pub(crate) fn manifest(&self) -> Manifest {
        self.copy().changes().unwrap()
    }

    /// The changes, each as `kind path disposition`.
    pub(crate) fn told(&self) -> Vec<String> {
        self.manifest().changes.iter().map(tell).collect()
    }

    pub(crate) fn change(&self, path: &str) -> Option<Change> {
        let path = RelPath::from_text(path).unwrap();
        let mut changes = self.manifest().changes.into_iter();
        changes.find(|change| change.path == path)
    }

    /// Where the child's own entries lie.
    pub(crate) fn top(&self) -> PathBuf {
        match self.copy().layers() {
            Layers::Overlay { upper, .. } => upper,
            Layers::Mirror { tree } | Layers::Clone { tree, .. } => tree,
        }
    }
}

/// A folder, as a grant names it.
pub(crate) fn folder_of(path: &Path) -> BaseFolder {
    let meta = fs::metadata(path).unwrap();
    BaseFolder {
        path: path.to_owned(),
        device: meta.dev(),
        inode: meta.ino(),
        named: Vec::new(),
    }
}

pub(crate) fn tell(change: &Change) -> String {
    let kind = format!("{:?}", change.kind).to_lowercase();
    let then = match &change.disposition {
        Disposition::Apply => "apply",
        Disposition::Skip => "skip",
        Disposition::Hold(_) => "hold",
        Disposition::Refuse(_) => "refuse",
    };
    format!("{kind} {} {then}", change.path.text())
}

/// Waits for the next tick of the file system's clock: a change within the same one as its copy can't
/// be told from one before it.
pub(crate) fn settle(folder: &Path) {
    let stamp = || {
        let mark = tempfile::NamedTempFile::new_in(folder.parent().unwrap()).unwrap();
        let meta = mark.as_file().metadata().unwrap();
        (meta.ctime(), meta.ctime_nsec())
    };
    let before = stamp();
    until("the clock of the file system ticks", || {
        (stamp() > before).then_some(())
    });
}

impl Scene {
    /// Plans to apply.
    pub(crate) fn plan(&self, include: &[&str]) -> (WorkingCopy, Plan) {
        let mut copy = self.copy();
        let request = ApplyRequest {
            manifest: None,
            include: include
                .iter()
                .map(|path| RelPath::from_text(path).unwrap())
                .collect(),
        };
        let plan = copy.plan_apply(&request).unwrap();
        (copy, plan)
    }

    /// Applies; there must be no conflict.
    #[track_caller]
    pub(crate) fn apply(&self) -> Outcome {
        let (mut copy, plan) = self.plan(&[]);
        copy.carry_out(&plan, Conflicts::Refuse).unwrap()
    }

    /// Takes it back; there must be no conflict.
    #[track_caller]
    pub(crate) fn undo(&self) -> Outcome {
        let mut copy = self.copy();
        let plan = copy.plan_undo().unwrap();
        copy.carry_out(&plan, Conflicts::Refuse).unwrap()
    }

    /// Everything in the person's folder.
    pub(crate) fn snapshot(&self) -> Snapshot {
        snapshot(&self.base)
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.base.join(path)).unwrap()
    }

    /// The person writes.
    pub(crate) fn person(&self, path: &str, text: &str) {
        settle(&self.base);
        fs::write(self.base.join(path), text).unwrap();
    }
}

/// Type, permissions and content of everything in a folder.
pub(crate) type Snapshot = BTreeMap<PathBuf, (char, u32, Vec<u8>)>;

pub(crate) fn snapshot(root: &Path) -> Snapshot {
    let mut taken = Snapshot::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let kind = match meta.file_type() {
                kind if kind.is_dir() => 'd',
                kind if kind.is_symlink() => 'l',
                kind if kind.is_file() => 'f',
                _ => 's',
            };
            let content = match kind {
                'f' => fs::read(&path).unwrap(),
                'l' => fs::read_link(&path).unwrap().into_os_string().into_vec(),
                _ => Vec::new(),
            };
            let mode = if kind == 'l' { 0 } else { meta.mode() & 0o7777 };
            if kind == 'd' {
                pending.push(path.clone());
            }
            let path = path.strip_prefix(root).unwrap().to_owned();
            taken.insert(path, (kind, mode, content));
        }
    }
    taken
}
