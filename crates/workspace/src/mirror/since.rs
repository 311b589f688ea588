//! Where a folder differs from what it was when it was kept.
//!
//! What was left out of the keeping is left out here: nobody can say what it was.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::OFlags;

use super::index::{Copied, Index};
use crate::CopyError;
use crate::apply::state_of;
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

/// Every path of a folder that isn't as it was kept, in their order.
pub(crate) fn since(live: &Anchor, kept: &Anchor, index: &Index) -> Result<Vec<Since>, CopyError> {
    let mut walk = Walk {
        kept,
        index,
        entries: 0,
        left: MANIFEST_BYTES,
        found: Vec::new(),
    };
    let top = RelPath::top();
    let handle = live
        .listing(&top)
        .doing("open the folder", Path::new("."))?;
    let rules = Rules::default().inside(kept, &top);
    walk.folder(&handle, &top, &rules, 0)?;
    walk.found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.found)
}

struct Walk<'a> {
    kept: &'a Anchor,
    index: &'a Index,
    entries: usize,
    /// Bytes that are still read.
    left: u64,
    found: Vec<Since>,
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
                return Err(super::make::too_large(format!("more than {ENTRIES} entries")).into());
            }
            if !self.index.is_left(&path) {
                self.entry(handle, name, path, &seen, rules, depth)?;
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
        let inner = match is_folder && depth < DEPTH {
            true => below(handle, Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY).ok(),
            false => None,
        };
        let untouched = copied.is_some_and(|copied| match is_folder {
            true => was_folder && copied.base.permissions() == seen.permissions(),
            false => self.index.is_as_kept(copied, seen),
        });
        if !untouched {
            let was = copied.map(|copied| self.was(&path, copied)).transpose()?;
            let is = Some(self.is(handle, name, &path, seen)?);
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
        let state = folder.and_then(|folder| {
            let seen = look(&folder, path.name())?;
            let seen = seen.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))?;
            state_of(&folder, path.name(), &seen)
        });
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
    ) -> Result<State, CopyError> {
        // Holes are read like anything else, so the size counts, not what is on the disk.
        if seen.what == What::File && seen.size > self.left {
            return Ok(State {
                what: seen.what,
                digest: None,
                size: seen.size,
                mode: seen.permissions(),
            });
        }
        self.left -= match seen.what {
            What::File => seen.size,
            _ => 0,
        };
        state_of(handle, name, seen).doing("read", path.as_path())
    }
}
