//! What a content is told apart by.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// Bytes of a hash that are shown: enough to tell the contents of one file apart.
const SHOWN: usize = 6;

/// SHA-256 of a file's content. It is compared whole and shown short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hash([u8; 32]);

impl Hash {
    pub(crate) fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0[..SHOWN]
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
