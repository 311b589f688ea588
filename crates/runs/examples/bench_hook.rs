//! Measures `deputize gate` as another host starts it: a process for each call, beside one that does
//! nothing. The program is named by `DEPUTIZE_BENCH_PROGRAM`.

mod measuring;

use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use measuring::{Failure, Side};
use serde_json::json;

/// The side that the others are held against.
const ANCHOR: &str = "true";
/// Calls that an agent makes all day, and one that hides what it does.
const LINES: [(&str, &str); 3] = [
    ("deputize gate: ls", "ls -la src"),
    (
        "deputize gate: git and a test",
        "git status && cargo test -p one 2>&1 | tail -n 20",
    ),
    (
        "deputize gate: decoded",
        "echo cm0gLXJmIH4= | base64 -d | sh -c \"$(cat)\"",
    ),
];

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let program = std::env::var_os("DEPUTIZE_BENCH_PROGRAM").ok_or("no program was named")?;
    let mut samples = vec![Vec::new(); LINES.len() + 1];
    // The first round warms up.
    for round in 0..=rounds * 2 {
        let mut anchor = Command::new("true");
        let taken = std::iter::once(once(&mut anchor, "")).chain(LINES.iter().map(|(_, line)| {
            let call = json!({
                "session_id": "s", "transcript_path": "/t", "cwd": "/w",
                "permission_mode": "default", "hook_event_name": "PreToolUse",
                "tool_name": "Bash", "tool_input": { "command": line }, "tool_use_id": "1",
            });
            let mut gate = Command::new(&program);
            gate.args(["gate", "--stdin", "--host", "claude-code"]);
            once(&mut gate, &call.to_string())
        }));
        for (samples, taken) in samples.iter_mut().zip(taken) {
            let taken = taken?;
            if round > 0 {
                samples.push(taken);
            }
        }
    }
    let names = std::iter::once(ANCHOR).chain(LINES.iter().map(|(name, _)| *name));
    Ok(names
        .zip(samples)
        .map(|(name, samples)| Side {
            name: name.to_owned(),
            samples,
            unit: "ms",
            beside: (name != ANCHOR).then_some(ANCHOR),
        })
        .collect())
}

/// From the start of a process to its end, its answer read.
fn once(command: &mut Command, input: &str) -> Result<f64, Failure> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that reads nothing may be gone by now.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output()?;
    let taken = begun.elapsed().as_secs_f64() * 1e3;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(taken)
}
