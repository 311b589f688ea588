//! What the measuring programs have in common: how they start, and what they print.
//!
//! `cargo xtask bench` calls each with the number of rounds and reads one line a side: name, median,
//! least, unit, and the name of the side that it is held against, parted by tabs.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

/// Whatever ends a measurement.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// One way of doing something, measured several times.
pub(crate) struct Side {
    pub(crate) name: String,
    /// One figure a round; never empty.
    pub(crate) samples: Vec<f64>,
    pub(crate) unit: &'static str,
    /// The side that it is held against.
    pub(crate) beside: Option<&'static str>,
}

/// Runs a program that measures in so many rounds.
///
/// A boundary starts its processes from the program that runs, which is this one. So the role of
/// `__init` comes first, before a thread exists.
pub(crate) fn main(measure: impl FnOnce(usize) -> Result<Vec<Side>, Failure>) -> ExitCode {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("__init") {
        deputize_boundary::init_main(deputize_runs::worker_entry);
    }
    let rounds = argument
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(10);
    match measure(rounds.max(1)).and_then(|sides| print(&sides)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nowhere is left to report to when this fails.
            let _ = writeln!(std::io::stderr(), "{}", whole(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn print(sides: &[Side]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    for side in sides {
        let mut samples = side.samples.clone();
        samples.sort_unstable_by(f64::total_cmp);
        let middle = samples.get(samples.len() / 2).zip(samples.first());
        let (median, least) = middle.ok_or("a side has no sample")?;
        write!(out, "{}\t{median}\t{least}\t{}", side.name, side.unit)?;
        if let Some(beside) = side.beside {
            write!(out, "\t{beside}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// An error with what caused it, on one line.
fn whole(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
