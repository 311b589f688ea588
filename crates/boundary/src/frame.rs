//! The fixed frames between supervisor and init, over a sequenced-packet socket.
//!
//! A frame is 16 bytes: kind, id, value, and up to [`DETAIL_BYTES`] of text for a failure, with up to
//! [`MAX_FDS`] descriptors beside it. Init parses nothing else.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::error::BoundaryError;

/// Longest failure text.
pub(crate) const DETAIL_BYTES: usize = 1024;
/// Most descriptors in one frame.
pub(crate) const MAX_FDS: usize = 4;
const HEAD_BYTES: usize = 16;

/// What a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// Supervisor: start a worker that serves the socket in the frame.
    OpenWorker = 1,
    /// Supervisor: run the sealed command in the frame with the three standard streams after it.
    Run = 2,
    /// Supervisor: send signal `value` to every process of command `id`.
    Signal = 3,
    /// Supervisor: connect to ports inside as the socket in the frame asks for it.
    OpenDialer = 4,
    /// On that socket, from the supervisor: connect to port `value`.
    Dial = 5,
    /// On that socket, from init: the connected socket is in the frame, or `value` is the errno.
    Dialed = 6,
    /// Init: the boundary stands; the detail holds the self-test as JSON.
    Ready = 16,
    /// Init or the stage before it: step `value` failed with errno `id`.
    Failed = 17,
    /// The stage before init: here is init's pidfd; `id` is its pid.
    Born = 18,
    /// Init: command `id` started.
    Started = 19,
    /// Init: command `id` ended, nothing of it is left; `value` is the wait status.
    Ended = 20,
    /// Init: the worker ended; `value` is the wait status.
    WorkerEnded = 21,
}

impl Kind {
    fn from_wire(value: u32) -> Option<Self> {
        [
            Self::OpenWorker,
            Self::Run,
            Self::Signal,
            Self::OpenDialer,
            Self::Dial,
            Self::Dialed,
            Self::Ready,
            Self::Failed,
            Self::Born,
            Self::Started,
            Self::Ended,
            Self::WorkerEnded,
        ]
        .into_iter()
        .find(|kind| *kind as u32 == value)
    }
}

/// One frame.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) id: u32,
    pub(crate) value: i64,
    pub(crate) detail: Vec<u8>,
    pub(crate) fds: Vec<OwnedFd>,
}

impl Frame {
    pub(crate) fn new(kind: Kind, id: u32, value: i64) -> Self {
        Self {
            kind,
            id,
            value,
            detail: Vec::new(),
            fds: Vec::new(),
        }
    }
}

/// Sends a frame; `fds` go beside it.
pub(crate) fn send(socket: impl AsFd, frame: &Frame, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut head = [0u8; HEAD_BYTES];
    head[..4].copy_from_slice(&(frame.kind as u32).to_le_bytes());
    head[4..8].copy_from_slice(&frame.id.to_le_bytes());
    head[8..].copy_from_slice(&frame.value.to_le_bytes());
    let detail = &frame.detail[..frame.detail.len().min(DETAIL_BYTES)];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let slices = [IoSlice::new(&head), IoSlice::new(detail)];
    loop {
        match sendmsg(&socket, &slices, &mut ancillary, SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.map(drop).map_err(Into::into),
        }
    }
}

/// Receives a frame; `None` when the other side is gone.
pub(crate) fn receive(socket: impl AsFd) -> Result<Option<Frame>, BoundaryError> {
    let mut head = [0u8; HEAD_BYTES];
    let mut detail = [0u8; DETAIL_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut slices = [IoSliceMut::new(&mut head), IoSliceMut::new(&mut detail)];
        match recvmsg(
            &socket,
            &mut slices,
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        ) {
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            other => {
                break other.map_err(|error| BoundaryError::Supervisor {
                    doing: "read the control socket",
                    source: error.into(),
                })?;
            }
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if received.bytes < HEAD_BYTES {
        return Err(BoundaryError::Frame);
    }
    let word = |range: std::ops::Range<usize>| {
        let mut bytes = [0u8; 4];
        bytes.copy_from_slice(&head[range]);
        u32::from_le_bytes(bytes)
    };
    let mut value = [0u8; 8];
    value.copy_from_slice(&head[8..]);
    Ok(Some(Frame {
        kind: Kind::from_wire(word(0..4)).ok_or(BoundaryError::Frame)?,
        id: word(4..8),
        value: i64::from_le_bytes(value),
        detail: detail[..received.bytes - HEAD_BYTES].to_vec(),
        fds,
    }))
}
