//! The record of bases, written while the child works (C2, C3).

use std::fs;
use std::io::Write as _;

use deputize_workspace::{Basis, CopyKind, WorkingCopy};

use crate::scene::{KINDS, Scene, settle};

/// C2: the counts that a budget needs.
#[test]
fn changed_files_are_counted_without_ignored_ones() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file(".gitignore", "out\n")
                .file("a", "a")
                .file("b", "b");
        });
        let mut copy = scene.copy();
        let before = copy.observe().unwrap();
        assert_eq!(before.changed_files, 0);
        scene.edit("mkdir out d; head -c 5000 /dev/zero > out/x; echo 1 > a; rm b; echo 2 > d/c");
        let after = copy.observe().unwrap();
        assert_eq!(after.changed_files, 3, "{kind:?}");
        assert!(after.bytes >= before.bytes + 5_000, "{kind:?}");
    }
}

/// C2: a child that goes on writing and removing doesn't break a look at its copy.
#[test]
fn a_copy_that_changes_under_the_look_is_observed() {
    use std::sync::atomic::{AtomicBool, Ordering};
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("a", "a");
        });
        let (top, over) = (scene.top(), AtomicBool::new(false));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    for index in 0..20 {
                        let folder = top.join(format!("d{index}/e"));
                        fs::create_dir_all(&folder).unwrap();
                        fs::write(folder.join("f"), "f").unwrap();
                    }
                    for index in 0..20 {
                        fs::remove_dir_all(top.join(format!("d{index}"))).unwrap();
                    }
                }
            });
            let mut copy = scene.copy();
            let looks: Vec<_> = (0..100).map(|_| copy.observe().err()).collect();
            over.store(true, Ordering::Relaxed);
            let failed: Vec<_> = looks.into_iter().flatten().collect();
            assert!(failed.is_empty(), "{kind:?} {failed:?}");
        });
    }
}

/// C2: the base is what it was when the copy first touched the path, whatever becomes of it later.
#[test]
fn the_base_is_recorded_once() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("a", "old").file("b", "old");
        });
        scene.edit("echo mine > a");
        scene.copy().observe().unwrap();
        settle(&scene.base);
        fs::write(scene.base.join("a"), "person").unwrap();
        fs::write(scene.base.join("b"), "person").unwrap();
        settle(&scene.base);
        let a = scene.change("a").unwrap();
        assert_eq!((a.basis, a.old.unwrap().size), (Basis::Sure, 3), "{kind:?}");
        // The person's change came first and is what the child began from, where it can see it.
        if kind == CopyKind::Overlay {
            scene.edit("cp b c; echo mine > b");
            let b = scene.change("b").unwrap();
            assert_eq!((b.basis, b.old.unwrap().size), (Basis::Sure, 6));
        }
    }
}

/// C2: a base that changed between the copying and the recording is marked.
#[test]
fn a_base_that_changed_before_it_was_recorded_is_unsure() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("a", "old")
                .file("gone", "old")
                .file("still", "old");
        });
        scene.edit("echo mine > a; rm gone; echo mine > still");
        settle(&scene.base);
        fs::write(scene.base.join("a"), "person").unwrap();
        fs::write(scene.base.join("gone"), "person").unwrap();
        scene.copy().observe().unwrap();
        for (path, basis) in [
            ("a", Basis::Unsure),
            ("gone", Basis::Unsure),
            ("still", Basis::Sure),
        ] {
            assert_eq!(scene.change(path).unwrap().basis, basis, "{kind:?} {path}");
        }
    }
}

/// C2: a kill while a line is written loses that line and nothing else.
#[test]
fn a_torn_line_is_written_again() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file("a", "old").file("b", "old");
        });
        scene.edit("echo mine > a; echo mine > b");
        let whole = scene.manifest();
        let path = scene.copy().folder().join("bases.jsonl");
        let text = fs::read(&path).unwrap();
        for cut in (0..text.len()).step_by(41) {
            fs::write(&path, &text[..cut]).unwrap();
            let mut copy = WorkingCopy::open(&scene.run).unwrap();
            let again = copy.changes().unwrap();
            assert_eq!(again.changes.len(), whole.changes.len(), "{kind:?} {cut}");
            WorkingCopy::open(&scene.run).unwrap();
        }
        // What is no record isn't taken for one.
        fs::write(&path, "nonsense\n").unwrap();
        let refusal = WorkingCopy::open(&scene.run).unwrap_err().refusal();
        assert_eq!(refusal.code, "copy_record_broken");
    }
}

/// C2: somebody who looks at a living run's copy doesn't touch its record.
#[test]
fn only_one_process_writes_the_record() {
    let scene = Scene::new(CopyKind::Mirror, |tree| {
        tree.file("a", "old");
    });
    let mut supervisor = scene.copy();
    scene.edit("echo mine > a");
    let path = supervisor.folder().join("bases.jsonl");
    let mut torn = fs::File::options().append(true).open(&path).unwrap();
    torn.write_all(b"{\"ba").unwrap();
    let before = fs::read(&path).unwrap();
    assert!(scene.copy().is_in_use() && !supervisor.is_in_use());
    assert_eq!(scene.told(), ["modified a apply"]);
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(torn);
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(before.len() as u64 - 4)
        .unwrap();
    supervisor.observe().unwrap();
    assert_ne!(fs::read(&path).unwrap(), before);
}

/// C2: another folder in the place of the workspace isn't read for it.
#[test]
fn another_folder_in_its_place_is_refused() {
    let scene = Scene::new(CopyKind::Overlay, |tree| {
        tree.file("a", "old");
    });
    fs::rename(&scene.base, scene.run.join("moved")).unwrap();
    fs::create_dir(&scene.base).unwrap();
    let mut file = fs::File::create(scene.base.join("a")).unwrap();
    file.write_all(b"other").unwrap();
    let refusal = scene.copy().changes().unwrap_err().refusal();
    assert_eq!(refusal.code, "workspace_changed");
}
