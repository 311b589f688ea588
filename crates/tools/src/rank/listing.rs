//! The files of a search, and what they are called.

use std::path::{Path, PathBuf};

use deputize_authority::SecretRules;
use deputize_gate::Kind;
use rustix::fd::OwnedFd;
use rustix::fs::FileType;

use crate::beneath::{Beneath, Lost};
use crate::limits::SEARCHED_FILES;
use crate::tree::{Flow, Summary, walk};

/// The files that a search looks at.
pub(super) struct Listing<'a> {
    /// The handle that the files are opened below.
    pub(super) folder: &'a OwnedFd,
    /// Paths below it.
    pub(super) files: Vec<PathBuf>,
    /// The folder's own path.
    base: PathBuf,
    workspace: &'a Path,
    /// What the walk left out.
    pub(super) walked: Summary,
}

impl<'a> Listing<'a> {
    /// Lists a file, or the files below a folder.
    pub(super) fn of(
        place: &'a Beneath<'_>,
        workspace: &'a Path,
        secrets: &SecretRules,
    ) -> Result<Self, Lost> {
        if place.kind() != Kind::Folder {
            let (folder, way) = place.way();
            let depth = way.components().count();
            let base = place.canonical().ancestors().nth(depth);
            return Ok(Self {
                folder,
                files: vec![way.to_owned()],
                base: base.unwrap_or(Path::new("/")).to_owned(),
                workspace,
                walked: Summary::default(),
            });
        }
        let mut files = Vec::new();
        let mut walked = walk(place, secrets, |entry| {
            if entry.kind != FileType::RegularFile {
                return Flow::Continue;
            }
            if files.len() == SEARCHED_FILES {
                return Flow::Enough;
            }
            files.push(entry.path.to_owned());
            Flow::Continue
        })?;
        if files.len() == SEARCHED_FILES {
            walked.stopped = Some(format!(
                "only the first {SEARCHED_FILES} files were searched: name a smaller folder"
            ));
        }
        Ok(Self {
            folder: place.handle(),
            files,
            base: place.canonical().to_owned(),
            workspace,
            walked,
        })
    }

    /// A file's path as calls name it: relative to the workspace where it lies in it. `None` where it
    /// is not UTF-8, so that no call could name it.
    pub(super) fn name(&self, file: usize) -> Option<String> {
        let path = self.base.join(self.files.get(file)?);
        let name = path.strip_prefix(self.workspace).unwrap_or(&path);
        name.to_str().map(str::to_owned)
    }
}
