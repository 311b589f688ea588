//! A path as it was written, turned into the absolute path that is meant.
//!
//! Gate and tools use this one function, so the path that is judged is the path that is opened
//! (G4). It looks at nothing: `..` is taken away together with the name before it, also where that
//! name is a symlink, and the tools open the result, not what was written. One leading `@` is
//! dropped, as models write mentions; a name that starts with `@` is reached as `./@name`. `~` and
//! `~/…` are the home folder. Unicode spaces are part of the name, as everywhere in the kernel.

use std::path::{Component, Path, PathBuf};

use crate::Limits;

/// Why a written path means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing was written.
    #[error("the path is empty")]
    Empty,
    /// It holds a NUL, which no path can.
    #[error("the path holds a NUL character")]
    Nul,
    /// It is longer than the kernel takes.
    #[error("the path is longer than {} bytes", Limits::PATH)]
    TooLong,
    /// It starts in a home folder that isn't known.
    #[error("the path starts with `~`, and there is no home folder here")]
    NoHome,
}

/// Resolves a written path against the workspace and the home folder, without looking.
///
/// # Errors
/// When the path is empty, too long, holds a NUL, or needs a home folder that isn't known.
pub fn resolve(written: &str, workspace: &Path, home: Option<&Path>) -> Result<PathBuf, PathError> {
    let path = written.strip_prefix('@').unwrap_or(written);
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.contains('\0') {
        return Err(PathError::Nul);
    }
    let joined = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => home
            .ok_or(PathError::NoHome)?
            .join(rest.trim_start_matches('/')),
        _ => workspace.join(path),
    };
    let resolved = normal(&joined);
    if path.len() > Limits::PATH || resolved.as_os_str().len() > Limits::PATH {
        return Err(PathError::TooLong);
    }
    Ok(resolved)
}

/// Takes `.` and `..` away; above `/` is `/`.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(written: &str) -> Result<PathBuf, PathError> {
        resolve(written, Path::new("/w"), Some(Path::new("/home/u")))
    }

    #[test]
    fn g4_a_path_means_what_the_tools_will_open() {
        for (written, meant) in [
            (".", "/w"),
            ("a//b/./c/", "/w/a/b/c"),
            ("../x", "/x"),
            ("../../../../x", "/x"),
            ("a/../../w/b", "/w/b"),
            ("@src/main.rs", "/w/src/main.rs"),
            ("./@types/a.ts", "/w/@types/a.ts"),
            ("@@a", "/w/@a"),
            ("@~/a", "/home/u/a"),
            ("@/etc/passwd", "/etc/passwd"),
            ("~", "/home/u"),
            ("~/", "/home/u"),
            ("~//etc/passwd", "/home/u/etc/passwd"),
            ("~/../v", "/home/v"),
            ("~root/x", "/w/~root/x"),
            ("a/~/b", "/w/a/~/b"),
            ("-rf", "/w/-rf"),
            ("a\u{a0}b \u{3000}", "/w/a\u{a0}b \u{3000}"),
            ("a\nb", "/w/a\nb"),
        ] {
            assert_eq!(at(written), Ok(PathBuf::from(meant)), "{written:?}");
        }
    }

    #[test]
    fn paths_that_mean_nothing_are_errors() {
        assert_eq!(at(""), Err(PathError::Empty));
        assert_eq!(at("@"), Err(PathError::Empty));
        assert_eq!(at("a\0b"), Err(PathError::Nul));
        assert_eq!(at(&"x/".repeat(4096)), Err(PathError::TooLong));
        assert_eq!(at(&"x".repeat(4095)), Err(PathError::TooLong));
        assert_eq!(
            resolve("~/a", Path::new("/w"), None),
            Err(PathError::NoHome)
        );
        assert_eq!(resolve("a", Path::new("/w"), None), Ok("/w/a".into()));
    }

    proptest! {
        #[test]
        fn the_meaning_is_absolute_and_normal(written in any::<String>()) {
            if let Ok(path) = at(&written) {
                prop_assert!(path.is_absolute());
                prop_assert_eq!(normal(&path), path.clone());
                prop_assert!(!path.components().any(|part| part == Component::ParentDir));
            }
        }
    }
}
