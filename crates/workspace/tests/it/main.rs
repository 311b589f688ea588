//! Copies of workspaces from outside: one file per topic.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod apply;
mod changes;
mod disk;
mod held;
mod laws;
mod marks;
mod mirror;
mod observe;
mod scene;
mod snapshot;
mod sweep;
mod text;
mod undo;

/// A file that isn't listed above would never run.
#[test]
fn every_file_is_listed() {
    let forgotten = deputize_testkit::forgotten_test_files(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(forgotten, [""; 0]);
}
