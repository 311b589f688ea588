//! Changes that come to the person's folder (C2, C3).

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use deputize_workspace::{ApplyRequest, Conflicts, CopyKind, CopyState, Plan, RelPath};

use crate::scene::{KINDS, Scene, settle};

fn small(kind: CopyKind) -> Scene {
    Scene::new(kind, |tree| {
        tree.file(".gitignore", "/target\n")
            .file("a.txt", "one\n")
            .file("b.txt", "two\n")
            .file("d/x", "x")
            .file("d/e/y", "y")
            .link("l", "a.txt")
            .program("run.sh", "#!/bin/sh\n");
    })
}

fn conflicts(plan: &Plan) -> Vec<String> {
    plan.conflicts
        .iter()
        .map(|one| format!("{}: {}", one.path.text(), one.why))
        .collect()
}

/// C2: what the child changed is what the person gets: contents, links, folders, the executable bit.
#[test]
fn an_apply_brings_what_the_copy_holds() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit(
            "echo more >> a.txt; rm b.txt; mkdir -p p/q; echo z > p/q/z; ln -sf d/x l; rm -r d/e; \
             mkdir d/e; chmod a-x run.sh; echo tool > tool; chmod +x tool; mkdir target; echo o > target/o",
        );
        let ctime = fs::metadata(scene.base.join("run.sh")).unwrap().ino();
        let outcome = scene.apply();
        assert_eq!(outcome.left, [], "{kind:?}");
        assert_eq!(scene.text("a.txt"), "one\nmore\n");
        assert!(!scene.base.join("b.txt").exists());
        assert_eq!(scene.text("p/q/z"), "z\n");
        assert_eq!(
            fs::read_link(scene.base.join("l")).unwrap().to_str(),
            Some("d/x")
        );
        assert!(!scene.base.join("d/e/y").exists() && scene.base.join("d/e").is_dir());
        let mode = |path: &str| fs::metadata(scene.base.join(path)).unwrap().mode() & 0o111;
        assert_eq!((mode("run.sh"), mode("tool")), (0, 0o111), "{kind:?}");
        // Only its permissions changed: it is the same file.
        assert_eq!(
            fs::metadata(scene.base.join("run.sh")).unwrap().ino(),
            ctime
        );
        assert!(!scene.base.join("target").exists());
        let left: Vec<_> = fs::read_dir(&scene.base)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| name.to_string_lossy().starts_with(".deputize"))
            .collect();
        assert_eq!(left, [""; 0]);
        assert_eq!(scene.copy().state().unwrap(), CopyState::Applied);
        // Once more changes nothing.
        let before = scene.snapshot();
        assert_eq!(scene.apply().done, 0, "{kind:?}");
        assert_eq!(scene.snapshot(), before);
    }
}

/// C2: a file that the person changed too is a conflict; by default nothing is touched then.
#[test]
fn conflicts_are_listed_and_nothing_is_touched() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit("echo mine > a.txt; rm b.txt; echo mine > new; rm -r d; echo mine > fine");
        scene.copy().observe().unwrap();
        scene.person("a.txt", "person");
        scene.person("b.txt", "person");
        scene.person("new", "person");
        scene.person("d/added", "person");
        let before = scene.snapshot();
        let (mut copy, plan) = scene.plan(&[]);
        assert_eq!(
            conflicts(&plan),
            [
                "a.txt: it was changed since",
                "b.txt: it was changed since",
                "d: it holds more than it did",
                "new: something else is there now",
            ],
            "{kind:?}"
        );
        let refusal = copy
            .carry_out(&plan, Conflicts::Refuse)
            .unwrap_err()
            .refusal();
        assert_eq!(refusal.code, "conflicts");
        assert_eq!(scene.snapshot(), before);
        let outcome = copy.carry_out(&plan, Conflicts::LeaveOut).unwrap();
        assert_eq!(outcome.left.len(), 4);
        assert_eq!(copy.state().unwrap(), CopyState::PartlyApplied);
        drop(copy);
        assert_eq!(scene.text("fine"), "mine\n");
        for path in ["a.txt", "b.txt", "new", "d/added"] {
            assert_eq!(scene.text(path), "person", "{kind:?} {path}");
        }
        assert!(!scene.base.join("d/x").exists());
    }
}

