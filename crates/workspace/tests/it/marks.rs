//! Marks that an overlay leaves on its upper layer, in the forms that no mount here makes (C2).

use std::fs::{self, File};
use std::path::Path;

use deputize_workspace::{CopyKind, Disposition};
use rustix::fs::{XattrFlags, fsetxattr};

use crate::scene::Scene;

fn mark(path: &Path, name: &str, value: &str) {
    let file = File::open(path).unwrap();
    fsetxattr(&file, name, value.as_bytes(), XattrFlags::empty()).unwrap();
}

fn laid() -> Scene {
    Scene::new(CopyKind::Overlay, |tree| {
        tree.file("a", "a")
            .file("d/x", "x")
            .file("d/y", "y")
            .file("e/z", "z");
    })
}

/// C2: a whiteout may be an empty file with a mark, and a folder may be opaque by a mark alone.
#[test]
fn marked_whiteouts_and_opaque_folders_are_understood() {
    let scene = laid();
    let top = scene.top();
    fs::write(top.join("a"), "").unwrap();
    mark(&top.join("a"), "user.overlay.whiteout", "y");
    fs::create_dir(top.join("d")).unwrap();
    mark(&top.join("d"), "user.overlay.opaque", "y");
    fs::write(top.join("d/new"), "new").unwrap();
    fs::create_dir(top.join("e")).unwrap();
    mark(&top.join("e"), "user.overlay.opaque", "x");
    fs::write(top.join("e/z"), "").unwrap();
    mark(&top.join("e/z"), "user.overlay.whiteout", "y");
    assert_eq!(
        scene.told(),
        [
            "deleted a apply",
            "created d/new apply",
            "deleted d/x apply",
            "deleted d/y apply",
            "deleted e/z apply",
        ]
    );
    scene.apply();
    assert_eq!(scene.text("d/new"), "new");
    for path in ["a", "d/x", "d/y", "e/z"] {
        assert!(!scene.base.join(path).exists(), "{path}");
    }
}

/// C2: an empty file without a mark is an empty file; marks that say where something came from, or
/// that something lies below, are no change.
#[test]
fn other_marks_are_no_change() {
    let scene = laid();
    let top = scene.top();
    fs::write(top.join("empty"), "").unwrap();
    fs::write(top.join("a"), "a").unwrap();
    mark(&top.join("a"), "user.overlay.origin", "somewhere");
    fs::create_dir(top.join("d")).unwrap();
    mark(&top.join("d"), "user.overlay.impure", "y");
    assert_eq!(scene.told(), ["created empty apply"]);
}

/// C2: marks of features that we never enable were made by somebody else: refused.
#[test]
fn foreign_marks_are_refused() {
    let scene = laid();
    let top = scene.top();
    fs::create_dir(top.join("moved")).unwrap();
    mark(&top.join("moved"), "user.overlay.redirect", "/d");
    fs::write(top.join("moved/inner"), "i").unwrap();
    fs::write(top.join("hollow"), "h").unwrap();
    mark(&top.join("hollow"), "user.overlay.metacopy", "");
    for path in ["moved", "hollow"] {
        let change = scene.change(path).unwrap();
        let refused = matches!(change.disposition, Disposition::Refuse(_));
        assert!(refused, "{path}: {:?}", change.disposition);
    }
    assert_eq!(scene.change("moved/inner"), None);
    scene.apply();
    assert!(!scene.base.join("moved").exists() && !scene.base.join("hollow").exists());
}
