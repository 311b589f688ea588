//! `deputize undo`: what was applied, or written directly, goes back out of the person's folder, as one
//! change.

use std::process::ExitCode;

use deputize_runs::RunError;
use deputize_workspace::{Conflicts, Plan};
use serde_json::json;

use super::apply::{done, refuse_conflicts, status};
use super::copies::{Consent, paths, take};
use crate::args::Undo;
use crate::failure::{self, Voice};
use crate::output::{error_width, print, print_json};
use crate::show;

/// What a person should know before they say yes.
const CUT_OFF: &str = "The run was cut off: whatever changed in the folder since it began is among these, \
     also what you changed yourself.\n";

/// Paths that are named before the question.
const LISTED: usize = 40;

pub(crate) fn main(args: &Undo) -> ExitCode {
    let voice = Voice::of(args.json);
    carry(args, voice).unwrap_or_else(|error| failure::tell(&error, voice))
}

fn carry(args: &Undo, voice: Voice) -> Result<ExitCode, RunError> {
    let mut taken = take(&args.run, voice)?;
    let was_cut_off = taken.copy().is_unsealed();
    let plan = taken.plan_undo()?;
    let conflicts = match args.partial {
        true => Conflicts::LeaveOut,
        false => Conflicts::Refuse,
    };
    if conflicts == Conflicts::Refuse && !plan.conflicts.is_empty() {
        return refuse_conflicts(&mut taken, &plan, voice);
    }
    if plan.steps() > 0 {
        let asked = format!("Take back {}?", paths(&plan));
        let mut text = question(&plan);
        if was_cut_off {
            text.push_str(CUT_OFF);
        }
        Consent::of(args.yes).get(&text, &asked, voice)?;
    }
    let outcome = taken.carry_out(&plan, conflicts)?;
    match voice {
        Voice::Json => print_json(&json!({
            "status": status(&outcome, "undone"),
            "run": taken.run().id,
            "done": outcome.done,
            "already": outcome.already,
            "left": outcome.left,
        })),
        Voice::Words => {
            print(&format!("Took back {}.\n", paths(&plan)));
            for path in &outcome.left {
                print(&format!("  left as it is: {}\n", path.shown()));
            }
            let run = taken.run().id.short();
            if !taken.copy().is_snapshot() {
                print(&format!(
                    "The copy still holds the changes: `deputize diff {run}`.\n"
                ));
            }
        }
    }
    Ok(done(&outcome))
}

fn question(plan: &Plan) -> String {
    let mut text = String::new();
    for path in plan.paths().take(LISTED) {
        text.push_str(&format!("  {}\n", path.shown()));
    }
    if plan.steps() > LISTED {
        text.push_str(&format!("  … and {} more\n", plan.steps() - LISTED));
    }
    text + &show::diff_exceptions(&plan.manifest, &plan.conflicts, error_width())
}