/// C2: what the person touched without changing it, or changed in the same way, is no conflict.
#[test]
fn the_same_change_is_no_conflict() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit("echo mine > a.txt; echo mine > b.txt; rm d/x");
        scene.copy().observe().unwrap();
        scene.person("a.txt", "one\n");
        scene.person("b.txt", "mine\n");
        fs::remove_file(scene.base.join("d/x")).unwrap();
        let outcome = scene.apply();
        assert_eq!((outcome.done, outcome.already), (1, 2), "{kind:?}");
        assert_eq!(scene.text("a.txt"), "mine\n");
    }
}

/// C2: what isn't sure to be what the child began from is a conflict.
#[test]
fn an_unsure_base_is_a_conflict() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit("echo mine > a.txt");
        scene.person("a.txt", "person");
        let (_, plan) = scene.plan(&[]);
        assert_eq!(
            conflicts(&plan),
            ["a.txt: it was changed while the child worked on it"],
            "{kind:?}"
        );
    }
}

/// C3: of two deputies that changed one file, the second one's apply is a conflict.
#[test]
fn the_second_of_two_writers_meets_a_conflict() {
    for kind in KINDS {
        let first = small(kind);
        let second_run = first.run.with_file_name("second");
        fs::create_dir(&second_run).unwrap();
        let second = first.another(&second_run, kind);
        first.edit("echo first > a.txt; echo first > one");
        second.edit("echo second > a.txt; echo second > two");
        first.copy().observe().unwrap();
        second.copy().observe().unwrap();
        settle(&first.base);
        first.apply();
        let (mut copy, plan) = second.plan(&[]);
        assert_eq!(
            conflicts(&plan),
            ["a.txt: it was changed since"],
            "{kind:?}"
        );
        copy.carry_out(&plan, Conflicts::LeaveOut).unwrap();
        assert_eq!(first.text("a.txt"), "first\n");
        assert_eq!(first.text("two"), "second\n");
    }
}

/// C2: held entries come only when they are named, refused ones never.
#[test]
fn held_entries_come_by_name_only() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit(
            "mkdir -p sub/.claude; echo x > sub/.claude/settings.json; echo y > CLAUDE.md; mkfifo pipe; \
             mkdir target; echo o > target/o",
        );
        scene.apply();
        assert!(scene.base.join("sub").is_dir() && !scene.base.join("sub/.claude").exists());
        assert!(!scene.base.join("CLAUDE.md").exists() && !scene.base.join("pipe").exists());
        let (mut copy, plan) = scene.plan(&["sub/.claude/settings.json"]);
        copy.carry_out(&plan, Conflicts::Refuse).unwrap();
        assert_eq!(scene.text("sub/.claude/settings.json"), "x\n", "{kind:?}");
        assert!(!scene.base.join("CLAUDE.md").exists());
        for (path, code) in [
            ("pipe", "include_refused"),
            ("target", "include_ignored"),
            ("nothing", "include_unknown"),
        ] {
            let request = ApplyRequest {
                manifest: None,
                include: vec![RelPath::from_text(path).unwrap()],
            };
            let refusal = copy.plan_apply(&request).unwrap_err().refusal();
            assert_eq!(refusal.code, code);
        }
    }
}

/// C2: only the manifest that was reviewed is applied.
#[test]
fn another_manifest_is_refused() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit("echo 1 > new");
        let reviewed = scene.manifest().digest;
        scene.edit("echo 2 > new");
        let before = scene.snapshot();
        for manifest in [reviewed.as_str(), "", "abc"] {
            let request = ApplyRequest {
                manifest: Some(manifest.to_owned()),
                include: Vec::new(),
            };
            let refusal = scene.copy().plan_apply(&request).unwrap_err().refusal();
            assert_eq!(refusal.code, "manifest_changed", "{kind:?} {manifest:?}");
        }
        assert_eq!(scene.snapshot(), before);
    }
}

