//! `deputize discard`: a run's copy is thrown away.

use std::process::ExitCode;

use deputize_runs::{RunError, discard};
use deputize_workspace::{CopyState, WorkingCopy};
use serde_json::json;

use super::copies::{Consent, find};
use crate::args::Discard;
use crate::failure::{self, Voice};
use crate::output::{error_width, print, print_json};
use crate::show;

pub(crate) fn main(args: &Discard) -> ExitCode {
    let voice = Voice::of(args.json);
    match throw(args, voice) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::tell(&error, voice),
    }
}

fn throw(args: &Discard, voice: Voice) -> Result<(), RunError> {
    let (store, run) = find(&args.run)?;
    let short = run.id.short().to_owned();
    let (text, asked) = match run.copy() {
        Ok(mut copy) => (
            held(&mut copy),
            format!("Throw the copy of run {short} away?"),
        ),
        Err(RunError::Copy(error)) => (
            format!("{}\n", deputize_authority::escape(&error.refusal().reason)),
            format!("Throw the copy of run {short} away, whatever it holds?"),
        ),
        Err(error) => return Err(error),
    };
    Consent::of(args.yes).get(&text, &asked, voice)?;
    let id = run.id.clone();
    discard(&store, run)?;
    match voice {
        Voice::Json => print_json(&json!({ "status": "discarded", "run": id })),
        Voice::Words => print("The copy is gone; your folder is as it was.\n"),
    }
    Ok(())
}

/// What would be lost.
fn held(copy: &mut WorkingCopy) -> String {
    let lost = match copy.state() {
        Ok(CopyState::Applied) => "It was applied: afterwards it can't be undone any more.\n",
        _ => "",
    };
    match copy.changes() {
        Ok(manifest) => {
            let width = error_width();
            format!(
                "{}{}\n{lost}",
                show::diff_listed(&manifest, width),
                show::diff_sums(&manifest)
            )
        }
        Err(error) => format!(
            "{}\n{lost}",
            deputize_authority::escape(&error.refusal().reason)
        ),
    }
}
