//! Finishing, or taking back, what a kill cut off.

use deputize_authority::Refusal;

use super::closed::{self, Closed, Last};
use super::journal::{Action, End, Journal, Line, Phase, Step, Told};
use super::site::{Inode, Moved, Site};
use super::store::{Few, Store};
use super::transaction::{Failed, Stops, advance, finish, is_mode_only, owner_of, stands};
use crate::CopyError;
use crate::beneath::{Anchor, is_absence};
use crate::entry::What;
use crate::error::Doing as _;
use crate::manifest::State;
use crate::rel_path::RelPath;

/// What became of a transaction that a kill had cut off.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Recovered {
    /// What it was for.
    pub action: Action,
    /// Whether it was finished; taken back otherwise.
    pub finished: bool,
    /// Paths that had been changed since by somebody else, and were left as they are.
    pub left: Vec<RelPath>,
}

/// Deals with the last transaction, if it has no end.
pub(crate) fn recover(
    base: &Anchor,
    store: &Store,
    journal: &mut Journal,
    stops: &Stops,
) -> Result<Option<Recovered>, CopyError> {
    let Some(told) = journal.unfinished().cloned() else {
        return Ok(None);
    };
    let finished = if told.phase == Phase::Committed {
        go_on(base, store, &told, journal, stops)?
    } else {
        take_back(base, store, journal, stops)?;
        false
    };
    let left = journal.transactions.last().map(|told| told.left.clone());
    Ok(Some(Recovered {
        action: told.action,
        finished,
        left: left.unwrap_or_default().into_iter().collect(),
    }))
}

/// Finishes a transaction that was committed.
fn go_on(
    base: &Anchor,
    store: &Store,
    told: &Told,
    journal: &mut Journal,
    stops: &Stops,
) -> Result<bool, CopyError> {
    ended(closed::open(base, &told.closed(), stops))?;
    let site = match site(base, told)? {
        Some(site) => site,
        // Cleared, as the last thing; or somebody removed it, and then what it held is missing.
        None => {
            let all = told.steps.iter().try_fold(true, |all, step| {
                let stands = base_stands(base, step).doing("look at", step.path.as_path())?;
                Ok::<bool, CopyError>(all && stands)
            })?;
            if !all {
                take_back(base, store, journal, stops)?;
                return Ok(false);
            }
            make_again(base, told)?
        }
    };
    let mut left = Vec::new();
    for (number, step) in told.steps.iter().enumerate() {
        if !forward(&site, number, step)? {
            left.push(step.path.clone());
        }
        played(stops)?;
    }
    let steps = told.steps.iter();
    let steps: Vec<&Step> = steps.filter(|step| !left.contains(&step.path)).collect();
    ended(finish(&site, &told.opened, &steps, stops))?;
    journal.write(vec![Line::End {
        how: End::Done,
        left,
    }])?;
    Ok(true)
}

/// Does what is missing of a step; `false` when somebody else has been there.
fn forward(site: &Site<'_>, number: usize, step: &Step) -> Result<bool, CopyError> {
    let path = &step.path;
    let at = |wanted: Option<&State>| stands(site, path, wanted).doing("look at", path.as_path());
    if at(step.to.as_ref())? {
        return Ok(true);
    }
    let begun = at(step.from.as_ref())?;
    // A change of type may have stopped between the going and the coming.
    let half = step.from.is_some() && at(None)?;
    if !begun && !half {
        return Ok(false);
    }
    let place = match site.place(path) {
        Ok(place) => place,
        Err(error) if is_absence(&error) => return Ok(false),
        Err(error) => return Err(error).doing("open the folder of", path.as_path()),
    };
    let seen = place.look().doing("look at", path.as_path())?;
    let owner = match &seen {
        Some(seen) => seen.owner,
        None => owner_of(site.base, &RelPath::top())?,
    };
    let moved = advance(site, number, step, seen.as_ref().map(Inode::of), owner)
        .doing("change", path.as_path())?;
    Ok(moved == Moved::Yes)
}

