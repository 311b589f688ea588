//! Running other programs: shown, captured, or both at once.

use std::io::{BufRead as _, BufReader, IsTerminal as _, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// How often a deadline is looked at: short against any program that has one.
const POLL: Duration = Duration::from_millis(20);

/// How long the streams of a command that has ended may stay silent before they are left alone.
const LINGER: Duration = Duration::from_secs(2);

/// The command as a person would type it: the program by its name alone.
pub(crate) fn typed(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    let words = words.map(|word| match word.to_string_lossy() {
        script if script.contains('\n') => "'…'".into(),
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Runs a command with the terminal's own input and output, after showing it.
pub(crate) fn show(command: &mut Command) -> Result<(), Failure> {
    println!("  $ {}", typed(command));
    let program = program(command);
    let status = command
        .status()
        .map_err(|source| Failure::Start { program, source })?;
    success(command, status, String::new())
}

/// Runs a command and returns its standard output.
pub(crate) fn capture(command: &mut Command) -> Result<String, Failure> {
    let program = program(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Failure::Start { program, source })?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    success(command, output.status, said)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command that must end in time, and returns all that it printed.
pub(crate) fn within(command: &mut Command, limit: Duration) -> Result<String, Failure> {
    let (status, lines) = follow(command, Shown::No, Some(limit))?;
    let text = lines.join("\n");
    success(command, status, text.clone())?;
    Ok(text)
}

/// Whether the lines that are collected are printed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Yes,
    No,
}

/// Runs a command, passes its output on line by line, and returns the lines of both streams.
pub(crate) fn follow(
    command: &mut Command,
    shown: Shown,
    limit: Option<Duration>,
) -> Result<(ExitStatus, Vec<String>), Failure> {
    let program = program(command);
    if shown == Shown::Yes {
        println!("  $ {}", typed(command));
    }
    let start = |source| Failure::Start {
        program: program.clone(),
        source,
    };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(start)?;
    let (sender, lines) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        collect(out, shown, sender.clone());
    }
    if let Some(err) = child.stderr.take() {
        collect(err, shown, sender.clone());
    }
    drop(sender);
    let started = Instant::now();
    let mut collected = Vec::new();
    let status = loop {
        // At the end of both streams there is no message to wait for: the deadline still counts.
        match lines.recv_timeout(POLL) {
            Ok(line) => collected.push(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL),
        }
        let ended = child.try_wait().map_err(|source| Failure::Wait {
            program: program.clone(),
            source,
        })?;
        if let Some(status) = ended {
            break status;
        }
        if let Some(limit) = limit.filter(|limit| started.elapsed() > *limit) {
            // It may have ended in this instant: then there is nothing to stop.
            let _ = child.kill();
            let _ = child.wait();
            return Err(Failure::Timeout {
                program,
                seconds: limit.as_secs(),
            });
        }
    };
    // A process that outlived the command may hold the streams open: it isn't waited for.
    while let Ok(line) = lines.recv_timeout(LINGER) {
        collected.push(line);
    }
    Ok((status, collected))
}

fn collect(from: impl Read + Send + 'static, shown: Shown, to: mpsc::Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(from).split(b'\n') {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line).into_owned();
            if shown == Shown::Yes {
                // A closed terminal doesn't change what the tests say.
                let _ = writeln!(std::io::stdout(), "{line}");
            }
            if to.send(without_escapes(&line)).is_err() {
                break;
            }
        }
    });
}

/// Drops SGR sequences: colours are for the screen, not for the parser.
fn without_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..start]);
        let after = &rest[start + 2..];
        match after.find(|character: char| character.is_ascii_alphabetic()) {
            Some(end) => rest = &after[end + 1..],
            None => return plain,
        }
    }
    plain.push_str(rest);
    plain
}

/// What to say for `--color`, since the program itself writes to a pipe.
pub(crate) fn color() -> &'static str {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !plain {
        "always"
    } else {
        "never"
    }
}

/// Finds a program in PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn success(command: &Command, status: ExitStatus, output: String) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    Err(Failure::Status {
        program: typed(command),
        status,
        output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_dropped() {
        assert_eq!(
            without_escapes("\u{1b}[32;1m Summary\u{1b}[0m 1 run"),
            " Summary 1 run"
        );
        assert_eq!(without_escapes("cut \u{1b}[3"), "cut ");
    }

    #[test]
    fn a_command_past_its_limit_is_stopped() {
        let mut command = Command::new("sleep");
        command.arg("60");
        let started = Instant::now();
        let outcome = within(&mut command, Duration::from_millis(100));
        assert!(matches!(outcome, Err(Failure::Timeout { .. })));
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn both_streams_are_collected() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let (status, mut lines) = follow(&mut command, Shown::No, None).unwrap();
        lines.sort();
        assert_eq!(status.code(), Some(3));
        assert_eq!(lines, ["err", "out"]);
    }

    #[test]
    fn a_process_that_stays_behind_delays_nothing() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 30 & echo done"]);
        let started = Instant::now();
        let (_, lines) = follow(&mut command, Shown::No, None).unwrap();
        assert_eq!(lines, ["done"]);
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}
