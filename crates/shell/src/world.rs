//! What is known about the place where a command would run.

/// The place where a command would run. All paths are absolute and lexically normal.
#[derive(Debug, Clone)]
pub struct World {
    /// The working folder.
    pub cwd: String,
    /// Folders that may be changed: the workspace.
    pub writable: Vec<String>,
    /// Folders that may be read besides.
    pub readable: Vec<String>,
    /// The home folder.
    pub home: String,
    /// Who runs the command.
    pub user: User,
}

/// Who runs the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// The superuser.
    Root,
    /// Anybody else.
    Ordinary,
}

impl World {
    /// An ordinary user's workspace, worked in at its root.
    #[must_use]
    pub fn workspace(root: &str, home: &str) -> Self {
        Self {
            cwd: root.to_owned(),
            writable: vec![root.to_owned()],
            readable: Vec::new(),
            home: home.to_owned(),
            user: User::Ordinary,
        }
    }
}
