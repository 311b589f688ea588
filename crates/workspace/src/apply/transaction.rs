//! Carrying a plan out.

use std::collections::BTreeSet;
use std::io;

use deputize_authority::Refusal;

use super::closed::{self, Closed, Last};
use super::file::{is, state_at};
use super::journal::{Action, End, Journal, Line, Step};
use super::plan::{Plan, Planned};
use super::request::changed;
use super::site::{Inode, Moved, Site};
use super::store::{Few, Kept, Store};
use crate::CopyError;
use crate::beneath::Anchor;
use crate::digest;
use crate::entry::What;
use crate::error::Doing as _;
use crate::lock::{Lock, try_lock};
use crate::manifest::State;
use crate::rel_path::RelPath;

/// What becomes of a plan that has conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflicts {
    /// Nothing is done.
    Refuse,
    /// What is in conflict is left as it is; the rest is done.
    LeaveOut,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Outcome {
    /// What it was for.
    pub action: Action,
    /// Paths that changed.
    pub done: usize,
    /// Paths that already were as they should be.
    pub already: usize,
    /// Paths that were left as they are, since they are in conflict.
    pub left: Vec<RelPath>,
}

/// Where a kill may happen: tests stop a transaction at each of these places in turn.
#[derive(Debug, Default)]
pub(crate) struct Stops {
    #[cfg(test)]
    pub(crate) left: std::cell::Cell<Option<usize>>,
}

impl Stops {
    /// Goes on, but in a test that stops here.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "tests stop here"))]
    pub(crate) fn pass(&self) -> Result<(), Failed> {
        #[cfg(test)]
        if let Some(left) = self.left.get() {
            if left == 0 {
                return Err(Failed::Stopped);
            }
            self.left.set(Some(left - 1));
        }
        Ok(())
    }
}

/// Why a transaction didn't come to its end.
#[derive(Debug)]
pub(crate) enum Failed {
    /// A path isn't what the plan saw.
    Raced(RelPath),
    /// A step failed.
    Error(CopyError),
    /// A test plays a kill.
    #[cfg(test)]
    Stopped,
}

impl From<CopyError> for Failed {
    fn from(error: CopyError) -> Self {
        Self::Error(error)
    }
}

/// A transaction under way.
pub(crate) struct Transaction<'a> {
    pub(crate) base: &'a Anchor,
    /// Where new content comes from; the store where there is no copy to take it from.
    pub(crate) copy: Option<&'a Anchor>,
    pub(crate) store: &'a Store,
    pub(crate) journal: &'a mut Journal,
    pub(crate) stops: &'a Stops,
}

