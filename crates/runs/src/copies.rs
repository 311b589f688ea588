//! The copies of runs that ended: looked at, applied, taken back, thrown away, swept.
//!
//! What is decided about a copy goes to the ledger of its run. A ledger that can't be carried on keeps
//! its copy from being applied: nothing of a child comes to a person's folder without a trace.

use std::fs::File;
use std::time::SystemTime;

use deputize_authority::{Channel, Refusal};
use deputize_boundary::Placeholders;
use deputize_ledger::{Ledger, Redactor};
use deputize_workspace::{
    Action, ApplyRequest, Conflicts, CopyError, Outcome, Plan, Policy, Recovered, Surveyed,
    WorkingCopy, clear_leftovers, discard_unmade, discard_unreadable,
};
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;

use crate::clock::wall_ms;
use crate::error::Doing as _;
use crate::{RunError, Store, StoredRun};

/// The copy of a run that ended, taken for as long as this value lives.
#[derive(Debug)]
pub struct TakenCopy {
    run: StoredRun,
    copy: WorkingCopy,
    /// Shared: the run isn't alive because of it, and can't come alive meanwhile.
    _lock: Option<File>,
}

/// What the ledger says before a copy is applied or taken back.
#[derive(Serialize)]
struct Begun<'a> {
    manifest: &'a str,
    paths: usize,
}

/// What the ledger says about a person's yes to what becomes of a copy.
#[derive(Serialize)]
struct Agreed {
    what: &'static str,
    by: String,
}

/// What the ledger says about a copy that was applied or taken back.
#[derive(Serialize)]
struct Carried<'a> {
    manifest: &'a str,
    paths: usize,
    already: usize,
    in_conflict: usize,
}

/// What the ledger says about a transaction that a kill had cut off.
#[derive(Serialize)]
struct Mended {
    action: Action,
    finished: bool,
    left: usize,
}

/// What became of one copy in a sweep.
#[derive(Debug)]
pub struct Swept {
    /// The run.
    pub run: StoredRun,
    /// What its copy was.
    pub survey: Surveyed,
    /// What became of it.
    pub fate: Fate,
}

/// What becomes of a copy in a sweep.
#[derive(Debug)]
pub enum Fate {
    /// It stays.
    Kept,
    /// It is chosen, and was removed unless this was only asked.
    Removed,
    /// It is chosen and couldn't be removed.
    Failed(RunError),
}

/// Whether a sweep removes what it chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// It does.
    Remove,
    /// It only tells.
    Tell,
}

impl StoredRun {
    /// The run's copy, to be looked at. The run may live: its copy is then a moving target.
    ///
    /// # Errors
    /// `no_copy`; else when its records can't be read.
    pub fn copy(&self) -> Result<WorkingCopy, RunError> {
        Ok(WorkingCopy::open(&self.path)?)
    }
}

impl TakenCopy {
    /// Takes the copy of a run that ended. What a kill left half done, in this copy or in another
    /// one, is finished or taken back first.
    ///
    /// # Errors
    /// `run_lives`, `no_copy`; else when records can't be read.
    pub fn take(store: &Store, run: StoredRun) -> Result<(Self, Vec<Recovered>), RunError> {
        recover_others(store, &run);
        let lock = quiet(&run)?;
        // What a killed boundary left in the person's folder is nobody's: whoever comes next clears it.
        let _ = Placeholders::tidy(store.placeholders());
        let copy = WorkingCopy::open(&run.path)?;
        let mut taken = Self {
            run,
            copy,
            _lock: lock,
        };
        let recovered = taken.recover()?;
        Ok((taken, recovered.into_iter().collect()))
    }

    fn recover(&mut self) -> Result<Option<Recovered>, RunError> {
        if !WorkingCopy::is_unfinished(&self.run.path) {
            return Ok(None);
        }
        let recovered = self.copy.recover()?;
        // The journal holds it too: a ledger that can't be carried on keeps nobody from mending.
        if let (Some(recovered), Ok(mut ledger)) = (&recovered, self.ledger()) {
            let mended = Mended {
                action: recovered.action,
                finished: recovered.finished,
                left: recovered.left.len(),
            };
            let _ = ledger.append("copy.recovered", mended, wall_ms());
        }
        Ok(recovered)
    }

