//! The self-test (B4): a confined process tries what it must not be able to do.
//!
//! It runs in the worker and in each mini-init after confinement, before any byte of a model is
//! touched. An attempt that succeeds ends the start.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::confine::Confined;
use crate::error::{BoundaryError, Step};

/// What is tried, prepared by the supervisor outside.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Targets {
    /// A file outside that the user can read; nothing grants it.
    pub(crate) canary: Option<PathBuf>,
    /// A loopback port outside where somebody listens.
    pub(crate) port: Option<u16>,
    /// The supervisor's pid outside.
    pub(crate) supervisor: i32,
    /// A folder that must not be writable: the workspace of a read-only grant.
    pub(crate) read_only: Option<PathBuf>,
}

/// How one attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attempt {
    /// The kernel refused it, with this error number.
    Refused(i32),
    /// It succeeded: the boundary doesn't hold.
    Succeeded,
    /// There was nothing to try it on.
    NotTried,
}

/// The outcome of a self-test, as the receipt shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTest {
    /// Writing a file where nothing is granted, or in a read-only workspace.
    pub write: Attempt,
    /// Reading a file outside.
    pub read: Attempt,
    /// Connecting to a listening port of the host.
    pub connect: Attempt,
    /// Signalling the supervisor.
    pub signal: Attempt,
}

impl SelfTest {
    /// Whether nothing succeeded.
    #[must_use]
    pub fn holds(&self) -> bool {
        [&self.write, &self.read, &self.connect, &self.signal]
            .iter()
            .all(|attempt| **attempt != Attempt::Succeeded)
    }
}

impl Targets {
    /// Tries everything, from inside.
    pub(crate) fn attempt(&self, confined: &Confined) -> SelfTest {
        confined.proceed(|| SelfTest {
            write: self.write(),
            read: self
                .canary
                .as_ref()
                .map_or(Attempt::NotTried, |canary| open(canary, Want::Read)),
            connect: self.port.map_or(Attempt::NotTried, connect),
            signal: signal(self.supervisor),
        })
    }

    /// As [`Targets::attempt`], but a success is an error.
    pub(crate) fn prove(&self, confined: &Confined) -> Result<SelfTest, BoundaryError> {
        let outcome = self.attempt(confined);
        if outcome.holds() {
            return Ok(outcome);
        }
        let detail = format!("a forbidden attempt succeeded: {outcome:?}");
        Err(BoundaryError::Step {
            step: Step::SelfTest,
            errno: None,
            detail,
        })
    }

    fn write(&self) -> Attempt {
        let outside = self.canary.as_ref().map(|canary| open(canary, Want::Write));
        let inside = self
            .read_only
            .as_ref()
            .map(|folder| open(&folder.join(".deputize-self-test"), Want::Create));
        let attempts = [outside, inside];
        let mut made = attempts.into_iter().flatten().collect::<Vec<_>>();
        if made.contains(&Attempt::Succeeded) {
            return Attempt::Succeeded;
        }
        made.pop().unwrap_or(Attempt::NotTried)
    }
}

enum Want {
    Read,
    Write,
    Create,
}

fn open(path: &std::path::Path, want: Want) -> Attempt {
    use rustix::fs::{Mode, OFlags};
    let flags = match want {
        Want::Read => OFlags::RDONLY,
        Want::Write => OFlags::WRONLY,
        Want::Create => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
    };
    match rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR) {
        Ok(_) => Attempt::Succeeded,
        Err(error) => Attempt::Refused(error.raw_os_error()),
    }
}

fn connect(port: u16) -> Attempt {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
    let kind = SocketFlags::CLOEXEC;
    let made =
        socket_with(AddressFamily::INET, SocketType::STREAM, kind, None).and_then(|socket| {
            let address = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
            connect(&socket, &address)
        });
    match made {
        Ok(()) => Attempt::Succeeded,
        Err(error) => Attempt::Refused(error.raw_os_error()),
    }
}

fn signal(pid: i32) -> Attempt {
    // Signal 0 only asks whether a signal could be sent. A pid namespace has other numbers: 1 and 2
    // may exist there, so a supervisor with such a number can't be told apart and isn't tried.
    if pid <= 2 {
        return Attempt::NotTried;
    }
    match crate::sys::signal(pid, 0) {
        Ok(()) => Attempt::Succeeded,
        Err(error) => Attempt::Refused(error.raw_os_error().unwrap_or(0)),
    }
}
