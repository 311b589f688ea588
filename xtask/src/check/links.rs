//! Links between the documents of the repository: a reader who follows one arrives.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// Where documents are: in the root itself, and below these folders.
const FOLDERS: [&str; 2] = ["docs", "crates"];

/// Every relative link that leads nowhere.
pub(super) fn findings(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let root = workspace.root();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| root.join(folder)).collect();
    let mut documents = list(root)?;
    while let Some(folder) = folders.pop() {
        for entry in list(&folder)? {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                documents.push(entry);
            }
        }
    }
    documents.retain(|entry| entry.extension().is_some_and(|end| end == "md"));
    documents.sort();
    let mut findings = Vec::new();
    for document in documents {
        let text = fs::read_to_string(&document).map_err(Failure::file(&document))?;
        let folder = document.parent().unwrap_or(root);
        let shown = document.strip_prefix(root).unwrap_or(&document).display();
        let broken = targets(&text).filter(|target| !folder.join(target).exists());
        findings.extend(broken.map(|target| format!("{shown} links to {target}: not there")));
    }
    Ok(findings)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(Failure::file(folder))?;
    Ok(entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect())
}

/// The files that `](…)` points at: no addresses, no anchors.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .filter_map(|(target, _)| target.split('#').next())
        .filter(|target| !target.is_empty() && !target.contains("://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_followed() {
        let text = "[a](docs/a.md), [b](https://example.org/b), [c](#c), [d](d.md#part)";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["docs/a.md", "d.md"]);
    }
}
