//! What a copy says that changed (C2).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use deputize_testkit::odd_names;
use deputize_workspace::{CopyKind, What};

use crate::scene::{KINDS, Scene, settle};

fn small(kind: CopyKind) -> Scene {
    Scene::new(kind, |tree| {
        tree.file("a.txt", "one\n")
            .file("b.txt", "two\n")
            .file("d/x", "x")
            .file("d/e/y", "y")
            .link("l", "a.txt")
            .program("run.sh", "#!/bin/sh\n");
    })
}

/// C2: everything that a child does to files, folders and links is told, and nothing else.
#[test]
fn each_change_is_told_once() {
    for kind in KINDS {
        let scene = small(kind);
        assert_eq!(scene.told(), [""; 0]);
        scene.edit(
            "echo more >> a.txt; rm b.txt; echo new > d/new; mkdir -p p/q; echo z > p/q/z; \
             ln -sf d/x l; chmod a-x run.sh",
        );
        assert_eq!(
            scene.told(),
            [
                "modified a.txt apply",
                "deleted b.txt apply",
                "created d/new apply",
                "modified l apply",
                "created p apply",
                "created p/q apply",
                "created p/q/z apply",
                "modified run.sh apply",
            ],
            "{kind:?}"
        );
        let run = scene.change("run.sh").unwrap();
        assert!(run.is_mode_only() && !run.new.unwrap().is_executable());
        assert_eq!(scene.change("l").unwrap().new.unwrap().what, What::Link);
    }
}

/// C2: a file that was only touched, copied up or written with the same bytes is no change.
#[test]
fn what_is_as_it_was_is_no_change() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit(
            "touch a.txt; cp a.txt t; cat t > a.txt; rm t; mv b.txt c; mv c b.txt; touch d/e; \
             chmod 600 run.sh; chmod 755 run.sh",
        );
        assert_eq!(scene.told(), [""; 0], "{kind:?}");
    }
}

/// C2: a folder that was deleted, also when another took its place (an opaque folder), loses what it
/// held.
#[test]
fn deleted_and_replaced_folders_tell_what_they_held() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit("rm -r d; mkdir d; echo n > d/n; mkdir d/e; echo y2 > d/e/y2");
        assert_eq!(
            scene.told(),
            [
                "deleted d/e/y apply",
                "created d/e/y2 apply",
                "created d/n apply",
                "deleted d/x apply",
            ],
            "{kind:?}"
        );
        scene.edit("rm -r d");
        assert_eq!(
            scene.told(),
            [
                "deleted d apply",
                "deleted d/e apply",
                "deleted d/e/y apply",
                "deleted d/x apply",
            ],
            "{kind:?}"
        );
    }
}

/// C2: a type that changes is one change, with what lay in a folder told too.
#[test]
fn a_type_can_change() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit("rm a.txt; mkdir a.txt; echo i > a.txt/i; rm -r d; echo f > d");
        assert_eq!(
            scene.told(),
            [
                "modified a.txt apply",
                "created a.txt/i apply",
                "modified d apply",
                "deleted d/e apply",
                "deleted d/e/y apply",
                "deleted d/x apply",
            ],
            "{kind:?}"
        );
    }
}

/// C2: names that aren't text, or hold line breaks, come through.
#[test]
fn odd_names_are_told_as_they_are() {
    for kind in KINDS {
        let mut names = Vec::new();
        let scene = Scene::new(kind, |tree| {
            tree.file("plain", "p");
        });
        let odd = tempfile::tempdir().unwrap();
        names.extend(odd_names(odd.path()));
        scene.edit(&format!("cp -r {}/. .", odd.path().display()));
        let manifest = scene.manifest();
        let told: Vec<_> = manifest
            .changes
            .iter()
            .map(|change| change.path.name().to_owned())
            .collect();
        names.sort();
        assert_eq!(told, names, "{kind:?}");
    }
}

/// C2: the person's ignore rules leave paths out; what the child wrote into an ignore file doesn't.
#[test]
fn ignored_paths_are_left_out_by_the_persons_rules_only() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file(".gitignore", "/target\n*.log\n")
                .file(".git/info/exclude", "local\n")
                .file(".git/HEAD", "ref: refs/heads/main\n")
                .file("sub/.gitignore", "!keep.log\n")
                .file("sub/a", "a");
        });
        scene.edit(
            "mkdir target; echo o > target/out; echo l > x.log; echo k > sub/keep.log; \
             echo m > local; echo '*' > .gitignore; echo s > src; ln target/out hard",
        );
        assert_eq!(
            scene.told(),
            [
                "modified .gitignore apply",
                "created hard apply",
                "created local skip",
                "created src apply",
                "created sub/keep.log apply",
                "created target skip",
                "created x.log skip",
            ],
            "{kind:?}"
        );
    }
}

/// C2: a folder without git, and an empty one, work alike.
#[test]
fn a_folder_needs_no_git() {
    for kind in KINDS {
        let scene = Scene::new(kind, |_| {});
        scene.edit("echo first > file");
        assert_eq!(scene.told(), ["created file apply"]);
    }
}

/// C2: the manifest's hash is that of the changes: the same again, another after another change.
#[test]
fn the_hash_stands_for_the_changes() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit("echo 1 > new");
        let first = scene.manifest();
        assert_eq!(scene.manifest(), first);
        assert_eq!(first.digest.len(), 64);
        // What the person does to other files, or even to this one, is no change of the copy's.
        settle(&scene.base);
        fs::write(scene.base.join("a.txt"), "person").unwrap();
        fs::write(scene.base.join("other"), "person").unwrap();
        assert_eq!(scene.manifest(), first);
        scene.edit("echo 2 > new");
        assert_ne!(scene.manifest().digest, first.digest);
    }
}

/// C2: what an ordinary user can't read in its own copy is refused, not passed over.
#[test]
fn a_closed_folder_is_refused() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit("mkdir shut; echo i > shut/i; mkdir open");
        fs::set_permissions(scene.top().join("shut"), fs::Permissions::from_mode(0o0)).unwrap();
        let told = scene.told();
        let expected = match deputize_testkit::is_root() {
            true => vec![
                "created open apply",
                "created shut apply",
                "created shut/i apply",
            ],
            false => vec!["created open apply", "created shut refuse"],
        };
        assert_eq!(told, expected, "{kind:?}");
    }
}
