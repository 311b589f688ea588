//! SHA-256 values, and the head of a chain.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Hashed before the run's id to make the `prev` of a first event. The number is the format's.
const GENESIS: &str = "deputize ledger 1\n";

/// A SHA-256 value; text and JSON show 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// Text that isn't 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash is 64 lower-case hexadecimal digits")]
pub struct MalformedDigest;

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The `prev` of the first event of a run's ledger.
    #[must_use]
    pub fn genesis(run: &str) -> Self {
        Self(
            Sha256::new()
                .chain_update(GENESIS)
                .chain_update(run)
                .finalize()
                .into(),
        )
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let hex: String = self
            .0
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .map(|digit| char::from(DIGITS[usize::from(digit)]))
            .collect();
        f.write_str(&hex)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = MalformedDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        fn nibble(digit: u8) -> Result<u8, MalformedDigest> {
            match digit {
                b'0'..=b'9' => Ok(digit - b'0'),
                b'a'..=b'f' => Ok(digit - b'a' + 10),
                _ => Err(MalformedDigest),
            }
        }
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(MalformedDigest);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = MalformedDigest;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// The last event of a chain: it stands for everything before it.
///
/// Kept outside the ledger (in a result, a transcript, a git note) it shows that the ledger was cut
/// or rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The number of the event; the first is 0.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for Head {
    type Err = MalformedDigest;

    /// Takes back what `Display` shows: `SEQ:HASH`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (seq, hash) = text.split_once(':').ok_or(MalformedDigest)?;
        Ok(Self {
            seq: seq.parse().map_err(|_| MalformedDigest)?,
            hash: hash.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_value_agree() {
        let digest = Digest::of(b"abc");
        assert_eq!(
            digest.to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!("BA78".parse::<Digest>(), Err(MalformedDigest));
        let head = Head {
            seq: 7,
            hash: digest,
        };
        assert_eq!(head.to_string().parse(), Ok(head));
    }

    #[test]
    fn each_run_starts_its_own_chain() {
        assert_ne!(Digest::genesis("a"), Digest::genesis("b"));
        assert_eq!(Digest::genesis("a"), Digest::of(b"deputize ledger 1\na"));
    }
}
