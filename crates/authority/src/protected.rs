//! Paths inside a workspace that configure what later runs outside the boundary.
//!
//! One table, two readers: the boundary keeps these read-only inside a writable workspace, also when
//! they don't exist yet, and the gate names the class when a call would change one.

use std::path::Path;

/// What a protected path does when it is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedKind {
    /// Git runs or obeys it on the host.
    Git,
    /// A coding agent loads it as configuration or instruction.
    Agent,
    /// An editor or a shell helper runs it.
    Editor,
}

/// How a protected path is kept when it doesn't exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A folder.
    Folder,
    /// A file.
    File,
}

/// One row of the table: a path relative to the workspace.
#[derive(Debug, Clone, Copy)]
pub struct ProtectedPath {
    /// Relative path.
    pub path: &'static str,
    /// What changing it would do.
    pub kind: ProtectedKind,
    /// What it is.
    pub shape: Shape,
}

const fn row(path: &'static str, kind: ProtectedKind, shape: Shape) -> ProtectedPath {
    ProtectedPath { path, kind, shape }
}

/// The table. Rows below `.git` hold for every repository found in the workspace.
pub const PROTECTED: &[ProtectedPath] = &[
    row(".git/hooks", ProtectedKind::Git, Shape::Folder),
    row(".git/config", ProtectedKind::Git, Shape::File),
    row(".git/config.worktree", ProtectedKind::Git, Shape::File),
    row(".git/commondir", ProtectedKind::Git, Shape::File),
    row(".git/info", ProtectedKind::Git, Shape::Folder),
    row(".git/worktrees", ProtectedKind::Git, Shape::Folder),
    row(".git/modules", ProtectedKind::Git, Shape::Folder),
    // Where git looked for remotes before it had configuration, and still does.
    row(".git/remotes", ProtectedKind::Git, Shape::Folder),
    row(".git/branches", ProtectedKind::Git, Shape::Folder),
    row(".husky", ProtectedKind::Git, Shape::Folder),
    row(".deputize", ProtectedKind::Agent, Shape::Folder),
    row(".pi", ProtectedKind::Agent, Shape::Folder),
    row(".claude", ProtectedKind::Agent, Shape::Folder),
    row(".codex", ProtectedKind::Agent, Shape::Folder),
    row(".agents", ProtectedKind::Agent, Shape::Folder),
    row(".gemini", ProtectedKind::Agent, Shape::Folder),
    row(".cursor", ProtectedKind::Agent, Shape::Folder),
    row(".mcp.json", ProtectedKind::Agent, Shape::File),
    row("AGENTS.md", ProtectedKind::Agent, Shape::File),
    row("CLAUDE.md", ProtectedKind::Agent, Shape::File),
    row("GEMINI.md", ProtectedKind::Agent, Shape::File),
    row(".vscode", ProtectedKind::Editor, Shape::Folder),
    row(".idea", ProtectedKind::Editor, Shape::Folder),
    row(".envrc", ProtectedKind::Editor, Shape::File),
];

/// The class of a path relative to a workspace (or to a repository in it), if it is protected.
///
/// Names are compared without case: some file systems don't tell `.Git` from `.git`.
#[must_use]
pub fn protected_kind(relative: &Path) -> Option<ProtectedKind> {
    // A name below that isn't text is below all the same.
    let text = relative.to_string_lossy().to_lowercase();
    PROTECTED
        .iter()
        .find(|row| {
            text.strip_prefix(&row.path.to_lowercase())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
        .map(|row| row.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B2, C2: what lies below a protected folder is protected whatever it is called.
    #[test]
    fn names_that_are_no_text_are_protected_too() {
        use std::os::unix::ffi::OsStrExt as _;
        let odd = std::ffi::OsStr::from_bytes(b".Claude/\xff\xfe");
        assert_eq!(protected_kind(Path::new(odd)), Some(ProtectedKind::Agent));
        let other = std::ffi::OsStr::from_bytes(b".claude\xff/x");
        assert_eq!(protected_kind(Path::new(other)), None);
    }
}
