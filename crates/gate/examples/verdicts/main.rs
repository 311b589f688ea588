//! Prints `docs/verdicts.md`: what the gate says, for every kind of effect and all that it depends on.
#![expect(
    clippy::print_stdout,
    reason = "`cargo xtask gen` reads the page from standard output"
)]

mod kinds;
mod table;

fn main() {
    print!("{}", table::page());
}
