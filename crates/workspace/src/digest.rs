//! SHA-256 of contents, in lower-case hexadecimal.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};

use sha2::{Digest as _, Sha256};

/// Bytes that are read at a time.
const CHUNK: usize = 128 * 1024;

/// The digest of bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// The digest of a file's content from where it is read.
pub(crate) fn of_file(file: &mut File) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(hexadecimal(&digest.finalize())),
            Ok(count) => digest.update(chunk.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