/// Takes back the last transaction, wherever it stopped.
pub(crate) fn take_back(
    base: &Anchor,
    store: &Store,
    journal: &mut Journal,
    stops: &Stops,
) -> Result<(), CopyError> {
    let Some(told) = journal.unfinished().cloned() else {
        return Ok(());
    };
    if told.phase == Phase::Committed {
        journal.write(vec![Line::Abort])?;
    }
    let mut left = Vec::new();
    let begun = told.phase == Phase::Begun;
    // Before the commit nothing was changed but what was opened.
    let opened = match begun {
        true => told.opened.clone(),
        false => told.closed(),
    };
    ended(closed::open(base, &opened, stops))?;
    let folders = told
        .steps
        .iter()
        .filter_map(|step| Some((&step.path, step.from.as_ref()?)))
        .filter(|(_, from)| !begun && from.what == What::Folder);
    let last = Last::of(&opened, folders.map(|(path, from)| (path, from.mode)));
    let site = match site(base, &told)? {
        // Somebody removed it: what it held is made again of what was kept.
        None if !begun => Some(make_again(base, &told)?),
        site => site,
    };
    if let Some(site) = &site {
        let changed = told.steps.iter().enumerate().filter(|_| !begun);
        for (number, step) in changed.rev() {
            if !backward(site, store, number, step)? {
                left.push(step.path.clone());
            }
            played(stops)?;
        }
    }
    last.set(base)?;
    if let Some(site) = site {
        site.sync_moved(told.steps.iter().map(|step| &step.path))
            .doing("keep on the disk", "the workspace")?;
        site.clear()
            .doing("clear the staging folder", "the workspace")?;
    }
    last.set_top(base)?;
    played(stops)?;
    if begun {
        // Nothing was replaced, so nothing of it has to be kept; the last line may need the space.
        store.forget(journal.only_in_last().iter());
    }
    journal.write(vec![Line::End {
        how: End::TakenBack,
        left,
    }])
}

/// Takes back what was done of a step; `false` when somebody else has been there.
fn backward(site: &Site<'_>, store: &Store, number: usize, step: &Step) -> Result<bool, CopyError> {
    let path = &step.path;
    let at = |wanted: Option<&State>| stands(site, path, wanted).doing("look at", path.as_path());
    if at(step.from.as_ref())? {
        return Ok(true);
    }
    let done = at(step.to.as_ref())?;
    let half = at(None)?;
    if !done && !half {
        return Ok(false);
    }
    back(site, store, number, step).doing("put back", path.as_path())
}

fn back(site: &Site<'_>, store: &Store, number: usize, step: &Step) -> std::io::Result<bool> {
    let place = site.place(&step.path)?;
    let (coming, going) = (Site::coming(number), Site::going(number));
    if let (Some(from), Some(to)) = (&step.from, &step.to)
        && is_mode_only(Some(from), to)
    {
        if from.what == What::File {
            place.set_mode(from.mode)?;
        }
        return Ok(true);
    }
    let seen = place.look()?;
    let Some(from) = &step.from else {
        return match (&step.to, &seen) {
            (Some(to), Some(_)) if to.what == What::Folder => {
                Ok(place.remove_folder()? == Moved::Yes)
            }
            (_, Some(seen)) => Ok(site.take(&place, &going, Inode::of(seen))? == Moved::Yes),
            (_, None) => Ok(true),
        };
    };
    // Where the old entry waits: a name that was exchanged, or one that was taken away.
    let old = match site.staged(&going)? {
        Some(_) => Some(going),
        None if is_old(site, &coming, from)? => Some(coming.clone()),
        None => None,
    };
    if let (Some(old), Some(seen)) = (&old, &seen)
        && *old == coming
    {
        return Ok(site.exchange(&place, old, Inode::of(seen))? == Moved::Yes);
    }
    if let Some(seen) = &seen {
        let went = match seen.what {
            What::Folder => place.remove_folder()?,
            _ => site.take(&place, &spare(number), Inode::of(seen))?,
        };
        if went == Moved::NotWhatItWas {
            return Ok(false);
        }
    }
    let owner = owner_of(site.base, &RelPath::top()).map_or((0, 0), |owner| owner);
    let put = match (&old, from.what) {
        (_, What::Folder) => place.make_folder(from.mode, owner)?,
        (Some(old), _) => site.put(old, &place)?,
        (None, what) => {
            let again = again(number);
            let digest = from.digest.clone().unwrap_or_default();
            match what {
                What::Link => site.stage_link(&again, &store.target(&digest)?, owner)?,
                _ => {
                    let mut content = store.file(&digest)?;
                    site.stage_file(&again, &mut content, from, None, owner)?;
                }
            }
            site.put(&again, &place)?
        }
    };
    Ok(put == Moved::Yes)
}

