//! `deputize`: hands work to a deputy that holds a bounded grant and nothing else.
//!
//! This crate parses, shows and exits; what happens is decided in the rooms below. One file per
//! command in [`commands`]. A process that was started as `__init` or `__relay` never gets past the
//! first lines of [`main`]: those roles must begin before any thread exists.

mod args;
mod asker;
mod commands;
mod driving;
mod failure;
mod output;
mod question;
mod request;
mod show;
mod status;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|role| role == "__init")
    {
        deputize_boundary::init_main(deputize_runs::worker_entry);
    }
    if std::env::args_os()
        .nth(1)
        .is_some_and(|role| role == "__relay")
    {
        return deputize_egress::relay_main();
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        // Help and version are no failures.
        Err(error) => {
            let code = if error.use_stderr() {
                misunderstood()
            } else {
                0
            };
            // Nowhere is left to report to when this fails.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let lost = match args.command {
        Command::Gate(_) => commands::gate::BLOCKED,
        _ => failure::FAILED,
    };
    let code = match args.command {
        Command::Run(args) => commands::run::main(args),
        Command::Exec(args) => commands::exec::main(args),
        Command::Diff(args) => commands::diff::main(&args),
        Command::Apply(args) => commands::apply::main(&args),
        Command::Undo(args) => commands::undo::main(&args),
        Command::Discard(args) => commands::discard::main(&args),
        Command::Gc(args) => commands::gc::main(&args),
        Command::Demo(args) => commands::demo::main(&args),
        Command::Doctor(args) => commands::doctor::main(&args),
        Command::Audit(args) => commands::audit::main(&args),
        Command::Explain(args) => commands::explain::main(&args),
        Command::Gate(args) => commands::gate::main(&args),
        Command::Mcp(args) => commands::mcp::main(args),
        Command::Rules(args) => commands::rules::main(&args),
        Command::Auth(args) => commands::auth::main(&args),
        Command::Install(args) => commands::install::main(&args),
        Command::Uninstall(args) => commands::install::remove(&args),
        Command::Completions(args) => commands::completions::main(&args),
        Command::Man => commands::man::main(),
    };
    match output::lost() {
        None => code,
        Some(why) => {
            output::error_line(&format!("deputize: the output is lost: {why}"));
            ExitCode::from(lost)
        }
    }
}

/// The code of a command line that can't be understood: 2, but for `exec`, whose other codes are those
/// of the command that it runs.
fn misunderstood() -> u8 {
    let exec = std::env::args_os()
        .nth(1)
        .is_some_and(|command| command == "exec");
    if exec {
        commands::exec::OWN_FAILURE
    } else {
        failure::REFUSED
    }
}
