//! Mirrors: whole copies, for where no overlay can be had (C2).

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};

use deputize_testkit::{Tree, large_tree, odd_names};
use deputize_workspace::{CopyKind, WorkingCopy};

use crate::scene::Scene;

/// C2: a mirror has what the folder has, ignored folders too, and says what it left out.
#[test]
fn a_mirror_is_the_folder_but_for_what_cannot_be_copied() {
    let scene = Scene::at(CopyKind::Mirror, |root| {
        Tree::at(root)
            .file(".gitignore", "target\n")
            .file("target/out", "built")
            .file("vendor/x/.git/HEAD", "ref: x\n")
            .file("sub/.git", "gitdir: ../.git/modules/sub\n")
            .program("run", "#!/bin/sh\n")
            .link("out", "/etc/passwd")
            .fifo("pipe")
            .sparse("huge", 1 << 30);
        odd_names(root);
        fs::write(root.join("setuid"), "s").unwrap();
        fs::set_permissions(root.join("setuid"), fs::Permissions::from_mode(0o4755)).unwrap();
        fs::hard_link(root.join("run"), root.join("run2")).unwrap();
    });
    let top = scene.top();
    for entry in fs::read_dir(&scene.base).unwrap() {
        let name = entry.unwrap().file_name();
        let (from, to) = (scene.base.join(&name), top.join(&name));
        let from = fs::symlink_metadata(&from).unwrap();
        if from.file_type().is_fifo() {
            assert!(fs::symlink_metadata(&to).is_err());
            continue;
        }
        let to = fs::symlink_metadata(&to).unwrap();
        assert_eq!(from.file_type(), to.file_type(), "{name:?}");
        assert_eq!(from.mode() & 0o777, to.mode() & 0o777, "{name:?}");
        if from.is_file() {
            assert_eq!(from.mtime(), to.mtime(), "{name:?}");
        }
    }
    let mode = |path: &str| fs::metadata(top.join(path)).unwrap().mode() & 0o7777;
    assert_eq!(mode("setuid"), 0o755);
    assert!(fs::metadata(top.join("huge")).unwrap().blocks() < 1_000);
    assert_eq!(fs::metadata(top.join("run2")).unwrap().nlink(), 1);
    assert_eq!(
        fs::read_link(top.join("out")).unwrap().to_str(),
        Some("/etc/passwd")
    );
    let copy = scene.copy();
    let notes = copy.record().notes.join("\n");
    assert!(notes.contains("left out (FIFO): pipe"), "{notes}");
    assert!(notes.contains("entries were copied"), "{notes}");
    assert_eq!(scene.told(), [""; 0]);
}

/// C2: 100,000 files are copied, looked at and thrown away; how long that takes is a benchmark's
/// question.
#[test]
fn a_hundred_thousand_files_are_no_obstacle() {
    let scene = Scene::in_memory(CopyKind::Mirror, |root| {
        large_tree(root, 100_000, 3);
    });
    scene.edit("echo 1 > new");
    let mut copy = scene.copy();
    assert_eq!(copy.observe().unwrap().changed_files, 1);
    copy.discard().unwrap();
    assert!(!WorkingCopy::exists(&scene.run));
}
