//! The granted roots, each opened once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use deputize_authority::{Grant, Set};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;

use super::error::OpenError;

/// Handles of all readable roots of a grant.
#[derive(Debug)]
pub(crate) struct Roots {
    anchors: Vec<Anchor>,
}

/// One root: a folder's handle, and what below it is granted.
#[derive(Debug)]
pub(super) struct Anchor {
    /// The folder's path.
    path: PathBuf,
    pub(super) handle: OwnedFd,
    /// The one name that is granted, when the root is a file: a file has no handle to go below of.
    only: Option<OsString>,
}

impl Roots {
    /// Opens the readable roots of a grant. A root that doesn't exist here, or that this process may
    /// not enter, grants nothing; the workspace must exist and be the folder that was granted. Where a
    /// copy stands in its place, the boundary compared what lies below it.
    pub(crate) fn of(grant: &Grant) -> Result<Self, OpenError> {
        let workspace = grant.workspace();
        let everything = [Path::new("/")];
        let read = &grant.bounds().read;
        let paths: Vec<&Path> = match read {
            Set::Any => everything.to_vec(),
            Set::Only(_) => read.items().map(deputize_authority::Root::path).collect(),
        };
        let mut anchors = Vec::with_capacity(paths.len());
        for path in paths {
            match Anchor::open(path) {
                Ok(anchor) => anchors.push(anchor),
                Err(Errno::NOSYS) => return Err(OpenError::NoOpenat2(Errno::NOSYS)),
                Err(Errno::PERM) => return Err(OpenError::NoOpenat2(Errno::PERM)),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS)
                    if !workspace.path().starts_with(path) => {}
                Err(source) => {
                    let path = path.to_owned();
                    return Err(OpenError::Root { path, source });
                }
            }
        }
        let roots = Self { anchors };
        if workspace.mode.is_copy() {
            return Ok(roots);
        }
        if let Ok(found) = roots.find(workspace.path()) {
            let identity = found.identity();
            if (identity.device, identity.inode) != (workspace.device, workspace.inode) {
                return Err(OpenError::WorkspaceChanged);
            }
        }
        Ok(roots)
    }

    /// The whole file system, for looking programs up. Contents are never opened through it.
    pub(crate) fn everything() -> Result<Self, OpenError> {
        let path = Path::new("/");
        let anchor = Anchor::open(path).map_err(|source| OpenError::Root {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            anchors: vec![anchor],
        })
    }

    /// The root that a path lies in, and the way from there.
    pub(super) fn covering<'p>(&self, path: &'p Path) -> Option<(&Anchor, &'p Path)> {
        self.anchors
            .iter()
            .filter_map(|anchor| Some((anchor, anchor.below(path)?)))
            .min_by_key(|(_, rest)| rest.as_os_str().len())
    }

    /// Whether a folder is on the way from `/` to a root. The way itself was canonical when the
    /// grant was made, so it can be walked without looking.
    pub(super) fn is_on_the_way(&self, path: &Path) -> bool {
        self.anchors
            .iter()
            .any(|anchor| anchor.path.starts_with(path))
    }
}

impl Anchor {
    fn open(path: &Path) -> Result<Self, Errno> {
        let handle = look_at_root(path)?;
        let is_folder = FileType::from_raw_mode(fstat(&handle)?.st_mode) == FileType::Directory;
        match (is_folder, path.parent(), path.file_name()) {
            (false, Some(parent), Some(name)) => Ok(Self {
                path: parent.to_owned(),
                handle: look_at_root(parent)?,
                only: Some(name.to_owned()),
            }),
            _ => Ok(Self {
                path: path.to_owned(),
                handle,
                only: None,
            }),
        }
    }

    fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let rest = path.strip_prefix(&self.path).ok()?;
        match &self.only {
            Some(name) if rest.as_os_str() != name => None,
            _ => Some(rest),
        }
    }
}

fn look_at_root(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
}
