//! The demo's own small world: a project with a failing test, a state folder, a model that plays what
//! was written down beforehand.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deputize_model::{Edge, Sleeper};
use deputize_runs::{Look, RunError, RunId};
use deputize_workspace::WorkingCopy;

use crate::driving::RealTime;

const PROJECT: [(&str, &str); 3] = [
    ("README.md", include_str!("../../../demo/project/README.md")),
    ("slug.sh", include_str!("../../../demo/project/slug.sh")),
    ("test.sh", include_str!("../../../demo/project/test.sh")),
];

/// What a repository has, as far as the demo goes: nothing of it is ever run.
const REPOSITORY: [(&str, &str); 3] = [
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\trepositoryformatversion = 0\n"),
    (".git/hooks/README", "git runs what is in here\n"),
];

const MODEL: &str = include_str!("../../../demo/model.json");

/// What stands in the recorded model where the daemon's time is: each demo has its own, to find it by.
const MARK: &str = "86399";

/// A demo's world. Dropping it removes what is left of it.
pub(super) struct Stage {
    folder: PathBuf,
    mark: String,
}

impl Stage {
    /// Unpacks it into a private folder among the temporary ones.
    pub(super) fn unpack() -> Result<Self, RunError> {
        let name = format!("deputize-demo-{}", RunId::new().short());
        let folder = std::env::temp_dir().join(name);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| RunError::State {
                doing: "unpack the demo into",
                path,
                source,
            }
        };
        let private = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        private(&folder).map_err(failed(&folder))?;
        let stage = Self {
            mark: format!("{MARK}.{}", std::process::id()),
            folder,
        };
        let project = stage.project();
        for path in [&project, &stage.state()] {
            private(path).map_err(failed(path))?;
        }
        for below in ["objects", "refs/heads", "hooks"] {
            let path = project.join(".git").join(below);
            fs::create_dir_all(&path).map_err(failed(&path))?;
        }
        for (name, text) in PROJECT.into_iter().chain(REPOSITORY) {
            let path = project.join(name);
            fs::write(&path, text).map_err(failed(&path))?;
        }
        Ok(stage)
    }

    /// The folder that the child is to work in.
    pub(super) fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// What the daemon is found by.
    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// The person's environment, standing in the demo's project and keeping its runs apart.
    pub(super) fn look(&self) -> Look {
        let own = ("XDG_STATE_HOME".into(), self.state().into_os_string());
        let others = std::env::vars_os().filter(|(name, _)| name != "XDG_STATE_HOME");
        Look::of(others.chain([own]).collect(), self.project())
    }

    /// Whether every file of the project is as it was unpacked, and nothing was added.
    pub(super) fn is_untouched(&self) -> bool {
        let project = self.project();
        let same = PROJECT.iter().chain(&REPOSITORY).all(|(name, text)| {
            fs::read(project.join(name)).is_ok_and(|now| now == text.as_bytes())
        });
        let names = fs::read_dir(&project).into_iter().flatten().count();
        same && names == PROJECT.len() + 1
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let runs = fs::read_dir(self.state().join("deputize/runs"));
        for run in runs.into_iter().flatten().flatten() {
            // A copy's folders have modes of their own; what can't be removed is only untidy.
            if let Ok(mut copy) = WorkingCopy::open(&run.path()) {
                let _ = copy.remove();
            }
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Edge for Stage {
    fn script(&self, _: &str, _: u64) -> Result<Vec<u8>, String> {
        Ok(MODEL.replace(MARK, &self.mark).into_bytes())
    }

    fn sleeper(&self) -> Arc<dyn Sleeper> {
        Arc::new(RealTime)
    }
}
