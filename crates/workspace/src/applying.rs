//! Applying a copy and taking it back, from a working copy's side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use deputize_authority::Refusal;

use crate::apply::{
    Action, ApplyRequest, Conflicts, Journal, Outcome, Plan, Planner, Recovered, Stops, Store,
    Transaction, Wanted, closed, left_out, recover, staying, take_turn, umask,
};
use crate::bases::Basis;
use crate::copy::{FOLDER, WorkingCopy};
use crate::entry::{Seen, What};
use crate::error::Doing as _;
use crate::manifest::Manifest;
use crate::mounts::is_mounted_below;
use crate::rel_path::RelPath;
use crate::sweep::in_use;
use crate::{CopyError, beneath::Anchor};

/// What became of a copy's changes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyState {
    /// Nothing of it was applied, or all of that was taken back.
    Unapplied,
    /// It was applied, but for what was in conflict.
    PartlyApplied,
    /// It was applied.
    Applied,
    /// A kill cut an apply or an undo off; the next one deals with it.
    Unfinished,
}

impl WorkingCopy {
    /// What became of it so far.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub fn state(&self) -> Result<CopyState, CopyError> {
        if self.is_unsealed() {
            // What was written so far is in the folder.
            return Ok(CopyState::Applied);
        }
        let journal = self.journal()?;
        if journal.unfinished().is_some() {
            return Ok(CopyState::Unfinished);
        }
        Ok(match journal.last_applied() {
            None => CopyState::Unapplied,
            Some(told) if told.left.is_empty() => CopyState::Applied,
            Some(_) => CopyState::PartlyApplied,
        })
    }

    /// Whether a kill left a run's copy half applied, by a look at the end of its journal alone.
    #[must_use]
    pub fn is_unfinished(run: &Path) -> bool {
        Journal::ends_open(&run.join(FOLDER).join("journal.jsonl"))
    }

    /// Finishes, or takes back, what a kill cut off: nothing where nothing was.
    ///
    /// # Errors
    /// When it fails again; it stays to be dealt with.
    pub fn recover(&mut self) -> Result<Option<Recovered>, CopyError> {
        let mut journal = self.journal()?;
        if journal.unfinished().is_none() {
            return Ok(None);
        }
        let base = self.quiet_base()?;
        let store = Store::open(self.folder())?;
        recover(&base, &store, &mut journal, &Stops::default())
    }

    /// Plans to apply what changed. Nothing is touched but what a kill left half done.
    ///
    /// # Errors
    /// Refusals: `written_directly`, `manifest_changed`, `include_unknown`, `include_refused`, `include_ignored`,
    /// `copy_in_use`, `workspace_busy`, `workspace_changed`.
    pub fn plan_apply(&mut self, request: &ApplyRequest) -> Result<Plan, CopyError> {
        if self.is_snapshot() {
            return Err(crate::snapshot::written_directly().into());
        }
        self.recover()?;
        let base = self.quiet_base()?;
        let manifest = self.changes()?;
        request.check(&manifest)?;
        let chosen = request.select(&manifest)?;
        let paths: BTreeMap<&RelPath, ()> = chosen.iter().map(|one| (&one.path, ())).collect();
        let stays = staying(&manifest, &paths);
        // What a clone began from is another file than the person's: only its content counts.
        let is_clone = self.record().kind == crate::CopyKind::Worktree;
        let mut wanted: Vec<Wanted> = chosen
            .iter()
            .map(|change| Wanted {
                path: change.path.clone(),
                from: change.old.clone(),
                to: change.new.clone(),
                basis: change.basis,
                stamp: self
                    .bases
                    .get(&change.path)
                    .filter(|_| !is_clone)
                    .and_then(|recorded| Some(recorded.was.as_ref()?.stamp())),
            })
            .collect();
        for one in wanted.iter_mut().filter(|_| is_clone) {
            let seen = base.look(&one.path);
            let seen = seen.doing("look at", one.path.as_path())?;
            seen.iter().for_each(|seen| take_permissions(one, seen));
        }
        plan(
            Action::Apply,
            manifest.clone(),
            &base,
            &stays,
            umask(),
            &wanted,
        )
    }

    /// Plans to take back all that was applied.
    ///
    /// # Errors
    /// Refusals: `nothing_to_undo`, `copy_in_use`, `workspace_busy`, `workspace_changed`.
    pub fn plan_undo(&mut self) -> Result<Plan, CopyError> {
        self.recover()?;
        let base = self.quiet_base()?;
        if self.is_unsealed() {
            // A kill came before the end of the run.
            self.seal()?;
        }
        let applied = self.journal()?.applied();
        if applied.is_empty() {
            return Err(Refusal::new(
                "nothing_to_undo",
                "run",
                "nothing that the run changed is in the folder",
                "`deputize diff RUN` shows what the copy holds",
            )
            .into());
        }
        let wanted: Vec<Wanted> = applied
            .into_iter()
            .map(|(path, (before, after))| Wanted {
                path,
                from: after,
                to: before,
                basis: Basis::Sure,
                stamp: None,
            })
            .collect();
        let none = Manifest::of(Vec::new());
        plan(Action::Undo, none, &base, &BTreeSet::new(), 0, &wanted)
    }

    /// Carries a plan out: all of it or, when something fails, nothing.
    ///
    /// # Errors
    /// `conflicts` when there are any and they aren't to be left out; `manifest_changed` and
    /// `workspace_changed_meanwhile` when something isn't any more what was planned for. Whatever the
    /// error is, the person's folder is as it was.
    pub fn carry_out(&mut self, plan: &Plan, conflicts: Conflicts) -> Result<Outcome, CopyError> {
        if conflicts == Conflicts::Refuse && !plan.conflicts.is_empty() {
            return Err(in_conflict(plan).into());
        }
        self.carry_out_with(plan, &Stops::default())
    }

    pub(crate) fn carry_out_with(
        &mut self,
        plan: &Plan,
        stops: &Stops,
    ) -> Result<Outcome, CopyError> {
        let base = self.quiet_base()?;
        let outcome = Outcome {
            action: plan.action,
            done: plan.steps(),
            already: plan.already,
            left: left_out(plan),
        };
        let top: Option<Anchor> = match plan.action {
            Action::Apply => Some(self.top()?),
            Action::Undo => None,
        };
        let store = Store::open(self.folder())?;
        let mut journal = self.journal()?;
        let stage = self.stage_name(journal.transactions.len());
        Transaction {
            base: &base,
            copy: top.as_ref(),
            store: &store,
            journal: &mut journal,
            stops,
        }
        .run(plan, &stage)?;
        Ok(outcome)
    }

    fn journal(&self) -> Result<Journal, CopyError> {
        Journal::read(&self.journal_path())
    }

    pub(crate) fn journal_path(&self) -> PathBuf {
        self.folder().join("journal.jsonl")
    }

    /// The person's folder, when nobody else changes it for a copy and nothing shows the copy.
    fn quiet_base(&self) -> Result<Anchor, CopyError> {
        if self.is_shown() {
            return Err(in_use().into());
        }
        let base = self.base()?;
        take_turn(&base)?;
        Ok(base)
    }

    /// Whether somebody else has the copy open, or it is mounted.
    pub(crate) fn is_shown(&self) -> bool {
        self.is_in_use() || is_mounted_below(self.folder())
    }

    /// A name that no other copy's staging folder has: the run's folder is named by its id.
    fn stage_name(&self, number: usize) -> String {
        let run = self.folder().parent().and_then(|run| run.file_name());
        let run = run.unwrap_or_default().to_string_lossy().into_owned();
        let tail: String = run.chars().rev().take(8).collect();
        let tail: String = tail
            .chars()
            .rev()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        format!(".deputize-apply-{tail}-{number}")
    }
}

