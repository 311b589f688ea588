//! `deputize run`: a task for a child, and its result.

use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

use deputize_agent::CancelReason;
use deputize_authority::preflight::{PROMPT_BYTES, RunRequest};
use deputize_authority::{Dimension, Preset, escape};
use deputize_boundary::{PinnedProgram, harden_supervisor};
use deputize_model::{Edge, Sleeper};
use deputize_runs::{
    Boundaries, Child, ChildRequest, Finished, Look, RunError, Spawner, Word, on_main_thread,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::args::Run;
use crate::failure::{self, Voice, usage};
use crate::output::{error_line, print, print_json};
use crate::{show, status};

pub(crate) fn main(args: Run) -> ExitCode {
    let voice = Voice::of(args.json);
    match begin(args) {
        Ok(code) => code,
        Err(error) => failure::tell(&error, voice),
    }
}

fn begin(args: Run) -> Result<ExitCode, RunError> {
    let program = PinnedProgram::open()?;
    let look = Look::around().map_err(|source| RunError::State {
        doing: "find the current folder",
        path: ".".into(),
        source,
    })?;
    let mut request = request(&args)?;
    if request.model.is_none() {
        request.model = offer_scout(&args);
    }
    let child = Child::plan(&look, request, &Outside)?;
    if args.dry_run {
        show::plan(&child.planned(), Voice::of(args.json));
        return Ok(ExitCode::SUCCESS);
    }
    harden_supervisor()?;
    let finished = on_main_thread(|spawner| drive(child, spawner, program, &args))?;
    show(&finished, &args);
    Ok(ExitCode::from(finished.result.status.exit_code()))
}

fn request(args: &Run) -> Result<ChildRequest, RunError> {
    let prompt = match &args.prompt {
        Some(prompt) if prompt != "-" => prompt.clone().into_vec(),
        _ => read_prompt()?,
    };
    let budget = args
        .budget
        .iter()
        .map(|typed| limit(typed))
        .collect::<Result<_, _>>()?;
    Ok(ChildRequest {
        run: RunRequest {
            prompt,
            preset: args.preset.clone(),
            agent: args.agent.clone(),
            context: args.context.clone(),
            workspace: args.workspace.clone(),
            budget,
            ..RunRequest::default()
        },
        workdir: args.workdir.clone(),
        model: args.model.clone(),
        ..ChildRequest::default()
    })
}

/// On a terminal, offers code search where no model was named; the answer is No unless it is yes.
/// Anywhere else nothing stands in for a model.
fn offer_scout(args: &Run) -> Option<String> {
    let looks = args.preset.replace('_', "-") == Preset::ReadOnly.name();
    let asks = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !looks || !asks || args.json || args.quiet {
        return None;
    }
    error_line("No model was named, and none is configured.");
    error_line(
        "Code search (`scout`) answers read-only questions offline, WITHOUT a language model.",
    );
    error_line("Use it for this run? [y/N]");
    let mut answer = String::new();
    // Only so much as an answer has; whatever fails to be read is a No.
    let read = std::io::stdin().lock().take(64).read_line(&mut answer);
    let yes = read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    yes.then(|| "scout".to_owned())
}

/// Reads the prompt from standard input: one byte more than is allowed, so that too long shows.
fn read_prompt() -> Result<Vec<u8>, RunError> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(usage(
            "prompt",
            "there is no prompt".to_owned(),
            "say what to do, as in `deputize run \"Where are budget limits enforced?\"`",
        ));
    }
    let mut prompt = Vec::new();
    let most = u64::try_from(PROMPT_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    stdin
        .lock()
        .take(most)
        .read_to_end(&mut prompt)
        .map_err(|source| RunError::State {
            doing: "read the prompt from",
            path: "standard input".into(),
            source,
        })?;
    Ok(prompt)
}

fn limit(typed: &str) -> Result<(Dimension, u64), RunError> {
    let parsed = typed.split_once('=').and_then(|(name, number)| {
        Some((Dimension::named(name.trim())?, number.trim().parse().ok()?))
    });
    parsed.ok_or_else(|| {
        let names: Vec<&str> = Dimension::ALL.into_iter().map(Dimension::name).collect();
        usage(
            "budget",
            format!("`{}` is no limit", escape(typed)),
            &format!("write NAME=NUMBER with one of {}", names.join(", ")),
        )
    })
}

/// Everything that runs beside the main thread.
fn drive(
    child: Child,
    spawner: Spawner,
    program: PinnedProgram,
    args: &Run,
) -> Result<Finished, RunError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|source| RunError::State {
            doing: "start the runtime of",
            path: "deputize".into(),
            source,
        })?;
    runtime.block_on(async {
        let (tell, events) = mpsc::unbounded_channel();
        let (say, words) = mpsc::unbounded_channel();
        let watching = tokio::spawn(stop_on_signals(say));
        let showing = tokio::spawn(status::show(
            events,
            status::Style::of(args.quiet, args.json),
        ));
        let boundaries = Boundaries::new(spawner, program);
        let finished = child.run(boundaries, tell, words).await;
        watching.abort();
        // The channel is closed: the face clears its line and ends. It can't fail.
        let _ = showing.await;
        finished
    })
}

/// Turns the signals that end a program into words to the run, so that it ends with a result.
async fn stop_on_signals(say: mpsc::UnboundedSender<Word>) {
    let listen = |kind| signal(kind).ok();
    let mut interrupt = listen(SignalKind::interrupt());
    let mut terminate = listen(SignalKind::terminate());
    let mut hang_up = listen(SignalKind::hangup());
    loop {
        let reason = tokio::select! {
            () = heard(&mut interrupt) => CancelReason::Person,
            () = heard(&mut terminate) => CancelReason::HostEnds,
            () = heard(&mut hang_up) => CancelReason::HostEnds,
        };
        if say.send(Word::Cancel(reason)).is_err() {
            return;
        }
    }
}

async fn heard(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

fn show(finished: &Finished, args: &Run) {
    if args.json {
        print_json(&finished.result);
    } else {
        print(&show::result(&finished.result, args.receipt));
    }
}

/// What a model may need from this program: a script's file, and time.
struct Outside;

impl Edge for Outside {
    fn script(&self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
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

struct RealTime;

impl Sleeper for RealTime {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(std::time::Duration::from_millis(millis)))
    }
}
