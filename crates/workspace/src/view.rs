//! The folder as the child saw it last: the copy's entries, and the base's where the copy has none.

use std::io;
use std::os::unix::ffi::OsStrExt as _;

use crate::beneath::Anchor;
use crate::entry::{Seen, What, look};
use crate::limits::HOPS;
use crate::overlay::{is_marked_whiteout, is_opaque};
use crate::rel_path::RelPath;

/// Both layers of a copy; a mirror has only one.
pub(crate) struct View<'a> {
    pub(crate) top: &'a Anchor,
    pub(crate) below: Option<&'a Anchor>,
}

impl View<'_> {
    /// What the child saw at a path, without following links.
    pub(crate) fn look(&self, path: &RelPath) -> io::Result<Option<Seen>> {
        Ok(self.find(path)?.map(|(_, seen)| seen))
    }

    fn find(&self, path: &RelPath) -> io::Result<Option<(&Anchor, Seen)>> {
        let at = |layer, seen: Option<Seen>| seen.map(|seen| (layer, seen));
        let Some(below) = self.below else {
            return Ok(at(self.top, self.top.look(path)?));
        };
        let mut is_hidden = false;
        let mut folder = self.top.listing(&RelPath::top())?;
        let mut way = RelPath::top();
        for name in path.segments() {
            way = way.join(name);
            match look(&folder, name)? {
                None if is_hidden => return Ok(None),
                None => return Ok(at(below, below.look(path)?)),
                Some(seen) if seen.is_null_device || is_marked_whiteout(&folder, name, &seen) => {
                    return Ok(None);
                }
                Some(seen) if way == *path => return Ok(Some((self.top, seen))),
                Some(seen) if seen.what == What::Folder => {
                    folder = self.top.listing(&way)?;
                    is_hidden |= is_opaque(&folder) || !is_folder(below, &way)?;
                }
                Some(_) => return Ok(None),
            }
        }
        Ok(None)
    }

    fn has(&self, folder: &RelPath, name: &str) -> bool {
        self.look(&folder.join(std::ffi::OsStr::new(name)))
            .is_ok_and(|seen| seen.is_some())
    }

    /// Whether a folder is laid out so that git takes it for a repository. Git asks whether it may
    /// enter `objects` and `refs`: links that lead to folders do, and so do files that can be executed.
    pub(crate) fn is_repository(&self, folder: &RelPath) -> bool {
        let whole = || self.has(folder, "objects") && self.has(folder, "refs");
        self.has(folder, "HEAD") && (whole() || self.has(folder, "commondir"))
    }

    /// Whether a link leads out of the workspace, on any part of its way. What can't be told does.
    pub(crate) fn leads_out(&self, link: &RelPath, target: &[u8]) -> bool {
        self.follow(link, target).is_none()
    }

    fn follow(&self, link: &RelPath, target: &[u8]) -> Option<()> {
        let mut place = link.folder()?;
        let mut pending: Vec<Vec<u8>> = Vec::new();
        push(&mut pending, target)?;
        let mut hops = 0;
        while let Some(name) = pending.pop() {
            if name == b".." {
                place = place.folder()?;
                continue;
            }
            let next = place.join(std::ffi::OsStr::from_bytes(&name));
            match self.find(&next).ok()? {
                Some((layer, seen)) if seen.what == What::Link => {
                    hops += 1;
                    if hops > HOPS {
                        return None;
                    }
                    push(&mut pending, &layer.target(&next).ok()?)?;
                }
                // What isn't there yet leads nowhere, and from there nothing can be followed.
                _ => place = next,
            }
        }
        Some(())
    }
}

/// Every place that a link's target names on its way, `..` resolved by name.
pub(crate) fn places(link: &RelPath, target: &[u8]) -> Vec<RelPath> {
    let mut place = link.folder().unwrap_or_default();
    let mut places = Vec::new();
    for name in target.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => continue,
            b".." => place = place.folder().unwrap_or_default(),
            name => place = place.join(std::ffi::OsStr::from_bytes(name)),
        }
        places.push(place.clone());
    }
    places
}

/// Puts the names of a target before those that are still to come; nothing for an absolute one.
fn push(pending: &mut Vec<Vec<u8>>, target: &[u8]) -> Option<()> {
    if target.starts_with(b"/") {
        return None;
    }
    for name in target.rsplit(|byte| *byte == b'/') {
        if !matches!(name, b"" | b".") {
            pending.push(name.to_vec());
        }
    }
    Some(())
}

fn is_folder(layer: &Anchor, path: &RelPath) -> io::Result<bool> {
    let seen = layer.look(path)?;
    Ok(seen.is_some_and(|seen| seen.what == What::Folder))
}
