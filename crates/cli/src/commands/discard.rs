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
    // Before it goes: afterwards nothing tells what it held.
    let mut stays = Stays::Unknown;
    let (text, asked) = match run.copy() {
        Ok(mut copy) => {
            stays = Stays::of(&copy);
            let asked = match copy.is_snapshot() {
                true => format!("Throw away what run {short} would be undone with?"),
                false => format!("Throw the copy of run {short} away?"),
            };
            (held(&mut copy, stays), asked)
        }
        Err(RunError::Copy(error)) => (
            format!(
                "{}\n{}",
                deputize_authority::escape(&error.refusal().reason),
                stays.before()
            ),
            format!("Throw the copy of run {short} away, whatever it holds?"),
        ),
        Err(_) if WorkingCopy::is_unmade(&run.path) => (
            "Its making was cut off: no child worked in it.\n".to_owned(),
            format!("Throw away what is left of the copy of run {short}?"),
        ),
        Err(error) => return Err(error),
    };
    Consent::of(args.yes).get(&text, &asked, voice)?;
    let id = run.id.clone();
    discard(&store, run)?;
    match voice {
        Voice::Json => print_json(&json!({
            "status": "discarded",
            "run": id,
            "applied": stays.name(),
        })),
        Voice::Words => print(stays.afterwards()),
    }
    Ok(())
}

/// What of a copy stays in the person's folder when the copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stays {
    /// Nothing of it was applied, or all was taken back.
    Nothing,
    /// What was applied, which can't be undone then.
    Applied,
    /// What the run wrote to the folder itself, which can't be undone then.
    Direct,
    /// A kill cut something off; it is finished or taken back first.
    Unfinished,
    /// Its records can't be read.
    Unknown,
}

impl Stays {
    fn of(copy: &WorkingCopy) -> Self {
        match copy.state() {
            Ok(CopyState::Unapplied) => Self::Nothing,
            Ok(CopyState::Applied) if copy.is_snapshot() => Self::Direct,
            Ok(CopyState::Applied | CopyState::PartlyApplied) => Self::Applied,
            Ok(CopyState::Unfinished) => Self::Unfinished,
            Err(_) => Self::Unknown,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Applied | Self::Direct => "stays",
            Self::Unfinished | Self::Unknown => "unknown",
        }
    }

    fn before(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Applied => {
                "Changes of it were applied: they stay in your folder, and can't be undone any \
                 more once the copy is gone. `deputize undo` takes them back first.\n"
            }
            Self::Direct => {
                "The run wrote to the folder itself: that stays, and can't be undone any more \
                 afterwards. `deputize undo` takes it back first.\n"
            }
            Self::Unfinished => {
                "An interrupted apply or undo is finished or taken back first; afterwards nothing \
                 of it can be undone any more.\n"
            }
            Self::Unknown => "If it was applied, that can't be undone any more afterwards.\n",
        }
    }

    fn afterwards(self) -> &'static str {
        match self {
            Self::Nothing => "The copy is gone; nothing of it is in your folder.\n",
            Self::Applied => {
                "The copy is gone; what was applied stays in your folder, and can't be undone any \
                 more.\n"
            }
            Self::Direct => {
                "What the run wrote stays in your folder, and can't be undone any more.\n"
            }
            Self::Unfinished | Self::Unknown => {
                "The copy is gone; what of it was applied, if anything was, stays in your folder \
                 and can't be undone any more.\n"
            }
        }
    }
}

/// What would be lost.
fn held(copy: &mut WorkingCopy, stays: Stays) -> String {
    let lost = stays.before();
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
