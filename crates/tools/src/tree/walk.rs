//! The walk itself.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use deputize_authority::SecretRules;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::ignores::{Allowance, Rules};
use super::summary::{NAMED_IGNORED, Summary};
use crate::beneath::{Beneath, Lost, Purpose, open};
use crate::limits::{FOLDER_ENTRIES, SEARCH_TIME, WALK_ENTRIES};

/// Folders that hold a version control system's own files.
const CONTROL_FOLDERS: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".sl"];

/// Something that a walk met.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    /// Its path, relative to where the walk began.
    pub(crate) path: &'a Path,
    /// What it is; a symlink is a symlink.
    pub(crate) kind: FileType,
}

/// Whether a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It does.
    Continue,
    /// The visitor has enough.
    Enough,
}

/// Visits what is below a folder: within each folder first what isn't a folder, by name, then the
/// folders, by name.
pub(crate) fn walk(
    start: &Beneath<'_>,
    secrets: &SecretRules,
    visit: impl FnMut(&Entry<'_>) -> Flow,
) -> Result<Summary, Lost> {
    // Whether it can be listed at all is the caller's affair; deeper folders are only counted.
    drop(start.folder()?);
    let mut walk = Walk {
        start,
        secrets,
        visit,
        summary: Summary::default(),
        allowance: Allowance::default(),
        deadline: Instant::now() + SEARCH_TIME,
        entries: 0,
        pending: Vec::new(),
    };
    let rules = walk.rules_above();
    walk.pending.push((PathBuf::new(), rules));
    while let Some((folder, rules)) = walk.pending.pop() {
        if walk.folder(&folder, &rules) == Flow::Enough {
            break;
        }
    }
    walk.summary.ignores_cut = walk.allowance.cut;
    Ok(walk.summary)
}

struct Walk<'a, V> {
    start: &'a Beneath<'a>,
    secrets: &'a SecretRules,
    visit: V,
    summary: Summary,
    allowance: Allowance,
    deadline: Instant,
    entries: usize,
    /// Folders still to enter, relative to the start; the next one last.
    pending: Vec<(PathBuf, Rules)>,
}

impl<V: FnMut(&Entry<'_>) -> Flow> Walk<'_, V> {
    /// The rules of the folders from the granted root down to the start, or none when they ignore
    /// the start itself: then the call named an ignored place, and means it.
    fn rules_above(&mut self) -> Rules {
        let start = self.start;
        let (root, way) = start.way();
        let mut rules = Rules::default();
        let mut folder = PathBuf::new();
        for name in way {
            // Patterns of folders above match paths from the granted root: see `seen_from_root`.
            rules = rules.inside(root, &folder, &folder, |_| true, &mut self.allowance);
            folder.push(name);
            if rules.ignore(&folder, FileType::Directory) {
                return Rules::default();
            }
        }
        rules
    }

    /// Rules match paths that are relative to the granted root, as ignore files above the start do.
    fn seen_from_root(&self, path: &Path) -> PathBuf {
        self.start.way().1.join(path)
    }

    fn folder(&mut self, folder: &Path, rules: &Rules) -> Flow {
        let start = self.start.handle();
        let Ok(handle) = open(start, folder, Purpose::List) else {
            self.summary.unreadable += 1;
            return Flow::Continue;
        };
        let Some(mut entries) = self.list(&handle) else {
            self.summary.unreadable += 1;
            return Flow::Continue;
        };
        let base = self.seen_from_root(folder);
        let has = |wanted: &str| entries.iter().any(|(name, _)| name == wanted);
        let rules = rules.inside(start, folder, &base, has, &mut self.allowance);
        entries.sort_unstable_by(|a, b| (is_folder(a.1), &a.0).cmp(&(is_folder(b.1), &b.0)));
        let mut folders = Vec::new();
        for (name, kind) in entries {
            if let Some(reason) = self.spent() {
                self.summary.stopped = Some(reason);
                return Flow::Enough;
            }
            let path = folder.join(&name);
            if self.is_left_out(&name, &path, kind, &rules) {
                continue;
            }
            let entry = Entry { path: &path, kind };
            if (self.visit)(&entry) == Flow::Enough {
                return Flow::Enough;
            }
            if is_folder(kind) {
                folders.push((path, rules.clone()));
            }
        }
        self.pending.extend(folders.into_iter().rev());
        Flow::Continue
    }

    fn is_left_out(&mut self, name: &OsString, path: &Path, kind: FileType, rules: &Rules) -> bool {
        if is_folder(kind) && CONTROL_FOLDERS.iter().any(|control| name == control) {
            return true;
        }
        if self
            .secrets
            .denied(&self.start.canonical().join(path))
            .is_some()
        {
            self.summary.secrets += 1;
            return true;
        }
        if rules.ignore(&self.seen_from_root(path), kind) {
            self.summary.ignored += 1;
            if self.summary.named.len() < NAMED_IGNORED {
                self.summary.named.push(path.to_owned());
            }
            return true;
        }
        false
    }

    /// The entries of a folder; `None` when they can't be read.
    fn list(&mut self, handle: &OwnedFd) -> Option<Vec<(OsString, FileType)>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(handle).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            if entries.len() == FOLDER_ENTRIES {
                self.summary.unreadable += 1;
                break;
            }
            let kind = match entry.file_type() {
                // Some file systems don't tell.
                FileType::Unknown => statat(handle, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| {
                        FileType::from_raw_mode(stat.st_mode)
                    }),
                kind => kind,
            };
            entries.push((OsString::from_vec(name.to_bytes().to_vec()), kind));
        }
        Some(entries)
    }

    /// Why the walk has to end now, if it has to.
    fn spent(&mut self) -> Option<String> {
        /// Entries between two looks at the clock.
        const STRIDE: usize = 256;
        self.entries += 1;
        if self.entries > WALK_ENTRIES {
            return Some(format!(
                "more than {WALK_ENTRIES} entries: name a smaller folder"
            ));
        }
        if self.entries.is_multiple_of(STRIDE) && Instant::now() > self.deadline {
            let seconds = SEARCH_TIME.as_secs();
            return Some(format!(
                "more than {seconds} seconds: name a smaller folder"
            ));
        }
        None
    }
}

fn is_folder(kind: FileType) -> bool {
    kind == FileType::Directory
}
