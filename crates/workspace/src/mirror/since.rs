//! Where a folder differs from what it was when it was kept.
//!
//! What was left out of the keeping is left out here: nobody can say what it was.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::Path;

use deputize_authority::Refusal;
use rustix::fs::OFlags;

use super::index::{Copied, Index};
use crate::CopyError;
use crate::apply::{state_at, state_of};
use crate::beneath::{Anchor, below, names};
use crate::entry::{Seen, What, look};
use crate::error::Doing as _;
use crate::ignores::Rules;
use crate::limits::{DEPTH, ENTRIES, MANIFEST_BYTES};
use crate::manifest::State;
use crate::rel_path::RelPath;

/// A path that isn't as it was.
#[derive(Debug)]
pub(crate) struct Since {
    pub(crate) path: RelPath,
    /// What was there.
    pub(crate) was: Option<State>,
    /// What is there. Without a digest where there is too much to read: nothing is like it then.
    pub(crate) is: Option<State>,
}

/// What became of a folder since it was kept.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Every path that isn't as it was, in their order.
    pub(crate) found: Vec<Since>,
    /// What wasn't kept and isn't there any more as it was.
    pub(crate) unkept: Vec<RelPath>,
}

/// Compares a folder with what was kept of it. What can't be read could be anything, so it ends the
/// comparison: nothing of what was kept may go then.
pub(crate) fn since(live: &Anchor, kept: &Anchor, index: &Index) -> Result<Compared, CopyError> {
    let mut walk = Walk {
        kept,
        index,
        entries: 0,
        left: MANIFEST_BYTES,
        found: Vec::new(),
        unkept: index.left().cloned().collect(),
    };
    let top = RelPath::top();
    let handle = live
        .listing(&top)
        .doing("open the folder", Path::new("."))?;
    let rules = Rules::default().inside(kept, &top);
    walk.folder(&handle, &top, &rules, 0)?;
    walk.found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Compared {
        found: walk.found,
        unkept: walk.unkept.into_iter().collect(),
    })
}

struct Walk<'a> {
    kept: &'a Anchor,
    index: &'a Index,
    entries: usize,
    /// Bytes of new files that are still read.
    left: u64,
    found: Vec<Since>,
    /// What wasn't kept and wasn't met as it was.
    unkept: BTreeSet<RelPath>,
}