impl Transaction<'_> {
    /// Does all of it, or nothing.
    pub(crate) fn run(mut self, plan: &Plan, stage: &str) -> Result<(), CopyError> {
        match self.carry_out(plan, stage) {
            Ok(()) => Ok(()),
            #[cfg(test)]
            Err(Failed::Stopped) => Err(Refusal::new("stopped", "test", "stopped", "").into()),
            Err(failed) => {
                self.take_back()?;
                Err(match failed {
                    Failed::Raced(path) => raced(&path).into(),
                    Failed::Error(error) => error,
                    #[cfg(test)]
                    Failed::Stopped => Refusal::new("stopped", "test", "stopped", "").into(),
                })
            }
        }
    }

    fn carry_out(&mut self, plan: &Plan, stage: &str) -> Result<(), Failed> {
        self.stops.pass()?;
        let steps: Vec<&Step> = plan.steps.iter().map(|planned| &planned.step).collect();
        let opened = closed::closed(self.base, steps.iter().copied())?;
        let mut lines = vec![Line::Begin {
            action: plan.action,
            manifest: plan.manifest.digest.clone(),
            stage: stage.to_owned(),
            left: left_out(plan),
        }];
        lines.extend(opened.iter().cloned().map(Line::Open));
        lines.extend(plan.steps.iter().enumerate().map(|(number, planned)| {
            let step = planned.step.clone();
            Line::Step { number, step }
        }));
        self.journal.write(lines)?;
        self.stops.pass()?;
        closed::open(self.base, &opened, self.stops)?;
        let few = Few::of(plan.steps.len());
        let site = Site::make(self.base, stage, few).doing("make the staging folder", stage)?;
        self.stops.pass()?;
        for (number, planned) in plan.steps.iter().enumerate() {
            self.keep(planned, few)?;
            self.stops.pass()?;
            self.stage(&site, number, planned)?;
            self.stops.pass()?;
        }
        self.store.sync(few).doing("keep on the disk", "undo")?;
        site.sync_staged().doing("keep on the disk", stage)?;
        self.journal.write(vec![Line::Commit])?;
        self.stops.pass()?;
        for (number, planned) in plan.steps.iter().enumerate() {
            self.commit(&site, number, planned)?;
            self.stops.pass()?;
        }
        finish(&site, &opened, &steps, self.stops)?;
        self.journal.write(vec![Line::End {
            how: End::Done,
            left: Vec::new(),
        }])?;
        Ok(())
    }

    /// Keeps what a step replaces.
    fn keep(&self, planned: &Planned, few: Few) -> Result<(), Failed> {
        let Step { path, from, .. } = &planned.step;
        let kept = self.store.keep(self.base, path, from.as_ref(), few);
        match kept.doing("keep what is replaced:", path.as_path())? {
            Kept::Yes => Ok(()),
            Kept::Changed => Err(Failed::Raced(path.clone())),
        }
    }

    /// Stages what a step puts there, if it is what was reviewed.
    fn stage(&self, site: &Site<'_>, number: usize, planned: &Planned) -> Result<(), Failed> {
        let Step { path, from, to } = &planned.step;
        let Some(to) = to else { return Ok(()) };
        if is_mode_only(from.as_ref(), to) {
            return Ok(());
        }
        let name = Site::coming(number);
        let owner = match planned.owner {
            Some(owner) => owner,
            None => owner_of(self.base, &RelPath::top())?,
        };
        let wanted = to.digest.clone().unwrap_or_default();
        let got = match to.what {
            What::File => {
                let content = match self.copy {
                    Some(copy) => copy.file(path),
                    None => self.store.file(&wanted),
                };
                let mut content = content.doing("read the copy's", path.as_path())?;
                let replaces_file = from.as_ref().is_some_and(|from| from.what == What::File);
                let old = match replaces_file {
                    true => self.base.file(path).ok(),
                    false => None,
                };
                let staged = site.stage_file(&name, &mut content, to, old.as_ref(), owner);
                let mut staged = staged.doing("stage", path.as_path())?;
                digest::of_file(&mut staged).doing("read what is staged of", path.as_path())?
            }
            What::Link => {
                let target = match self.copy {
                    Some(copy) => copy.target(path),
                    None => self.store.target(&wanted),
                };
                let target = target.doing("read the copy's", path.as_path())?;
                site.stage_link(&name, &target, owner)
                    .doing("stage", path.as_path())?;
                digest::of_bytes(&target)
            }
            _ => return Ok(()),
        };
        if got != wanted {
            return Err(Failed::Error(changed("another").into()));
        }
        Ok(())
    }

    /// Does a step: names are moved, nothing is written.
    fn commit(&self, site: &Site<'_>, number: usize, planned: &Planned) -> Result<(), Failed> {
        let path = &planned.step.path;
        let place = site
            .place(path)
            .doing("open the folder of", path.as_path())?;
        let now = place.look().doing("look at", path.as_path())?;
        // As late as it can be: what the plan saw is what is there.
        let folder = |state: Option<&State>| state.is_some_and(|state| state.what == What::Folder);
        let is_folder = folder(planned.step.from.as_ref());
        let as_planned = match (&now, &planned.stamp) {
            (None, None) => true,
            (Some(now), Some(stamp)) => {
                let same = (is_folder && now.what == What::Folder) || now.stamp() == *stamp;
                // A further name of a file that was moved before has a new ctime and nothing else.
                same || (now.inode == stamp.inode
                    && stands(site, path, planned.step.from.as_ref())
                        .doing("look at", path.as_path())?)
            }
            _ => false,
        };
        if !as_planned {
            return Err(Failed::Raced(path.clone()));
        }
        let inode = now.as_ref().map(Inode::of);
        let owner = match planned.owner {
            Some(owner) => owner,
            None => owner_of(self.base, &RelPath::top())?,
        };
        match advance(site, number, &planned.step, inode, owner).doing("change", path.as_path())? {
            Moved::Yes => Ok(()),
            Moved::NotWhatItWas => Err(Failed::Raced(path.clone())),
        }
    }

    /// Takes back what was done of the last transaction.
    fn take_back(&mut self) -> Result<(), CopyError> {
        super::recover::take_back(self.base, self.store, self.journal, self.stops)
    }
}

