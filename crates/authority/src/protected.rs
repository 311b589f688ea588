//! Paths that configure what later runs outside the boundary.
//!
//! One table, two readers: the boundary keeps these read-only inside a writable root, also when they
//! don't exist yet, and the gate names the class when a call would change one, by a tool or from a
//! command line. Neither knows a place that isn't here.

use std::path::{Component, Path, PathBuf};

/// What a protected path does when it is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedKind {
    /// Git runs or obeys it on the host.
    Git,
    /// A coding agent loads it as configuration: tools, hooks, permissions.
    Agent,
    /// A coding agent takes it as its principal's word.
    Instructions,
    /// An editor runs it.
    Editor,
    /// A shell, a login or a service runs it when it starts or enters the folder.
    Startup,
}

impl ProtectedKind {
    /// Every class.
    pub const ALL: [Self; 5] = [
        Self::Git,
        Self::Agent,
        Self::Instructions,
        Self::Editor,
        Self::Startup,
    ];
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

const fn folder(path: &'static str, kind: ProtectedKind) -> ProtectedPath {
    ProtectedPath {
        path,
        kind,
        shape: Shape::Folder,
    }
}

const fn file(path: &'static str, kind: ProtectedKind) -> ProtectedPath {
    ProtectedPath {
        path,
        kind,
        shape: Shape::File,
    }
}

/// The table. Rows below `.git` hold for every repository found in the workspace; the other rows hold
/// in the workspace, beside every repository, and wherever such a file exists already.
pub const PROTECTED: &[ProtectedPath] = &[
    folder(".git/hooks", ProtectedKind::Git),
    file(".git/config", ProtectedKind::Git),
    file(".git/config.worktree", ProtectedKind::Git),
    file(".git/commondir", ProtectedKind::Git),
    folder(".git/info", ProtectedKind::Git),
    folder(".git/worktrees", ProtectedKind::Git),
    folder(".git/modules", ProtectedKind::Git),
    // Where git looked for remotes before it had configuration, and still does.
    folder(".git/remotes", ProtectedKind::Git),
    folder(".git/branches", ProtectedKind::Git),
    folder(".husky", ProtectedKind::Git),
    folder(".deputize", ProtectedKind::Agent),
    folder(".pi", ProtectedKind::Agent),
    folder(".claude", ProtectedKind::Agent),
    folder(".codex", ProtectedKind::Agent),
    folder(".agents", ProtectedKind::Agent),
    folder(".gemini", ProtectedKind::Agent),
    folder(".cursor", ProtectedKind::Agent),
    folder(".windsurf", ProtectedKind::Agent),
    folder(".roo", ProtectedKind::Agent),
    folder(".kiro", ProtectedKind::Agent),
    folder(".continue", ProtectedKind::Agent),
    folder(".opencode", ProtectedKind::Agent),
    file("opencode.json", ProtectedKind::Agent),
    file(".mcp.json", ProtectedKind::Agent),
    file("AGENTS.md", ProtectedKind::Instructions),
    file("AGENTS.override.md", ProtectedKind::Instructions),
    file("CLAUDE.md", ProtectedKind::Instructions),
    file("CLAUDE.local.md", ProtectedKind::Instructions),
    file("GEMINI.md", ProtectedKind::Instructions),
    file(".cursorrules", ProtectedKind::Instructions),
    file(".windsurfrules", ProtectedKind::Instructions),
    file(".clinerules", ProtectedKind::Instructions),
    file(".goosehints", ProtectedKind::Instructions),
    folder(".vscode", ProtectedKind::Editor),
    folder(".idea", ProtectedKind::Editor),
    folder(".zed", ProtectedKind::Editor),
    folder(".fleet", ProtectedKind::Editor),
    folder(".devcontainer", ProtectedKind::Editor),
    file(".devcontainer.json", ProtectedKind::Editor),
    file(".vimrc", ProtectedKind::Editor),
    file(".exrc", ProtectedKind::Editor),
    file(".nvim.lua", ProtectedKind::Editor),
    file(".dir-locals.el", ProtectedKind::Editor),
    file(".envrc", ProtectedKind::Startup),
    file(".bashrc", ProtectedKind::Startup),
    file(".bash_profile", ProtectedKind::Startup),
    file(".bash_login", ProtectedKind::Startup),
    file(".bash_logout", ProtectedKind::Startup),
    file(".profile", ProtectedKind::Startup),
    file(".zshrc", ProtectedKind::Startup),
    file(".zshenv", ProtectedKind::Startup),
    file(".zprofile", ProtectedKind::Startup),
    file(".zlogin", ProtectedKind::Startup),
    file(".zlogout", ProtectedKind::Startup),
];

/// What a shell, a login or a service runs outside a workspace, below the home folder. These count in a
/// root that was granted there.
pub const HOME_STARTUP: &[ProtectedPath] = &[
    file(".bash_aliases", ProtectedKind::Startup),
    file(".inputrc", ProtectedKind::Startup),
    file(".xprofile", ProtectedKind::Startup),
    file(".xinitrc", ProtectedKind::Startup),
    file(".xsession", ProtectedKind::Startup),
    file(".gitconfig", ProtectedKind::Startup),
    folder(".config/git", ProtectedKind::Startup),
    folder(".config/fish", ProtectedKind::Startup),
    folder(".config/autostart", ProtectedKind::Startup),
    folder(".config/systemd", ProtectedKind::Startup),
    folder(".local/share/systemd", ProtectedKind::Startup),
    file(".ssh/authorized_keys", ProtectedKind::Startup),
    file(".ssh/rc", ProtectedKind::Startup),
    file(".ssh/config", ProtectedKind::Startup),
    file(".npmrc", ProtectedKind::Startup),
    file(".cargo/config.toml", ProtectedKind::Startup),
];

/// The same for the whole machine, below `/`.
pub const MACHINE_STARTUP: &[ProtectedPath] = &[
    file("etc/profile", ProtectedKind::Startup),
    folder("etc/profile.d", ProtectedKind::Startup),
    file("etc/bash.bashrc", ProtectedKind::Startup),
    folder("etc/zsh", ProtectedKind::Startup),
    folder("etc/cron.d", ProtectedKind::Startup),
    folder("etc/cron.daily", ProtectedKind::Startup),
    folder("etc/cron.hourly", ProtectedKind::Startup),
    folder("etc/cron.weekly", ProtectedKind::Startup),
    folder("etc/cron.monthly", ProtectedKind::Startup),
    file("etc/crontab", ProtectedKind::Startup),
    folder("var/spool/cron", ProtectedKind::Startup),
    folder("etc/systemd", ProtectedKind::Startup),
    folder("usr/lib/systemd", ProtectedKind::Startup),
    folder("lib/systemd", ProtectedKind::Startup),
    folder("etc/init.d", ProtectedKind::Startup),
    file("etc/rc.local", ProtectedKind::Startup),
    file("etc/ld.so.preload", ProtectedKind::Startup),
    file("etc/environment", ProtectedKind::Startup),
    folder("etc/pam.d", ProtectedKind::Startup),
    file("etc/sudoers", ProtectedKind::Startup),
    folder("etc/sudoers.d", ProtectedKind::Startup),
    folder("etc/xdg/autostart", ProtectedKind::Startup),
];

/// The class of a path relative to a workspace (or to a repository in it), if a row covers it.
///
/// Names are compared without case: some file systems don't tell `.Git` from `.git`.
#[must_use]
pub fn protected_kind(relative: &Path) -> Option<ProtectedKind> {
    if !may_begin_a_row(relative.as_os_str().as_encoded_bytes()) {
        return None;
    }
    row_of(&folded(relative, DEEPEST))
}

/// The class of a path relative to a workspace, whatever lies above it there: every folder may be a
/// project of its own. All that lies in a repository's `.git` is git's.
#[must_use]
pub fn protected_anywhere(relative: &Path) -> Option<ProtectedKind> {
    let text = folded(relative, usize::MAX);
    let names: Vec<&str> = text.split('/').collect();
    names.iter().enumerate().find_map(|(at, name)| {
        if *name == ".git" {
            return Some(ProtectedKind::Git);
        }
        let end = names.len().min(at.saturating_add(DEEPEST));
        row_of(&names.get(at..end).unwrap_or_default().join("/"))
    })
}

/// The class of an absolute path outside a workspace, and the place of the row that covers it.
#[must_use]
pub fn protected_outside(path: &Path, home: Option<&Path>) -> Option<(ProtectedKind, PathBuf)> {
    let covered = |rows: &[ProtectedPath], base: &Path| {
        let rest = folded(path.strip_prefix(base).ok()?, DEEPEST);
        let row = rows.iter().find(|row| covers(row, &rest))?;
        Some((row.kind, base.join(row.path)))
    };
    covered(MACHINE_STARTUP, Path::new("/"))
        .or_else(|| home.and_then(|home| covered(HOME_STARTUP, home)))
}

/// Whether a path may be a row's, by its first character: command lines hold many paths.
fn may_begin_a_row(path: &[u8]) -> bool {
    // `git~1` is another name of `.git`; what isn't ASCII may fold to a letter that is.
    path.first().is_none_or(|first| {
        matches!(first.to_ascii_lowercase(), b'.' | b'a' | b'c' | b'g' | b'o') || !first.is_ascii()
    })
}

fn row_of(text: &str) -> Option<ProtectedKind> {
    let row = PROTECTED.iter().find(|row| covers(row, text))?;
    Some(row.kind)
}

/// Whether a folded path is a row's, or lies below it.
fn covers(row: &ProtectedPath, text: &str) -> bool {
    // A row's own spelling is plain ASCII.
    text.get(..row.path.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(row.path))
        && matches!(text.as_bytes().get(row.path.len()), None | Some(b'/'))
}

/// Names that tell whether a row covers a path: more than any row has. A hostile path has a million.
pub const DEEPEST: usize = 8;

/// The first names of a path as a file system may take them that knows neither case nor dots and blanks at
/// the end of a name. A name below that isn't text is below all the same.
fn folded(path: &Path, most: usize) -> String {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let names: Vec<String> = names
        .take(most)
        .map(
            |name| match name.trim_end_matches([' ', '.']).to_lowercase() {
                short if short == "git~1" => ".git".to_owned(),
                plain => plain,
            },
        )
        .collect();
    names.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G10: no row is deeper than what is compared of a path.
    #[test]
    fn no_row_is_deeper_than_what_is_compared() {
        for row in PROTECTED.iter().chain(HOME_STARTUP).chain(MACHINE_STARTUP) {
            assert!(row.path.split('/').count() < DEEPEST, "{}", row.path);
        }
    }

    /// B2, C2: what lies below a protected folder is protected whatever it is called.
    #[test]
    fn names_that_are_no_text_are_protected_too() {
        use std::os::unix::ffi::OsStrExt as _;
        let odd = std::ffi::OsStr::from_bytes(b".Claude/\xff\xfe");
        assert_eq!(protected_kind(Path::new(odd)), Some(ProtectedKind::Agent));
        let other = std::ffi::OsStr::from_bytes(b".claude\xff/x");
        assert_eq!(protected_kind(Path::new(other)), None);
    }

    /// B2, G6: each row is named once, is plain, and covers itself in any case, at any depth.
    #[test]
    fn every_row_covers_itself_and_what_lies_below() {
        let all = [PROTECTED, HOME_STARTUP, MACHINE_STARTUP];
        let mut seen = std::collections::BTreeSet::new();
        for row in all.into_iter().flatten() {
            assert!(row.path.is_ascii() && !row.path.starts_with('/'));
            assert!(seen.insert(row.path), "{} stands twice", row.path);
        }
        for row in PROTECTED {
            let Some(kind) = protected_kind(Path::new(row.path)) else {
                unreachable!("{} isn't covered", row.path);
            };
            assert_eq!(kind, row.kind, "{}", row.path);
            for path in [
                row.path.to_uppercase(),
                format!("a/b/{}/c", row.path),
                format!("{}. ", row.path),
            ] {
                assert_eq!(protected_anywhere(Path::new(&path)), Some(kind), "{path}");
            }
            let longer = format!("{}x", row.path);
            assert_eq!(protected_kind(Path::new(&longer)), None, "{longer}");
        }
        for row in PROTECTED {
            assert!(may_begin_a_row(row.path.as_bytes()), "{}", row.path);
        }
        for kind in ProtectedKind::ALL {
            assert!(PROTECTED.iter().any(|row| row.kind == kind), "{kind:?}");
        }
        let home = Some(Path::new("/home/u"));
        for path in ["/home/u/.config/fish/config.fish", "/etc/cron.d/x"] {
            assert!(protected_outside(Path::new(path), home).is_some(), "{path}");
        }
        assert_eq!(protected_outside(Path::new("/home/u/.config"), home), None);
    }

    /// B2: all of a repository is git's, under each name that a file system may take for `.git`.
    #[test]
    fn a_repository_is_gits_at_any_depth() {
        for path in [".git", ".git/HEAD", "a/.GIT/index", "git~1/x", "a/.git./x"] {
            let kind = protected_anywhere(Path::new(path));
            assert_eq!(kind, Some(ProtectedKind::Git), "{path}");
        }
        for path in ["a.git/config", ".gitignore", ".github/workflows/a.yml"] {
            assert_eq!(protected_anywhere(Path::new(path)), None, "{path}");
        }
    }
}
