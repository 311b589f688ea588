//! A program under test while it runs, and what it came to.

use std::fmt;
use std::io::{Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::patience::until;
use crate::redaction::Redaction;

/// How long a stream may stay open after the program has ended, before something is said to hold
/// it: closing takes no time once the last process is gone.
const CLOSING: Duration = Duration::from_secs(5);

/// A started program. Dropping it kills it, and nothing else.
#[derive(Debug)]
pub struct Running {
    child: Child,
    out: Stream,
    err: Stream,
    deadline: Instant,
    redaction: Redaction,
}

/// One of its output streams, with what was read so far.
#[derive(Debug)]
struct Stream {
    chunks: Receiver<Vec<u8>>,
    read: Vec<u8>,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Closed,
}

/// What a program came to.
#[derive(Debug)]
#[must_use = "an outcome that nobody looks at tests nothing"]
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// Everything on its standard output.
    pub stdout: Vec<u8>,
    /// Everything on its standard error.
    pub stderr: Vec<u8>,
    /// Whether a process that outlived the program still held one of its streams.
    pub streams_held: bool,
    redaction: Redaction,
}

impl Running {
    #[track_caller]
    pub(crate) fn start(
        command: &mut Command,
        stdin: Vec<u8>,
        limit: Duration,
        redaction: Redaction,
    ) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("{:?} can't be started: {error}", command.get_program()),
        };
        let mut input = child.stdin.take().unwrap();
        thread::spawn(move || {
            // A program that doesn't read its input to the end breaks the pipe: its own affair.
            let _ = input.write_all(&stdin);
        });
        let out = Stream::of(child.stdout.take().unwrap());
        let err = Stream::of(child.stderr.take().unwrap());
        Self {
            child,
            out,
            err,
            deadline: Instant::now() + limit,
            redaction,
        }
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the program, not to its tree.
    ///
    /// # Panics
    /// When it has ended already.
    #[track_caller]
    pub fn signal(&mut self, signal: Signal) {
        let ended = self.child.try_wait().unwrap();
        assert_eq!(ended, None, "it ended before the signal");
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits until standard output or standard error contains `text`.
    ///
    /// # Panics
    /// When the program ends without it, or nothing comes in time.
    #[track_caller]
    pub fn until_said(&mut self, text: &str) -> &mut Self {
        until(&format!("the program says {text:?}"), || {
            let ended = self.child.try_wait().unwrap();
            let (out, err) = (self.out.so_far(), self.err.so_far());
            let said = [&out, &err].iter().any(|said| said.contains(text));
            assert!(
                said || ended.is_none() || !self.closed(),
                "it ended without {text:?}\nstdout:\n{out}\nstderr:\n{err}"
            );
            said.then_some(())
        });
        self
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it doesn't end before its deadline; it is killed then.
    #[track_caller]
    pub fn wait(mut self) -> Outcome {
        let status = loop {
            self.out.so_far();
            self.err.so_far();
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > self.deadline {
                let (out, err) = (self.out.so_far(), self.err.so_far());
                panic!("it didn't end in time\nstdout:\n{out}\nstderr:\n{err}");
            }
            thread::sleep(Duration::from_millis(2));
        };
        let ended = Instant::now();
        while !self.closed() && ended.elapsed() < CLOSING {
            self.out.wait();
            self.err.wait();
        }
        Outcome {
            status,
            streams_held: !self.closed(),
            stdout: std::mem::take(&mut self.out.read),
            stderr: std::mem::take(&mut self.err.read),
            redaction: self.redaction.clone(),
        }
    }

    fn closed(&self) -> bool {
        self.out.end == End::Closed && self.err.end == End::Closed
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After `wait` there is nothing to kill: the id isn't ours any more and std knows it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Stream {
    fn of(mut from: impl Read + Send + 'static) -> Self {
        let (to, chunks) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 8_192];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                if to.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            chunks,
            read: Vec::new(),
            end: End::Open,
        }
    }

    /// Takes what has come, without waiting.
    fn so_far(&mut self) -> String {
        loop {
            match self.chunks.recv_timeout(Duration::ZERO) {
                Ok(chunk) => self.read.extend(chunk),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    self.end = End::Closed;
                    break;
                }
            }
        }
        String::from_utf8_lossy(&self.read).into_owned()
    }

    /// Takes what has come, and waits a little when there is nothing.
    fn wait(&mut self) {
        match self.chunks.recv_timeout(Duration::from_millis(10)) {
            Ok(chunk) => self.read.extend(chunk),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.end = End::Closed,
        }
    }
}

impl Outcome {
    /// The exit code; `None` when a signal ended it.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The number of the signal that ended it.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Standard output as text.
    ///
    /// # Panics
    /// When it isn't UTF-8: ours always is.
    #[must_use]
    #[track_caller]
    pub fn out(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// Standard output with each stretch of white space as one space: where lines are broken depends
    /// on the lengths of paths.
    ///
    /// # Panics
    /// As [`Self::out`].
    #[must_use]
    #[track_caller]
    pub fn unwrapped(&self) -> String {
        let words: Vec<&str> = self.out().split_whitespace().collect();
        words.join(" ")
    }

    /// Standard error as text.
    ///
    /// # Panics
    /// When it isn't UTF-8: ours always is.
    #[must_use]
    #[track_caller]
    pub fn err(&self) -> &str {
        std::str::from_utf8(&self.stderr).unwrap()
    }

    /// Asserts the exit code, and shows everything when it is another.
    ///
    /// # Panics
    /// When it is another.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{self}");
        self
    }

    /// Code, output and errors in one text that is the same in every run: for snapshots.
    #[must_use]
    pub fn snapshot(&self) -> String {
        self.redaction.apply(&self.to_string())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.status)?;
        for (name, bytes) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !bytes.is_empty() {
                writeln!(
                    f,
                    "--- {name}\n{}",
                    String::from_utf8_lossy(bytes).trim_end()
                )?;
            }
        }
        Ok(())
    }
}