/// Does a step from where it stands: what is at the place is the old state, or nothing when half of it
/// was done.
pub(crate) fn advance(
    site: &Site<'_>,
    number: usize,
    step: &Step,
    seen: Option<Inode>,
    owner: (u32, u32),
) -> io::Result<Moved> {
    let place = site.place(&step.path)?;
    let (coming, going) = (Site::coming(number), Site::going(number));
    match (&step.from, &step.to) {
        (None, None) => Ok(Moved::Yes),
        (Some(from), Some(to)) if is_mode_only(Some(from), to) => {
            if to.what == What::File {
                place.set_mode(to.mode)?;
            }
            Ok(Moved::Yes)
        }
        (Some(from), Some(to)) if from.what != What::Folder && to.what != What::Folder => {
            let Some(seen) = seen else {
                return site.put(&coming, &place);
            };
            match site.exchange(&place, &coming, seen) {
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    match site.take(&place, &going, seen)? {
                        Moved::Yes => site.put(&coming, &place),
                        Moved::NotWhatItWas => Ok(Moved::NotWhatItWas),
                    }
                }
                other => other,
            }
        }
        (from, to) => {
            let went = match (from, seen) {
                (Some(from), Some(_)) if from.what == What::Folder => place.remove_folder()?,
                (Some(_), Some(seen)) => site.take(&place, &going, seen)?,
                _ => Moved::Yes,
            };
            if went == Moved::NotWhatItWas {
                return Ok(went);
            }
            match to {
                None => Ok(Moved::Yes),
                Some(to) if to.what == What::Folder => place.make_folder(to.mode, owner),
                Some(_) => site.put(&coming, &place),
            }
        }
    }
}

/// The last part: permissions of folders from the deepest up, the disk, the staging folder.
pub(crate) fn finish(
    site: &Site<'_>,
    opened: &[Closed],
    steps: &[&Step],
    stops: &Stops,
) -> Result<(), Failed> {
    let folders = steps
        .iter()
        .filter_map(|step| Some((&step.path, step.to.as_ref()?)))
        .filter(|(_, to)| to.what == What::Folder);
    let last = Last::of(opened, folders.map(|(path, to)| (path, to.mode)));
    last.set(site.base)?;
    stops.pass()?;
    site.sync_moved(steps.iter().map(|step| &step.path))
        .doing("keep on the disk", "the workspace")?;
    site.clear()
        .doing("clear the staging folder", "the workspace")?;
    stops.pass()?;
    last.set_top(site.base)?;
    stops.pass()
}

/// Whether a step changes only permissions: content and inode stay.
pub(crate) fn is_mode_only(from: Option<&State>, to: &State) -> bool {
    from.is_some_and(|from| from.same_content(to))
}

/// Whether a path is in a state, by looking at it.
pub(crate) fn stands(site: &Site<'_>, path: &RelPath, wanted: Option<&State>) -> io::Result<bool> {
    let place = match site.place(path) {
        Ok(place) => place,
        Err(error) if crate::beneath::is_absence(&error) => return Ok(wanted.is_none()),
        Err(error) => return Err(error),
    };
    let now = state_at(&place.folder, &place.name)?;
    Ok(is(now.as_ref(), wanted))
}

pub(crate) fn owner_of(base: &Anchor, path: &RelPath) -> Result<(u32, u32), CopyError> {
    let seen = base.look(path).doing("look at", path.as_path())?;
    Ok(seen.map_or((0, 0), |seen| seen.owner))
}

/// One transaction at a time in a workspace, whichever copy it comes from.
pub(crate) fn take_turn(base: &Anchor) -> Result<(), CopyError> {
    match try_lock(base.handle()) {
        Ok(Lock::Had) => Ok(()),
        Ok(Lock::Taken) => Err(Refusal::new(
            "workspace_busy",
            "workspace",
            "another copy is being applied to this workspace, or taken back from it",
            "wait until it is done, and try again",
        )
        .into()),
        // A file system without locks: what is exchanged is looked at all the same.
        Err(_) => Ok(()),
    }
}

fn raced(path: &RelPath) -> Refusal {
    Refusal::new(
        "workspace_changed_meanwhile",
        "workspace",
        format!(
            "`{}` changed while it was being replaced; everything was taken back",
            path.shown()
        ),
        "look at `deputize diff RUN` again, and try once more",
    )
}

/// Paths that a plan leaves out.
pub(crate) fn left_out(plan: &Plan) -> Vec<RelPath> {
    let unique: BTreeSet<&RelPath> = plan.conflicts.iter().map(|one| &one.path).collect();
    unique.into_iter().cloned().collect()
}
