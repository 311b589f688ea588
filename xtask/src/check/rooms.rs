//! What holds for every room: names that say something, the lints of the workspace, and unsafe
//! code only where the kernel is spoken to.

use std::fs;

use crate::failure::Failure;
use crate::sources::{self, Source};
use crate::workspace::Workspace;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 8] = [
    "utils", "util", "common", "helpers", "helper", "core", "manager", "misc",
];

/// Where `unsafe_code` may be expected: the boundary's system calls, and the testkit's cage, which
/// takes rights from a test's child as a container would.
const UNSAFE_ROOMS: [&str; 2] = ["crates/boundary/", "crates/testkit/"];

/// Everything in the tree that breaks one of these rules.
pub(super) fn findings(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let mut findings: Vec<String> = sources::all(workspace)?.iter().flat_map(source).collect();
    let crates = workspace.root().join("crates");
    let entries = fs::read_dir(&crates).map_err(Failure::file(&crates))?;
    let rooms = entries.filter_map(|entry| Some(entry.ok()?.path()));
    for room in rooms.chain([workspace.root().join("xtask")]) {
        let manifest = room.join("Cargo.toml");
        if !manifest.is_file() {
            continue;
        }
        let text = fs::read_to_string(&manifest).map_err(Failure::file(&manifest))?;
        if !text.contains("[lints]\nworkspace = true") {
            let manifest = manifest.display();
            findings.push(format!("{manifest} doesn't take the workspace's lints"));
        }
    }
    Ok(findings)
}

fn source(source: &Source) -> Vec<String> {
    let path = source.path.display().to_string();
    let mut findings = Vec::new();
    let names = source.path.iter().filter_map(|part| part.to_str());
    for name in names.map(|name| name.trim_end_matches(".rs")) {
        if EMPTY_NAMES.contains(&name) {
            findings.push(format!(
                "{path}: `{name}` says nothing about what is inside"
            ));
        }
    }
    let lints = ["unsafe_code", "warnings"];
    let speaks_to_the_kernel = UNSAFE_ROOMS.iter().any(|room| path.starts_with(room));
    for (index, line) in source.text.lines().enumerate() {
        let line = line.trim_start();
        let attribute = line.starts_with("#[") || line.starts_with("#![");
        let switches = attribute && (line.contains("expect(") || line.contains("allow("));
        if switches && !speaks_to_the_kernel && lints.iter().any(|lint| line.contains(lint)) {
            let number = index + 1;
            findings.push(format!(
                "{path}:{number}: this lint holds outside the kernel's rooms"
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        source(&Source {
            path: path.into(),
            text: text.to_owned(),
        })
        .len()
    }

    #[test]
    fn unsafe_code_stays_in_its_rooms() {
        let text = "#[expect(unsafe_code, reason = \"x\")]\nfn f() {}\n";
        assert_eq!(found("crates/boundary/src/sys.rs", text), 0);
        assert_eq!(found("crates/gate/src/sys.rs", text), 1);
        assert_eq!(found("crates/gate/src/sys.rs", "// unsafe_code allow("), 0);
    }

    #[test]
    fn empty_names_are_found() {
        assert_eq!(found("crates/gate/src/utils.rs", ""), 1);
        assert_eq!(found("crates/gate/src/common/paths.rs", ""), 1);
        assert_eq!(found("crates/gate/src/paths.rs", ""), 0);
    }
}
