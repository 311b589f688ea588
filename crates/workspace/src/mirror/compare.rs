//! Where a mirror differs from what it was made of.
//!
//! The person's folder isn't looked at for this: what the person changed since is no change of the
//! child's.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::OFlags;

use super::index::Index;
use crate::CopyError;
use crate::beneath::{Anchor, below, names};
use crate::differences::{Difference, Differences, Ignored, Was};
use crate::entry::{Seen, What, look};
use crate::error::Doing as _;
use crate::ignores::Rules;
use crate::limits::DEPTH;
use crate::rel_path::RelPath;

/// Every entry of the tree that isn't as it was copied.
pub(crate) fn differences(
    tree: &Anchor,
    index: &Index,
    base: &Anchor,
) -> Result<Differences, CopyError> {
    let mut walk = Walk {
        index,
        base,
        found: Differences::default(),
    };
    let top = RelPath::top();
    let handle = tree.listing(&top).doing("open the copy", Path::new("."))?;
    let rules = Rules::default().inside(base, &top);
    walk.folder(&handle, &top, &rules, Ignored::No, 0)?;
    walk.found.all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.found)
}

struct Walk<'a> {
    index: &'a Index,
    base: &'a Anchor,
    found: Differences,
}

impl Walk<'_> {
    fn folder(
        &mut self,
        handle: &OwnedFd,
        place: &RelPath,
        rules: &Rules,
        ignored: Ignored,
        depth: usize,
    ) -> Result<(), CopyError> {
        let listed = names(handle).doing("list the copy's folder", place.as_path())?;
        for name in &listed {
            let seen = look(handle, name).doing("look at the copy's", place.as_path())?;
            let Some(seen) = seen else { continue };
            self.found.count(&seen)?;
            self.entry(handle, name, place.join(name), seen, rules, ignored, depth)?;
        }
        if ignored == Ignored::No {
            let here: BTreeSet<&OsStr> = listed.iter().map(OsString::as_os_str).collect();
            for name in self.index.contents(place) {
                if !here.contains(name.as_os_str()) {
                    self.gone(place.join(name), rules);
                }
            }
        }
        Ok(())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "what a folder knows of its entry"
    )]
    fn entry(
        &mut self,
        handle: &OwnedFd,
        name: &OsString,
        path: RelPath,
        seen: Seen,
        rules: &Rules,
        above: Ignored,
        depth: usize,
    ) -> Result<(), CopyError> {
        let copied = self.index.get(&path);
        let was_folder = copied.is_some_and(|copied| copied.base.what == What::Folder);
        let is_folder = seen.what == What::Folder;
        let ignored = match above {
            Ignored::No if rules.ignore(&path, seen.what) => Ignored::Yes,
            other => other,
        };
        // A folder's own times change with what lies in it: its permissions are what counts.
        let untouched = copied.is_some_and(|copied| match is_folder {
            true => was_folder && copied.mode == seen.mode,
            false => self.index.is_untouched(copied, &seen),
        });
        let was = match copied {
            Some(copied) => Was::Copied(copied.base.clone()),
            None => Was::Live(None),
        };
        if was_folder && !is_folder && ignored == Ignored::No {
            self.contents_gone(&path, rules);
        }
        let too_deep = is_folder && depth >= DEPTH;
        let opened = match is_folder && !too_deep {
            true => Some(below(
                handle,
                Path::new(name),
                OFlags::RDONLY | OFlags::DIRECTORY,
            )),
            false => None,
        };
        let unreadable = matches!(&opened, Some(Err(_)));
        let trouble = match (too_deep, unreadable) {
            (true, _) => Some("it lies too deep"),
            (_, true) => Some("it can't be read"),
            _ => None,
        };
        let told = above == Ignored::No && (!untouched || trouble.is_some());
        if told {
            self.found.all.push(Difference {
                path: path.clone(),
                new: Some(seen),
                was,
                touched: 0,
                ignored,
                trouble,
            });
        }
        let Some(Ok(inner)) = opened else {
            return Ok(());
        };
        let rules = match was_folder {
            true => rules.inside(self.base, &path),
            false => rules.clone(),
        };
        self.folder(&inner, &path, &rules, ignored, depth + 1)
    }

    fn gone(&mut self, path: RelPath, rules: &Rules) {
        let Some(copied) = self.index.get(&path) else {
            return;
        };
        let what = copied.base.what;
        let ignored = match rules.ignore(&path, what) {
            true => Ignored::Yes,
            false => Ignored::No,
        };
        self.found.all.push(Difference {
            path: path.clone(),
            new: None,
            was: Was::Copied(copied.base.clone()),
            touched: 0,
            ignored,
            trouble: None,
        });
        if what == What::Folder && ignored == Ignored::No {
            self.contents_gone(&path, rules);
        }
    }

    fn contents_gone(&mut self, path: &RelPath, rules: &Rules) {
        let rules = rules.inside(self.base, path);
        for name in self.index.contents(path) {
            self.gone(path.join(name), &rules);
        }
    }
}
