//! A copy of a workspace: made for a run, looked at while it goes on, and read afterwards.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use deputize_authority::Refusal;
use serde::{Deserialize, Serialize};

use crate::CopyError;
use crate::bases::{Access, Bases};
use crate::beneath::Anchor;
use crate::differences::Differences;
use crate::entry::Stamp;
use crate::error::Doing as _;
use crate::mirror::{self, Index};
use crate::overlay;
use crate::rel_path::RelPath;

/// The folder in a run's folder that holds all of a copy.
pub(crate) const FOLDER: &str = "copy";

/// The folder in it that holds an overlay's layers, and nothing else: all of it is mounted, with one
/// owner, that of the person's folder.
const LAYERS: &str = "layers";

/// The folder in it that holds a whole copy.
pub(crate) const TREE: &str = "tree";

/// What a whole copy was like when it was made.
pub(crate) const INDEX: &str = "index.jsonl";

/// What is known of a copy. It is written last: a folder without it is a copy that was never made.
pub(crate) const RECORD: &str = "copy.json";

/// Form of the record; a reader that knows only another refuses.
const FORMAT: u32 = 1;

/// Largest record: paths and some dozens of names.
const RECORD_BYTES: u64 = 1 << 20;

/// The person's folder that a copy is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseFolder {
    /// Canonical path.
    pub path: PathBuf,
    /// Device number of the folder.
    pub device: u64,
    /// Inode number of the folder.
    pub inode: u64,
    /// What the person's configuration of git names in whatever work tree it is used, as
    /// [`deputize_authority::git_config::named`] finds it: relative to the top of a repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
}

/// How a copy comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyKind {
    /// The boundary mounts an overlay over the folder; what changes goes to a layer of its own.
    Overlay,
    /// Everything is copied beforehand, for where no overlay can be had.
    Mirror,
    /// A private clone of the repository, with a fresh checkout of HEAD: see [`crate::EmptyClone`].
    Worktree,
    /// None is made to work in: this is what the folder was before a run that writes to it directly.
    Snapshot,
}

/// What a boundary mounts at the workspace's path. All absolute; every folder exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layers {
    /// An overlay, with `userxattr`, over the person's folder.
    Overlay {
        /// Its upper layer.
        upper: PathBuf,
        /// Its work folder.
        work: PathBuf,
    },
    /// A folder in place of the person's.
    Mirror {
        /// The folder.
        tree: PathBuf,
    },
    /// A private clone in place of the person's folder.
    Clone {
        /// The clone.
        tree: PathBuf,
        /// The objects of the person's repository, which it borrows.
        objects: BaseFolder,
    },
}

/// What is known of a copy, written when it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyRecord {
    format: u32,
    /// How it came about.
    pub kind: CopyKind,
    /// What it is of.
    pub base: BaseFolder,
    /// The objects that a clone borrows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<BaseFolder>,
    /// What a person should know about it: how it was copied, what was left out.
    pub notes: Vec<String>,
}

/// A copy of a workspace.
#[derive(Debug)]
pub struct WorkingCopy {
    folder: PathBuf,
    record: CopyRecord,
    pub(crate) bases: Bases,
    pub(crate) index: Option<Index>,
    /// Digests of the copy's files, as long as their stamps stay.
    pub(crate) digests: HashMap<RelPath, (Stamp, String)>,
}

impl WorkingCopy {
    /// Makes the copy of a folder for a run. A mirror is copied before this returns; a clone is begun
    /// with [`crate::EmptyClone`] instead.
    ///
    /// # Errors
    /// When the folder isn't the one that was granted, is too large for a mirror, or the disk is full;
    /// what was made is removed again.
    pub fn create(run: &Path, base: BaseFolder, kind: CopyKind) -> Result<Self, CopyError> {
        let folder = run.join(FOLDER);
        private_folder(&folder)?;
        let made = Self::fill(&folder, base, kind);
        if made.is_err() {
            // The error that is reported is the one that caused this.
            let _ = crate::removal::remove(&folder);
        }
        made
    }

