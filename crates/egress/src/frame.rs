//! Frames between supervisor and relay: a length, then JSON.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Why a frame didn't come.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("the other side is gone")]
    Closed,
    #[error("a frame of {0} bytes is too large")]
    TooLarge(usize),
    #[error("a frame can't be read: {0}")]
    Form(#[from] serde_json::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads the next frame.
pub(crate) async fn read<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
    limit: usize,
) -> Result<T, FrameError> {
    let mut length = [0; 4];
    match from.read_exact(&mut length).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(FrameError::Closed);
        }
        other => other?,
    };
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > limit {
        return Err(FrameError::TooLarge(length));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// A value as a frame's JSON.
pub(crate) fn encode(value: &impl Serialize, limit: usize) -> Result<Vec<u8>, FrameError> {
    let bytes = serde_json::to_vec(value)?;
    if bytes.len() > limit {
        return Err(FrameError::TooLarge(bytes.len()));
    }
    Ok(bytes)
}

/// Writes a frame.
pub(crate) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    json: &[u8],
) -> Result<(), FrameError> {
    let length = u32::try_from(json.len()).map_err(|_| FrameError::TooLarge(json.len()))?;
    to.write_all(&length.to_be_bytes()).await?;
    to.write_all(json).await?;
    Ok(to.flush().await?)
}
