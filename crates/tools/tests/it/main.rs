//! The worker from outside: one file per topic.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod changed;
mod edit;
mod evidence;
mod find;
mod frames;
mod grep;
mod ignores;
mod links;
mod ls;
mod read;
mod secrets;
mod special;
mod stale;
mod swap;
mod world;
mod write;

/// A file that isn't listed above would never run.
#[test]
fn every_file_is_listed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let main = std::fs::read_to_string(format!("{folder}/main.rs")).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(
            name == "main" || main.contains(&format!("mod {name};")),
            "{name} is not listed in main.rs"
        );
    }
}
