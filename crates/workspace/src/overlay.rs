//! Reads the upper layer of an overlay, on the host and by hand.
//!
//! # Trust
//! A child wrote what is here, so nothing is followed and nothing is run. The kernel's own marks are
//! understood: whiteouts, opaque folders. Marks of features that we don't enable are refused.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{OFlags, fgetxattr};
use rustix::io::Errno;

use crate::CopyError;
use crate::bases::Bases;
use crate::beneath::{Anchor, below, is_absence, names};
use crate::differences::{Difference, Differences, Ignored, Was};
use crate::entry::{Seen, What, look};
use crate::error::Doing as _;
use crate::ignores::Rules;
use crate::limits::DEPTH;
use crate::rel_path::RelPath;

/// What an overlay hides in a folder of its upper layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    /// The base's folder shines through.
    Shows,
    /// The base's folder is hidden: what it held and this one doesn't was deleted.
    Hidden,
}

/// Everything that an upper layer says.
pub(crate) fn differences(
    upper: &Anchor,
    lower: &Anchor,
    bases: &Bases,
) -> Result<Differences, CopyError> {
    let mut walk = Walk {
        lower,
        bases,
        found: Differences::default(),
    };
    let handle = upper
        .listing(&RelPath::top())
        .doing("open the upper layer", Path::new("upper"))?;
    let place = Place {
        path: RelPath::top(),
        below: Below::Shows,
        rules: Rules::default().inside(lower, &RelPath::top()),
        ignored: Ignored::No,
        depth: 0,
    };
    walk.folder(&handle, &place)?;
    walk.found.all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.found)
}

struct Walk<'a> {
    lower: &'a Anchor,
    bases: &'a Bases,
    found: Differences,
}

/// A folder on the walk.
struct Place {
    path: RelPath,
    below: Below,
    rules: Rules,
    ignored: Ignored,
    depth: usize,
}

impl Walk<'_> {
    fn folder(&mut self, upper: &OwnedFd, place: &Place) -> Result<(), CopyError> {
        let listed = names(upper).doing("list the copy's folder", place.path.as_path())?;
        for name in &listed {
            let path = place.path.join(name);
            let seen = look(upper, name).doing("look at the copy's", path.as_path())?;
            let Some(seen) = seen else { continue };
            if seen.is_null_device || is_marked_whiteout(upper, name, &seen) {
                // In a hidden folder there is nothing left for it to hide.
                if place.ignored == Ignored::No {
                    self.gone(place, path, seen.birth.unwrap_or(0))?;
                }
                continue;
            }
            self.found.count(&seen)?;
            self.entry(upper, name, place, path, seen)?;
        }
        if place.below == Below::Hidden && place.ignored == Ignored::No {
            self.missing(place, &listed)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        upper: &OwnedFd,
        name: &OsString,
        place: &Place,
        path: RelPath,
        seen: Seen,
    ) -> Result<(), CopyError> {
        let was = match place.ignored {
            Ignored::No => self.was(&path)?,
            // Counted and not told.
            Ignored::Yes => Was::Live(None),
        };
        let was_folder = self.had(&path, &was) == Some(What::Folder);
        let is_folder = seen.what == What::Folder;
        let ignored = match place.ignored {
            Ignored::No if place.rules.ignore(&path, seen.what) => Ignored::Yes,
            other => other,
        };
        let touched = seen.birth.unwrap_or(0);
        if was_folder && !is_folder && ignored == Ignored::No {
            // The folder itself is told below, as what took its place.
            self.contents_gone(place, &path, touched)?;
        }
        let mut difference = Difference {
            path: path.clone(),
            new: Some(seen),
            was,
            touched,
            ignored,
            trouble: None,
        };
        if !is_folder {
            if ignored == Ignored::No || place.ignored == Ignored::No {
                self.found.all.push(difference);
            }
            return Ok(());
        }
        let opened = below(upper, Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY);
        let inner = opened.and_then(|handle| Ok((folder_marks(&handle)?, handle)));
        let inner = match inner {
            _ if place.depth >= DEPTH => Err("it lies too deep"),
            Err(error) if error.raw_os_error() == Some(Errno::ACCESS.raw_os_error()) => {
                Err("it can't be read")
            }
            // A child that works on may have removed it meanwhile.
            Err(error) if is_absence(&error) => return Ok(()),
            Err(error) => return Err(error).doing("open the copy's folder", path.as_path()),
            Ok((Marks::Foreign, _)) => Err("it has marks of an overlay that isn't ours"),
            Ok((marks, handle)) => Ok((marks, handle)),
        };
        difference.trouble = inner.as_ref().err().copied();
        if ignored == Ignored::No || place.ignored == Ignored::No {
            self.found.all.push(difference);
        }
        let Ok((marks, handle)) = inner else {
            return Ok(());
        };
        let hides = marks == Marks::Opaque || place.below == Below::Hidden;
        let inside = Place {
            below: match hides && was_folder {
                true => Below::Hidden,
                false => Below::Shows,
            },
            rules: match was_folder {
                true => place.rules.inside(self.lower, &path),
                false => place.rules.clone(),
            },
            path,
            ignored,
            depth: place.depth + 1,
        };
        self.folder(&handle, &inside)
    }

    /// What the base had in a hidden folder and the copy hasn't.
    fn missing(&mut self, place: &Place, listed: &[OsString]) -> Result<(), CopyError> {
        let here: BTreeSet<&OsStr> = listed.iter().map(OsString::as_os_str).collect();
        for name in self.contents(&place.path)? {
            if !here.contains(name.as_os_str()) {
                self.gone(place, place.path.join(&name), 0)?;
            }
        }
        self.found.emptied.push(place.path.clone());
        Ok(())
    }

    /// A path that the copy took away, and all that lay in it.
    fn gone(&mut self, place: &Place, path: RelPath, touched: i64) -> Result<(), CopyError> {
        let was = self.was(&path)?;
        let Some(what) = self.had(&path, &was) else {
            return Ok(());
        };
        let ignored = match place.rules.ignore(&path, what) {
            true => Ignored::Yes,
            false => Ignored::No,
        };
        self.found.all.push(Difference {
            path: path.clone(),
            new: None,
            was,
            touched,
            ignored,
            trouble: (place.depth >= DEPTH).then_some("it lies too deep"),
        });
        if what == What::Folder && ignored == Ignored::No && place.depth < DEPTH {
            self.contents_gone(place, &path, touched)?;
        }
        Ok(())
    }

    fn contents_gone(
        &mut self,
        place: &Place,
        path: &RelPath,
        touched: i64,
    ) -> Result<(), CopyError> {
        let inside = Place {
            path: path.clone(),
            below: Below::Hidden,
            rules: place.rules.inside(self.lower, path),
            ignored: Ignored::No,
            depth: place.depth + 1,
        };
        for name in self.contents(path)? {
            self.gone(&inside, path.join(&name), touched)?;
        }
        self.found.emptied.push(path.clone());
        Ok(())
    }

    /// The names that the base had in a folder: as recorded, once that is whole; else as they are.
    fn contents(&self, folder: &RelPath) -> Result<Vec<OsString>, CopyError> {
        if self.bases.is_emptied(folder) {
            let direct = |(path, _): (&RelPath, What)| {
                (path.folder().as_ref() == Some(folder)).then(|| path.name().to_owned())
            };
            return Ok(self.bases.below(folder).filter_map(direct).collect());
        }
        match self.lower.listing(folder).and_then(names) {
            Ok(names) => Ok(names),
            Err(error) if is_absence(&error) => Ok(Vec::new()),
            Err(error) => Err(error).doing("list the folder", folder.as_path()),
        }
    }

    fn was(&self, path: &RelPath) -> Result<Was, CopyError> {
        if self.bases.get(path).is_some() {
            return Ok(Was::Recorded);
        }
        let live = self.lower.look(path).doing("look at", path.as_path())?;
        Ok(Was::Live(live))
    }

    /// The type of what the base had.
    fn had(&self, path: &RelPath, was: &Was) -> Option<What> {
        match was {
            Was::Recorded => self.bases.get(path)?.was.as_ref().map(|seen| seen.what),
            Was::Live(seen) => seen.as_ref().map(|seen| seen.what),
            Was::Copied(seen) => Some(seen.what),
        }
    }
}

