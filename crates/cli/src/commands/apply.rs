//! `deputize apply`: what a run changed in its copy comes to the person's folder.

use std::process::ExitCode;

use deputize_runs::{RunError, TakenCopy};
use deputize_workspace::{ApplyRequest, Conflicts, Outcome, Plan};
use serde_json::json;

use super::copies::{Consent, IN_PART, paths, take};
use super::diff::below;
use crate::args::Apply;
use crate::failure::{self, REFUSED, Voice};
use crate::output::{error_width, list_width, print, print_json};
use crate::show;

pub(crate) fn main(args: &Apply) -> ExitCode {
    let voice = Voice::of(args.json);
    carry(args, voice).unwrap_or_else(|error| failure::tell(&error, voice))
}

fn carry(args: &Apply, voice: Voice) -> Result<ExitCode, RunError> {
    let mut taken = take(&args.run, voice)?;
    let request = ApplyRequest {
        manifest: args.manifest.clone(),
        include: args
            .include
            .iter()
            .map(|path| below(path))
            .collect::<Result<_, _>>()?,
    };
    let plan = taken.plan_apply(&request)?;
    if args.dry_run {
        tell_plan(&plan, voice);
        return Ok(ExitCode::SUCCESS);
    }
    let conflicts = match args.partial {
        true => Conflicts::LeaveOut,
        false => Conflicts::Refuse,
    };
    if conflicts == Conflicts::Refuse && !plan.conflicts.is_empty() {
        return refuse_conflicts(&mut taken, &plan, voice);
    }
    if plan.steps() > 0 {
        let text = question(&plan);
        let base = taken
            .copy()
            .record()
            .base
            .path
            .to_string_lossy()
            .into_owned();
        let base = deputize_authority::escape(&base);
        let asked = format!("Apply {} to {base}?", paths(&plan));
        Consent::of(args.yes).get(&text, &asked, voice)?;
    }
    let outcome = taken.carry_out(&plan, conflicts)?;
    tell(&taken, &plan, &outcome, voice);
    Ok(done(&outcome))
}

/// What a person reads before the question.
fn question(plan: &Plan) -> String {
    let width = error_width();
    format!(
        "{}{}{}\nmanifest {}\n",
        show::diff_listed(&plan.manifest, width),
        show::diff_exceptions(&plan.manifest, &plan.conflicts, width),
        show::diff_sums(&plan.manifest),
        plan.manifest.digest
    )
}

/// What a plan would do.
fn tell_plan(plan: &Plan, voice: Voice) {
    match voice {
        Voice::Json => print_json(&json!({
            "status": "planned",
            "manifest": plan.manifest.digest,
            "paths": plan.paths().collect::<Vec<_>>(),
            "already": plan.already,
            "kept": plan.kept,
            "conflicts": plan.conflicts,
        })),
        Voice::Words => {
            for path in plan.paths() {
                print(&format!("  {}\n", path.shown()));
            }
            let width = list_width();
            print(&show::diff_exceptions(
                &plan.manifest,
                &plan.conflicts,
                width,
            ));
            print(&format!(
                "{} would change.\nmanifest {}\n",
                paths(plan),
                plan.manifest.digest
            ));
        }
    }
}

/// All conflicts, then the refusal.
pub(super) fn refuse_conflicts(
    taken: &mut TakenCopy,
    plan: &Plan,
    voice: Voice,
) -> Result<ExitCode, RunError> {
    // Refused before anything is touched: it says so in its own words.
    let Err(error) = taken.carry_out(plan, Conflicts::Refuse) else {
        return Ok(ExitCode::SUCCESS);
    };
    match voice {
        Voice::Json => print_json(&json!({
            "status": "refused",
            "error": error.refusal(),
            "conflicts": plan.conflicts,
        })),
        Voice::Words => {
            for conflict in &plan.conflicts {
                print(&format!(
                    "conflict: {} ({})\n",
                    conflict.path.shown(),
                    conflict.why
                ));
            }
            failure::tell_refusal(&error.refusal(), voice);
        }
    }
    Ok(ExitCode::from(REFUSED))
}

fn tell(taken: &TakenCopy, plan: &Plan, outcome: &Outcome, voice: Voice) {
    let run = taken.run().id.short();
    match voice {
        Voice::Json => print_json(&json!({
            "status": status(outcome, "applied"),
            "run": taken.run().id,
            "manifest": plan.manifest.digest,
            "done": outcome.done,
            "already": outcome.already,
            "left": outcome.left,
            "kept": plan.kept,
        })),
        Voice::Words => {
            let what = match (outcome.done, outcome.already) {
                (0, 0) => "There is nothing to apply.".to_owned(),
                (0, _) => "Everything is applied already.".to_owned(),
                _ => format!("Applied {}.", paths(plan)),
            };
            print(&format!("{what}\n"));
            print(&show::diff_exceptions(
                &plan.manifest,
                &plan.conflicts,
                list_width(),
            ));
            for path in &plan.kept {
                print(&format!(
                    "  kept, since it holds what wasn't applied: {}\n",
                    path.shown()
                ));
            }
            if outcome.done > 0 {
                print(&format!("Take back: `deputize undo {run}`.\n"));
            }
        }
    }
}

pub(super) fn status(outcome: &Outcome, whole: &str) -> String {
    match outcome.left.is_empty() {
        true => whole.to_owned(),
        false => format!("partly_{whole}"),
    }
}

pub(super) fn done(outcome: &Outcome) -> ExitCode {
    match outcome.left.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(IN_PART),
    }
}