/// C2: while the copy is open elsewhere nothing of it is applied.
#[test]
fn a_copy_in_use_is_not_applied() {
    let scene = small(CopyKind::Mirror);
    scene.edit("echo 1 > new");
    let supervisor = scene.copy();
    let refusal = scene
        .copy()
        .plan_apply(&ApplyRequest::default())
        .unwrap_err()
        .refusal();
    assert_eq!(refusal.code, "copy_in_use");
    drop(supervisor);
    scene.apply();
}

/// C2: a link that the person put in a folder's place isn't followed.
#[test]
fn nothing_is_written_through_a_link() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit("echo mine > d/new; echo mine > d/x");
        scene.copy().observe().unwrap();
        let outside = scene.run.join("outside");
        fs::rename(scene.base.join("d"), &outside).unwrap();
        std::os::unix::fs::symlink(&outside, scene.base.join("d")).unwrap();
        let (mut copy, plan) = scene.plan(&[]);
        assert_eq!(
            conflicts(&plan),
            [
                "d/new: its folder isn't there any more",
                "d/x: it isn't there any more"
            ],
            "{kind:?}"
        );
        copy.carry_out(&plan, Conflicts::LeaveOut).unwrap();
        assert!(!outside.join("new").exists());
        assert_eq!(fs::read_to_string(outside.join("x")).unwrap(), "x");
    }
}

/// C2: a folder whose place was taken by something that is refused keeps all that it holds.
#[test]
fn a_refused_replacement_leaves_the_folder_whole() {
    for kind in KINDS {
        let scene = small(kind);
        scene.edit("rm -r d; ln -s /etc d; echo fine > fine");
        scene.apply();
        assert_eq!(scene.text("fine"), "fine\n");
        assert_eq!(
            (scene.text("d/x"), scene.text("d/e/y")),
            ("x".into(), "y".into()),
            "{kind:?}"
        );
    }
}

/// C2: folders stay that hold what was left out: ignored build results, held configuration.
#[test]
fn a_folder_stays_for_what_was_left_out() {
    for kind in KINDS {
        let scene = Scene::new(kind, |tree| {
            tree.file(".gitignore", "target\n")
                .file("pkg/src", "s")
                .file("pkg/target/out", "o")
                .file("gone/src", "s");
        });
        scene.edit("rm -r pkg gone");
        let (mut copy, plan) = scene.plan(&[]);
        assert_eq!(conflicts(&plan), [""; 0], "{kind:?}");
        let kept: Vec<String> = plan.kept.iter().map(RelPath::text).collect();
        assert_eq!(kept, ["pkg"]);
        copy.carry_out(&plan, Conflicts::Refuse).unwrap();
        assert_eq!(scene.text("pkg/target/out"), "o");
        assert!(!scene.base.join("pkg/src").exists() && !scene.base.join("gone").exists());
    }
}

/// C2: permissions are the child's, never wider than the person's umask or what was there.
#[test]
fn permissions_are_not_widened() {
    for kind in KINDS {
        let scene = Scene::at(kind, |root| {
            fs::write(root.join("private"), "p").unwrap();
            fs::set_permissions(root.join("private"), fs::Permissions::from_mode(0o600)).unwrap();
            fs::write(root.join("group"), "g").unwrap();
            fs::set_permissions(root.join("group"), fs::Permissions::from_mode(0o664)).unwrap();
        });
        scene.edit(
            "echo 2 > private; echo 2 > group; umask 0; echo w > wide; chmod 666 wide; \
             echo s > secret; chmod 600 secret; mkdir open; chmod 777 open",
        );
        scene.apply();
        let mode = |path: &str| fs::metadata(scene.base.join(path)).unwrap().mode() & 0o777;
        assert_eq!((mode("private"), mode("group")), (0o600, 0o664), "{kind:?}");
        assert_eq!(mode("secret"), 0o600);
        assert_eq!((mode("wide") & 0o002, mode("open") & 0o002), (0, 0));
    }
}
