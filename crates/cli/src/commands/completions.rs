//! `deputize completions`: a script for a shell.

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::args::{Args, Completions};
use crate::output::print;

pub(crate) fn main(args: &Completions) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "deputize", &mut script);
    print(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
