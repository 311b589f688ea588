//! Fuzzes the gate: hostile lines for a while, against limits and laws.
//!
//! The fuzzer lives with the gate, as an example of its crate. It needs no instrumented build, so it is
//! blind to coverage and lives of the corpora; a short slice of it is a test.

use std::path::Path;
use std::process::Command;

use crate::arguments::FuzzOptions;
use crate::command::{self, show};
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Address space of the fuzzer, in KiB: what asks for more is stopped, and a failure.
const MEMORY_KIB: u64 = 2 << 20;

/// Fuzzes; fails when a line broke a law, passed a limit, or ended the process.
pub(crate) fn fuzz(workspace: &Workspace, options: &FuzzOptions) -> Result<(), Failure> {
    let build = "build --quiet --release --package deputize-gate --example fuzz";
    show(&mut workspace.cargo(&build.split(' ').collect::<Vec<_>>()))?;
    let program = workspace.target().join("release/examples/fuzz");
    let folder = workspace.scratch().join("fuzz");
    let mut fuzzer = Command::new("sh");
    let script = format!("ulimit -v {MEMORY_KIB}; exec \"$@\"");
    fuzzer.args(["-c", &script, "fuzz"]).arg(&program);
    fuzzer.args([options.seconds.to_string(), options.seed.to_string()]);
    fuzzer.arg(&folder);
    for file in &options.corpora {
        let path = Path::new(file);
        fuzzer.arg(path.canonicalize().map_err(Failure::file(path))?);
    }
    println!("  $ {}", command::typed(&fuzzer));
    let status = fuzzer.status().map_err(|source| Failure::Start {
        program: "fuzz".to_owned(),
        source,
    })?;
    if status.success() {
        return Ok(());
    }
    println!(
        "  failures, and the line that was tried last: {}",
        folder.display()
    );
    Err(Failure::Status {
        program: "fuzz".to_owned(),
        status,
        output: String::new(),
    })
}
