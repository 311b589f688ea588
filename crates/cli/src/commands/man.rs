//! `deputize man`: the manual page, with every command's page after it.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_mangen::Man;

use crate::args::Args;
use crate::failure::FAILED;
use crate::output::print;

pub(crate) fn main() -> ExitCode {
    let mut program = Args::command();
    // Gives every command its whole name, as in `deputize-run`.
    program.build();
    let pages = std::iter::once(&program).chain(program.get_subcommands());
    let mut text = Vec::new();
    for page in pages.filter(|page| page.get_name() != "help") {
        if Man::new(page.clone()).render(&mut text).is_err() {
            return ExitCode::from(FAILED);
        }
    }
    print(&String::from_utf8_lossy(&text));
    ExitCode::SUCCESS
}
