//! Reads the files of a search whole, one at a time.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, read};

use crate::beneath::{Purpose, open};
use crate::limits::SNIFFED_BYTES;

/// The largest file that is searched: generated and data files lie above, sources below.
pub(super) const MAX_FILE_BYTES: usize = 1 << 20;

/// What became of opening a file.
pub(super) enum Opened<'a> {
    /// Its content.
    Text(&'a [u8]),
    /// It has a zero byte near its start.
    Binary,
    /// It has more than [`MAX_FILE_BYTES`].
    Large,
    /// It is gone, not a regular file any more, or not readable.
    Unreadable,
}

/// Reads a file, given by its path below `folder`, into `buffer`.
pub(super) fn read_text<'a>(folder: &OwnedFd, path: &Path, buffer: &'a mut Vec<u8>) -> Opened<'a> {
    match fill(folder, path, buffer) {
        Err(_) => Opened::Unreadable,
        Ok(Fill::Longer) => Opened::Large,
        Ok(Fill::Whole) if buffer.iter().take(SNIFFED_BYTES).any(|byte| *byte == 0) => {
            Opened::Binary
        }
        Ok(Fill::Whole) => Opened::Text(buffer),
    }
}

enum Fill {
    Whole,
    Longer,
}

fn fill(folder: &OwnedFd, path: &Path, buffer: &mut Vec<u8>) -> Result<Fill, Errno> {
    let file = open(folder, path, Purpose::Content)?;
    let facts = fstat(&file)?;
    if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    if usize::try_from(facts.st_size).map_or(true, |size| size > MAX_FILE_BYTES) {
        return Ok(Fill::Longer);
    }
    // The file can grow while it is read, to one byte beyond the limit.
    buffer.resize(MAX_FILE_BYTES + 1, 0);
    let mut filled = 0;
    while filled < buffer.len() {
        match read(&file, &mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(filled);
    Ok(if filled > MAX_FILE_BYTES {
        Fill::Longer
    } else {
        Fill::Whole
    })
}
