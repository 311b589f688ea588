//! Reads the files of a search whole, one at a time.

use std::path::Path;

use memchr::memchr;
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

/// Reads a file, given by its path below `folder`. The buffer keeps its size from file to file, so
/// that a tree of many small files isn't spent on clearing it.
pub(super) fn read_text<'a>(folder: &OwnedFd, path: &Path, buffer: &'a mut Vec<u8>) -> Opened<'a> {
    match fill(folder, path, buffer) {
        Err(_) => Opened::Unreadable,
        Ok(length) if length > MAX_FILE_BYTES => Opened::Large,
        Ok(length) => {
            let bytes = &buffer[..length];
            if memchr(0, &bytes[..length.min(SNIFFED_BYTES)]).is_some() {
                return Opened::Binary;
            }
            Opened::Text(bytes)
        }
    }
}

/// How many bytes the file has; all of them are in the buffer unless they are too many.
fn fill(folder: &OwnedFd, path: &Path, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
    let file = open(folder, path, Purpose::Content)?;
    let facts = fstat(&file)?;
    if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let size = usize::try_from(facts.st_size).unwrap_or(usize::MAX);
    if size > MAX_FILE_BYTES {
        return Ok(size);
    }
    // One byte more than the file has shows its end, or that it grows.
    make_room(buffer, size + 1);
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            if filled > MAX_FILE_BYTES {
                return Ok(filled);
            }
            make_room(buffer, MAX_FILE_BYTES + 1);
        }
        match read(&file, &mut buffer[filled..]) {
            Ok(0) => return Ok(filled),
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

fn make_room(buffer: &mut Vec<u8>, bytes: usize) {
    if buffer.len() < bytes {
        buffer.resize(bytes, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, OFlags, openat};

    #[test]
    fn a_buffer_shows_only_the_last_file_and_no_more_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes);
        write("full", &vec![b'a'; MAX_FILE_BYTES]).unwrap();
        write("over", &vec![b'a'; MAX_FILE_BYTES + 1]).unwrap();
        write("short", b"bb").unwrap();
        write("empty", b"").unwrap();
        let handle = openat(CWD, folder.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
        let mut buffer = Vec::new();
        let mut length = |name: &str| match read_text(&handle, Path::new(name), &mut buffer) {
            Opened::Text(bytes) => Some((bytes.len(), bytes.first().copied())),
            Opened::Large => None,
            Opened::Binary | Opened::Unreadable => panic!("{name}"),
        };
        assert_eq!(length("short"), Some((2, Some(b'b'))));
        assert_eq!(length("full"), Some((MAX_FILE_BYTES, Some(b'a'))));
        assert_eq!(length("over"), None);
        assert_eq!(length("short"), Some((2, Some(b'b'))));
        assert_eq!(length("empty"), Some((0, None)));
    }
}
