//! From a path to what is there.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{FileType, fstat, readlinkat};
use rustix::io::Errno;

use super::error::Lost;
use super::open::{Purpose, open};
use super::place::Beneath;
use super::roots::Roots;

/// Symlinks that are followed on one way, as many as the kernel follows.
const MAX_HOPS: usize = 40;

/// Names that may still be to walk: links whose targets grow forever end here.
const MAX_PENDING: usize = 4_096;

/// How often the whole look-up is repeated when what was found by hand is gone a moment later.
const ATTEMPTS: usize = 8;

impl Roots {
    /// Finds what is at an absolute path, symlinks followed as long as they stay inside the roots.
    pub(crate) fn find(&self, path: &Path) -> Result<Beneath<'_>, Lost> {
        if let Ok(found) = self.directly(path) {
            return Ok(found);
        }
        let mut last = Lost::Changed;
        for _ in 0..ATTEMPTS {
            let canonical = self.follow(path)?;
            match self.directly(&canonical) {
                Ok(found) => return Ok(found),
                Err(lost) => last = lost,
            }
        }
        Err(last)
    }

    /// One system call for a path without symlinks; anything else is an error.
    fn directly(&self, path: &Path) -> Result<Beneath<'_>, Lost> {
        let (anchor, relative) = self.covering(path).ok_or(Lost::Escapes)?;
        let handle = open(&anchor.handle, relative, Purpose::Look)?;
        let found = Beneath::new(anchor, relative, path, handle)?;
        if found.is_symlink() {
            return Err(Lost::Loop);
        }
        Ok(found)
    }

    /// The path without symlinks, found name by name below the handles.
    pub(crate) fn follow(&self, path: &Path) -> Result<PathBuf, Lost> {
        let mut walk = Walk {
            roots: self,
            done: PathBuf::from("/"),
            folder: None,
            pending: Vec::new(),
            hops: 0,
        };
        walk.push(path)?;
        while let Some(name) = walk.pending.pop() {
            walk.step(&name)?;
        }
        Ok(walk.done)
    }
}

struct Walk<'r> {
    roots: &'r Roots,
    /// The way so far: canonical.
    done: PathBuf,
    /// The handle of `done`, when it was opened inside a root.
    folder: Option<OwnedFd>,
    /// The names to come, the next one last.
    pending: Vec<OsString>,
    hops: usize,
}

impl Walk<'_> {
    fn push(&mut self, path: &Path) -> Result<(), Lost> {
        if path.is_absolute() {
            self.done = PathBuf::from("/");
            self.folder = None;
        }
        for part in path.components().rev() {
            match part {
                Component::Normal(name) => self.pending.push(name.to_owned()),
                Component::ParentDir => self.pending.push("..".into()),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        if self.pending.len() > MAX_PENDING {
            return Err(Lost::Loop);
        }
        Ok(())
    }

    fn step(&mut self, name: &OsString) -> Result<(), Lost> {
        if name == ".." {
            self.done.pop();
            self.folder = None;
            return Ok(());
        }
        let next = self.done.join(name);
        let Some((anchor, relative)) = self.roots.covering(&next) else {
            if self.roots.is_on_the_way(&next) {
                self.done = next;
                self.folder = None;
                return Ok(());
            }
            return Err(Lost::Escapes);
        };
        if relative.as_os_str().is_empty() {
            // A root itself.
            self.done = next;
            self.folder = None;
            return Ok(());
        }
        let opened = match &self.folder {
            Some(folder) => open(folder, Path::new(name), Purpose::Look),
            None => open(&anchor.handle, relative, Purpose::Look),
        };
        let handle = opened.map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR => Lost::Missing {
                deepest: self.done.clone(),
                rest: std::iter::once(name)
                    .chain(self.pending.iter().rev())
                    .collect(),
            },
            other => other.into(),
        })?;
        if FileType::from_raw_mode(fstat(&handle)?.st_mode) != FileType::Symlink {
            self.done = next;
            self.folder = Some(handle);
            return Ok(());
        }
        self.hops += 1;
        if self.hops > MAX_HOPS {
            return Err(Lost::Loop);
        }
        let target = readlinkat(&handle, "", Vec::new())?;
        self.push(Path::new(&OsString::from_vec(target.into_bytes())))
    }
}
