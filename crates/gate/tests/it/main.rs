//! The gate from outside: one file per topic.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod bash;
mod day;
mod exec;
mod explain;
mod fuzz;
mod git;
mod hook;
mod hostile_git;
mod laws;
mod paths;
mod person_rules;
mod protected;
mod repository;
mod sealed;
mod verdicts;
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
