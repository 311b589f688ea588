//! Runs a command of a child with its output captured: bounded in bytes and time, ended when the run
//! gives it up.
//!
//! Its end is what counts, not the end of its output: a process that it leaves behind dies with it, and
//! whoever holds the pipe delays nothing (P13).

use std::collections::VecDeque;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use deputize_boundary::{Boundary, BoundaryError, CommandEnd, CommandSpec, Woken};
use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
use rustix::pipe::{PipeFlags, pipe_with};

/// Bytes from the beginning of an output that are kept: where a build says what it does.
const HEAD: usize = 12 << 10;
/// Bytes from its end: where it says what failed.
const TAIL: usize = 36 << 10;
/// How long a command that is told to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(3);
/// One read.
const CHUNK: usize = 64 << 10;
/// How often the disk that a copy grows on is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Room that is left for everybody else on that disk; where there is less than twice that before,
/// half of it.
const RESERVE: u64 = 1 << 30;

/// How a captured command ended.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) end: CommandEnd,
    /// Why it was ended from outside, if it was.
    pub(crate) cut: Option<Cut>,
    pub(crate) output: Kept,
}

/// Why a command was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Its time was up.
    TimedOut,
    /// The run gave it up.
    Stopped,
    /// The disk that its copy lies on was nearly full.
    DiskFull,
}

/// What bounds a captured command, beside the boundary.
pub(crate) struct Patience<'a> {
    /// How long it may take.
    pub(crate) timeout: Duration,
    /// A folder on the disk that it writes to, if it writes to one.
    pub(crate) disk: Option<&'a Path>,
    /// Hung up when nobody waits for it any more.
    pub(crate) given_up: &'a OwnedFd,
}

/// Runs a command to its end.
pub(crate) fn capture(
    boundary: &mut Boundary,
    spec: &CommandSpec,
    patience: &Patience<'_>,
) -> Result<Captured, BoundaryError> {
    let given_up = patience.given_up;
    let disk = patience.disk.and_then(Disk::before);
    let failed = |doing| {
        move |error: rustix::io::Errno| BoundaryError::Supervisor {
            doing,
            source: error.into(),
        }
    };
    let nothing = open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(failed("open /dev/null"))?;
    let (output, written) = pipe_with(PipeFlags::CLOEXEC).map_err(failed("make a pipe"))?;
    fcntl_setfl(&output, OFlags::NONBLOCK).map_err(failed("read a pipe without waiting"))?;
    // One pipe for both, so that their order stays.
    let streams = [nothing.as_fd(), written.as_fd(), written.as_fd()];
    let command = boundary.run(spec, streams)?;
    drop(written);
    let mut watched = Watched {
        output: Some(std::fs::File::from(output)),
        kept: Kept::default(),
    };
    let mut cut = None;
    let mut deadline = Instant::now() + patience.timeout;
    let end = loop {
        let others: Vec<_> = watched
            .output
            .iter()
            .map(|output| output.as_fd())
            .chain(cut.is_none().then(|| given_up.as_fd()))
            .collect();
        let next = deadline.min(Instant::now() + LOOK);
        match boundary.await_end_or(command, &others, next)? {
            Woken::Ended(end, _) => break end,
            Woken::Deadline if Instant::now() < deadline => {
                if cut.is_none() && disk.as_ref().is_some_and(Disk::is_nearly_full) {
                    cut = Some(Cut::DiskFull);
                    boundary.signal(command, kill())?;
                    deadline = Instant::now() + GRACE;
                }
            }
            Woken::Deadline if cut.is_none() => {
                cut = Some(Cut::TimedOut);
                boundary.signal(command, term())?;
                deadline = Instant::now() + GRACE;
            }
            Woken::Deadline => {
                boundary.signal(command, kill())?;
                deadline = Instant::now() + GRACE;
            }
            Woken::Others => {
                watched.read();
                if cut.is_none() && is_hung_up(given_up) {
                    cut = Some(Cut::Stopped);
                    boundary.signal(command, kill())?;
                    deadline = Instant::now() + GRACE;
                }
            }
        }
    };
    // What it had written is in the pipe by now, and nobody is left to write more.
    watched.read();
    Ok(Captured {
        end,
        cut,
        output: watched.kept,
    })
}

fn term() -> i32 {
    rustix::process::Signal::TERM.as_raw()
}

fn kill() -> i32 {
    rustix::process::Signal::KILL.as_raw()
}

/// The disk that a command writes to, and how little room it may come to.
struct Disk<'a> {
    folder: &'a Path,
    least: u64,
}

impl<'a> Disk<'a> {
    fn before(folder: &'a Path) -> Option<Self> {
        let room = room(folder)?;
        Some(Self {
            folder,
            least: RESERVE.min(room / 2),
        })
    }

    fn is_nearly_full(&self) -> bool {
        room(self.folder).is_some_and(|room| room < self.least)
    }
}

fn room(folder: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn is_hung_up(pipe: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(pipe, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// The reading end of a command's output.
struct Watched {
    /// `None` once it has ended or failed: then nothing is waited for.
    output: Option<std::fs::File>,
    kept: Kept,
}

impl Watched {
    /// Reads what is there; a flood is left for the next time after a while.
    fn read(&mut self) {
        const AT_ONCE: usize = 64;
        let mut chunk = vec![0; CHUNK];
        for _ in 0..AT_ONCE {
            let Some(output) = &mut self.output else {
                return;
            };
            match output.read(&mut chunk) {
                Ok(0) => self.output = None,
                Ok(count) => self.kept.take(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => self.output = None,
            }
        }
    }
}

/// An output's beginning and end, and how much is missing between them.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
}

impl Kept {
    fn take(&mut self, mut more: &[u8]) {
        self.bytes = self
            .bytes
            .saturating_add(u64::try_from(more.len()).unwrap_or(u64::MAX));
        let room = HEAD - self.head.len();
        let (first, rest) = more.split_at(room.min(more.len()));
        self.head.extend_from_slice(first);
        more = rest;
        let over = more.len().saturating_sub(TAIL);
        more = more.get(over..).unwrap_or_default();
        let surplus = (self.tail.len() + more.len()).saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.tail.extend(more);
    }

    /// Everything that was written, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The text, with a line that says what was left out.
    pub(crate) fn text(&self) -> String {
        let kept = u64::try_from(self.head.len() + self.tail.len()).unwrap_or(u64::MAX);
        let omitted = self.bytes.saturating_sub(kept);
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if omitted == 0 {
            let whole = [self.head.as_slice(), &tail].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        format!(
            "{}\n[{omitted} bytes left out here]\n{}",
            String::from_utf8_lossy(&self.head),
            String::from_utf8_lossy(&tail)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D4, P5: a flood keeps its beginning and its end, in bounded memory, and says what is missing.
    #[test]
    fn a_flood_keeps_its_beginning_and_its_end() {
        let mut kept = Kept::default();
        kept.take(b"begin ");
        for _ in 0..1000 {
            kept.take(&[b'x'; 1000]);
        }
        kept.take(b" end");
        let text = kept.text();
        assert!(text.starts_with("begin x") && text.ends_with("x end"));
        let omitted = 1_000_010 - HEAD - TAIL;
        assert!(text.contains(&format!("[{omitted} bytes left out here]")));
        assert_eq!(kept.bytes(), 1_000_010);
    }

    #[test]
    fn a_short_output_is_whole_and_split_characters_survive() {
        let mut kept = Kept::default();
        let text = "aé".repeat(HEAD / 3 + 10);
        for piece in text.as_bytes().chunks(7) {
            kept.take(piece);
        }
        assert_eq!(kept.text(), text);
    }
}
