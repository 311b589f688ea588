//! Throwing copies away: one that a person names, or those that a policy chooses.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use deputize_authority::Refusal;
use serde::Serialize;

use crate::copy::{FOLDER, WorkingCopy};
use crate::error::Doing as _;
use crate::removal::remove;
use crate::{CopyError, CopyState};

/// What a copy is called while it is being removed: a kill leaves it there for the next sweep.
const GOING: &str = "copy.discarded";

/// What a copy holds that isn't anywhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// Nothing: the child changed nothing.
    Nothing,
    /// Changes that were applied, and what an undo needs.
    Applied,
    /// What a run wrote to the folder itself can be undone with it, and with nothing else.
    Undo,
    /// Changes that weren't applied; of a run that was cut off, all that the folder was.
    Unapplied,
    /// It couldn't be looked at, so it may hold anything.
    Unknown,
}

/// A copy, as a sweep sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Surveyed {
    /// The run's folder.
    #[serde(skip)]
    pub run: PathBuf,
    /// What it holds.
    pub holds: Holds,
    /// Bytes that it takes on the disk.
    pub bytes: u64,
    /// Whole days since it was made, or since it was last applied or undone.
    pub days: u64,
}

/// Which copies go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Those of at least so many days.
    pub older_than: Option<u64>,
    /// The oldest, until the others take no more than this.
    pub keep_bytes: Option<u64>,
    /// Whether unapplied changes may go too; only by age or size, never all at once.
    pub unapplied: Unapplied,
}

/// What becomes of copies with unapplied changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unapplied {
    /// They stay.
    #[default]
    Keep,
    /// They go as others do.
    Remove,
}

impl Policy {
    /// Which of these go, by their index. Living runs aren't among them.
    #[must_use]
    pub fn choose(&self, copies: &[Surveyed]) -> Vec<usize> {
        let removable = |copy: &Surveyed| match copy.holds {
            Holds::Nothing | Holds::Applied | Holds::Undo => true,
            Holds::Unapplied | Holds::Unknown => self.unapplied == Unapplied::Remove,
        };
        let by_age = |copy: &Surveyed| match (self.older_than, self.keep_bytes) {
            (Some(days), _) => copy.days >= days,
            (None, Some(_)) => false,
            // Without a limit only those go that nobody needs any more.
            (None, None) => matches!(copy.holds, Holds::Nothing | Holds::Applied),
        };
        let mut order: Vec<usize> = (0..copies.len()).collect();
        order.sort_by_key(|index| copies.get(*index).map(|copy| std::cmp::Reverse(copy.days)));
        let mut left: u64 = copies.iter().map(|copy| copy.bytes).sum();
        let mut chosen = Vec::new();
        let mut choose = |index: usize, left: &mut u64| {
            *left = left.saturating_sub(copies.get(index).map_or(0, |copy| copy.bytes));
            chosen.push(index);
        };
        let (now, later): (Vec<usize>, Vec<usize>) = order
            .into_iter()
            .filter(|index| copies.get(*index).is_some_and(removable))
            .partition(|index| copies.get(*index).is_some_and(by_age));
        now.into_iter().for_each(|index| choose(index, &mut left));
        for index in later {
            if self.keep_bytes.is_some_and(|keep| left > keep) {
                choose(index, &mut left);
            }
        }
        chosen.sort_unstable();
        chosen
    }
}

