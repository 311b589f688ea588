//! A key, and where it is found. Only the relay and `auth set` ever hold one.

use std::fmt;

use deputize_model::{KeyNeed, KeySource};
use zeroize::Zeroizing;

use crate::limits::KEY_BYTES;
use crate::protocol::KeyPlace;
use crate::store::{KeyStore, StoreError};

/// A key. It is shown nowhere; its memory is wiped.
#[derive(Clone)]
pub(crate) struct Secret(Zeroizing<String>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why a text is no key. Nothing of it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// It is longer than any.
    #[error("it has more than {KEY_BYTES} bytes")]
    TooLong,
    /// It could not stand in a header.
    #[error(
        "it has characters that no key has: letters, digits and signs without quotes are taken"
    )]
    Characters,
}

impl Secret {
    /// Takes a key as typed or stored; a line end behind it isn't a part of it.
    ///
    /// Quotes and backslashes are refused with spaces and control characters, so that a key looks the
    /// same in a header, in JSON and wherever it is searched for.
    pub(crate) fn checked(bytes: &[u8]) -> Result<Self, KeyError> {
        let bytes = bytes.trim_ascii();
        let plain = |byte: &u8| byte.is_ascii_graphic() && !b"\"'\\".contains(byte);
        match std::str::from_utf8(bytes) {
            _ if bytes.is_empty() => Err(KeyError::Empty),
            _ if bytes.len() > KEY_BYTES => Err(KeyError::TooLong),
            Ok(text) if bytes.iter().all(plain) => Ok(Self(Zeroizing::new(text.to_owned()))),
            _ => Err(KeyError::Characters),
        }
    }

    /// The key itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

/// Why a relay has no key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoKey {
    #[error("no key is known for `{0}`")]
    Missing(String),
    #[error("the key in {place} is none: {why}")]
    Bad { place: KeyPlace, why: KeyError },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Looks for a key: in the variables first, then where it is stored.
pub(crate) fn find(
    source: &KeySource,
    store: Option<&KeyStore>,
) -> Result<Option<(Secret, KeyPlace)>, NoKey> {
    for name in &source.variables {
        let value = std::env::var_os(name).map(std::ffi::OsString::into_encoded_bytes);
        let Some(value) = value.map(Zeroizing::new).filter(|value| !value.is_empty()) else {
            continue;
        };
        let place = KeyPlace::Environment(name.clone());
        return checked(&value, place).map(Some);
    }
    let stored = match store {
        Some(store) => store.get(&source.account)?,
        None => None,
    };
    match (stored, source.need) {
        (Some((key, place)), _) => checked(&key, place).map(Some),
        (None, KeyNeed::Optional) => Ok(None),
        (None, KeyNeed::Always) => Err(NoKey::Missing(source.account.clone())),
    }
}

fn checked(bytes: &[u8], place: KeyPlace) -> Result<(Secret, KeyPlace), NoKey> {
    match Secret::checked(bytes) {
        Ok(key) => Ok((key, place)),
        Err(why) => Err(NoKey::Bad { place, why }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_key_is_refused_without_telling_it() {
        assert_eq!(Secret::checked(b" sk-1\r\n").unwrap().expose(), "sk-1");
        for (bytes, error) in [
            (&b"  "[..], KeyError::Empty),
            (b"a b", KeyError::Characters),
            (b"a\nb", KeyError::Characters),
            (b"\"quoted\"", KeyError::Characters),
            (b"\xff", KeyError::Characters),
        ] {
            assert_eq!(Secret::checked(bytes).err(), Some(error));
        }
        let long = vec![b'x'; KEY_BYTES + 1];
        assert_eq!(Secret::checked(&long).err(), Some(KeyError::TooLong));
        let shown = format!("{:?}", Secret::checked(b"canary").unwrap());
        assert!(!shown.contains("canary"));
    }
}
