//! Asks a person one question on the terminal. The answer is No unless it is yes.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcsetattr,
};

use crate::output::{error_line, error_text};

/// What Ctrl-C sends.
const INTERRUPT: u8 = 3;

/// The most bytes of an answer that are looked at; a longer one is no yes.
const ANSWER: usize = 256;

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// `y` or `yes`.
    Yes,
    /// Anything else, Ctrl-C too.
    No,
    /// The terminal has no more input: nobody is there, and nobody said no.
    Nobody,
}

/// Whether a person may be there to see a question and to answer it.
pub(crate) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Shows `text`, which ends with a break, and puts the question. What was typed before it was shown
/// answers nothing.
pub(crate) fn ask(text: &str, question: &str) -> Answer {
    let stdin = rustix::stdio::stdin();
    let Ok(line) = ByLine::begin() else {
        return Answer::Nobody;
    };
    if tcflush(stdin, QueueSelector::IFlush).is_err() {
        return Answer::Nobody;
    }
    error_text(&format!("{text}{question} [y/N] "));
    let mut answer = [0; ANSWER];
    let length = loop {
        match read(stdin, &mut answer[..]) {
            Ok(length) => break length,
            Err(Errno::INTR) => {}
            Err(_) => break 0,
        }
    };
    drop(line);
    let answer = read_answer(answer.get(..length).unwrap_or_default());
    if answer == Answer::Nobody {
        error_line("");
    }
    answer
}

/// What came of a question that may be taken back while it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A line, without its end.
    Line(String),
    /// The terminal has no more input.
    Ended,
    /// The question was taken back.
    Withdrawn,
}

/// How often an open question looks whether it was taken back.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// An open question that didn't look for so long was stopped, and stands in the background no more: other
/// programs wrote over it, so it is shown again.
const STOPPED: Duration = Duration::from_secs(1);

/// Shows `text`, which ends with a break, and reads a line after `prompt`, unless the question is taken
/// back before. Ctrl-C and Ctrl-Z are what they always are.
pub(crate) fn ask_line(text: &str, prompt: &str, withdrawn: &AtomicBool) -> Reply {
    let stdin = rustix::stdio::stdin();
    if tcflush(stdin, QueueSelector::IFlush).is_err() {
        return Reply::Ended;
    }
    let show = || error_text(&format!("{text}{prompt} "));
    show();
    let mut looked = Instant::now();
    loop {
        let since = looked.elapsed();
        looked = Instant::now();
        if since > STOPPED {
            show();
        }
        if withdrawn.load(Ordering::Relaxed) {
            error_line("");
            return Reply::Withdrawn;
        }
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ready, Some(&LOOK)) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return Reply::Ended,
        }
        let mut line = [0; ANSWER];
        return match read(stdin, &mut line[..]) {
            Ok(length @ 1..) => {
                let line = line.get(..length).unwrap_or_default();
                Reply::Line(String::from_utf8_lossy(line.trim_ascii()).into_owned())
            }
            Err(Errno::INTR) => continue,
            Ok(0) | Err(_) => {
                error_line("");
                Reply::Ended
            }
        };
    }
}

/// The answer in a line of input; nothing at all is its end.
fn read_answer(line: &[u8]) -> Answer {
    if line.is_empty() {
        return Answer::Nobody;
    }
    let Some(text) = line.strip_suffix(b"\n") else {
        return Answer::No;
    };
    match text.trim_ascii().to_ascii_lowercase().as_slice() {
        b"y" | b"yes" => Answer::Yes,
        _ => Answer::No,
    }
}

/// The terminal while it is asked: Ctrl-C is an answer, which ends its line like Enter does. Dropping
/// it gives the terminal back as it was, without input that nobody read.
struct ByLine {
    before: Termios,
}

impl ByLine {
    fn begin() -> rustix::io::Result<Self> {
        let before = tcgetattr(rustix::stdio::stdin())?;
        let mut asking = before.clone();
        asking.local_modes.remove(LocalModes::ISIG);
        asking
            .local_modes
            .insert(LocalModes::ICANON | LocalModes::ECHO);
        asking.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &asking)?;
        Ok(Self { before })
    }
}

impl Drop for ByLine {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S3: the default is No, and the end of input is neither.
    #[test]
    fn only_yes_is_yes() {
        for yes in ["y\n", "Y\n", "yes\n", " YES \n", "y\r\n"] {
            assert_eq!(read_answer(yes.as_bytes()), Answer::Yes, "{yes:?}");
        }
        for no in [
            "\n",
            "n\n",
            "y",
            "yes please\n",
            "y\u{3}",
            "\u{3}",
            "yy\n",
            "\u{1a}\n",
            "ja\n",
        ] {
            assert_eq!(read_answer(no.as_bytes()), Answer::No, "{no:?}");
        }
        assert_eq!(read_answer(b"\xffy\n"), Answer::No);
        assert_eq!(read_answer(b""), Answer::Nobody);
    }
}
