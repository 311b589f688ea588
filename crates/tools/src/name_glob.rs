//! A glob on names or paths, as people write it.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::output::ToolFailure;

/// A glob without a slash looks at the name, one with a slash at the path below the folder. With a
/// leading `!` it matches what the rest doesn't.
#[derive(Debug)]
pub(crate) struct NameGlob {
    matcher: GlobMatcher,
    looks_at: LooksAt,
    sense: Sense,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LooksAt {
    Name,
    Path,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Match,
    Exclude,
}

impl NameGlob {
    /// Compiles a glob. An absolute one counts from `folder`, when it lies there.
    pub(crate) fn new(pattern: &str, folder: &Path) -> Result<Self, ToolFailure> {
        let (sense, pattern) = match pattern.strip_prefix('!') {
            Some(rest) => (Sense::Exclude, rest),
            None => (Sense::Match, pattern),
        };
        let below = folder
            .to_str()
            .and_then(|folder| pattern.strip_prefix(folder))
            .and_then(|rest| rest.strip_prefix('/'))
            .or_else(|| pattern.strip_prefix("./"))
            .or_else(|| pattern.strip_prefix('/'));
        let looks_at = match below.is_some() || pattern.contains('/') {
            true => LooksAt::Path,
            false => LooksAt::Name,
        };
        let matcher = GlobBuilder::new(below.unwrap_or(pattern))
            .literal_separator(true)
            .build()
            .map_err(|error| {
                ToolFailure::new(
                    "invalid_glob",
                    format!(
                        "the glob can't be read: {}",
                        deputize_authority::escape(&error.kind().to_string())
                    ),
                )
            })?
            .compile_matcher();
        Ok(Self {
            matcher,
            looks_at,
            sense,
        })
    }

    /// Whether a path below the folder matches.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        let hit = match (self.looks_at, path.file_name()) {
            (LooksAt::Name, Some(name)) => self.matcher.is_match(name),
            _ => self.matcher.is_match(path),
        };
        hit == (self.sense == Sense::Match)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        NameGlob::new(pattern, Path::new("/w/sub"))
            .unwrap()
            .matches(Path::new(path))
    }

    #[test]
    fn globs_mean_what_people_mean() {
        for (pattern, path) in [
            ("*.rs", "a/b/c.rs"),
            ("*.{rs,md}", "a.md"),
            ("src/*.rs", "src/a.rs"),
            ("src/**/*.rs", "src/a/b.rs"),
            ("src/**/*.rs", "src/b.rs"),
            ("**/test_*.py", "a/test_x.py"),
            ("./*.rs", "a.rs"),
            ("/w/sub/*.rs", "a.rs"),
            ("/top.rs", "top.rs"),
            ("!*.md", "a.rs"),
            (".*", ".hidden"),
            ("*", "a\nb"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.rs", "a.rst"),
            ("src/*.rs", "src/a/b.rs"),
            ("./*.rs", "a/b.rs"),
            ("/top.rs", "a/top.rs"),
            ("!*.md", "a.md"),
            ("A*", "a"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn g10_bad_and_hostile_globs_are_errors() {
        for pattern in [
            "[",
            "{a",
            "a[z-a]",
            &"{a,b}".repeat(200),
            &"**/".repeat(300),
        ] {
            if let Err(failure) = NameGlob::new(pattern, Path::new("/w")) {
                assert_eq!(failure.code, "invalid_glob");
            }
        }
        assert!(NameGlob::new("[", Path::new("/w")).is_err());
    }
}
