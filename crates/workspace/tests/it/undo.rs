//! Taking back what was applied, as one change (C4).

use std::fs;

use deputize_workspace::{Conflicts, CopyState};

use crate::scene::{KINDS, Scene};

fn edited(kind: deputize_workspace::CopyKind) -> Scene {
    let scene = Scene::new(kind, |tree| {
        tree.file("a", "a")
            .file("b", "b")
            .file("d/e/f", "f")
            .link("l", "a");
    });
    scene.edit("echo A > a; rm b; rm -r d; mkdir -p n/m; echo x > n/m/x; ln -sf b l; chmod +x a");
    scene
}

/// C4: an undo gives exactly what was there before, and what was undone can be applied again.
#[test]
fn an_undo_gives_exactly_what_was_there() {
    for kind in KINDS {
        let scene = edited(kind);
        let before = scene.snapshot();
        scene.apply();
        let applied = scene.snapshot();
        assert_ne!(applied, before);
        scene.undo();
        assert_eq!(scene.snapshot(), before, "{kind:?}");
        assert_eq!(scene.copy().state().unwrap(), CopyState::Unapplied);
        let refusal = scene.copy().plan_undo().unwrap_err().refusal();
        assert_eq!(refusal.code, "nothing_to_undo");
        scene.apply();
        assert_eq!(scene.snapshot(), applied, "{kind:?}");
        scene.undo();
        assert_eq!(scene.snapshot(), before, "{kind:?}");
    }
}

/// C4: a file that was edited since is listed and left; the rest only when the person says so.
#[test]
fn what_was_edited_since_is_left() {
    for kind in KINDS {
        let scene = edited(kind);
        scene.apply();
        scene.person("a", "person");
        scene.person("n/mine", "person");
        let before = scene.snapshot();
        let mut copy = scene.copy();
        let plan = copy.plan_undo().unwrap();
        let listed: Vec<String> = plan.conflicts.iter().map(|one| one.path.text()).collect();
        assert_eq!(listed, ["a", "n"], "{kind:?}");
        let refusal = copy
            .carry_out(&plan, Conflicts::Refuse)
            .unwrap_err()
            .refusal();
        assert_eq!(refusal.code, "conflicts");
        assert_eq!(scene.snapshot(), before);
        copy.carry_out(&plan, Conflicts::LeaveOut).unwrap();
        assert_eq!(scene.text("a"), "person");
        assert_eq!(scene.text("n/mine"), "person");
        assert_eq!(scene.text("b"), "b");
        assert!(!scene.base.join("n/m").exists());
        // What was left can be taken back later.
        assert_eq!(copy.state().unwrap(), CopyState::PartlyApplied);
        fs::remove_file(scene.base.join("n/mine")).unwrap();
        fs::write(scene.base.join("a"), "A\n").unwrap();
        let plan = copy.plan_undo().unwrap();
        assert_eq!(plan.conflicts, []);
        copy.carry_out(&plan, Conflicts::Refuse).unwrap();
        assert_eq!(scene.text("a"), "a");
        assert!(!scene.base.join("n").exists());
    }
}

/// C4: several applies of one run are taken back together.
#[test]
fn several_applies_are_one_change() {
    for kind in KINDS {
        let scene = edited(kind);
        scene.edit("mkdir .claude; echo x > .claude/x");
        let before = scene.snapshot();
        scene.apply();
        let (mut copy, plan) = scene.plan(&[".claude"]);
        copy.carry_out(&plan, Conflicts::Refuse).unwrap();
        drop(copy);
        assert!(scene.base.join(".claude/x").exists());
        scene.undo();
        assert_eq!(scene.snapshot(), before, "{kind:?}");
    }
}
