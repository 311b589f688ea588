//! Which names the tree itself asks to leave out.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, fstat};

use crate::beneath::{Purpose, open};
use crate::limits::{IGNORE_BYTES, IGNORE_FILE_BYTES};

/// The rules of one folder, above those of its parents. Folders without rules add none.
#[derive(Debug)]
struct Level {
    parent: Rules,
    /// `.ignore`, which outranks `.gitignore`, which outranks `.git/info/exclude`.
    sources: [Gitignore; 3],
}

/// The rules that hold in a folder.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules(Option<Arc<Level>>);

/// What reading ignore files may still cost.
#[derive(Debug)]
pub(super) struct Allowance {
    left: usize,
    /// Ignore files that were not obeyed, or only in part.
    pub(super) cut: u64,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            left: IGNORE_BYTES,
            cut: 0,
        }
    }
}

/// Where rules stand, and the entry of a folder that tells whether they are there.
const SOURCES: [(&str, &str); 3] = [
    (".ignore", ".ignore"),
    (".gitignore", ".gitignore"),
    (".git/info/exclude", ".git"),
];

impl Rules {
    /// The rules inside a folder: these, and its own. `has` tells whether it has an entry; `base` is
    /// its path, relative to where paths that are asked about count from.
    pub(super) fn inside(
        &self,
        root: &OwnedFd,
        folder: &Path,
        base: &Path,
        has: impl Fn(&str) -> bool,
        allowance: &mut Allowance,
    ) -> Self {
        let sources = SOURCES.map(|(name, entry)| match has(entry) {
            true => read(root, &folder.join(name), base, allowance),
            false => Gitignore::empty(),
        });
        if sources.iter().all(Gitignore::is_empty) {
            return self.clone();
        }
        Self(Some(Arc::new(Level {
            parent: self.clone(),
            sources,
        })))
    }

    /// Whether a path is to be left out.
    pub(super) fn ignore(&self, path: &Path, kind: FileType) -> bool {
        let is_folder = kind == FileType::Directory;
        (0..SOURCES.len())
            .find_map(|source| self.says(source, path, is_folder))
            .unwrap_or(false)
    }

    /// What one kind of source says, the deepest folder first.
    fn says(&self, source: usize, path: &Path, is_folder: bool) -> Option<bool> {
        let mut level = self.0.as_deref();
        while let Some(Level { parent, sources }) = level {
            match sources[source].matched(path, is_folder) {
                Match::Ignore(_) => return Some(true),
                Match::Whitelist::<&Glob>(_) => return Some(false),
                Match::None => level = parent.0.as_deref(),
            }
        }
        None
    }
}

/// Reads one ignore file; none where there is none, or something else has its name.
fn read(root: &OwnedFd, path: &Path, base: &Path, allowance: &mut Allowance) -> Gitignore {
    let Ok(handle) = open(root, path, Purpose::Content) else {
        return Gitignore::empty();
    };
    let is_file = fstat(&handle)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    if !is_file {
        return Gitignore::empty();
    }
    let limit = IGNORE_FILE_BYTES.min(allowance.left);
    let mut bytes = Vec::new();
    // One byte more than may be used tells whether something was cut.
    let taken = File::from(handle)
        .take(limit as u64 + 1)
        .read_to_end(&mut bytes);
    if taken.is_err() || bytes.len() > limit {
        allowance.cut += 1;
        bytes.truncate(limit);
    }
    allowance.left -= bytes.len().min(allowance.left);
    compile(&bytes, base).unwrap_or_else(|| {
        allowance.cut += 1;
        Gitignore::empty()
    })
}

fn compile(bytes: &[u8], base: &Path) -> Option<Gitignore> {
    let text = String::from_utf8_lossy(bytes);
    let mut builder = GitignoreBuilder::new(base);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A pattern that can't be read matches nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