impl WorkingCopy {
    /// Throws the copy away, with what an undo would need. What a kill left half applied is finished
    /// or taken back first.
    ///
    /// # Errors
    /// `copy_in_use`; else when something of it can't be removed: the rest goes with the next sweep.
    pub fn discard(mut self) -> Result<(), CopyError> {
        if self.is_shown() {
            return Err(in_use().into());
        }
        match self.recover() {
            // The folder that it was of is gone, and with it what there was to finish.
            Err(CopyError::Refused(refusal)) if refusal.code == "workspace_changed" => {}
            Err(CopyError::Step { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound => {}
            other => {
                other?;
            }
        }
        let folder = self.folder().to_owned();
        let run = folder.parent().unwrap_or(&folder).to_owned();
        clear_leftovers(&run)?;
        let going = run.join(GOING);
        fs::rename(&folder, &going).doing("discard", &folder)?;
        remove(&going)
    }

    /// What a sweep wants to know. `now` is the time from which days count.
    ///
    /// # Errors
    /// When the copy's folder can't be looked at.
    pub fn survey(run: &Path, now: SystemTime) -> Result<Surveyed, CopyError> {
        let folder = run.join(FOLDER);
        let holds = Self::open(run).and_then(|mut copy| match copy.state()? {
            _ if copy.is_unsealed() => Ok(Holds::Unapplied),
            CopyState::Applied if copy.is_snapshot() => Ok(Holds::Undo),
            CopyState::Applied => Ok(Holds::Applied),
            CopyState::PartlyApplied | CopyState::Unfinished => Ok(Holds::Unapplied),
            CopyState::Unapplied => Ok(match copy.changes()?.is_empty() {
                true => Holds::Nothing,
                false => Holds::Unapplied,
            }),
        });
        let changed = |name: &str| fs::metadata(folder.join(name)).and_then(|meta| meta.modified());
        let made = changed("copy.json").doing("look at", &folder)?;
        let last = changed("journal.jsonl").map_or(made, |journal| journal.max(made));
        let age = now.duration_since(last).unwrap_or_default();
        Ok(Surveyed {
            run: run.to_owned(),
            // Whatever keeps it from being read keeps it from being thrown away unasked.
            holds: holds.unwrap_or(Holds::Unknown),
            bytes: usage(&folder),
            days: age.as_secs() / (24 * 60 * 60),
        })
    }
}

/// Removes what a kill left of a copy that was being thrown away.
///
/// # Errors
/// When it can't be removed.
pub fn clear_leftovers(run: &Path) -> Result<(), CopyError> {
    let going = run.join(GOING);
    match fs::symlink_metadata(&going) {
        Ok(_) => remove(&going),
        Err(_) => Ok(()),
    }
}

/// Removes a copy whose making a kill cut off: it has no record, and no child ever saw it. Whether
/// there was one. Only for a run that is over.
///
/// # Errors
/// When something of it can't be removed.
pub fn discard_unmade(run: &Path) -> Result<bool, CopyError> {
    match WorkingCopy::is_unmade(run) {
        true => discard_unreadable(run).map(|()| true),
        false => Ok(false),
    }
}

/// Removes a copy whose records can't be read.
///
/// # Errors
/// When something of it can't be removed.
pub fn discard_unreadable(run: &Path) -> Result<(), CopyError> {
    clear_leftovers(run)?;
    let (folder, going) = (run.join(FOLDER), run.join(GOING));
    fs::rename(&folder, &going).doing("discard", &folder)?;
    remove(&going)
}

pub(crate) fn in_use() -> Refusal {
    Refusal::new(
        "copy_in_use",
        "run",
        "the copy is still in use: the run goes on, or another command works with it",
        "wait for its end, or stop the run",
    )
}

/// Bytes on the disk. What can't be entered isn't counted; files with several names count once for
/// each, as whoever looks for space would rather see too much than too little.
fn usage(folder: &Path) -> u64 {
    let mut bytes = 0u64;
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        let Ok(listed) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in listed.flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            bytes = bytes.saturating_add(meta.blocks() * 512);
            if meta.is_dir() && entry.file_name() != OsStr::new("..") {
                pending.push(entry.path());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(holds: Holds, bytes: u64, days: u64) -> Surveyed {
        Surveyed {
            run: PathBuf::new(),
            holds,
            bytes,
            days,
        }
    }

    fn four() -> [Surveyed; 4] {
        [
            copy(Holds::Applied, 10, 1),
            copy(Holds::Unapplied, 20, 9),
            copy(Holds::Nothing, 30, 5),
            copy(Holds::Unknown, 40, 99),
        ]
    }

    /// C2: without a limit only what nobody needs goes; unapplied changes never without a word.
    #[test]
    fn unapplied_changes_stay_unless_they_may_go() {
        let choose = |policy: Policy| policy.choose(&four());
        assert_eq!(choose(Policy::default()), [0, 2]);
        let bold = Policy {
            unapplied: Unapplied::Remove,
            ..Policy::default()
        };
        assert_eq!(choose(bold), [0, 2]);
        let old = Policy {
            older_than: Some(5),
            ..Policy::default()
        };
        assert_eq!(choose(old), [2]);
        assert_eq!(
            choose(Policy {
                unapplied: Unapplied::Remove,
                ..old
            }),
            [1, 2, 3]
        );
    }

    /// C2: a quota takes the oldest first, and no more than it has to.
    #[test]
    fn a_quota_takes_the_oldest_first() {
        let quota = |bytes, unapplied| {
            let policy = Policy {
                keep_bytes: Some(bytes),
                unapplied,
                ..Policy::default()
            };
            policy.choose(&four())
        };
        assert_eq!(quota(100, Unapplied::Keep), [0; 0]);
        assert_eq!(quota(70, Unapplied::Keep), [2]);
        assert_eq!(quota(0, Unapplied::Keep), [0, 2]);
        assert_eq!(quota(60, Unapplied::Remove), [3]);
        assert_eq!(quota(0, Unapplied::Remove), [0, 1, 2, 3]);
    }
}
