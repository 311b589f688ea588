//! Paths and arguments on the wire, byte for byte.
//!
//! JSON has no byte strings, and a path may hold any byte but NUL. Valid UTF-8 travels as it is;
//! anything else as a NUL followed by the bytes in hexadecimal, which no path or argument can look
//! like. [`decode`] takes back exactly what [`encode`] gave.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use serde::{Deserialize, Deserializer, Serializer, de};

fn encode(text: &OsStr) -> String {
    if let Some(text) = text.to_str() {
        return text.to_owned();
    }
    let mut out = String::from('\0');
    for byte in text.as_bytes() {
        // Writing to a String can't fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

fn decode(text: String) -> Option<OsString> {
    let Some(hex) = text.strip_prefix('\0') else {
        return Some(text.into());
    };
    let bytes = hex
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect::<Option<Vec<u8>>>()?;
    Some(OsString::from_vec(bytes))
}

pub(crate) fn serialize<S: Serializer>(
    value: &impl AsRef<OsStr>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encode(value.as_ref()))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: From<OsString>>(
    deserializer: D,
) -> Result<T, D::Error> {
    decode(String::deserialize(deserializer)?)
        .map(T::from)
        .ok_or_else(|| de::Error::custom("not a byte-exact text"))
}

pub(crate) mod option {
    use super::*;

    pub(crate) fn serialize<S: Serializer, T: AsRef<OsStr>>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.serialize_some(&encode(value.as_ref())),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: From<OsString>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Option::<String>::deserialize(deserializer)?
            .map(|text| decode(text).map(T::from))
            .map(|value| value.ok_or_else(|| de::Error::custom("not a byte-exact text")))
            .transpose()
    }
}

pub(crate) mod list {
    use super::*;

    pub(crate) fn serialize<S: Serializer, T: AsRef<OsStr>>(
        values: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| encode(value.as_ref())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: From<OsString>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        Vec::<String>::deserialize(deserializer)?
            .into_iter()
            .map(|text| decode(text).map(T::from))
            .map(|value| value.ok_or_else(|| de::Error::custom("not a byte-exact text")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_path_survives_the_trip(bytes in prop::collection::vec(1_u8..=255, 0..64)) {
            let text = OsString::from_vec(bytes);
            prop_assert_eq!(decode(encode(&text)), Some(text));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = decode(text.clone());
            let _ = decode(format!("\0{text}"));
        }
    }
}
