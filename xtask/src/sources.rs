//! The Rust sources of the workspace, and which of their lines are code, and which are tests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// Where our sources are. What isn't there is no room of ours.
const FOLDERS: [&str; 3] = ["crates", "xtask", "fuzz"];

/// One source file.
#[derive(Debug)]
pub(crate) struct Source {
    /// Relative to the workspace.
    pub(crate) path: PathBuf,
    /// The whole text.
    pub(crate) text: String,
}

/// Every `.rs` file of ours, by path.
pub(crate) fn all(workspace: &Workspace) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
    while let Some(folder) = folders.pop() {
        let absolute = workspace.root().join(&folder);
        if !absolute.is_dir() {
            continue;
        }
        let entries = fs::read_dir(&absolute).map_err(Failure::file(&absolute))?;
        for entry in entries {
            let entry = entry.map_err(Failure::file(&absolute))?;
            let kind = entry.file_type().map_err(Failure::file(entry.path()))?;
            let path = folder.join(entry.file_name());
            if kind.is_dir() && entry.file_name() != "target" {
                folders.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(entry.path()).map_err(Failure::file(&path))?;
                sources.push(Source { path, text });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

impl Source {
    /// Whether the whole file only tests.
    pub(crate) fn is_test(&self) -> bool {
        is_test(&self.path)
    }

    /// The text without inline test modules.
    pub(crate) fn shipped(&self) -> String {
        if self.is_test() {
            return String::new();
        }
        let (code, _) = split(&self.text);
        code
    }

    /// Lines of code and lines of tests; blank lines and comments count as neither.
    pub(crate) fn lines(&self) -> (usize, usize) {
        if self.is_test() {
            return (0, code_lines(&self.text));
        }
        let (code, tests) = split(&self.text);
        (code_lines(&code), code_lines(&tests))
    }
}

fn is_test(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.iter().any(|part| part == "tests")
}

/// Parts a formatted file into code and `#[cfg(test)]` modules.
fn split(text: &str) -> (String, String) {
    let (mut code, mut tests) = (String::new(), String::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let opens = line == "#[cfg(test)]"
            && lines
                .peek()
                .is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'));
        if !opens {
            push(&mut code, line);
            continue;
        }
        push(&mut tests, line);
        for line in lines.by_ref() {
            push(&mut tests, line);
            // rustfmt puts the closing brace of a module, and nothing else, in the first column.
            if line == "}" {
                break;
            }
        }
    }
    (code, tests)
}

fn push(to: &mut String, line: &str) {
    to.push_str(line);
    to.push('\n');
}

/// Lines that are neither blank nor a comment.
fn code_lines(text: &str) -> usize {
    let mut in_comment = false;
    text.lines()
        .map(str::trim)
        .filter(|line| {
            if in_comment {
                in_comment = !line.contains("*/");
                return false;
            }
            if line.starts_with("/*") {
                in_comment = !line.contains("*/");
                return false;
            }
            !line.is_empty() && !line.starts_with("//")
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source {
            path: path.into(),
            text: text.to_owned(),
        }
    }

    const FILE: &str = "\
//! Docs.

/* a
   comment */
fn one() {
    // why
    two();
}

#[cfg(test)]
mod tests {
    #[test]
    fn three() {}
}
fn after() {}
";

    #[test]
    fn tests_are_counted_apart() {
        assert_eq!(source("crates/a/src/x.rs", FILE).lines(), (4, 5));
        assert!(
            source("crates/a/src/x.rs", FILE)
                .shipped()
                .contains("after")
        );
        assert!(
            !source("crates/a/src/x.rs", FILE)
                .shipped()
                .contains("three")
        );
    }

    #[test]
    fn a_test_file_has_no_code() {
        for path in ["crates/a/tests/it/x.rs", "crates/a/src/x/tests.rs"] {
            assert_eq!(source(path, FILE).lines(), (0, 9));
        }
    }

    #[test]
    fn this_file_is_found() {
        let sources = all(&Workspace::here()).unwrap();
        let own = Path::new("xtask/src/sources.rs");
        assert!(sources.iter().any(|source| source.path == own));
    }
}