/// Whether what is staged under a name is the old entry of a step.
fn is_old(site: &Site<'_>, name: &std::ffi::OsStr, from: &State) -> std::io::Result<bool> {
    let now = super::file::state_at(site.stage(), name)?;
    Ok(super::file::is(now.as_ref(), Some(from)))
}

/// Where an entry goes that makes room for the old one.
fn spare(number: usize) -> std::ffi::OsString {
    format!("s{number}").into()
}

/// Where an old entry is made again of what was kept.
fn again(number: usize) -> std::ffi::OsString {
    format!("a{number}").into()
}

impl Told {
    /// Folders that have to be open while it goes on or back: those that it opened, and those that it
    /// may have closed already.
    fn closed(&self) -> Vec<Closed> {
        let set = self.steps.iter().filter_map(|step| {
            let to = step.to.as_ref().filter(|to| to.what == What::Folder)?;
            let (path, mode) = (step.path.clone(), to.mode);
            Some(Closed { path, mode })
        });
        // Of two for one path the second counts in the end: what it had before.
        let mut closed: Vec<Closed> = set.chain(self.opened.iter().cloned()).collect();
        closed.sort_by(|a, b| a.path.cmp(&b.path));
        closed
    }
}

fn make_again<'a>(base: &'a Anchor, told: &Told) -> Result<Site<'a>, CopyError> {
    Site::make(base, &told.stage, Few::of(told.steps.len()))
        .doing("make the staging folder", &told.stage)
}

/// Whether a step is done, without a staging folder.
fn base_stands(base: &Anchor, step: &Step) -> std::io::Result<bool> {
    let folder = match base.folder(&step.path.folder().unwrap_or_default()) {
        Ok(folder) => folder,
        Err(error) if is_absence(&error) => return Ok(step.to.is_none()),
        Err(error) => return Err(error),
    };
    let now = super::file::state_at(&folder, step.path.name())?;
    Ok(super::file::is(now.as_ref(), step.to.as_ref()))
}

/// The staging folder of a transaction; `None` where it wasn't made yet or is cleared already.
fn site<'a>(base: &'a Anchor, told: &Told) -> Result<Option<Site<'a>>, CopyError> {
    match Site::open(base, &told.stage, Few::of(told.steps.len())) {
        Ok(site) => Ok(Some(site)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error).doing("open the staging folder", &told.stage),
    }
}

fn played(stops: &Stops) -> Result<(), CopyError> {
    ended(stops.pass())
}

fn ended(outcome: Result<(), Failed>) -> Result<(), CopyError> {
    match outcome {
        Ok(()) => Ok(()),
        Err(Failed::Error(error)) => Err(error),
        Err(Failed::Raced(path)) => Err(Refusal::new(
            "workspace_changed_meanwhile",
            "workspace",
            format!("`{}` changed while it was being replaced", path.shown()),
            "try once more",
        )
        .into()),
        #[cfg(test)]
        Err(Failed::Stopped) => Err(Refusal::new("stopped", "test", "stopped", "").into()),
    }
}
