//! Scores a labelled corpus of command lines.
//!
//! The scoring lives with the analysis, as an example of its crate, so that this tool stays small and
//! builds before it.

use std::path::Path;

use crate::command::show;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Prints the confusion table, the misses and the rates; fails when a goal is missed.
pub(crate) fn corpus(workspace: &Workspace, file: &str) -> Result<(), Failure> {
    // The example runs in the workspace's folder, and the path was typed in this one.
    let path = Path::new(file);
    let file = path.canonicalize().map_err(Failure::file(path))?;
    let scorer = [
        "run",
        "--quiet",
        "--release",
        "--package",
        "deputize-shell",
        "--example",
        "corpus",
        "--",
    ];
    show(workspace.cargo(&scorer).arg(file))
}