fn plan(
    action: Action,
    manifest: Manifest,
    base: &Anchor,
    stays: &BTreeSet<RelPath>,
    umask: u32,
    wanted: &[Wanted],
) -> Result<Plan, CopyError> {
    let mut planner = Planner::new(base, stays, umask);
    planner.plan(wanted)?;
    let Planner {
        removals,
        puts,
        conflicts,
        kept,
        already,
        ..
    } = planner;
    let mut steps = removals;
    steps.extend(puts);
    // A folder that can't be opened is refused before anybody is asked.
    closed(base, steps.iter().map(|planned| &planned.step))?;
    Ok(Plan {
        action,
        manifest,
        conflicts,
        kept,
        already,
        steps,
    })
}

/// Git knows of permissions only whether a file is executable: where the person's entry agrees in
/// that, the clone's other bits are nobody's choice, and the person's stand for them.
fn take_permissions(one: &mut Wanted, seen: &Seen) {
    let is_executable = |mode: u32| mode & 0o111 != 0;
    let Some(from) = &mut one.from else { return };
    if from.what != seen.what || is_executable(from.mode) != is_executable(seen.mode) {
        return;
    }
    let had = std::mem::replace(
        &mut from.mode,
        match from.what {
            What::Link => 0,
            _ => seen.permissions(),
        },
    );
    if let Some(to) = one.to.as_mut().filter(|to| to.mode == had) {
        to.mode = from.mode;
    }
}

fn in_conflict(plan: &Plan) -> Refusal {
    let first = plan.conflicts.first();
    let first = first.map_or_else(String::new, |one| {
        format!("`{}`: {}", one.path.shown(), one.why)
    });
    let more = match plan.conflicts.len() {
        0 | 1 => String::new(),
        count => format!(", and {} more", count - 1),
    };
    Refusal::new(
        "conflicts",
        "workspace",
        format!(
            "the workspace isn't what the change began from; {first}{more}; nothing was touched"
        ),
        "merge those by hand and use --partial, which leaves them as they are and does the rest",
    )
}
