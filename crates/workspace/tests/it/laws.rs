//! Laws over random trees and edits (C2, C4).

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use deputize_workspace::{CopyKind, Disposition};
use proptest::prelude::*;

use crate::scene::{Scene, snapshot};

/// Something that is done to a folder; what can't be done is left.
#[derive(Debug, Clone)]
enum Edit {
    Write(String, u8),
    Folder(String),
    Link(String, String),
    Remove(String),
    Move(String, String),
    Mode(String, bool),
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c d", "é\n"]), 1..4)
        .prop_map(|names| names.join("/"))
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (path(), any::<u8>()).prop_map(|(path, byte)| Edit::Write(path, byte)),
        2 => path().prop_map(Edit::Folder),
        1 => (path(), path()).prop_map(|(path, target)| Edit::Link(path, target)),
        2 => path().prop_map(Edit::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Edit::Move(from, to)),
        1 => (path(), any::<bool>()).prop_map(|(path, run)| Edit::Mode(path, run)),
    ]
}

fn perform(root: &Path, edits: &[Edit]) {
    // What can't be done, such as writing to a folder, is no edit.
    for edit in edits {
        let at = |path: &str| root.join(path);
        let is_link = |path: &str| at(path).is_symlink();
        let through_link = |path: &str| {
            Path::new(path)
                .ancestors()
                .skip(1)
                .any(|above| root.join(above).is_symlink())
        };
        match edit {
            Edit::Write(path, byte) if !is_link(path) && !through_link(path) => {
                let _ = fs::write(at(path), vec![*byte; usize::from(*byte)]);
            }
            Edit::Folder(path) if !through_link(path) => {
                let _ = fs::create_dir_all(at(path));
            }
            Edit::Link(path, target) if !through_link(path) => {
                let _ = symlink(target, at(path));
            }
            Edit::Remove(path) if !through_link(path) => {
                let _ = fs::remove_file(at(path)).or_else(|_| fs::remove_dir_all(at(path)));
            }
            Edit::Move(from, to) if !through_link(from) && !through_link(to) => {
                let _ = fs::rename(at(from), at(to));
            }
            Edit::Mode(path, run)
                if !is_link(path) && at(path).is_file() && !through_link(path) =>
            {
                let mode = if *run { 0o755 } else { 0o644 };
                let _ = fs::set_permissions(at(path), fs::Permissions::from_mode(mode));
            }
            _ => {}
        }
    }
}

/// The same edits as a script, for a child in an overlay that only it sees.
fn script(edits: &[Edit]) -> String {
    let quoted = |path: &str| format!("'./{path}'");
    let lines = edits.iter().map(|edit| match edit {
        Edit::Write(path, byte) => {
            format!("head -c {byte} /dev/zero | tr '\\0' x > {}", quoted(path))
        }
        Edit::Folder(path) => format!("mkdir -p {}", quoted(path)),
        Edit::Link(path, target) => format!("ln -sT '{target}' {}", quoted(path)),
        Edit::Remove(path) => format!("rm -rf {}", quoted(path)),
        Edit::Move(from, to) => format!("mv -T {} {}", quoted(from), quoted(to)),
        Edit::Mode(path, run) => {
            let mode = if *run { 755 } else { 644 };
            format!("[ -f {0} ] && chmod {mode} {0}", quoted(path))
        }
    });
    lines
        .map(|line| format!("({line}) 2>/dev/null || true\n"))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// C2, C4: what the kernel's overlay showed to the child is what an apply gives.
    #[test]
    fn what_the_child_saw_is_what_an_apply_gives(
        first in prop::collection::vec(edit(), 1..20),
        then in prop::collection::vec(edit(), 1..20),
    ) {
        let scene = Scene::at(CopyKind::Overlay, |root| perform(root, &first));
        let before = scene.snapshot();
        let seen = scene.run.join("seen");
        scene.edit(&format!("{}cp -a . '{}'", script(&then), seen.display()));
        let manifest = scene.manifest();
        let all = manifest.changes.iter().all(|change| change.disposition == Disposition::Apply);
        scene.apply();
        let applied = scene.snapshot();
        if all {
            prop_assert_eq!(&applied, &snapshot(&seen));
        }
        if applied != before {
            scene.undo();
        }
        prop_assert_eq!(scene.snapshot(), before);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// C4: whatever was done to the folder itself, an undo gives what was there before.
    #[test]
    fn undo_gives_what_a_direct_run_found(
        first in prop::collection::vec(edit(), 1..20),
        then in prop::collection::vec(edit(), 1..20),
    ) {
        let scene = Scene::at(CopyKind::Snapshot, |root| perform(root, &first));
        let before = scene.snapshot();
        perform(&scene.base, &then);
        let changed = scene.snapshot() != before;
        let sealed = scene.copy().seal().unwrap().manifest;
        prop_assert_eq!(!sealed.is_empty(), changed);
        if changed {
            scene.undo();
        }
        prop_assert_eq!(scene.snapshot(), before);
    }

    /// C2, C4: whatever was done, an apply gives the copy's state and an undo gives the base's.
    #[test]
    fn apply_gives_the_copy_and_undo_gives_the_base(
        first in prop::collection::vec(edit(), 1..20),
        then in prop::collection::vec(edit(), 1..20),
    ) {
        let scene = Scene::at(CopyKind::Mirror, |root| perform(root, &first));
        let tree = scene.run.join("copy/tree");
        let before = scene.snapshot();
        perform(&tree, &then);
        let wanted = snapshot(&tree);
        let manifest = scene.manifest();
        let all = manifest.changes.iter().all(|change| change.disposition == Disposition::Apply);
        scene.apply();
        let applied = scene.snapshot();
        if all {
            prop_assert_eq!(&applied, &wanted);
        }
        // A second apply finds nothing to do.
        prop_assert_eq!(scene.apply().done, 0);
        if applied != before {
            scene.undo();
        }
        prop_assert_eq!(scene.snapshot(), before);
    }
}
