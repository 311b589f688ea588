//! The worker: a fully confined process that answers file tool requests.
//!
//! What it does with a request is injected by the room above; here it is only bytes in, bytes out,
//! each with a length of four bytes before it.

use std::os::fd::OwnedFd;

use deputize_authority::Grant;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::confine::{FilterSet, Prepared, Rules};
use crate::error::{At as _, BoundaryError, Step};
use crate::launch::Launch;
use crate::selftest::SelfTest;
use crate::sys;

/// Largest request, in bytes: a tool call's arguments are bounded far below.
pub(crate) const MOST_REQUEST_BYTES: usize = 4 << 20;

/// Makes the worker's handler, inside, after confinement. The handler takes a request and answers.
pub type WorkerEntry = fn(&Grant) -> Result<Handler, String>;

/// Answers one request with one response.
pub type Handler = Box<dyn FnMut(&[u8]) -> Vec<u8>>;

/// The first frame that a worker sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Hello {
    /// It is confined, and the self-test held.
    Ready(SelfTest),
    /// It couldn't start.
    Failed {
        step: Option<Step>,
        errno: Option<i32>,
        detail: String,
    },
}

/// The worker's life, in a forked child of init. Doesn't return.
pub(crate) fn live(
    launch: &Launch,
    rules: Rules,
    filters: &FilterSet,
    socket: &OwnedFd,
    entry: WorkerEntry,
) -> ! {
    match prepare(launch, rules, filters, socket, entry) {
        Ok((outcome, handler)) => {
            let hello = serde_json::to_vec(&Hello::Ready(outcome)).unwrap_or_default();
            if write_frame(socket, &hello).is_ok() {
                serve(socket, handler);
            }
            sys::exit(0)
        }
        Err(error) => {
            let (step, errno, detail) = match error {
                BoundaryError::Step {
                    step,
                    errno,
                    detail,
                } => (Some(step), errno, detail),
                other => (None, None, other.to_string()),
            };
            let hello = Hello::Failed {
                step,
                errno,
                detail,
            };
            let sent = write_frame(socket, &serde_json::to_vec(&hello).unwrap_or_default());
            sys::exit(if sent.is_ok() { 1 } else { 2 })
        }
    }
}

fn prepare(
    launch: &Launch,
    rules: Rules,
    filters: &FilterSet,
    socket: &OwnedFd,
    entry: WorkerEntry,
) -> Result<(SelfTest, Handler), BoundaryError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .at(Step::DeathSignal, "worker")?;
    sys::silence_streams().at(Step::Descriptors, "standard streams")?;
    let grant = launch.unsealed_grant()?;
    let confined = Prepared::worker(&launch.plan, filters, rules).confine()?;
    // The control socket above all: a worker that is taken over speaks to nobody but its own socket.
    sys::close_all_but(socket).at(Step::Descriptors, "others")?;
    let outcome = launch.targets.prove(&confined)?;
    let handler = confined
        .proceed(|| entry(&grant))
        .map_err(|detail| BoundaryError::Step {
            step: Step::Program,
            errno: None,
            detail,
        })?;
    Ok((outcome, handler))
}

fn serve(socket: &OwnedFd, mut handler: Handler) {
    while let Ok(Some(request)) = read_frame(socket, MOST_REQUEST_BYTES) {
        let answer = handler(&request);
        if write_frame(socket, &answer).is_err() {
            return;
        }
    }
}

/// Reads one frame; `None` at the end of the stream.
pub(crate) fn read_frame(socket: &OwnedFd, most: usize) -> std::io::Result<Option<Vec<u8>>> {
    let mut length = [0u8; 4];
    if !read_exact(socket, &mut length)? {
        return Ok(None);
    }
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > most {
        return Err(std::io::Error::from(std::io::ErrorKind::InvalidData));
    }
    let mut bytes = vec![0u8; length];
    if !read_exact(socket, &mut bytes)? {
        return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof));
    }
    Ok(Some(bytes))
}

/// Fills the buffer; `false` when the stream ends before its first byte.
fn read_exact(socket: &OwnedFd, buffer: &mut [u8]) -> std::io::Result<bool> {
    let mut filled = 0;
    while filled < buffer.len() {
        match rustix::io::read(socket, &mut buffer[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)),
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// Writes one frame, length and bytes in one call where the kernel takes them.
pub(crate) fn write_frame(socket: &OwnedFd, bytes: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(bytes.len())
        .map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidData))?;
    let mut whole = Vec::with_capacity(bytes.len() + 4);
    whole.extend_from_slice(&length.to_le_bytes());
    whole.extend_from_slice(bytes);
    let mut rest = whole.as_slice();
    while !rest.is_empty() {
        match rustix::net::send(socket, rest, rustix::net::SendFlags::NOSIGNAL) {
            Ok(count) => rest = &rest[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