    /// The run that it is of.
    #[must_use]
    pub fn run(&self) -> &StoredRun {
        &self.run
    }

    /// The copy itself.
    #[must_use]
    pub fn copy(&self) -> &WorkingCopy {
        &self.copy
    }

    /// Plans to apply it.
    ///
    /// # Errors
    /// As [`WorkingCopy::plan_apply`].
    pub fn plan_apply(&mut self, request: &ApplyRequest) -> Result<Plan, RunError> {
        Ok(self.copy.plan_apply(request)?)
    }

    /// Plans to take back what was applied.
    ///
    /// # Errors
    /// As [`WorkingCopy::plan_undo`].
    pub fn plan_undo(&mut self) -> Result<Plan, RunError> {
        Ok(self.copy.plan_undo()?)
    }

    /// Writes down who agreed to what is about to become of it.
    ///
    /// # Errors
    /// When the ledger can't be carried on: then it isn't done.
    pub fn approved(&mut self, what: &'static str, by: &Channel) -> Result<(), RunError> {
        let agreed = Agreed {
            what,
            by: by.to_string(),
        };
        self.ledger()?.append("copy.approved", agreed, wall_ms())?;
        Ok(())
    }

    /// Carries a plan out. The ledger says so before and afterwards; without the first word nothing is
    /// applied, while an undo gives back what was the person's, whatever became of the ledger.
    ///
    /// # Errors
    /// As [`WorkingCopy::carry_out`]; before that, when the ledger doesn't take an apply.
    pub fn carry_out(&mut self, plan: &Plan, conflicts: Conflicts) -> Result<Outcome, RunError> {
        let (begun, done) = match plan.action {
            Action::Apply => ("copy.apply_begun", "copy.applied"),
            Action::Undo => ("copy.undo_begun", "copy.undone"),
        };
        if conflicts == Conflicts::Refuse && !plan.conflicts.is_empty() {
            return Ok(self.copy.carry_out(plan, conflicts)?);
        }
        let intent = Begun {
            manifest: &plan.manifest.digest,
            paths: plan.steps(),
        };
        let mut ledger = self.ledger().and_then(|mut ledger| {
            ledger.append(begun, intent, wall_ms())?;
            Ok(ledger)
        });
        if plan.action == Action::Apply {
            ledger = Ok(ledger?);
        }
        let outcome = self.copy.carry_out(plan, conflicts)?;
        let carried = Carried {
            manifest: &plan.manifest.digest,
            paths: outcome.done,
            already: outcome.already,
            in_conflict: outcome.left.len(),
        };
        if let Ok(ledger) = &mut ledger {
            // The beginning is told; how it ended stands in the copy's own journal too.
            let _ = ledger.append(done, carried, wall_ms());
        }
        Ok(outcome)
    }

    /// Throws it away, and says so in the ledger, where that can be carried on.
    ///
    /// # Errors
    /// As [`WorkingCopy::discard`].
    pub fn discard(self) -> Result<(), RunError> {
        let ledger = self.ledger();
        self.copy.discard()?;
        if let Ok(mut ledger) = ledger {
            // It is gone already, and nothing of the person's was touched.
            let _ = ledger.append("copy.discarded", serde_json::json!({}), wall_ms());
        }
        Ok(())
    }

    fn ledger(&self) -> Result<Ledger, RunError> {
        // No event of these holds a path or a content, so there is nothing to keep out.
        let path = self.run.ledger();
        let run = self.run.id.as_str();
        Ok(Ledger::reopen(&path, run, Redactor::none(), wall_ms())?)
    }
}

