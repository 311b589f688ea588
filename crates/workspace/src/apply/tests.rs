//! Kills at every place of a transaction, played by stopping it there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{ApplyRequest, Stops};
use crate::{BaseFolder, CopyKind, CopyState, RelPath, WorkingCopy};

/// Everything in a folder: type, permissions and content.
type Snapshot = BTreeMap<PathBuf, (char, u32, Vec<u8>)>;

fn snapshot(root: &Path) -> Snapshot {
    let bits = |meta: &fs::Metadata| meta.mode() & 0o7777;
    let top = bits(&fs::metadata(root).unwrap());
    let mut taken = Snapshot::from([(PathBuf::new(), ('d', top, Vec::new()))]);
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let (kind, content) = if meta.is_dir() {
                pending.push(path.clone());
                ('d', Vec::new())
            } else if meta.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                ('l', target.into_os_string().into_encoded_bytes())
            } else {
                ('f', fs::read(&path).unwrap())
            };
            let mode = if kind == 'l' { 0 } else { bits(&meta) };
            taken.insert(
                path.strip_prefix(root).unwrap().to_owned(),
                (kind, mode, content),
            );
        }
    }
    taken
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

struct Scene {
    _folder: TempDir,
    base: PathBuf,
    run: PathBuf,
}

impl Scene {
    fn new() -> Self {
        // In memory where that can be had: a disk that others use too is asked to sync each time.
        let folder = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let (base, run) = (folder.path().join("base"), folder.path().join("run"));
        for made in ["d/e", "gone/deep", "to-file", "shut"] {
            fs::create_dir_all(base.join(made)).unwrap();
        }
        fs::create_dir(&run).unwrap();
        for (path, text) in [
            ("a", "a"),
            ("b", "b"),
            ("d/x", "x"),
            ("gone/deep/y", "y"),
            ("to-folder", "f"),
            ("to-file/z", "z"),
            ("mode", "m"),
            ("other", "untouched"),
        ] {
            fs::write(base.join(path), text).unwrap();
        }
        for closed in ["closed", "opens/in", "closes", "goes/in"] {
            fs::create_dir_all(base.join(closed)).unwrap();
            fs::write(base.join(closed).join("old"), "old").unwrap();
        }
        symlink("a", base.join("link")).unwrap();
        fs::hard_link(base.join("a"), base.join("a-too")).unwrap();
        for closed in ["closed", "opens/in", "opens", "goes/in", "goes", "."] {
            mode(&base.join(closed), 0o555);
        }
        let meta = fs::metadata(&base).unwrap();
        let of = BaseFolder {
            path: base.clone(),
            device: meta.dev(),
            inode: meta.ino(),
            named: Vec::new(),
        };
        WorkingCopy::create(&run, of, CopyKind::Mirror).unwrap();
        let scene = Self {
            _folder: folder,
            base,
            run,
        };
        scene.edit();
        scene
    }

    fn edit(&self) {
        let tree = self.run.join("copy/tree");
        mode(&tree, 0o755);
        fs::write(tree.join("a"), "A").unwrap();
        fs::write(tree.join("a-too"), "A too").unwrap();
        fs::remove_file(tree.join("b")).unwrap();
        fs::remove_dir_all(tree.join("gone")).unwrap();
        fs::remove_file(tree.join("to-folder")).unwrap();
        fs::create_dir(tree.join("to-folder")).unwrap();
        fs::write(tree.join("to-folder/i"), "i").unwrap();
        fs::remove_dir_all(tree.join("to-file")).unwrap();
        fs::write(tree.join("to-file"), "now a file").unwrap();
        fs::create_dir_all(tree.join("new/er")).unwrap();
        fs::write(tree.join("new/er/n"), "n").unwrap();
        fs::remove_file(tree.join("link")).unwrap();
        symlink("d/x", tree.join("link")).unwrap();
        mode(&tree.join("mode"), 0o755);
        mode(&tree.join("shut"), 0o700);
        // Folders that their owner can't write: the person's, the child's, and those that change.
        for folder in ["closed", "opens", "opens/in", "goes", "goes/in"] {
            mode(&tree.join(folder), 0o755);
        }
        for folder in ["closed", "opens/in", "closes", "born/in"] {
            fs::create_dir_all(tree.join(folder)).unwrap();
            fs::write(tree.join(folder).join("new"), "new").unwrap();
        }
        fs::remove_dir_all(tree.join("goes")).unwrap();
        for folder in ["closed", "closes", "born/in", "born"] {
            mode(&tree.join(folder), 0o555);
        }
    }

    fn copy(&self) -> WorkingCopy {
        WorkingCopy::open(&self.run).unwrap()
    }

    /// Applies, or undoes, up to the place where a test stops it.
    fn go(&self, what: What, stop: Option<usize>) -> bool {
        let mut copy = self.copy();
        let plan = match what {
            What::Apply => copy.plan_apply(&ApplyRequest::default()),
            What::Undo => copy.plan_undo(),
        };
        let plan = plan.unwrap();
        assert_eq!(plan.conflicts, []);
        let stops = Stops::default();
        stops.left.set(stop);
        copy.carry_out_with(&plan, &stops).is_ok()
    }

    /// Recovers up to the place where a test stops it.
    fn recover(&self, stop: Option<usize>) -> bool {
        let copy = self.copy();
        let base = copy.base().unwrap();
        let store = super::Store::open(copy.folder()).unwrap();
        let mut journal = super::Journal::read(&copy.folder().join("journal.jsonl")).unwrap();
        let stops = Stops::default();
        stops.left.set(stop);
        super::recover(&base, &store, &mut journal, &stops).is_ok()
    }
}

