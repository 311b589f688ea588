//! `deputize run`: a task for a child, and its result.

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use deputize_authority::{Channel, Preset, WorkspaceMode};
use deputize_boundary::{PinnedProgram, harden_supervisor};
use deputize_model::{Edge, Sleeper};
use deputize_runs::{
    Child, Finished, RunError, Store, on_main_thread, open_unwaiting, recover_unfinished,
};

use super::copies::tell_recovered;
use crate::args::Run;
use crate::asker::Terminal;
use crate::driving::{RealTime, drive};
use crate::failure::{self, Voice};
use crate::output::{error_width, print, print_json};
use crate::question::{self, Answer};
use crate::request::{look_around, request};
use crate::show;
use crate::status::Style;

pub(crate) fn main(args: Run) -> ExitCode {
    let voice = Voice::of(args.json);
    match begin(args) {
        Ok(code) => code,
        Err(error) => failure::tell(&error, voice),
    }
}

fn begin(args: Run) -> Result<ExitCode, RunError> {
    let program = PinnedProgram::open()?;
    let look = look_around()?;
    let request = request(&args)?;
    let mut child = match Child::plan(&look, request.clone(), &Outside) {
        Err(RunError::Refused(refusal)) if refusal.code == "no_model" => {
            let name = offer_scout(&args).ok_or(refusal)?;
            let mut request = request;
            request.model.name = Some(name);
            Child::plan(&look, request, &Outside)?
        }
        planned => planned?,
    };
    if args.dry_run {
        let without_asking = child.approvals().err().map(|error| error.refusal());
        show::plan(
            &child.planned(),
            without_asking.as_ref(),
            Voice::of(args.json),
        );
        return Ok(ExitCode::SUCCESS);
    }
    confirm(&mut child, &args)?;
    if may_ask(&args) {
        child.asks(Arc::new(Terminal));
    }
    // Nobody works on a folder that an apply was killed on.
    for (_, recovered) in recover_unfinished(&Store::below(look.state()?)) {
        tell_recovered(&recovered);
    }
    harden_supervisor()?;
    let mode = child.planned().grant.workspace().mode;
    let style = Style::of(args.quiet, args.json);
    let finished = on_main_thread(|spawner| drive(child, spawner, program, style))?;
    show(&finished, mode, &args);
    Ok(ExitCode::from(finished.result.status.exit_code()))
}

/// Puts the one question of the spawn card, where anything is open and somebody may be there to
/// answer; whoever isn't asked is told what would be needed (S3, S4).
fn confirm(child: &mut Child, args: &Run) -> Result<(), RunError> {
    child.settled().refuse_denied()?;
    if child.settled().open().next().is_none() {
        return Ok(());
    }
    if !may_ask(args) {
        child.approvals()?;
        return Ok(());
    }
    match question::ask(&show::card(&child.planned(), error_width()), "Start it?") {
        Answer::Yes => {
            child.accept(&Channel::Terminal);
            Ok(())
        }
        Answer::No => Err(child.settled().declined().into()),
        Answer::Nobody => Err(child.settled().unanswered().into()),
    }
}

/// Whether a person sits before this run: a script, or whoever wants one object or nothing but the
/// result, is asked nothing.
fn may_ask(args: &Run) -> bool {
    question::has_terminal() && !args.json && !args.quiet
}

/// On a terminal, offers code search where no model was named; the answer is No unless it is yes.
/// Anywhere else nothing stands in for a model.
fn offer_scout(args: &Run) -> Option<String> {
    let looks = args.preset.replace('_', "-") == Preset::ReadOnly.name();
    if !looks || !may_ask(args) {
        return None;
    }
    let offer = "No model was named, and none is configured.\n\
                 Code search (`scout`) answers read-only questions offline, WITHOUT a language model.\n";
    let answer = question::ask(offer, "Use it for this run?");
    (answer == Answer::Yes).then(|| "scout".to_owned())
}

fn show(finished: &Finished, mode: WorkspaceMode, args: &Run) {
    if args.json {
        print_json(&finished.result);
    } else {
        print(&show::result(&finished.result, mode, args.receipt));
    }
}

/// Opens what is a file, and nothing that would be waited for.
fn regular_file(path: &str) -> std::io::Result<std::fs::File> {
    let file = open_unwaiting(Path::new(path))?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(std::io::Error::other("it is no file")),
    }
}

/// What a model may need from this program: a script's file, and time.
pub(super) struct Outside;

impl Edge for Outside {
    fn script(&self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        // A parent's model may name it: neither our own input nor a pipe that waits for a writer is read.
        let file = regular_file(path).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    fn sleeper(&self) -> Arc<dyn Sleeper> {
        Arc::new(RealTime)
    }
}