/// Deals with what kills left half done in any run's copy: a start of a run may call it, so that
/// nobody works on a half-applied folder. What can't be dealt with now stays for its own command.
pub fn recover_unfinished(store: &Store) -> Vec<(StoredRun, Recovered)> {
    let mut dealt = Vec::new();
    for run in store.list().unwrap_or_default() {
        if let Some(recovered) = recover_one(&run) {
            dealt.push((run, recovered));
        }
    }
    dealt
}

fn recover_others(store: &Store, than: &StoredRun) {
    for run in store.list().unwrap_or_default() {
        if run.id != than.id {
            recover_one(&run);
        }
    }
}

fn recover_one(run: &StoredRun) -> Option<Recovered> {
    if !WorkingCopy::is_unfinished(&run.path) {
        return None;
    }
    let lock = quiet(run).ok()?;
    let copy = WorkingCopy::open(&run.path).ok()?;
    let mut taken = TakenCopy {
        run: run.clone(),
        copy,
        _lock: lock,
    };
    taken.recover().ok().flatten()
}

/// Throws away the copy of a run, also one whose records can't be read.
///
/// # Errors
/// `run_lives`, `no_copy`; else when something of it can't be removed.
pub fn discard(store: &Store, run: StoredRun) -> Result<(), RunError> {
    clear_leftovers(&run.path)?;
    match TakenCopy::take(store, run.clone()) {
        Ok((taken, _)) => taken.discard(),
        Err(RunError::Copy(CopyError::Record { .. })) => {
            let _lock = quiet(&run)?;
            Ok(discard_unreadable(&run.path)?)
        }
        // One whose making a kill cut off has no record, and takes room all the same.
        Err(RunError::Refused(refusal)) if refusal.code == "no_copy" => {
            let _lock = quiet(&run)?;
            match discard_unmade(&run.path)? {
                true => Ok(()),
                false => Err(refusal.into()),
            }
        }
        Err(error) => Err(error),
    }
}

/// Looks at the copies of all runs that ended, and removes those that a policy chooses.
///
/// # Errors
/// When the runs can't be listed. A copy that can't be looked at is passed over.
pub fn sweep(store: &Store, policy: &Policy, sweep: Sweep) -> Result<Vec<Swept>, RunError> {
    let now = SystemTime::now();
    let mut runs = Vec::new();
    let mut surveys = Vec::new();
    for run in store.list()? {
        if run.is_live() {
            continue;
        }
        if sweep == Sweep::Remove {
            // What stays is tried again with the next sweep.
            let _ = clear_leftovers(&run.path);
            if let Ok(_lock) = quiet(&run) {
                let _ = discard_unmade(&run.path);
            }
        }
        if !WorkingCopy::exists(&run.path) {
            continue;
        }
        if let Ok(survey) = WorkingCopy::survey(&run.path, now) {
            runs.push(run);
            surveys.push(survey);
        }
    }
    let chosen = policy.choose(&surveys);
    let all = runs.into_iter().zip(surveys).enumerate();
    Ok(all
        .map(|(index, (run, survey))| {
            let fate = match (chosen.contains(&index), sweep) {
                (false, _) => Fate::Kept,
                (true, Sweep::Tell) => Fate::Removed,
                (true, Sweep::Remove) => match discard(store, run.clone()) {
                    Ok(()) => Fate::Removed,
                    Err(error) => Fate::Failed(error),
                },
            };
            Swept { run, survey, fate }
        })
        .collect())
}

/// Makes sure that a run is over: whoever holds its lock could still write to its copy.
fn quiet(run: &StoredRun) -> Result<Option<File>, RunError> {
    let path = run.path.join("lock");
    let lock = match File::open(&path) {
        Ok(lock) => lock,
        // A folder that lost its lock has no supervisor either.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).doing("open the lock", &path),
    };
    match flock(&lock, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(Some(lock)),
        Err(_) => Err(Refusal::new(
            "run_lives",
            "run",
            format!("run {} still goes on", run.id.short()),
            "wait for its end, or stop it",
        )
        .into()),
    }
}