    pub(crate) fn fill(folder: &Path, base: BaseFolder, kind: CopyKind) -> Result<Self, CopyError> {
        let anchor = open_base(&base)?;
        let (mut notes, mut objects) = (Vec::new(), None);
        match kind {
            CopyKind::Overlay => {
                let layers = folder.join(LAYERS);
                private_folder(&layers)?;
                give(&layers, &anchor)?;
                for name in ["upper", "work"] {
                    private_folder(&layers.join(name))?;
                    give(&layers.join(name), &anchor)?;
                }
                like(&layers.join("upper"), &anchor)?;
            }
            CopyKind::Mirror | CopyKind::Snapshot => {
                let tree = folder.join(TREE);
                private_folder(&tree)?;
                let ignored = match kind {
                    CopyKind::Snapshot => mirror::Ignored::LeftOut,
                    _ => mirror::Ignored::Copied,
                };
                let made = mirror::make(&anchor, &tree, &folder.join(INDEX), ignored)?;
                like(&tree, &anchor)?;
                notes.push(format!(
                    "{} entries were copied: {} files share their content with the base, {} bytes \
                     were written",
                    made.entries, made.shared, made.written
                ));
                for (path, why) in &made.left_out {
                    notes.push(format!("left out ({why}): {}", path.text()));
                }
                let named = made.left_out.len();
                if made.left_out_count > named {
                    notes.push(format!("left out: {} more", made.left_out_count - named));
                }
            }
            CopyKind::Worktree => {
                objects = Some(crate::clone::borrowed(&base)?);
                let tree = folder.join(TREE);
                let files = mirror::index(&tree, &folder.join(INDEX))?;
                like(&tree, &anchor)?;
                let files = match files {
                    1 => "1 file".to_owned(),
                    files => format!("{files} files"),
                };
                notes.push(format!(
                    "a fresh checkout of HEAD ({files}): what isn't committed isn't in it, \
                     submodules are empty, and commits stay in it"
                ));
            }
        }
        let record = CopyRecord {
            format: FORMAT,
            kind,
            base,
            objects,
            notes,
        };
        let mut copy = Self {
            folder: folder.to_owned(),
            bases: Bases::open(&folder.join("bases.jsonl"))?,
            index: read_index(folder, kind)?,
            record,
            digests: HashMap::new(),
        };
        let now = copy.bases.now()?;
        copy.bases.record_observed(now);
        copy.bases.flush()?;
        copy.write_record()?;
        Ok(copy)
    }

    fn write_record(&self) -> Result<(), CopyError> {
        let path = self.folder.join(RECORD);
        let text = serde_json::to_vec_pretty(&self.record).map_err(|error| CopyError::Record {
            path: path.clone(),
            why: error.to_string(),
        })?;
        let written = File::create_new(&path).and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_all()
        });
        written.doing("write the record", &path)
    }

    /// Opens the copy of a run.
    ///
    /// # Errors
    /// `no_copy` when the run has none; else when its records can't be read.
    pub fn open(run: &Path) -> Result<Self, CopyError> {
        let folder = run.join(FOLDER);
        let path = folder.join(RECORD);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(no_copy().into());
            }
            Err(error) => return Err(error).doing("open the record", &path),
        };
        let mut text = Vec::new();
        file.take(RECORD_BYTES)
            .read_to_end(&mut text)
            .doing("read the record", &path)?;
        let broken = |why: String| CopyError::Record {
            path: path.clone(),
            why,
        };
        let record: CopyRecord =
            serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))?;
        if record.format != FORMAT {
            return Err(broken(format!(
                "its form is {}, not {FORMAT}",
                record.format
            )));
        }
        Ok(Self {
            bases: Bases::open(&folder.join("bases.jsonl"))?,
            index: read_index(&folder, record.kind)?,
            folder,
            record,
            digests: HashMap::new(),
        })
    }

    /// Whether a run has a copy; it has none when it had none, or when that was discarded.
    #[must_use]
    pub fn exists(run: &Path) -> bool {
        run.join(FOLDER).join(RECORD).exists()
    }

    /// Whether there is only what the making of a copy left: it goes on, or was cut off.
    #[must_use]
    pub fn is_unmade(run: &Path) -> bool {
        !Self::exists(run) && fs::symlink_metadata(run.join(FOLDER)).is_ok()
    }

    /// What is known of it.
    #[must_use]
    pub fn record(&self) -> &CopyRecord {
        &self.record
    }

    /// Where all of it lies.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether another process has it open: then what is seen here isn't recorded.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.bases.access() == Access::Looks
    }

    /// What a boundary has to mount.
    #[must_use]
    pub fn layers(&self) -> Layers {
        let tree = self.folder.join(TREE);
        match (self.record.kind, &self.record.objects) {
            (CopyKind::Overlay, _) => Layers::Overlay {
                upper: self.folder.join(LAYERS).join("upper"),
                work: self.folder.join(LAYERS).join("work"),
            },
            (CopyKind::Worktree, Some(objects)) => Layers::Clone {
                tree,
                objects: objects.clone(),
            },
            (CopyKind::Mirror | CopyKind::Worktree | CopyKind::Snapshot, _) => {
                Layers::Mirror { tree }
            }
        }
    }

    /// Removes it with all that is in it, in favour of another copy for the same run, or because
    /// nothing was changed.
    ///
    /// # Errors
    /// When something in it can't be removed.
    pub fn remove(&mut self) -> Result<(), CopyError> {
        crate::removal::remove(&self.folder)
    }

    /// The person's folder, as long as it is the one that the copy is of.
    pub(crate) fn base(&self) -> Result<Anchor, CopyError> {
        open_base(&self.record.base)
    }

    /// The folder that holds what the child wrote.
    pub(crate) fn top(&self) -> Result<Anchor, CopyError> {
        if self.is_snapshot() {
            return self.base();
        }
        let path = match self.layers() {
            Layers::Overlay { upper, .. } => upper,
            Layers::Mirror { tree } | Layers::Clone { tree, .. } => tree,
        };
        Anchor::open(&path).doing("open the copy", &path)
    }

    pub(crate) fn differences(
        &self,
        top: &Anchor,
        base: &Anchor,
    ) -> Result<Differences, CopyError> {
        let mut found = match &self.index {
            None => overlay::differences(top, base, &self.bases)?,
            Some(index) => mirror::differences(top, index, base)?,
        };
        drop_placeholders(&mut found, &self.bases);
        Ok(found)
    }
}

