//! What the commands about copies share: the store, the run, the question.

use deputize_authority::Refusal;
use deputize_runs::{RunError, Store, StoredRun, TakenCopy};
use deputize_workspace::{Plan, Recovered};

use crate::failure::Voice;
use crate::output::error_line;
use crate::question::{Answer, ask, has_terminal};
use crate::request::look_around;

/// What was done in part, since the rest is in conflict.
pub(super) const IN_PART: u8 = 4;

/// The runs of this user.
pub(super) fn store() -> Result<Store, RunError> {
    let look = look_around()?;
    Ok(Store::below(look.state()?))
}

/// The run that is meant.
pub(super) fn find(run: &str) -> Result<(Store, StoredRun), RunError> {
    let store = store()?;
    let run = store.find(run)?;
    Ok((store, run))
}

/// Takes the copy of a run, and tells what a kill had left half done.
pub(super) fn take(run: &str, voice: Voice) -> Result<TakenCopy, RunError> {
    let (store, run) = find(run)?;
    let (taken, recovered) = TakenCopy::take(&store, run)?;
    if voice == Voice::Words {
        recovered.iter().for_each(tell_recovered);
    }
    Ok(taken)
}

pub(crate) fn tell_recovered(recovered: &Recovered) {
    let what = match recovered.finished {
        true => "was finished",
        false => "was taken back",
    };
    error_line(&format!(
        "deputize: what an interrupted command had begun {what}."
    ));
    for path in &recovered.left {
        error_line(&format!("  left as you changed it: {}", path.shown()));
    }
}

/// Whether a command may do what it is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    /// `--yes` was given.
    Given,
    /// A person has to say so.
    Asked,
}

impl Consent {
    pub(super) fn of(yes: bool) -> Self {
        if yes { Self::Given } else { Self::Asked }
    }

    /// Gets a yes: as an option, or from a person on the terminal.
    pub(super) fn get(self, text: &str, question: &str, voice: Voice) -> Result<(), RunError> {
        if self == Self::Given {
            return Ok(());
        }
        if voice == Voice::Json || !has_terminal() {
            return Err(Refusal::new(
                "needs_yes",
                "yes",
                "nobody can be asked here",
                "look at it first (`diff RUN`, `--print`), then say --yes",
            )
            .into());
        }
        match ask(text, question) {
            Answer::Yes => Ok(()),
            Answer::No => Err(Refusal::new(
                "declined",
                "yes",
                "you said no; nothing was changed",
                "run it again when you want it",
            )
            .into()),
            Answer::Nobody => Err(Refusal::new(
                "needs_yes",
                "yes",
                "the terminal has no more input, so nobody said yes",
                "look at it first (`diff RUN`, `--print`), then say --yes",
            )
            .into()),
        }
    }
}

/// What a plan will do, in a line.
pub(super) fn paths(plan: &Plan) -> String {
    match plan.steps() {
        1 => "1 path".to_owned(),
        count => format!("{count} paths"),
    }
}
