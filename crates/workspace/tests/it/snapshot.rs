//! A run that wrote to the folder itself, taken back (C4).

use std::fs;
use std::process::Command;

use deputize_testkit::Tree;
use deputize_workspace::{ApplyRequest, CopyKind, CopyState, WorkingCopy};

use crate::scene::{Scene, settle, tell};

fn kept(lay: impl FnOnce(&Tree<'_>)) -> Scene {
    Scene::new(CopyKind::Snapshot, lay)
}

/// The run does something in the folder itself.
#[track_caller]
fn run(scene: &Scene, script: &str) {
    let done = Command::new("sh")
        .args(["-ec", script])
        .current_dir(&scene.base)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

fn project() -> Scene {
    kept(|tree| {
        tree.file("a", "a")
            .file("b", "b")
            .file("d/e/f", "f")
            .file("same", "same")
            .file("turns/x", "x")
            .file("settings.local", "mine")
            .file("target/built", "old")
            .file(".gitignore", "target/\n*.local\n")
            .file(".git/HEAD", "ref: refs/heads/main\n")
            .file(".git/objects/aa/bb", "object")
            .link("l", "a");
    })
}

const WORK: &str = "echo A > a; rm b; rm -r d; mkdir -p n/m; echo x > n/m/x; ln -sf b l; chmod +x a
    rm -r turns; echo file > turns; echo lost > settings.local; echo new > target/built
    echo 0000 > .git/HEAD; rm .git/objects/aa/bb; echo new > .git/objects/aa/cc
    mkdir -p n/target; echo built > n/target/x; echo same > same.new; mv same.new same.txt";

/// C4: whatever commands did to the folder, an undo gives exactly what was there before; what the
/// person's rules leave out as a folder is nobody's.
#[test]
fn what_a_run_wrote_directly_is_taken_back_as_one_change() {
    let scene = project();
    let before = scene.snapshot();
    run(&scene, WORK);
    let sealed = scene.copy().seal().unwrap().manifest;
    let told: Vec<String> = sealed.changes.iter().map(tell).collect();
    assert_eq!(
        told,
        [
            "modified .git/HEAD apply",
            "deleted .git/objects/aa/bb apply",
            "created .git/objects/aa/cc apply",
            "modified a apply",
            "deleted b apply",
            "deleted d apply",
            "deleted d/e apply",
            "deleted d/e/f apply",
            "modified l apply",
            "created n apply",
            "created n/m apply",
            "created n/m/x apply",
            "created same.txt apply",
            "modified settings.local apply",
            "modified turns apply",
            "deleted turns/x apply",
        ]
    );
    assert_eq!(scene.manifest(), sealed, "it stays what was sealed");
    assert_eq!(scene.copy().state().unwrap(), CopyState::Applied);
    assert!(!scene.run.join("copy/tree").exists(), "the rest isn't kept");
    run(
        &scene,
        "rm -r n/target; echo old > target/built; printf old > target/built",
    );
    scene.undo();
    assert_eq!(scene.snapshot(), before);
    assert!(scene.manifest().is_empty());
    let refusal = scene.copy().plan_undo().unwrap_err().refusal();
    assert_eq!(refusal.code, "nothing_to_undo");
}

/// C4: a run that was killed before its end is taken back as well; a second look seals nothing anew.
#[test]
fn a_killed_run_is_taken_back_too() {
    let scene = project();
    let before = scene.snapshot();
    run(&scene, "echo A > a; echo new > new");
    assert_eq!(scene.told(), ["modified a apply", "created new apply"]);
    assert_eq!(scene.copy().state().unwrap(), CopyState::Applied);
    scene.undo();
    assert_eq!(scene.snapshot(), before);
    scene.person("a", "person");
    assert!(scene.copy().seal().unwrap().manifest.is_empty());
}

/// C4: what the person changed after the run stays theirs.
#[test]
fn what_was_edited_since_is_left() {
    let scene = project();
    run(&scene, "echo A > a; echo B > b");
    scene.copy().seal().unwrap();
    scene.person("a", "person");
    let mut copy = scene.copy();
    let plan = copy.plan_undo().unwrap();
    let listed: Vec<String> = plan.conflicts.iter().map(|one| one.path.text()).collect();
    assert_eq!(listed, ["a"]);
    copy.carry_out(&plan, deputize_workspace::Conflicts::LeaveOut)
        .unwrap();
    assert_eq!(
        (scene.text("a"), scene.text("b")),
        ("person".to_owned(), "b".to_owned())
    );
}

/// C4: there is nothing to apply, and a text of what changed is shown until it is taken back.
#[test]
fn it_is_looked_at_and_never_applied() {
    let scene = project();
    run(&scene, "echo A > a");
    for _ in 0..2 {
        let change = scene.change("a").unwrap();
        let body = scene.copy().body(&change).unwrap();
        let deputize_workspace::Body::Text { added, removed, .. } = body else {
            panic!("{body:?}");
        };
        assert_eq!((added, removed), (1, 1));
        scene.copy().seal().unwrap();
    }
    let refusal = scene.copy().plan_apply(&ApplyRequest::default());
    assert_eq!(refusal.unwrap_err().refusal().code, "written_directly");
}

/// C4: what couldn't be kept is nobody's change, whatever becomes of it.
#[test]
fn what_could_not_be_kept_is_left_alone() {
    let scene = kept(|tree| {
        tree.file("a", "a").fifo("pipe").file("build/x", "x");
        tree.file("other/x", "x").fifo("still");
        tree.file(".gitignore", "build\nother\n");
    });
    run(
        &scene,
        "rm -r pipe build; ln -s /etc build; rm -r other/x; mkfifo new; echo A > a",
    );
    assert_eq!(scene.told(), ["modified a apply"]);
    let sealed = scene.copy().seal().unwrap();
    let unkept: Vec<String> = sealed
        .unkept
        .iter()
        .map(deputize_workspace::RelPath::text)
        .collect();
    assert_eq!(unkept, ["build", "pipe"], "it is said");
    scene.undo();
    assert_eq!(scene.text("a"), "a");
    assert!(!scene.base.join("pipe").exists());
}

/// C4: what another boundary put there to keep a place free, and took away meanwhile, isn't made.
#[test]
fn placeholders_of_others_are_not_made() {
    let scene = kept(|tree| {
        tree.file("a", "a").folder(".vscode").file("CLAUDE.md", "");
    });
    run(&scene, "rmdir .vscode; rm CLAUDE.md; echo A > a");
    assert_eq!(scene.told(), ["modified a apply"]);
    scene.undo();
    assert!(!scene.base.join(".vscode").exists());
}

/// C4, C2: a sweep leaves what alone undoes a run, until it is old; what a killed run left stays until it
/// is named.
#[test]
fn a_sweep_leaves_what_undoes_a_run() {
    use deputize_workspace::{Holds, Policy};
    let scene = project();
    run(&scene, "echo A > a");
    let survey = || WorkingCopy::survey(&scene.run, std::time::SystemTime::now()).unwrap();
    assert_eq!(survey().holds, Holds::Unapplied);
    scene.copy().seal().unwrap();
    assert_eq!(survey().holds, Holds::Undo);
    assert_eq!(Policy::default().choose(&[survey()]), [0; 0]);
    let old = Policy {
        older_than: Some(0),
        ..Policy::default()
    };
    assert_eq!(old.choose(&[survey()]), [0]);
}

/// C4: a change within the same tick of the clock as the keeping is found by its content.
#[test]
fn a_change_at_once_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (base, run) = (folder.path().join("base"), folder.path().join("run"));
    fs::create_dir(&base).unwrap();
    fs::create_dir(&run).unwrap();
    for round in 0..50 {
        fs::write(base.join("a"), "old").unwrap();
        let place = run.join(round.to_string());
        fs::create_dir(&place).unwrap();
        let of = crate::scene::folder_of(&base);
        let mut copy = WorkingCopy::create(&place, of, CopyKind::Snapshot).unwrap();
        fs::write(base.join("a"), "new").unwrap();
        assert_eq!(
            copy.seal().unwrap().manifest.changes.len(),
            1,
            "round {round}"
        );
    }
    settle(&base);
}
