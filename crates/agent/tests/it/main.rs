//! The loop from outside: a host that answers every effect as a test says.

#![expect(
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod answer;
mod budget;
mod calls;
mod check;
mod ending;
mod host;
mod laws;
mod schema;
mod steer;
mod time;

/// Every file beside this one is a module of it, so none is forgotten.
#[test]
fn every_file_is_listed() {
    let listed = include_str!("main.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(module) = name.strip_suffix(".rs") {
            assert!(
                module == "main" || listed.contains(&format!("\nmod {module};")),
                "tests/it/{name} is not listed in main.rs"
            );
        }
    }
}
