//! What will be done to the person's folder, and what is in the way.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

use serde::Serialize;

use super::file::{is, state_of};
use super::journal::{Action, Step};
use crate::CopyError;
use crate::bases::Basis;
use crate::beneath::{Anchor, names};
use crate::entry::{Seen, Stamp, What};
use crate::error::Doing as _;
use crate::manifest::{Manifest, State};
use crate::rel_path::RelPath;

/// A path where the person's folder isn't what the change began from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// Where.
    pub path: RelPath,
    /// What is in the way.
    pub why: String,
}

/// What will be done.
#[derive(Debug)]
pub struct Plan {
    /// What it is for.
    pub action: Action,
    /// What was reviewed; of an undo, what was applied has no manifest.
    pub manifest: Manifest,
    /// What is in the way. Nothing of these paths will be touched.
    pub conflicts: Vec<Conflict>,
    /// Folders that stay, since they hold what isn't applied.
    pub kept: Vec<RelPath>,
    /// Paths that are already as they should be.
    pub already: usize,
    pub(crate) steps: Vec<Planned>,
}

impl Plan {
    /// How many paths will change.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The paths that will change, in the order in which they do.
    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        self.steps.iter().map(|planned| &planned.step.path)
    }
}

const ELSEWHERE: &str = "another file system is mounted there";

/// A step, with what was there when it was planned.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) step: Step,
    /// What a look at the place must show before anything is done.
    pub(crate) stamp: Option<Stamp>,
    pub(crate) owner: Option<(u32, u32)>,
}

/// A path with what it should be, and what it may be now.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) path: RelPath,
    pub(crate) from: Option<State>,
    pub(crate) to: Option<State>,
    pub(crate) basis: Basis,
    /// What `from` was read from, where that is known.
    pub(crate) stamp: Option<Stamp>,
}