/// What the kernel noted on a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marks {
    None,
    /// What the base has there is hidden.
    Opaque,
    /// Redirects: we never enable them, so somebody else wrote this.
    Foreign,
}

fn folder_marks(folder: &OwnedFd) -> io::Result<Marks> {
    for name in ["user.overlay.redirect", "user.overlay.metacopy"] {
        if attribute(folder, name)?.is_some() {
            return Ok(Marks::Foreign);
        }
    }
    Ok(match attribute(folder, "user.overlay.opaque")?.as_deref() {
        // `x` says that whiteouts in it may be files with a mark; those are looked for anyway.
        Some(b"y") => Marks::Opaque,
        _ => Marks::None,
    })
}

/// Whether a file carries the mark of a copy without content, which we never enable.
pub(crate) fn is_hollow(file: impl AsFd) -> bool {
    ["user.overlay.metacopy", "user.overlay.redirect"]
        .iter()
        .any(|name| matches!(attribute(file.as_fd(), name), Ok(Some(_))))
}

/// A whiteout in its other form: an empty file with a mark.
pub(crate) fn is_marked_whiteout(folder: &OwnedFd, name: &OsStr, seen: &Seen) -> bool {
    if seen.what != What::File || seen.size != 0 {
        return false;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    below(folder, Path::new(name), flags)
        .and_then(|file| attribute(&file, "user.overlay.whiteout"))
        .is_ok_and(|mark| mark.is_some())
}

pub(crate) fn is_opaque(folder: &OwnedFd) -> bool {
    folder_marks(folder).is_ok_and(|marks| marks == Marks::Opaque)
}

fn attribute(of: impl AsFd, name: &str) -> io::Result<Option<Vec<u8>>> {
    // Longer values aren't any that we understand; that there is one is all that counts then.
    let mut value = vec![0u8; 256];
    match fgetxattr(of, name, &mut value) {
        Ok(count) => {
            value.truncate(count);
            Ok(Some(value))
        }
        Err(Errno::RANGE) => Ok(Some(Vec::new())),
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