/// What a boundary put there to keep a place free is nobody's change.
fn drop_placeholders(found: &mut Differences, bases: &Bases) {
    use crate::differences::{Ignored, Was};
    let mut used: BTreeSet<RelPath> = BTreeSet::new();
    let mut kept = Vec::with_capacity(found.all.len());
    // From the end: what lies in a folder comes before the folder.
    for difference in std::mem::take(&mut found.all).into_iter().rev() {
        let absent = match &difference.was {
            Was::Recorded => bases
                .get(&difference.path)
                .is_none_or(|base| base.was.is_none()),
            Was::Live(seen) => seen.is_none(),
            Was::Copied(_) => false,
        };
        let holds = used.contains(&difference.path);
        let keeps = difference.new.as_ref().is_some_and(|new| {
            crate::held::is_placeholder(&difference.path, new.what, new.size, holds)
        });
        let places = difference.ignored == Ignored::No && difference.trouble.is_none();
        if places && absent && keeps {
            continue;
        }
        used.extend(difference.path.folder());
        kept.push(difference);
    }
    kept.reverse();
    found.all = kept;
}

fn read_index(folder: &Path, kind: CopyKind) -> Result<Option<Index>, CopyError> {
    match kind {
        CopyKind::Overlay => Ok(None),
        // A snapshot that was sealed has none any more.
        CopyKind::Snapshot if !folder.join(INDEX).exists() => Ok(None),
        CopyKind::Mirror | CopyKind::Worktree | CopyKind::Snapshot => {
            Index::read(&folder.join(INDEX)).map(Some)
        }
    }
}

pub(crate) fn open_base(base: &BaseFolder) -> Result<Anchor, CopyError> {
    let anchor = Anchor::open(&base.path).doing("open the workspace", &base.path)?;
    let seen = anchor
        .look(&RelPath::top())
        .doing("look at the workspace", &base.path)?;
    let same = seen.is_some_and(|seen| (seen.device, seen.inode) == (base.device, base.inode));
    if !same {
        return Err(Refusal::new(
            "workspace_changed",
            "workspace",
            format!(
                "`{}` isn't the folder any more that the copy is of",
                deputize_authority::escape(&base.path.to_string_lossy())
            ),
            "put the folder back where it was, or take what you want from the copy by hand",
        )
        .into());
    }
    Ok(anchor)
}

pub(crate) fn private_folder(path: &Path) -> Result<(), CopyError> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .doing("make the folder", path)
}

/// Gives the top of a copy the permissions, and as root the owner, of what it stands for. It lies in
/// a folder that only its owner enters.
fn like(path: &Path, base: &Anchor) -> Result<(), CopyError> {
    use std::os::unix::fs::PermissionsExt as _;
    give(path, base)?;
    let seen = crate::entry::look(base.handle(), OsStr::new("")).doing("look at", path)?;
    let Some(seen) = seen else { return Ok(()) };
    fs::set_permissions(path, fs::Permissions::from_mode(seen.permissions()))
        .doing("set the permissions of", path)
}

fn no_copy() -> Refusal {
    Refusal::new(
        "no_copy",
        "run",
        "the run has no copy of its workspace: it wrote to none, or the copy was discarded",
        "`deputize gc --dry-run` lists the copies that there are",
    )
}

/// As root, gives a folder to the owner of the person's folder: the boundary shows both as one
/// identity's.
pub(crate) fn give(path: &Path, base: &Anchor) -> Result<(), CopyError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let seen = crate::entry::look(base.handle(), OsStr::new("")).doing("look at", path)?;
    let Some(seen) = seen else { return Ok(()) };
    let (user, group) = seen.owner;
    std::os::unix::fs::lchown(path, Some(user), Some(group))
        .doing("give the copy to its owner", path)
}
