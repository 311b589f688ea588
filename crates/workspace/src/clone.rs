//! A private clone of a repository: what can be cloned, and the folder that git fills.
//!
//! Git is never run here. Whoever has a boundary runs it there, on the tree of an [`EmptyClone`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use deputize_authority::Refusal;

use crate::CopyError;
use crate::beneath::{Anchor, names};
use crate::copy::{
    BaseFolder, CopyKind, FOLDER, TREE, WorkingCopy, give, open_base, private_folder,
};
use crate::entry::What;
use crate::error::Doing as _;
use crate::rel_path::RelPath;

/// A clone that git is yet to make. Until it is [indexed](Self::index) it is no copy: a kill leaves a
/// folder that a sweep removes.
#[derive(Debug)]
pub struct EmptyClone {
    folder: PathBuf,
    base: BaseFolder,
}

impl EmptyClone {
    /// Makes the empty folder for a clone.
    ///
    /// # Errors
    /// When the folder isn't the one that was granted or can't be cloned, or the disk is full; what
    /// was made is removed again.
    pub fn create(run: &Path, base: BaseFolder) -> Result<Self, CopyError> {
        borrowed(&base)?;
        let folder = run.join(FOLDER);
        private_folder(&folder)?;
        let clone = Self { folder, base };
        let tree = clone.tree();
        let made = private_folder(&tree).and_then(|()| give(&tree, &open_base(&clone.base)?));
        match made {
            Ok(()) => Ok(clone),
            Err(error) => {
                // The error that is reported is the one that caused this.
                let _ = clone.remove();
                Err(error)
            }
        }
    }

    /// The folder to fill.
    #[must_use]
    pub fn tree(&self) -> PathBuf {
        self.folder.join(TREE)
    }

    /// Writes down what git made, which is what every change is compared with.
    ///
    /// # Errors
    /// When it can't be read, or is too large; it is removed then.
    pub fn index(self) -> Result<WorkingCopy, CopyError> {
        let filled = WorkingCopy::fill(&self.folder, self.base.clone(), CopyKind::Worktree);
        if filled.is_err() {
            // The error that is reported is the one that caused this.
            let _ = self.remove();
        }
        filled
    }

    /// Removes it with all that git left in it.
    ///
    /// # Errors
    /// When something in it can't be removed.
    pub fn remove(self) -> Result<(), CopyError> {
        crate::removal::remove(&self.folder)
    }
}

/// Whether a folder can be cloned, by a look at it alone.
///
/// # Errors
/// `worktree_needs_repository`, `worktree_linked`, `worktree_alternates`, `worktree_incomplete`.
pub fn cloneable(base: &BaseFolder) -> Result<(), CopyError> {
    borrowed(base).map(drop)
}

/// The objects of the repository that a folder is the top of, for a clone to borrow.
pub(crate) fn borrowed(base: &BaseFolder) -> Result<BaseFolder, CopyError> {
    let anchor = open_base(base)?;
    let find = |names: &[&str]| find(&anchor, names);
    match find(&[".git"])?.map(|(_, seen)| seen.what) {
        Some(What::Folder) => {}
        Some(What::File) => return Err(linked().into()),
        Some(_) => return Err(needs_repository("its `.git` is no folder of its own").into()),
        None => return Err(needs_repository("it isn't the top of a git repository").into()),
    }
    let objects = find(&[".git", "objects"])?;
    let Some((path, objects)) = objects.filter(|(_, seen)| seen.what == What::Folder) else {
        let why = "its repository has no folder of objects of its own";
        return Err(needs_repository(why).into());
    };
    let others = find(&[".git", "objects", "info", "alternates"])?;
    if others.is_some_and(|(_, seen)| seen.what != What::File || seen.size > 0) {
        return Err(alternates().into());
    }
    if find(&[".git", "shallow"])?.is_some() || is_partial(&anchor)? {
        return Err(incomplete().into());
    }
    Ok(BaseFolder {
        path: base.path.join(path.as_path()),
        device: objects.device,
        inode: objects.inode,
        named: Vec::new(),
    })
}

fn find(base: &Anchor, names: &[&str]) -> Result<Option<(RelPath, crate::entry::Seen)>, CopyError> {
    let path = names
        .iter()
        .fold(RelPath::top(), |path, name| path.join(OsStr::new(name)));
    let seen = base.look(&path).doing("look at", path.as_path())?;
    Ok(seen.map(|seen| (path, seen)))
}

/// Whether objects were left out when it was fetched: their packs say that somebody promised them.
fn is_partial(base: &Anchor) -> Result<bool, CopyError> {
    let Some((path, seen)) = find(base, &[".git", "objects", "pack"])? else {
        return Ok(false);
    };
    if seen.what != What::Folder {
        return Ok(false);
    }
    let listed = base.listing(&path).and_then(names);
    let listed = listed.doing("list the folder", path.as_path())?;
    Ok(listed
        .iter()
        .any(|name| Path::new(name).extension() == Some(OsStr::new("promisor"))))
}

fn needs_repository(why: &str) -> Refusal {
    Refusal::new(
        "worktree_needs_repository",
        "workspace",
        format!("the folder can't be cloned: {why}"),
        "name the top folder of a repository with --workdir, or use `--workspace copy-on-write`, \
         which needs none",
    )
}

fn linked() -> Refusal {
    Refusal::new(
        "worktree_linked",
        "workspace",
        "the folder's `.git` is a file: it is a linked work tree or a submodule, and its repository \
         lies elsewhere",
        "use `--workspace copy-on-write`, or name the main work tree with --workdir",
    )
}

/// Those of others can't be seen from inside.
fn alternates() -> Refusal {
    Refusal::new(
        "worktree_alternates",
        "workspace",
        "the repository borrows objects from another one, which a clone of it couldn't see",
        "use `--workspace copy-on-write`, or end the borrowing with `git repack -a -d` and by deleting \
         `.git/objects/info/alternates`",
    )
}

fn incomplete() -> Refusal {
    Refusal::new(
        "worktree_incomplete",
        "workspace",
        "the repository is shallow or partial: it lacks objects that a clone needs",
        "use `--workspace copy-on-write`, or fetch the rest (`git fetch --unshallow`)",
    )
}
