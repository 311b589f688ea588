//! Writes down what a clone's checkout holds, before a child sees it.
//!
//! # Trust
//! Git wrote what is here from a repository that may be hostile: nothing is followed.

use std::os::fd::OwnedFd;
use std::path::Path;

use deputize_authority::Refusal;
use rustix::fs::OFlags;

use super::index::{Copied, Writer};
use super::make::mark;
use crate::CopyError;
use crate::beneath::{Anchor, below, names, target};
use crate::digest;
use crate::entry::{Seen, What, look};
use crate::error::Doing as _;
use crate::limits::{DEPTH, MIRROR_BYTES, MIRROR_ENTRIES};
use crate::rel_path::RelPath;

/// Writes the index of a checkout; how many files it has, git's own left out.
pub(crate) fn index(tree: &Path, index: &Path) -> Result<u64, CopyError> {
    let copy = Anchor::open(tree).doing("open the clone", tree)?;
    let mut walk = Walk {
        index: Writer::create(index)?,
        entries: 0,
        bytes: 0,
        files: 0,
    };
    let top = RelPath::top();
    let handle = copy.listing(&top).doing("open the clone", tree)?;
    walk.folder(&handle, &top, 0)?;
    walk.index.finish(mark(tree)?)?;
    Ok(walk.files)
}

struct Walk {
    index: Writer,
    entries: usize,
    bytes: u64,
    files: u64,
}

impl Walk {
    fn folder(&mut self, handle: &OwnedFd, place: &RelPath, depth: usize) -> Result<(), CopyError> {
        let listed = names(handle).doing("list the clone's folder", place.as_path())?;
        for name in &listed {
            let path = place.join(name);
            let seen = look(handle, name).doing("look at the clone's", path.as_path())?;
            let Some(seen) = seen else { continue };
            self.count(&path, &seen)?;
            let open = |flags| below(handle, Path::new(name), flags);
            let digest = match seen.what {
                What::File => {
                    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
                    let file = open(flags).doing("read the clone's", path.as_path())?;
                    let read = digest::of_file(&mut file.into());
                    Some(read.doing("read the clone's", path.as_path())?)
                }
                What::Link => {
                    let leads = target(handle, name).doing("read the link", path.as_path())?;
                    Some(digest::of_bytes(&leads))
                }
                What::Folder if depth >= DEPTH => {
                    return Err(too_large(format!("folders more than {DEPTH} deep")).into());
                }
                What::Folder => {
                    let inner = open(OFlags::RDONLY | OFlags::DIRECTORY)
                        .doing("open the clone's folder", path.as_path())?;
                    self.folder(&inner, &path, depth + 1)?;
                    None
                }
                // Git makes none. What isn't in the index is new, and refused for what it is.
                What::Fifo | What::Socket | What::Device => continue,
            };
            let copied = Copied {
                copy: seen.stamp(),
                mode: seen.mode,
                base: seen,
                digest,
            };
            self.index.entry(&path, copied)?;
        }
        Ok(())
    }

    fn count(&mut self, path: &RelPath, seen: &Seen) -> Result<(), CopyError> {
        let is_gits = path.segments().next().is_some_and(|name| name == ".git");
        self.entries += 1;
        self.files += u64::from(seen.what != What::Folder && !is_gits);
        self.bytes = self.bytes.saturating_add(seen.size);
        if self.entries > MIRROR_ENTRIES {
            return Err(too_large(format!("more than {MIRROR_ENTRIES} entries")).into());
        }
        if self.bytes > MIRROR_BYTES {
            return Err(too_large(format!("more than {} GiB", MIRROR_BYTES >> 30)).into());
        }
        Ok(())
    }
}

fn too_large(what: String) -> Refusal {
    Refusal::new(
        "worktree_too_large",
        "workspace",
        format!("a checkout of HEAD has {what}"),
        "use `--workspace copy-on-write`, which copies nothing where overlays can be had",
    )
}
