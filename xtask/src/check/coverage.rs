//! The documents that name tests, held against the sources: a promise whose test is gone is none.
//!
//! A test is named in backticks by its room and its function, with as much of the path between as
//! helps a reader: `gate::paths::a_link_out_is_denied`. The first part must be a folder of
//! `crates/` (or `xtask`), the last a test function in it.

use std::collections::BTreeSet;
use std::fs;

use crate::failure::Failure;
use crate::sources::{self, Source};
use crate::workspace::Workspace;

/// The documents that name tests.
const DOCUMENTS: [&str; 2] = ["docs/coverage.md", "SECURITY.md"];

/// Every named test that doesn't exist.
pub(super) fn findings(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let sources = sources::all(workspace)?;
    let mut findings = Vec::new();
    for document in DOCUMENTS {
        let path = workspace.root().join(document);
        if !path.is_file() {
            findings.push(format!("{document} is missing"));
            continue;
        }
        let text = fs::read_to_string(&path).map_err(Failure::file(&path))?;
        let missing = missing(&text, &sources);
        findings.extend(missing.map(|name| format!("{document} names {name}: no such test")));
    }
    Ok(findings)
}

fn missing(document: &str, sources: &[Source]) -> impl Iterator<Item = String> {
    let rooms: BTreeSet<&str> = sources.iter().filter_map(room).collect();
    let names: BTreeSet<&str> = document.split('`').skip(1).step_by(2).collect();
    let missing = names.into_iter().filter(move |name| {
        let Some((first, rest)) = name.split_once("::") else {
            return false;
        };
        let function = rest.rsplit("::").next().unwrap_or(rest);
        let exists = |source: &Source| {
            room(source) == Some(first) && source.text.contains(&format!("fn {function}("))
        };
        rooms.contains(first) && !sources.iter().any(exists)
    });
    missing.map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// `gate` for `crates/gate/…`, `xtask` for `xtask/…`.
fn room(source: &Source) -> Option<&str> {
    let mut parts = source.path.iter().filter_map(|part| part.to_str());
    match parts.next()? {
        "crates" => parts.next(),
        first => Some(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_test_that_is_gone_is_named() {
        let sources = [Source {
            path: "crates/gate/tests/it/paths.rs".into(),
            text: "#[test]\nfn a_link_is_denied() {}\n".to_owned(),
        }];
        let document = "`gate::paths::a_link_is_denied`, `gate::a_link_is_lost`, \
                        `std::fs::read`, `no_model`, and `gate`.";
        let missing: Vec<String> = missing(document, &sources).collect();
        assert_eq!(missing, ["gate::a_link_is_lost"]);
    }
}