impl Drop for Scene {
    /// An ordinary user can't remove what lies in a folder that is closed.
    fn drop(&mut self) {
        for (path, (kind, ..)) in snapshot(&self.base) {
            if kind == 'd' {
                mode(&self.base.join(path), 0o755);
            }
        }
        let _ = crate::removal::remove(&self.run);
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Apply,
    Undo,
}

/// C2, C4: killed anywhere, what comes next leaves the old state or the new one, and nothing else.
#[test]
fn a_kill_anywhere_leaves_the_old_state_or_the_new_one() {
    let scene = Scene::new();
    let old = snapshot(&scene.base);
    assert!(scene.go(What::Apply, None));
    let new = snapshot(&scene.base);
    assert_ne!(old, new);
    assert_eq!(new[Path::new("to-file")].2, b"now a file");
    for what in [What::Apply, What::Undo] {
        let (mut before, mut after) = (0, 0);
        for stop in 0.. {
            let scene = Scene::new();
            if what == What::Undo {
                assert!(scene.go(What::Apply, None));
            }
            if scene.go(what, Some(stop)) {
                break;
            }
            assert!(scene.recover(None), "{what:?} {stop}");
            let now = snapshot(&scene.base);
            let (from, to) = match what {
                What::Apply => (&old, &new),
                What::Undo => (&new, &old),
            };
            assert!(now == *from || now == *to, "{what:?} {stop}: {now:#?}");
            before += usize::from(now == *from);
            after += usize::from(now == *to);
            // Whatever it came to, it can be done from here.
            if now == *from {
                assert!(scene.go(what, None), "{what:?} {stop}");
                assert_eq!(snapshot(&scene.base), *to, "{what:?} {stop}");
            }
        }
        assert!(before > 10 && after > 10, "{what:?} {before} {after}");
    }
}

/// C2: the recovery can be killed too, anywhere, and so can its own recovery.
#[test]
fn a_recovery_can_be_killed_anywhere() {
    let scene = Scene::new();
    let old = snapshot(&scene.base);
    assert!(scene.go(What::Apply, None));
    let new = snapshot(&scene.base);
    for first in (0..).step_by(3) {
        let scene = Scene::new();
        if scene.go(What::Apply, Some(first)) {
            break;
        }
        let mut second = 0;
        while !scene.recover(Some(second)) {
            second += 1;
        }
        let now = snapshot(&scene.base);
        assert!(now == old || now == new, "{first} {second}");
    }
}

/// C2: what the person does between a kill and its recovery is theirs, and stays.
#[test]
fn what_the_person_does_after_a_kill_stays() {
    for stop in (4..).step_by(5) {
        let scene = Scene::new();
        let stopped = !scene.go(What::Apply, Some(stop));
        mode(&scene.base, 0o755);
        fs::write(scene.base.join("a"), "the person's").unwrap();
        fs::write(scene.base.join("b"), "the person's").unwrap();
        if !stopped {
            break;
        }
        assert!(scene.recover(None), "{stop}");
        for path in ["a", "b"] {
            let text = fs::read_to_string(scene.base.join(path)).unwrap();
            assert_eq!(text, "the person's", "{stop} {path}");
        }
        assert!(!has_stage(&scene.base), "{stop}");
    }
}

/// C2: a staging folder that somebody removed after a kill costs nothing.
#[test]
fn a_removed_staging_folder_loses_nothing() {
    let scene = Scene::new();
    let old = snapshot(&scene.base);
    assert!(scene.go(What::Apply, None));
    let new = snapshot(&scene.base);
    for stop in 0.. {
        let scene = Scene::new();
        if scene.go(What::Apply, Some(stop)) {
            break;
        }
        for entry in fs::read_dir(&scene.base).unwrap() {
            let path = entry.unwrap().path();
            if is_stage(&path) {
                fs::remove_dir_all(path).unwrap();
            }
        }
        assert!(scene.recover(None), "{stop}");
        let now = snapshot(&scene.base);
        assert!(now == old || now == new, "{stop}: {now:#?}");
    }
}

/// C2: a name that changes while it is replaced is put back, and everything with it.
#[test]
fn a_race_takes_everything_back() {
    let scene = Scene::new();
    let mut copy = scene.copy();
    let plan = copy.plan_apply(&ApplyRequest::default()).unwrap();
    fs::write(scene.base.join("to-file/z"), "written meanwhile").unwrap();
    let before = snapshot(&scene.base);
    let error = copy.carry_out_with(&plan, &Stops::default()).unwrap_err();
    assert_eq!(error.refusal().code, "workspace_changed_meanwhile");
    assert_eq!(snapshot(&scene.base), before);
    assert_eq!(copy.state().unwrap(), CopyState::Unapplied);
}

/// C2: content that changes in the copy after the review is never put anywhere.
#[test]
fn a_copy_that_changes_after_the_review_is_refused() {
    let scene = Scene::new();
    let before = snapshot(&scene.base);
    let mut copy = scene.copy();
    let plan = copy.plan_apply(&ApplyRequest::default()).unwrap();
    fs::write(scene.run.join("copy/tree/a"), "B").unwrap();
    let error = copy.carry_out_with(&plan, &Stops::default()).unwrap_err();
    assert_eq!(error.refusal().code, "manifest_changed");
    assert_eq!(snapshot(&scene.base), before);
    let request = ApplyRequest {
        manifest: Some(plan.manifest.digest.clone()),
        include: Vec::<RelPath>::new(),
    };
    let error = copy.plan_apply(&request).unwrap_err();
    assert_eq!(error.refusal().code, "manifest_changed");
}

fn is_stage(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.starts_with(".deputize-apply-")
}

fn has_stage(base: &Path) -> bool {
    fs::read_dir(base)
        .unwrap()
        .any(|entry| is_stage(&entry.unwrap().path()))
}
