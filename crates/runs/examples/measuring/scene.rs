//! A workspace to look at, and somewhere to keep runs, both gone at the end.

use std::fs;

use deputize_runs::Look;

use crate::measuring::Failure;

/// A file of 4 KB in the workspace.
pub(crate) const FILE: &str = "file.txt";

pub(crate) struct Scene {
    /// The environment of a person who stands in the workspace.
    pub(crate) look: Look,
    /// Holds the folders.
    _folder: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn new() -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let [work, home] = ["work", "home"].map(|name| folder.path().join(name));
        fs::create_dir(&work)?;
        fs::create_dir(&home)?;
        let line = "sixty-four bytes make a line, and sixty-four lines a file of it\n";
        fs::write(work.join(FILE), line.repeat(4096 / line.len()))?;
        let own = [
            ("HOME", home.as_path()),
            ("XDG_STATE_HOME", &home.join("state")),
        ];
        let own = own.map(|(name, path)| (name.into(), path.into()));
        let others = std::env::vars_os()
            .filter(|(name, _)| !own.iter().any(|(own, _): &(_, _)| own == name));
        let look = Look::of(others.chain(own.clone()).collect(), work);
        Ok(Self {
            look,
            _folder: folder,
        })
    }
}