/// Plans a set of paths, sorted, against the person's folder as it is now.
pub(crate) struct Planner<'a> {
    base: &'a Anchor,
    /// Paths that the base had and that stay.
    stays: &'a BTreeSet<RelPath>,
    umask: u32,
    /// The file system of the workspace: names can be exchanged only within one.
    device: u64,
    removed: BTreeSet<RelPath>,
    folders: BTreeSet<RelPath>,
    pub(crate) removals: Vec<Planned>,
    pub(crate) puts: Vec<Planned>,
    pub(crate) conflicts: Vec<Conflict>,
    pub(crate) kept: Vec<RelPath>,
    pub(crate) already: usize,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(base: &'a Anchor, stays: &'a BTreeSet<RelPath>, umask: u32) -> Self {
        Self {
            base,
            stays,
            umask,
            device: 0,
            removed: BTreeSet::new(),
            folders: BTreeSet::new(),
            removals: Vec::new(),
            puts: Vec::new(),
            conflicts: Vec::new(),
            kept: Vec::new(),
            already: 0,
        }
    }

    /// Plans everything: what goes from the deepest up, then what comes from the top down.
    pub(crate) fn plan(&mut self, wanted: &[Wanted]) -> Result<(), CopyError> {
        let top = self.look(&RelPath::top())?;
        self.device = top.map_or(0, |top| top.device);
        for one in wanted.iter().rev().filter(|one| one.to.is_none()) {
            self.removal(one)?;
        }
        for one in wanted.iter().filter(|one| one.to.is_some()) {
            self.put(one)?;
        }
        self.conflicts.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    fn removal(&mut self, one: &Wanted) -> Result<(), CopyError> {
        let now = self.look(&one.path)?;
        let Some(now) = now else {
            self.removed.insert(one.path.clone());
            self.already += 1;
            return Ok(());
        };
        if let Some(why) = self.in_the_way(one, &now)? {
            return self.conflict(one, why);
        }
        if now.what == What::Folder && !self.empties(one)? {
            return Ok(());
        }
        self.removed.insert(one.path.clone());
        let planned = planned(one, None, &now);
        self.removals.push(planned);
        Ok(())
    }

    fn put(&mut self, one: &Wanted) -> Result<(), CopyError> {
        let Some(to) = &one.to else { return Ok(()) };
        let now = self.look(&one.path)?;
        let to = self.softened(one, to, now.as_ref());
        if let Some(now) = &now {
            let state = self.state(&one.path, now)?;
            let same_mode = to.what != What::Folder || !stays_folder(one) || state.mode == to.mode;
            if is(Some(&state), Some(&to)) && same_mode {
                self.already += 1;
                self.folders
                    .extend((to.what == What::Folder).then(|| one.path.clone()));
                return Ok(());
            }
        }
        match (&now, &one.from) {
            (None, None) if one.basis == Basis::Sure => {}
            (None, _) => return self.conflict(one, "it isn't there any more"),
            (Some(_), None) => return self.conflict(one, "something else is there now"),
            (Some(now), Some(_)) => {
                if let Some(why) = self.in_the_way(one, now)? {
                    return self.conflict(one, why);
                }
            }
        }
        if let Some(why) = self.lacks_folder(&one.path)? {
            return self.conflict(one, why);
        }
        let was_folder = now.as_ref().is_some_and(|now| now.what == What::Folder);
        if was_folder && to.what != What::Folder && !self.empties(one)? {
            return Ok(());
        }
        self.folders
            .extend((to.what == What::Folder).then(|| one.path.clone()));
        let planned = match now {
            Some(now) => planned(one, Some(to), &now),
            None => Planned {
                step: Step {
                    path: one.path.clone(),
                    from: None,
                    to: Some(to),
                },
                stamp: None,
                owner: None,
            },
        };
        self.puts.push(planned);
        Ok(())
    }

    /// Why what is there isn't what the change began from.
    fn in_the_way(&self, one: &Wanted, now: &Seen) -> Result<Option<&'static str>, CopyError> {
        if now.device != self.device {
            return Ok(Some(ELSEWHERE));
        }
        if one.basis == Basis::Unsure {
            return Ok(Some("it was changed while the child worked on it"));
        }
        let Some(from) = &one.from else {
            return Ok(Some("something else is there now"));
        };
        if now.what != from.what {
            return Ok(Some("it is of another type now"));
        }
        if from.what == What::Folder {
            let differs = stays_folder(one) && now.permissions() != from.mode;
            return Ok(differs.then_some("its permissions were changed since"));
        }
        let untouched = one.stamp == Some(now.stamp());
        if untouched || is(Some(&self.state(&one.path, now)?), Some(from)) {
            return Ok(None);
        }
        Ok(Some("it was changed since"))
    }

    /// Whether a folder holds nothing but what is removed before it. Otherwise it stays: said as kept
    /// when that is for what the base had, as a conflict when somebody has put more there.
    fn empties(&mut self, one: &Wanted) -> Result<bool, CopyError> {
        let listed = match self.base.listing(&one.path).and_then(names) {
            Ok(listed) => listed,
            // Closed to its owner: whether it is empty tells when it is removed.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Vec::new(),
            Err(error) => return Err(error).doing("list the folder", one.path.as_path()),
        };
        let left: Vec<RelPath> = listed
            .iter()
            .map(|name| one.path.join(name))
            .filter(|path| !self.removed.contains(path))
            .collect();
        if left.is_empty() {
            return Ok(true);
        }
        if left.iter().all(|path| self.stays.contains(path)) {
            self.kept.push(one.path.clone());
        } else {
            self.conflict(one, "it holds more than it did")?;
        }
        Ok(false)
    }

    /// Why a path has no folder to come to.
    fn lacks_folder(&self, path: &RelPath) -> Result<Option<&'static str>, CopyError> {
        let folder = path.folder().unwrap_or_default();
        if self.folders.contains(&folder) {
            return Ok(None);
        }
        let seen = self.look(&folder)?;
        Ok(match seen.filter(|seen| seen.what == What::Folder) {
            None => Some("its folder isn't there any more"),
            Some(seen) if seen.device != self.device => Some(ELSEWHERE),
            Some(_) => None,
        })
    }

    fn conflict(&mut self, one: &Wanted, why: &str) -> Result<(), CopyError> {
        self.conflicts.push(Conflict {
            path: one.path.clone(),
            why: why.to_owned(),
        });
        Ok(())
    }

    /// Permissions as they are set: as the child set them, never wider than the person's umask or what
    /// the person's own entry had.
    fn softened(&self, one: &Wanted, to: &State, now: Option<&Seen>) -> State {
        let mut to = to.clone();
        let had = one.from.as_ref().map(|from| from.mode);
        let has = now.map(Seen::permissions);
        to.mode = match (to.what, had, has) {
            (What::Link, ..) => 0,
            (_, Some(had), Some(has)) if had == to.mode => has,
            (_, had, _) => (to.mode & !self.umask) | (to.mode & had.unwrap_or(0)),
        };
        to
    }

    fn look(&self, path: &RelPath) -> Result<Option<Seen>, CopyError> {
        self.base.look(path).doing("look at", path.as_path())
    }

    fn state(&self, path: &RelPath, seen: &Seen) -> Result<State, CopyError> {
        let folder = self.folder_of(path)?;
        state_of(&folder, path.name(), seen).doing("read", path.as_path())
    }

    fn folder_of(&self, path: &RelPath) -> Result<OwnedFd, CopyError> {
        let folder = path.folder().unwrap_or_default();
        self.base
            .folder(&folder)
            .doing("open the folder of", path.as_path())
    }
}

fn planned(one: &Wanted, to: Option<State>, now: &Seen) -> Planned {
    // Of a folder only its permissions can have been others than those that were recorded.
    let from = one.from.clone().map(|from| State {
        mode: match from.what {
            What::Link => 0,
            _ => now.permissions(),
        },
        ..from
    });
    Planned {
        step: Step {
            path: one.path.clone(),
            from,
            to,
        },
        stamp: Some(now.stamp()),
        owner: Some(now.owner),
    }
}

/// Whether only permissions of a folder change.
fn stays_folder(one: &Wanted) -> bool {
    match (&one.from, &one.to) {
        (Some(from), Some(to)) => from.what == What::Folder && to.what == What::Folder,
        _ => false,
    }
}

/// Everything that the base had and that stays: what isn't among the chosen.
pub(crate) fn staying(manifest: &Manifest, chosen: &BTreeMap<&RelPath, ()>) -> BTreeSet<RelPath> {
    let mut stays = BTreeSet::new();
    for change in &manifest.changes {
        if chosen.contains_key(&change.path) {
            continue;
        }
        // The folders on the way stay with it.
        let mut at = Some(change.path.clone());
        while let Some(path) = at.filter(|path| !path.is_top()) {
            at = path.folder();
            if !stays.insert(path) {
                break;
            }
        }
    }
    stays
}

/// The process's umask, as the kernel tells it: asking by setting it would race with other threads.
pub(crate) fn umask() -> u32 {
    // Where it can't be told, the usual one.
    const USUAL: u32 = 0o022;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let told = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    told.and_then(|told| u32::from_str_radix(told.trim(), 8).ok())
        .unwrap_or(USUAL)
}
