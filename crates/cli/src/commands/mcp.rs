//! `deputize mcp`: the protocol server, for the host that a parent agent lives in.

use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use deputize_authority::Refusal;
use deputize_boundary::{PinnedProgram, harden_supervisor, take_inherited};
use deputize_mcp::{HostIdentity, HostSecret, Limits, Settings, serve};
use deputize_runs::{
    Boundaries, Child, ChildRequest, Look, RunError, Spawner, Store, on_main_thread,
    recover_unfinished,
};
use deputize_shell::second_opinion;

use super::run::Outside;
use crate::args::Mcp;
use crate::driving::{EndSignals, runtime};
use crate::failure::{self, Voice, usage};
use crate::output::error_line;
use crate::request::{allowances, limits, look_around};

/// How long a host may take to write its secret: it does so as it starts us.
const SECRET: Duration = Duration::from_secs(10);

pub(crate) fn main(args: Mcp) -> ExitCode {
    match begin(args) {
        Ok(()) => ExitCode::SUCCESS,
        // Standard output is the protocol's.
        Err(error) => failure::tell(&error, Voice::Words),
    }
}

fn begin(args: Mcp) -> Result<(), RunError> {
    // Nobody may look into this process, and the secret comes before anything is opened.
    harden_supervisor()?;
    let host = identity(&args)?;
    let program = PinnedProgram::open()?;
    let look = look_around()?;
    for (run, recovered) in recover_unfinished(&Store::below(look.state()?)) {
        let what = match recovered.finished {
            true => "finished",
            false => "taken back",
        };
        error_line(&format!(
            "deputize: what was half done of run {} was {what}",
            run.id.short()
        ));
    }
    let settings = Settings {
        look,
        allow: allowances(&args.allow)?,
        rules: args.rules,
        budget: limits(&args.budget)?,
        host,
        limits: Limits {
            handle: Duration::from_secs(args.handle_after),
            question: Duration::from_secs(args.answer_within),
            ..Limits::default()
        },
        outside: Arc::new(Outside),
        second: second_opinion,
    };
    on_main_thread(|spawner| run(settings, spawner, program))
}

impl deputize_mcp::Outside for Outside {
    fn plan(&self, look: &Look, request: ChildRequest) -> Result<Child, RunError> {
        Child::plan(look, request, self)
    }
}

fn run(settings: Settings, spawner: Spawner, program: PinnedProgram) -> Result<(), RunError> {
    let runtime = runtime()?;
    let boundaries = Boundaries::new(spawner, program);
    let served = runtime.block_on(serve(
        settings,
        boundaries,
        tokio::io::stdin(),
        tokio::io::stdout(),
        told_to_end(),
    ));
    // A read of standard input can't be given up: it ends with the process.
    runtime.shutdown_background();
    served
}

/// Waits for a signal that ends a program.
async fn told_to_end() {
    EndSignals::listen().next().await;
}

/// The host and its secret, which is read before anything else.
fn identity(args: &Mcp) -> Result<Option<HostIdentity>, RunError> {
    let (Some(name), Some(number)) = (&args.host, args.host_secret_fd) else {
        return Ok(None);
    };
    let plain = !name.is_empty()
        && name.len() <= 32
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if !plain {
        return Err(usage(
            "host",
            "the host's name is at most 32 letters, digits, `-` and `_`".to_owned(),
            "name it as in `--host pi`",
        ));
    }
    let failed = |why: String| {
        RunError::Refused(Refusal::new(
            "host_secret",
            "host_secret_fd",
            format!("no secret could be read from descriptor {number}: {why}"),
            "write 32 random bytes into a pipe whose reading end the server inherits",
        ))
    };
    let descriptor = take_inherited(number).map_err(|error| failed(error.to_string()))?;
    let (tell, told) = mpsc::sync_channel(1);
    // Beside this thread, so that a host that writes nothing is an error and no hang.
    thread::spawn(move || {
        // The one who waits may have given up.
        let _ = tell.send(HostSecret::read(File::from(descriptor)));
    });
    let secret = told
        .recv_timeout(SECRET)
        .map_err(|_| failed("nothing came in time".to_owned()))?
        .map_err(|error| failed(error.to_string()))?;
    Ok(Some(HostIdentity {
        name: name.clone(),
        secret,
    }))
}
