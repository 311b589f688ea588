//! A test file that nobody listed runs no test, and nobody sees it.

use std::fs;
use std::path::Path;

/// Files in `tests/it` that `tests/it/main.rs` doesn't list as modules.
///
/// Each crate asserts that there are none:
/// `assert_eq!(forgotten_test_files(env!("CARGO_MANIFEST_DIR")), [""; 0])`.
///
/// # Panics
/// When the folder or its `main.rs` can't be read.
#[must_use]
pub fn forgotten_test_files(manifest_dir: &str) -> Vec<String> {
    let folder = Path::new(manifest_dir).join("tests/it");
    let main = fs::read_to_string(folder.join("main.rs")).unwrap();
    let listed: Vec<&str> = main
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    let mut forgotten: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() || path.extension().is_some_and(|end| end == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != "main" && !listed.contains(&name.as_str()))
        .collect();
    forgotten.sort();
    forgotten
}
