//! Which paths the person's own ignore rules leave out.
//!
//! Only rules of the base count: what a child wrote into an ignore file neither hides nor uncovers
//! anything. Read are `.gitignore` and `.git/info/exclude`, as files; no git is run and none of its
//! configuration is looked at.

use std::ffi::OsStr;
use std::io::Read as _;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};

use crate::beneath::Anchor;
use crate::entry::What;
use crate::limits::IGNORE_FILE_BYTES;
use crate::rel_path::RelPath;

/// Where rules stand; the first outranks the second.
const SOURCES: [&str; 2] = [".gitignore", ".git/info/exclude"];

/// The rules of one folder, above those of its parents. Folders without rules add none.
#[derive(Debug)]
struct Level {
    parent: Rules,
    sources: [Gitignore; 2],
}

/// The rules that hold in a folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules(Option<Arc<Level>>);

impl Rules {
    /// The rules inside a folder of the base: these, and its own. A repository in a repository begins
    /// anew.
    pub(crate) fn inside(&self, base: &Anchor, folder: &RelPath) -> Self {
        let repository = base.look(&folder.join(OsStr::new(".git")));
        let parent = match repository {
            Ok(Some(_)) => Self::default(),
            _ => self.clone(),
        };
        let sources = SOURCES.map(|name| read(base, folder, name));
        if sources.iter().all(Gitignore::is_empty) {
            return parent;
        }
        Self(Some(Arc::new(Level { parent, sources })))
    }

    /// Whether a path is to be left out.
    pub(crate) fn ignore(&self, path: &RelPath, what: What) -> bool {
        (0..SOURCES.len())
            .find_map(|source| self.says(source, path, what == What::Folder))
            .unwrap_or(false)
    }

    /// What one kind of source says, the deepest folder first.
    fn says(&self, source: usize, path: &RelPath, is_folder: bool) -> Option<bool> {
        let mut level = self.0.as_deref();
        while let Some(Level { parent, sources }) = level {
            match sources.get(source)?.matched(path.as_path(), is_folder) {
                Match::Ignore(_) => return Some(true),
                Match::Whitelist::<&Glob>(_) => return Some(false),
                Match::None => level = parent.0.as_deref(),
            }
        }
        None
    }
}

/// Reads one ignore file; none where there is none, or something else has its name.
fn read(base: &Anchor, folder: &RelPath, name: &str) -> Gitignore {
    let mut bytes = Vec::new();
    let path = folder.join(OsStr::new(name));
    let file = base.file(&path).and_then(|file| {
        let is_file = file.metadata()?.is_file();
        Ok(is_file.then_some(file))
    });
    let Ok(Some(file)) = file else {
        return Gitignore::empty();
    };
    if file
        .take(IGNORE_FILE_BYTES)
        .read_to_end(&mut bytes)
        .is_err()
    {
        return Gitignore::empty();
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(folder.as_path());
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A pattern that can't be read matches nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
