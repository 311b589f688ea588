//! A disk that is full (C2): nothing of the person's is touched.

use std::fs;

use deputize_testkit::{SmallDisk, Tree};
use deputize_workspace::{ApplyRequest, Conflicts, CopyKind, CopyState, Holds, WorkingCopy};

use crate::scene::{folder_of, snapshot};

/// C2: a workspace's disk that fills up while changes are staged leaves everything as it was.
#[test]
fn a_full_workspace_disk_leaves_everything_as_it_was() {
    // Only root can mount a small disk.
    let Some(disk) = SmallDisk::mount(512) else {
        return;
    };
    let base = disk.path().join("base");
    let run = tempfile::tempdir().unwrap();
    fs::create_dir(&base).unwrap();
    Tree::at(&base).file("a", "a").file("b", "b");
    let mut copy = WorkingCopy::create(run.path(), folder_of(&base), CopyKind::Mirror).unwrap();
    let tree = run.path().join("copy/tree");
    fs::write(tree.join("a"), "A").unwrap();
    fs::write(tree.join("huge"), vec![1u8; 1 << 20]).unwrap();
    fs::remove_file(tree.join("b")).unwrap();
    let before = snapshot(&base);
    let plan = copy.plan_apply(&ApplyRequest::default()).unwrap();
    let refusal = copy
        .carry_out(&plan, Conflicts::Refuse)
        .unwrap_err()
        .refusal();
    assert_eq!(refusal.code, "copy_failed", "{refusal}");
    assert_eq!(snapshot(&base), before);
    assert_eq!(copy.state().unwrap(), CopyState::Unapplied);
}

/// C2: a state disk that fills up keeps the old content from being kept, so nothing is replaced.
#[test]
fn a_full_state_disk_leaves_everything_as_it_was() {
    let Some(disk) = SmallDisk::mount(512) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (base, run) = (folder.path().join("base"), disk.path().join("run"));
    fs::create_dir(&base).unwrap();
    fs::create_dir(&run).unwrap();
    Tree::at(&base).file("a", vec![7u8; 150 << 10]);
    let mut copy = WorkingCopy::create(&run, folder_of(&base), CopyKind::Mirror).unwrap();
    fs::write(run.join("copy/tree/a"), "A").unwrap();
    let filler = vec![1u8; 400 << 10];
    // As much as fits: the write itself fails, and what was written stays.
    let _ = fs::write(disk.path().join("filler"), &filler);
    let before = snapshot(&base);
    let tried = copy
        .plan_apply(&ApplyRequest::default())
        .and_then(|plan| copy.carry_out(&plan, Conflicts::Refuse));
    assert_eq!(tried.unwrap_err().refusal().code, "copy_failed");
    assert_eq!(snapshot(&base), before);
    fs::remove_file(disk.path().join("filler")).unwrap();
    let plan = copy.plan_apply(&ApplyRequest::default()).unwrap();
    copy.carry_out(&plan, Conflicts::Refuse).unwrap();
    assert_eq!(fs::read_to_string(base.join("a")).unwrap(), "A");
}

/// C2: a mirror that doesn't fit is no mirror, and leaves nothing behind.
#[test]
fn a_mirror_that_does_not_fit_is_removed() {
    let Some(disk) = SmallDisk::mount(512) else {
        return;
    };
    let base = tempfile::tempdir().unwrap();
    Tree::at(base.path()).file("huge", vec![1u8; 1 << 20]);
    let made = WorkingCopy::create(disk.path(), folder_of(base.path()), CopyKind::Mirror);
    assert_eq!(made.unwrap_err().refusal().code, "copy_failed");
    assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
}

/// C4: an undo that doesn't fit on the state disk leaves nothing of its own there, and can be done
/// once there is room.
#[test]
fn an_undo_that_does_not_fit_leaves_nothing_behind() {
    let Some(disk) = SmallDisk::mount(1024) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (base, run) = (folder.path().join("base"), disk.path().join("run"));
    fs::create_dir(&base).unwrap();
    fs::create_dir(&run).unwrap();
    Tree::at(&base).file("a", "a").file("b", "b");
    let mut copy = WorkingCopy::create(&run, folder_of(&base), CopyKind::Mirror).unwrap();
    for (name, byte) in [("a", 1u8), ("b", 2u8)] {
        fs::write(run.join("copy/tree").join(name), vec![byte; 150 << 10]).unwrap();
    }
    let plan = copy.plan_apply(&ApplyRequest::default()).unwrap();
    copy.carry_out(&plan, Conflicts::Refuse).unwrap();
    let applied = snapshot(&base);
    let kept = || {
        let listed = fs::read_dir(run.join("copy/undo")).unwrap();
        let mut names: Vec<_> = listed.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = kept();
    // Room for the first of the two, and not for the second.
    let filler = disk.path().join("filler");
    let _ = fs::write(&filler, vec![1u8; 1 << 20]);
    let taken = fs::metadata(&filler).unwrap().len();
    let room = fs::File::options().write(true).open(&filler).unwrap();
    room.set_len(taken - (200 << 10)).unwrap();
    drop(room);
    let plan = copy.plan_undo().unwrap();
    let tried = copy.carry_out(&plan, Conflicts::Refuse);
    assert_eq!(tried.unwrap_err().refusal().code, "copy_failed");
    assert_eq!(snapshot(&base), applied);
    assert_eq!(kept(), before);
    assert_eq!(copy.state().unwrap(), CopyState::Applied);
    fs::remove_file(&filler).unwrap();
    let plan = copy.plan_undo().unwrap();
    copy.carry_out(&plan, Conflicts::Refuse).unwrap();
    assert_eq!(fs::read(base.join("a")).unwrap(), b"a");
}

/// C2: on a state disk that can't be written, a copy can still be looked at, and isn't applied.
#[test]
fn a_copy_on_a_read_only_disk_is_looked_at() {
    let Some(disk) = SmallDisk::mount(1024) else {
        return;
    };
    let base = tempfile::tempdir().unwrap();
    Tree::at(base.path()).file("a", "a");
    drop(WorkingCopy::create(disk.path(), folder_of(base.path()), CopyKind::Mirror).unwrap());
    fs::write(disk.path().join("copy/tree/a"), "A").unwrap();
    let mut remount = std::process::Command::new("mount");
    let remount = remount.args(["-o", "remount,ro"]).arg(disk.path());
    assert!(remount.status().unwrap().success());
    let mut copy = WorkingCopy::open(disk.path()).unwrap();
    assert_eq!(copy.changes().unwrap().changes.len(), 1);
    assert!(!copy.is_in_use());
    drop(copy);
    let survey = WorkingCopy::survey(disk.path(), std::time::SystemTime::now()).unwrap();
    assert_eq!(survey.holds, Holds::Unapplied);
    let mut copy = WorkingCopy::open(disk.path()).unwrap();
    let plan = copy.plan_apply(&ApplyRequest::default()).unwrap();
    let tried = copy.carry_out(&plan, Conflicts::Refuse);
    assert_eq!(tried.unwrap_err().refusal().code, "copy_failed");
    assert_eq!(fs::read(base.path().join("a")).unwrap(), b"a");
}
