//! `cargo xtask test`: everything that tests, and one closing line that adds it all up.
//!
//! One build serves every part: the same profile and features, so that nothing is compiled twice.
//! As root the kernel's tests run a second time as an ordinary user, because that is how people
//! run the program and the two meet different mechanisms.

mod clients;
mod counts;
mod hosts;
mod needs;
mod ordinary;

use std::time::Duration;

use crate::arguments::TestOptions;
use crate::command::{self, Shown};
use crate::extension;
use crate::failure::Failure;
use crate::workspace::Workspace;
use counts::Counts;

/// No part of the tests is known to need a tenth of this; a hang must not eat a whole CI run.
const PART_LIMIT: Duration = Duration::from_mins(30);

/// What one part of the tests came to.
#[derive(Debug)]
struct Part {
    name: String,
    counts: Counts,
    /// Whether it ended well, whatever it counted.
    ended: Ended,
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Well,
    Badly,
}

/// Runs the tests that are asked for.
pub(crate) fn test(workspace: &Workspace, options: &TestOptions) -> Result<(), Failure> {
    let filter = options.filter.as_deref();
    println!("== needs");
    needs::install()?;
    extension::install(workspace)?;
    clients::install(workspace)?;
    let ignored = hosts::install(workspace, options.hosts)?;
    println!("== build");
    extension::check(workspace)?;
    extension::build(workspace)?;
    let programs = workspace.build_tests()?;
    let mut parts = vec![
        unit_and_integration(workspace, filter)?,
        doc_tests(workspace, filter)?,
    ];
    if ignored == Ignored::Run {
        println!("== hosts");
        let hosts = hosts::pass(workspace, &programs, filter)?;
        let ran = hosts.iter().map(|part| part.counts).sum();
        parts[0].counts = parts[0].counts.made_up(ran);
        parts.extend(hosts);
    }
    println!("== once more as an ordinary user");
    parts.extend(ordinary::pass(workspace, &programs, filter, ignored)?);
    close(&parts)
}

/// What happens to tests that are ignored because they need a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ignored {
    Run,
    Left,
}

fn unit_and_integration(workspace: &Workspace, filter: Option<&str>) -> Result<Part, Failure> {
    let nextest = command::find("cargo-nextest").is_some();
    let mut cargo = if nextest {
        println!("== tests (nextest)");
        let arguments = ["nextest", "run", "--workspace", "--no-fail-fast"];
        let mut cargo = workspace.cargo(&arguments);
        cargo.args(["--no-tests=pass", "--color", command::color()]);
        cargo
    } else {
        println!("== tests (cargo test: nextest isn't installed)");
        workspace.cargo(&[
            "test",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--no-fail-fast",
        ])
    };
    // A snapshot that differs is a failure and no file beside the source.
    cargo.env("INSTA_UPDATE", "no");
    let program = if nextest { "tests (nextest)" } else { "tests" };
    part(program, cargo.args(filter))
}

fn doc_tests(workspace: &Workspace, filter: Option<&str>) -> Result<Part, Failure> {
    println!("== doc tests");
    let mut cargo = workspace.cargo(&["test", "--workspace", "--doc", "--no-fail-fast"]);
    part("doc tests", cargo.args(filter))
}

fn part(name: &str, command: &mut std::process::Command) -> Result<Part, Failure> {
    let (status, lines) = command::follow(command, Shown::Yes, Some(PART_LIMIT))?;
    Ok(Part {
        name: name.to_owned(),
        counts: Counts::read(&lines),
        ended: if status.success() {
            Ended::Well
        } else {
            Ended::Badly
        },
    })
}

/// Prints the sums and turns them into an outcome.
fn close(parts: &[Part]) -> Result<(), Failure> {
    println!("== sums");
    for part in parts {
        println!("  {}: {}", part.name, part.counts);
    }
    let sum: Counts = parts.iter().map(|part| part.counts).sum();
    println!("{sum}");
    if sum.failed > 0 {
        return Err(Failure::Tests(sum.failed));
    }
    let broken = parts.iter().filter(|part| part.ended == Ended::Badly);
    let broken: Vec<String> = broken.map(|part| part.name.clone()).collect();
    if !broken.is_empty() {
        return Err(Failure::Parts(broken));
    }
    if sum.passed == 0 {
        return Err(Failure::NoTest);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(passed: u64, failed: u64, ended: Ended) -> Part {
        Part {
            name: "x".to_owned(),
            counts: Counts {
                passed,
                failed,
                skipped: 0,
            },
            ended,
        }
    }

    #[test]
    fn only_a_clean_run_of_something_passes() {
        assert!(close(&[counted(1, 0, Ended::Well)]).is_ok());
        assert!(matches!(
            close(&[counted(1, 1, Ended::Badly)]),
            Err(Failure::Tests(1))
        ));
        assert!(matches!(
            close(&[counted(1, 0, Ended::Badly)]),
            Err(Failure::Parts(_))
        ));
        assert!(matches!(
            close(&[counted(0, 0, Ended::Well)]),
            Err(Failure::NoTest)
        ));
    }
}
