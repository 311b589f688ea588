//! The supervisor's end of the worker: requests out, answers in, one at a time.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;

use deputize_authority::Grant;
use deputize_boundary::Handler;
use deputize_tools::{Request, Response, Worker};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// Largest answer of a worker: it holds a model's bytes, so it is bounded here too.
const MOST_ANSWER_BYTES: u32 = 16 << 20;

/// What runs in the worker process: the file tools. Handed to the boundary when `__init` starts.
///
/// # Errors
/// When the granted roots can't be opened.
pub fn worker_entry(grant: &Grant) -> Result<Handler, String> {
    let mut worker = Worker::open(grant).map_err(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        format!("{error}{}", source.unwrap_or_default())
    })?;
    Ok(Box::new(move |request| worker.answer(request)))
}

/// Why a worker gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Silent {
    #[error("the worker's socket failed")]
    Socket(#[from] std::io::Error),
    #[error("the worker's answer can't be read")]
    Answer(#[from] deputize_tools::FrameError),
    #[error("the worker's answer has {0} bytes")]
    TooLong(u32),
}

/// The socket to one worker.
#[derive(Debug)]
pub(crate) struct WorkerLink(UnixStream);

impl WorkerLink {
    /// Takes over the socket that the boundary opened. Needs a runtime.
    pub(crate) fn new(socket: OwnedFd) -> std::io::Result<Self> {
        let socket = StdStream::from(socket);
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket).map(Self)
    }

    /// Asks and waits. After an error the link is of no use any more.
    pub(crate) async fn ask(&mut self, request: &Request) -> Result<Response, Silent> {
        let bytes = request.encode();
        let length = u32::try_from(bytes.len()).map_err(std::io::Error::other)?;
        let mut frame = Vec::with_capacity(bytes.len() + 4);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(&bytes);
        self.0.write_all(&frame).await?;
        let length = self.0.read_u32_le().await?;
        if length > MOST_ANSWER_BYTES {
            return Err(Silent::TooLong(length));
        }
        let mut answer = vec![0; length as usize];
        self.0.read_exact(&mut answer).await?;
        Ok(Response::decode(&answer)?)
    }
}
