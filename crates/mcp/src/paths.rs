//! Runs and paths as a client names them.

use std::path::{Path, PathBuf};

use deputize_authority::{Refusal, escape};
use deputize_runs::{Live, Look, RelPath, RunError, RunId, Store, StoredRun};

/// A run of this process, or one that was.
pub(crate) enum Named {
    Live(RunId),
    Stored(StoredRun),
}

/// The run that is meant.
pub(crate) fn run(live: &Live, look: &Look, typed: &str) -> Result<Named, RunError> {
    if let Some(id) = live.find(typed) {
        return Ok(Named::Live(id));
    }
    let (_, run) = stored(look, typed)?;
    Ok(Named::Stored(run))
}

/// The run that is meant, from its folder.
pub(crate) fn stored(look: &Look, typed: &str) -> Result<(Store, StoredRun), RunError> {
    let store = Store::below(look.state()?);
    let run = store.find(typed)?;
    Ok((store, run))
}

/// The refusal of a run that this process doesn't host.
pub(crate) fn not_here(typed: &str) -> Refusal {
    Refusal::new(
        "run_not_here",
        "run",
        format!("no run `{}` goes on in this server", escape(typed)),
        "`subagent_status` lists the runs of this server",
    )
}

/// Paths inside a workspace.
pub(crate) fn below(paths: &[PathBuf]) -> Result<Vec<RelPath>, Refusal> {
    let one = |path: &PathBuf| {
        RelPath::typed(path).ok_or_else(|| no_path(path, "is no path inside the workspace"))
    };
    paths.iter().map(one).collect()
}

/// The refusal of a path.
pub(crate) fn no_path(path: &Path, what: &str) -> Refusal {
    Refusal::new(
        "path_invalid",
        "paths",
        format!("`{}` {what}", escape(&path.to_string_lossy())),
        "name paths as `subagent_diff` with `stat` lists them",
    )
}