impl Walk<'_> {
    fn folder(
        &mut self,
        handle: &OwnedFd,
        place: &RelPath,
        rules: &Rules,
        depth: usize,
    ) -> Result<(), CopyError> {
        let listed = names(handle).doing("list the folder", place.as_path())?;
        for name in &listed {
            let path = place.join(name);
            let seen = look(handle, name).doing("look at", path.as_path())?;
            let Some(seen) = seen else { continue };
            self.entries += 1;
            if self.entries > ENTRIES {
                return Err(too_many().into());
            }
            match self.index.left_as(&path) {
                None => self.entry(handle, name, path, &seen, rules, depth)?,
                Some(as_it_was) if as_it_was.is_still(&seen) => {
                    self.unkept.remove(&path);
                }
                Some(_) => {}
            }
        }
        let here: BTreeSet<&OsStr> = listed.iter().map(OsString::as_os_str).collect();
        for name in self.index.contents(place) {
            if !here.contains(name.as_os_str()) {
                self.gone(place.join(name))?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        handle: &OwnedFd,
        name: &OsString,
        path: RelPath,
        seen: &Seen,
        rules: &Rules,
        depth: usize,
    ) -> Result<(), CopyError> {
        let copied = self.index.get(&path);
        let is_folder = seen.what == What::Folder;
        let was_folder = copied.is_some_and(|copied| copied.base.what == What::Folder);
        // As in a copy, a new folder that the person's rules leave out is nobody's change.
        if copied.is_none() && is_folder && rules.ignore(&path, seen.what) {
            return Ok(());
        }
        // A pipe that the run made has nothing that could be kept or compared: it stays.
        let is_special = matches!(seen.what, What::Fifo | What::Socket | What::Device);
        if copied.is_none() && is_special {
            return Ok(());
        }
        let inner = match is_folder && depth < DEPTH {
            true => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                let opened = below(handle, Path::new(name), flags);
                Some(opened.map_err(|error| unread(error, &path))?)
            }
            false => None,
        };
        let untouched = copied.is_some_and(|copied| match is_folder {
            true => was_folder && copied.base.permissions() == seen.permissions(),
            false => self.index.is_as_kept(copied, seen),
        });
        if !untouched {
            let was = copied.map(|copied| self.was(&path, copied)).transpose()?;
            let is = Some(self.is(handle, name, &path, seen, was.is_none())?);
            if was != is {
                let path = path.clone();
                self.found.push(Since { path, was, is });
            }
        }
        if was_folder && !is_folder {
            self.contents_gone(&path)?;
        }
        let Some(inner) = inner else { return Ok(()) };
        let rules = match was_folder {
            true => rules.inside(self.kept, &path),
            false => rules.clone(),
        };
        self.folder(&inner, &path, &rules, depth + 1)
    }

    fn gone(&mut self, path: RelPath) -> Result<(), CopyError> {
        let Some(copied) = self.index.get(&path) else {
            return Ok(());
        };
        let was = Some(self.was(&path, copied)?);
        let was_folder = copied.base.what == What::Folder;
        let of = path.clone();
        self.found.push(Since {
            path,
            was,
            is: None,
        });
        match was_folder {
            true => self.contents_gone(&of),
            false => Ok(()),
        }
    }

    fn contents_gone(&mut self, path: &RelPath) -> Result<(), CopyError> {
        for name in self.index.contents(path) {
            self.gone(path.join(name))?;
        }
        Ok(())
    }

    /// What was there: its content is that of the keeping, its permissions those of the folder.
    fn was(&self, path: &RelPath, copied: &Copied) -> Result<State, CopyError> {
        let folder = self.kept.folder(&path.folder().unwrap_or_default());
        let state = folder.and_then(|folder| state_at(&folder, path.name())?.ok_or_else(absent));
        let state = state.doing("read what was kept of", path.as_path())?;
        let mode = match state.what {
            What::Link => 0,
            _ => copied.base.permissions(),
        };
        Ok(State { mode, ..state })
    }

    fn is(
        &mut self,
        handle: &OwnedFd,
        name: &OsStr,
        path: &RelPath,
        seen: &Seen,
        is_new: bool,
    ) -> Result<State, CopyError> {
        // Holes are read like anything else, so the size counts, not what is on the disk. What was kept
        // is compared whatever it takes, or a run could make so much that nothing is taken back.
        if is_new && seen.what == What::File && seen.size > self.left {
            return Ok(State {
                what: seen.what,
                digest: None,
                size: seen.size,
                mode: seen.permissions(),
            });
        }
        if is_new && seen.what == What::File {
            self.left -= seen.size;
        }
        let state = state_of(handle, name, seen).doing("read", path.as_path())?;
        match state.what == What::File && state.digest.is_none() {
            true => Err(unread(ErrorKind::PermissionDenied.into(), path)),
            false => Ok(state),
        }
    }
}

fn absent() -> std::io::Error {
    ErrorKind::NotFound.into()
}

/// Why a path ends the comparison.
fn unread(error: std::io::Error, path: &RelPath) -> CopyError {
    if error.kind() != ErrorKind::PermissionDenied {
        return CopyError::Step {
            doing: "read",
            path: path.as_path().to_owned(),
            source: error,
        };
    }
    Refusal::new(
        "unreadable_now",
        "workspace",
        format!(
            "`{}` can't be read any more, so nobody can tell what became of it; all that the folder \
             was is kept",
            path.shown()
        ),
        "`chmod -R u+rwX` it, and try again",
    )
    .into()
}

fn too_many() -> Refusal {
    Refusal::new(
        "too_many_entries",
        "workspace",
        format!("the folder has more than {ENTRIES} entries now; all that it was is kept"),
        "remove what the run made by hand, and try again",
    )
}
