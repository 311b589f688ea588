//! Contents that were replaced, kept by their digest beside the copy: what an undo puts back.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::CopyError;
use crate::beneath::Anchor;
use crate::digest;
use crate::duplicate::duplicate;
use crate::entry::What;
use crate::error::Doing as _;
use crate::manifest::State;
use crate::rel_path::RelPath;

/// Longest link target: what a path may be.
const TARGET_BYTES: u64 = 8_192;

/// The store of a copy.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in a copy's folder; made where there is none.
    pub(crate) fn open(copy: &Path) -> Result<Self, CopyError> {
        let folder = copy.join("undo");
        fs::create_dir_all(&folder).doing("make the folder", &folder)?;
        Ok(Self { folder })
    }

    /// Keeps the content of a file, or the target of a link, if it is still the one of this state.
    /// What has no content needs no keeping.
    pub(crate) fn keep(
        &self,
        from: &Anchor,
        path: &RelPath,
        state: Option<&State>,
        few: Few,
    ) -> io::Result<Kept> {
        use io::Write as _;
        let Some(State {
            what,
            digest: Some(wanted),
            ..
        }) = state
        else {
            return Ok(Kept::Yes);
        };
        if *what == What::File {
            let mut file = from.file(path)?;
            return self.keep_as(wanted, few, |draft| duplicate(&mut file, draft).map(drop));
        }
        let target = from.target(path)?;
        self.keep_as(wanted, few, |draft| draft.write_all(&target))
    }

    fn keep_as(
        &self,
        wanted: &str,
        few: Few,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<Kept> {
        let place = self.folder.join(wanted);
        if place.exists() {
            return Ok(Kept::Yes);
        }
        let draft = self.folder.join("draft");
        let kept = put(&draft, &place, wanted, few, fill);
        if !matches!(kept, Ok(Kept::Yes)) {
            // The error that is reported is the one that caused this. A full disk gets its space back.
            let _ = fs::remove_file(&draft);
        }
        kept
    }

    /// Forgets contents that nothing needs any more; what stays costs only space.
    pub(crate) fn forget<'d>(&self, digests: impl Iterator<Item = &'d String>) {
        for digest in digests.map(String::as_str).chain(["draft"]) {
            let _ = fs::remove_file(self.folder.join(digest));
        }
    }

    /// A content that was kept.
    pub(crate) fn file(&self, digest: &str) -> io::Result<File> {
        File::open(self.folder.join(digest))
    }

    /// A link's target that was kept.
    pub(crate) fn target(&self, digest: &str) -> io::Result<Vec<u8>> {
        let mut target = Vec::new();
        self.file(digest)?
            .take(TARGET_BYTES)
            .read_to_end(&mut target)?;
        Ok(target)
    }

    /// Asks the disk to keep all of it.
    pub(crate) fn sync(&self, few: Few) -> io::Result<()> {
        let folder = File::open(&self.folder)?;
        match few {
            Few::Yes => folder.sync_all(),
            Few::No => Ok(rustix::fs::syncfs(folder)?),
        }
    }
}

/// Writes a draft, and gives it its name when it is what was asked for.
fn put(
    draft: &Path,
    place: &Path,
    wanted: &str,
    few: Few,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<Kept> {
    let mut file = File::create(draft)?;
    fill(&mut file)?;
    if digest::of_file(&mut File::open(draft)?)? != wanted {
        return Ok(Kept::Changed);
    }
    if few == Few::Yes {
        file.sync_all()?;
    }
    fs::rename(draft, place)?;
    Ok(Kept::Yes)
}

/// How the disk is asked to keep what was written: file by file where there are few of them, since a
/// whole file system may have far more to write than ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Few {
    Yes,
    No,
}

impl Few {
    /// So many files are synced one by one in the time that people don't notice.
    const MOST: usize = 64;

    pub(crate) fn of(steps: usize) -> Self {
        if steps <= Self::MOST {
            Self::Yes
        } else {
            Self::No
        }
    }
}

/// Whether a content was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Yes,
    /// It isn't the one any more that was asked for.
    Changed,
}
