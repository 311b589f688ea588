//! G8: what runs is what was judged, by inode.

use deputize_authority::{Bounds, Grant, Layer, Set};
use deputize_gate::{Call, Sealed, Verdict};
use deputize_tools::{OpenError, Worker};
use serde_json::{Value, json};

use crate::world::{Outcome, World, grant};

fn sealed(world: &mut World, tool: &str, arguments: &Value) -> Sealed<Call> {
    match world.judge(tool, arguments) {
        Verdict::Allow(allowed) => allowed.sealed,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_changed(outcome: Outcome) {
    let Outcome::Failed(failure) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(failure.code, "changed_since_check");
}

#[test]
fn g8_another_file_under_the_same_name_is_not_read() {
    let mut world = World::new();
    world.file("a", "first");
    let call = sealed(&mut world, "read", &json!({"path": "a"}));
    // The old inode stays taken, so the new file can't get its number.
    std::fs::rename(world.path("a"), world.path("old")).unwrap();
    world.file("a", "second");
    assert_changed(world.run(call));
}

#[test]
fn g8_a_link_in_its_place_is_not_followed() {
    let mut world = World::new();
    world.file("a", "first");
    world.file("b", "second");
    let call = sealed(&mut world, "read", &json!({"path": "a"}));
    std::fs::rename(world.path("a"), world.path("old")).unwrap();
    world.link("b", "a");
    assert_changed(world.run(call));
}

#[test]
fn g8_something_that_appeared_since_is_not_read() {
    let mut world = World::new();
    let call = sealed(&mut world, "read", &json!({"path": "a"}));
    world.file("a", "new");
    assert_changed(world.run(call));
}

#[test]
fn g8_a_folder_that_was_swapped_is_not_searched() {
    let mut world = World::new();
    world.file("d/a", "needle");
    let call = sealed(
        &mut world,
        "grep",
        &json!({"pattern": "needle", "path": "d"}),
    );
    std::fs::rename(world.path("d"), world.path("old")).unwrap();
    world.file("d/a", "needle");
    assert_changed(world.run(call));
}

/// The same file with new content is the same file: reading it is what was allowed.
#[test]
fn new_content_in_the_same_file_is_read() {
    let mut world = World::new();
    world.file("a", "first");
    let call = sealed(&mut world, "read", &json!({"path": "a"}));
    world.file("a", "second");
    let Outcome::Output(output) = world.run(call) else {
        panic!("no output");
    };
    assert_eq!(output.rendered(), "     1\tsecond\n");
    assert_eq!(output.files_seen, 1);
}

#[test]
fn a_workspace_that_was_swapped_is_not_opened() {
    let world = World::new();
    let workspace = world.path("");
    let granted = grant(
        &world.path("").components().collect::<std::path::PathBuf>(),
        vec![],
    );
    std::fs::rename(&workspace, world.base().join("old")).unwrap();
    std::fs::create_dir(&workspace).unwrap();
    assert!(matches!(
        Worker::open(&granted),
        Err(OpenError::WorkspaceChanged)
    ));
    std::fs::remove_dir(&workspace).unwrap();
    assert!(matches!(
        Worker::open(&granted),
        Err(OpenError::Root { .. })
    ));
}

/// The worker knows only the roots of its own grant, whatever a sealed call says.
#[test]
fn g7_a_worker_with_a_narrower_grant_refuses() {
    let mut world = World::new();
    world.file("sub/a", "x");
    world.file("b", "x");
    let call = sealed(&mut world, "read", &json!({"path": "b"}));
    let narrow: Grant = world.grant.attenuate(
        Layer::Request,
        &Bounds {
            read: Set::only([deputize_authority::Root::new(world.path("sub")).unwrap()]),
            ..Bounds::ANY
        },
    );
    world.worker = Worker::open(&narrow).unwrap();
    let Outcome::Failed(failure) = world.run(call) else {
        panic!("it ran");
    };
    assert_eq!(failure.code, "outside");
}
