//! The two streams. A reader that goes away is no failure of ours.

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::OnceLock;

use deputize_authority::escape_json;
use serde::Serialize;

/// Why standard output couldn't be written; told at the end of the program.
static LOST: OnceLock<String> = OnceLock::new();

/// Writes to standard output. A closed pipe means that the reader has seen enough; any other failure
/// makes the program fail in the end, see [`lost`].
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        LOST.get_or_init(|| error.to_string());
    }
}

/// Prints a value as JSON, over several lines, with a final break. What could steer a terminal is
/// escaped in it.
pub(crate) fn print_json(value: &impl Serialize) {
    print_json_text(serde_json::to_string_pretty(value));
}

/// As [`print_json`], in one line.
pub(crate) fn print_json_line(value: &impl Serialize) {
    print_json_text(serde_json::to_string(value));
}

fn print_json_text(json: serde_json::Result<String>) {
    match json {
        Ok(json) => print(&format!("{}\n", escape_json(&json))),
        Err(error) => {
            LOST.get_or_init(|| error.to_string());
        }
    }
}

/// What kept a result from its reader, if anything did.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Writes a line to standard error.
pub(crate) fn error_line(line: &str) {
    error_text(&format!("{line}\n"));
}

/// Writes text to standard error.
pub(crate) fn error_text(text: &str) {
    let mut err = std::io::stderr().lock();
    // As above.
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Columns of the terminal that a person reads a question on; 80 where there is none.
pub(crate) fn error_width() -> usize {
    columns(&std::io::stderr()).unwrap_or(80)
}

/// Columns of the terminal that a person reads results on; 80 where there is none.
pub(crate) fn width() -> usize {
    columns(&std::io::stdout()).unwrap_or(80)
}

/// Columns for lists and events, of which more is more: all of a line where it isn't a terminal that
/// would wrap it.
pub(crate) fn list_width() -> usize {
    columns(&std::io::stdout()).unwrap_or(usize::MAX)
}

/// Columns of the terminal behind a stream.
pub(crate) fn columns(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Whether results may be coloured: on a terminal, unless NO_COLOR says otherwise.
pub(crate) fn colours() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !refused
}
