//! Folders that are closed to their own owner: opened while names in them change, closed again at the
//! end.
//!
//! The journal names each with the permissions that it had, before it is opened. So a kill in between
//! leaves nothing open: whoever comes next knows what they were.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;

use deputize_authority::Refusal;
use rustix::fs::{Access, AtFlags, accessat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::journal::Step;
use super::site::{Place, set_permissions};
use super::transaction::{Failed, Stops};
use crate::CopyError;
use crate::beneath::{Anchor, is_absence};
use crate::entry::{Seen, What, look};
use crate::error::Doing as _;
use crate::rel_path::RelPath;

/// What the owner needs to change names in a folder and to list it.
const OPEN: u32 = 0o700;

/// A folder that is opened for a transaction, and the permissions that it has otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Closed {
    pub(crate) path: RelPath,
    pub(crate) mode: u32,
}

/// The folders that steps change names in and that their owner has closed.
///
/// # Errors
/// `folder_closed` when one is closed to us and isn't ours to open.
pub(crate) fn closed<'s>(
    base: &Anchor,
    steps: impl Iterator<Item = &'s Step>,
) -> Result<Vec<Closed>, CopyError> {
    // The staging folder comes to the top.
    let mut folders = BTreeSet::from([RelPath::top()]);
    folders.extend(steps.filter_map(|step| step.path.folder()));
    let mut closed = Vec::new();
    for path in folders {
        let seen = base.look(&path).doing("look at", path.as_path())?;
        let Some(seen) = seen.filter(|seen| seen.what == What::Folder) else {
            // It comes with the change.
            continue;
        };
        let mode = seen.permissions();
        if mode & OPEN != OPEN && is_ours(&seen) {
            closed.push(Closed { path, mode });
        } else if !may_change(base, &path).doing("look at", path.as_path())? {
            return Err(not_ours(&path).into());
        }
    }
    Ok(closed)
}

fn is_ours(folder: &Seen) -> bool {
    let us = rustix::process::geteuid();
    us.is_root() || us.as_raw() == folder.owner.0
}

fn may_change(base: &Anchor, path: &RelPath) -> io::Result<bool> {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    match accessat(base.folder(path)?, ".", wanted, AtFlags::EACCESS) {
        Err(Errno::ACCESS) => Ok(false),
        // Whatever else is wrong with it, the step itself says so.
        _ => Ok(true),
    }
}

/// Opens those that still have the permissions that they were seen with, from the top down.
pub(crate) fn open(base: &Anchor, folders: &[Closed], stops: &Stops) -> Result<(), Failed> {
    for Closed { path, mode } in folders {
        set(base, path, *mode, mode | OPEN).doing("open the folder", path.as_path())?;
        stops.pass()?;
    }
    Ok(())
}

/// Permissions of folders at the end of a transaction.
#[derive(Debug, Default)]
pub(crate) struct Last(BTreeMap<RelPath, Rule>);

#[derive(Debug, Clone, Copy)]
enum Rule {
    /// A step says so.
    Set(u32),
    /// It was opened, and closes unless somebody has set others meanwhile.
    Close(u32),
}

impl Last {
    /// Folders that were opened get what they had, unless a step wants something else.
    pub(crate) fn of<'s>(
        opened: &[Closed],
        steps: impl Iterator<Item = (&'s RelPath, u32)>,
    ) -> Self {
        let opened = opened.iter();
        let mut last: BTreeMap<RelPath, Rule> = opened
            .map(|one| (one.path.clone(), Rule::Close(one.mode)))
            .collect();
        last.extend(steps.map(|(path, mode)| (path.clone(), Rule::Set(mode))));
        Self(last)
    }

    /// Sets them from the deepest up. The top has to wait until the staging folder is gone.
    pub(crate) fn set(&self, base: &Anchor) -> Result<(), CopyError> {
        let below = self.0.iter().filter(|(path, _)| !path.is_top());
        below
            .rev()
            .try_for_each(|(path, rule)| rule.apply(base, path))
    }

    /// Sets those of the top.
    pub(crate) fn set_top(&self, base: &Anchor) -> Result<(), CopyError> {
        let top = RelPath::top();
        let Some(rule) = self.0.get(&top) else {
            return Ok(());
        };
        rule.apply(base, &top)?;
        rustix::fs::fsync(base.handle()).doing("keep on the disk", "the workspace")
    }
}

impl Rule {
    fn apply(self, base: &Anchor, path: &RelPath) -> Result<(), CopyError> {
        let done = match self {
            Self::Set(mode) => match base.look(path) {
                Ok(Some(now)) => set(base, path, now.permissions(), mode),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            },
            Self::Close(mode) => set(base, path, mode | OPEN, mode),
        };
        done.doing("set the permissions of", path.as_path())
    }
}

/// Sets a folder's permissions, through its handle, where they are the ones that are expected.
fn set(base: &Anchor, path: &RelPath, expected: u32, mode: u32) -> io::Result<()> {
    let as_expected = |now: Option<Seen>| {
        now.is_some_and(|now| now.what == What::Folder && now.permissions() == expected)
    };
    match base.listing(path) {
        Ok(folder) if as_expected(look(&folder, OsStr::new(""))?) && expected != mode => {
            set_permissions(folder, mode)
        }
        Ok(_) => Ok(()),
        Err(error) if is_absence(&error) => Ok(()),
        // One that can't be listed has no handle to be changed through.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            if !as_expected(base.look(path)?) || expected == mode {
                return Ok(());
            }
            let place = Place {
                folder: base.folder(&path.folder().unwrap_or_default())?,
                name: path.name().to_owned(),
            };
            place.set_mode(mode)
        }
        Err(error) => Err(error),
    }
}

fn not_ours(path: &RelPath) -> Refusal {
    let named = match path.is_top() {
        true => "the workspace's own folder".to_owned(),
        false => format!("the folder `{}`", path.shown()),
    };
    Refusal::new(
        "folder_closed",
        "workspace",
        format!("{named} isn't yours, and you may not change what lies in it; nothing was touched"),
        "ask its owner to let you write to it, or do this as its owner",
    )
}
