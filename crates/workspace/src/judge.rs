//! What is to become of a change: applied, left out, held back or refused.

use std::collections::HashMap;

use crate::differences::{Difference, Ignored};
use crate::entry::{Seen, What};
use crate::held::held_by_name;
use crate::limits::PATH_BYTES;
use crate::manifest::Disposition;
use crate::named::Named;
use crate::rel_path::RelPath;
use crate::view::View;

/// What a bare repository is made of, and git obeys. The rest of such a folder is the person's work.
const PARTS: &[&str] = &[
    "head",
    "objects",
    "refs",
    "packed-refs",
    "commondir",
    "config",
    "config.worktree",
    "hooks",
    "info",
    "modules",
    "worktrees",
    "remotes",
    "branches",
    "index",
];

/// Judges the changes of one copy.
pub(crate) struct Judge<'a> {
    pub(crate) view: View<'a>,
    /// How many names each file with several names has in the copy.
    pub(crate) names: &'a HashMap<(u64, u64), u32>,
    repositories: HashMap<RelPath, Repository>,
    named: Named<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Repository {
    No,
    Yes,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(
        view: View<'a>,
        names: &'a HashMap<(u64, u64), u32>,
        named: Named<'a>,
    ) -> Self {
        Self {
            view,
            names,
            repositories: HashMap::new(),
            named,
        }
    }

    /// The disposition of a difference that turned out to be a change of what the base had.
    pub(crate) fn disposition(
        &mut self,
        difference: &Difference,
        old: Option<&Seen>,
    ) -> Disposition {
        // What is left out needs no further look.
        if difference.ignored == Ignored::Yes {
            return Disposition::Skip;
        }
        if let Some(why) = old
            .and_then(irreplaceable)
            .or_else(|| self.refused(difference))
        {
            return Disposition::Refuse(why.to_owned());
        }
        if let Some(why) = held_by_name(&difference.path) {
            return Disposition::Hold(why.to_owned());
        }
        if self.named.names(&difference.path) {
            return Disposition::Hold(
                "your git configuration names it: git runs or obeys it".to_owned(),
            );
        }
        if self.is_repository_part(&difference.path) {
            return Disposition::Hold("it makes or changes a bare repository".to_owned());
        }
        Disposition::Apply
    }

    fn refused(&self, difference: &Difference) -> Option<&'static str> {
        if difference.trouble.is_some() {
            return difference.trouble;
        }
        if difference.path.bytes() > PATH_BYTES {
            return Some("its path is too long");
        }
        let new = difference.new.as_ref()?;
        match new.what {
            What::Fifo => Some("it is a FIFO"),
            What::Socket => Some("it is a socket"),
            What::Device => Some("it is a device"),
            What::Link => {
                let target = self.view.top.target(&difference.path);
                let inside =
                    target.is_ok_and(|target| !self.view.leads_out(&difference.path, &target));
                (!inside).then_some("it is a link that leads out of the workspace")
            }
            What::File if new.is_set_id() => Some("it would run as somebody else (set-id)"),
            What::File if new.links > self.names_of(new.device, new.inode) => {
                Some("it has a further name outside the copy")
            }
            What::File | What::Folder => None,
        }
    }

    fn names_of(&self, device: u64, inode: u64) -> u32 {
        self.names.get(&(device, inode)).copied().unwrap_or(1)
    }

    /// Whether it is a part of a folder that git would take for a repository by its layout alone.
    fn is_repository_part(&mut self, path: &RelPath) -> bool {
        let mut part = path.clone();
        while let Some(folder) = part.folder() {
            let name = part.name().to_string_lossy().to_lowercase();
            if PARTS.contains(&name.as_str()) && self.is_repository(&folder) {
                return true;
            }
            part = folder;
        }
        false
    }

    fn is_repository(&mut self, folder: &RelPath) -> bool {
        let known = self.repositories.get(folder).copied();
        let known = known.unwrap_or_else(|| {
            let found = match self.view.is_repository(folder) {
                true => Repository::Yes,
                false => Repository::No,
            };
            self.repositories.insert(folder.clone(), found);
            found
        });
        known == Repository::Yes
    }
}

/// Why what the person has there is never replaced or deleted: it couldn't be put back as it was.
fn irreplaceable(old: &Seen) -> Option<&'static str> {
    match old.what {
        What::Fifo | What::Socket | What::Device => {
            Some("yours is a special file, which couldn't be put back")
        }
        What::File if old.is_set_id() => {
            Some("yours runs as somebody else (set-id), which couldn't be put back")
        }
        What::File | What::Folder | What::Link => None,
    }
}
