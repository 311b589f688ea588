//! The developer's commands: `cargo xtask check | test | bench | corpus | fuzz | pack | gen`.
//!
//! What a person types, CI types too: `.ci/run` calls `check` and `test` and nothing else. Each
//! command prints what it does, says what it left out and why, and ends with a status that counts.
//!
//! It stays small in dependencies, because it is built before anything else is.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to the terminal"
)]

mod arguments;
mod bench;

mod check;
mod command;
mod corpus;
mod extension;
mod failure;
mod fuzz;
mod generate;
mod ordinary;
mod sources;
mod test;
mod workspace;

use std::process::ExitCode;

use arguments::{Task, USAGE};
use failure::Failure;
use workspace::Workspace;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = match Task::parse(&arguments) {
        Ok(task) => task,
        Err(reason) => {
            eprintln!("xtask: {reason}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match perform(&task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: &Task) -> Result<(), Failure> {
    let workspace = Workspace::here();
    match task {
        Task::Help => {
            println!("{USAGE}");
            Ok(())
        }
        Task::Check(install) => check::check(&workspace, *install),
        Task::Test(options) => test::test(&workspace, options),
        Task::Bench(options) => bench::bench(&workspace, options),
        Task::Corpus(file) => corpus::corpus(&workspace, file),
        Task::Fuzz(options) => fuzz::fuzz(&workspace, options),
        Task::Pack => extension::pack(&workspace),
        Task::Generate(purpose) => generate::generate(&workspace, *purpose),
    }
}
