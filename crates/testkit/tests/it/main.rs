//! The testkit itself: a scene that isn't what it says makes every test on it a lie.
#![expect(
    clippy::unwrap_used,
    reason = "a scene that can't be set fails its test"
)]

mod cage;
mod environment;
mod provider;
mod terminal;

use deputize_testkit::forgotten_test_files;

#[test]
fn every_test_file_is_listed() {
    assert_eq!(forgotten_test_files(env!("CARGO_MANIFEST_DIR")), [""; 0]);
}
