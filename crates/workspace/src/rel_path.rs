//! A path inside a workspace, whatever bytes it is made of.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path relative to the workspace: segments without `.` or `..`; the empty path is the workspace.
///
/// It is written as text that reads back to the same bytes: a backslash is doubled, and a byte that
/// isn't part of UTF-8 stands as `\xff`. The order is that of the bytes, so a folder comes before
/// what lies in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RelPath(Vec<u8>);

impl RelPath {
    /// The workspace itself.
    #[must_use]
    pub fn top() -> Self {
        Self::default()
    }

    /// Takes a path as a person types it: relative, below the workspace. `./` in front is dropped.
    #[must_use]
    pub fn typed(path: &Path) -> Option<Self> {
        use std::path::Component;
        let mut taken = Self::top();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) => taken = taken.join(name),
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(taken)
    }

    /// What has this name in this folder.
    #[must_use]
    pub fn join(&self, name: &OsStr) -> Self {
        let mut bytes = Vec::with_capacity(self.0.len() + name.len() + 1);
        bytes.extend_from_slice(&self.0);
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name.as_bytes());
        Self(bytes)
    }

    /// For system calls.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// Whether it is the workspace itself.
    #[must_use]
    pub fn is_top(&self) -> bool {
        self.0.is_empty()
    }

    /// The folder that it lies in; `None` for the workspace itself.
    #[must_use]
    pub fn folder(&self) -> Option<Self> {
        if self.is_top() {
            return None;
        }
        let cut = self.0.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        Some(Self(self.0[..cut].to_vec()))
    }

    /// Its last segment.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        let cut = self.0.iter().rposition(|byte| *byte == b'/');
        OsStr::from_bytes(&self.0[cut.map_or(0, |at| at + 1)..])
    }

    /// Its segments, first to last.
    pub fn segments(&self) -> impl Iterator<Item = &OsStr> {
        self.0
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty())
            .map(OsStr::from_bytes)
    }

    /// Whether it lies in a folder, or is that folder.
    #[must_use]
    pub fn lies_in(&self, folder: &Self) -> bool {
        folder.is_top()
            || self
                .0
                .strip_prefix(folder.0.as_slice())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    /// How many segments it has.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.segments().count()
    }

    /// Its length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The text that stands for it, and reads back to the same bytes.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.0.len());
        for chunk in self.0.utf8_chunks() {
            text.push_str(&chunk.valid().replace('\\', "\\\\"));
            for byte in chunk.invalid() {
                // Writing to a String can't fail.
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
        text
    }

    /// The text for a screen: what could steer a terminal or break a line is escaped.
    #[must_use]
    pub fn shown(&self) -> String {
        deputize_authority::escape(&self.text())
    }

    /// Reads what [`RelPath::text`] wrote.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\\') {
            bytes.extend_from_slice(before.as_bytes());
            if let Some(after) = after.strip_prefix('\\') {
                bytes.push(b'\\');
                rest = after;
            } else {
                let digits = after.strip_prefix('x')?.get(..2)?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = after.get(3..)?;
            }
        }
        bytes.extend_from_slice(rest.as_bytes());
        // What leads out of the workspace, or says the same thing twice, is no such path.
        let plain = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
        let sound = bytes.is_empty() || bytes.split(|byte| *byte == b'/').all(plain);
        sound.then_some(Self(bytes))
    }
}

impl Serialize for RelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_text(&text).ok_or_else(|| serde::de::Error::custom("no path in a workspace"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_that_lead_out_are_no_paths() {
        for text in [
            "..", "a/../b", "/etc", "a//b", "a/", "./a", "\\q", "\\x", "\\xg0", "a\0",
        ] {
            assert_eq!(RelPath::from_text(text), None, "{text:?}");
        }
        assert_eq!(RelPath::typed(Path::new("../a")), None);
        assert_eq!(RelPath::typed(Path::new("/a")), None);
        assert_eq!(
            RelPath::typed(Path::new("./a/b")).unwrap(),
            RelPath::from_text("a/b").unwrap()
        );
    }

    #[test]
    fn a_folder_holds_what_begins_with_it_and_a_slash() {
        let path = |text| RelPath::from_text(text).unwrap();
        assert!(path("a/b").lies_in(&path("a")) && path("a").lies_in(&path("a")));
        assert!(path("a").lies_in(&RelPath::top()));
        assert!(!path("ab").lies_in(&path("a")));
        assert_eq!(path("a/b").folder(), Some(path("a")));
        assert_eq!(path("a").folder(), Some(RelPath::top()));
        assert_eq!(path("a/b").name(), "b");
    }

    proptest! {
        /// C2: any bytes that a file system takes come back from the record.
        #[test]
        fn a_path_reads_back_from_its_text(names in prop::collection::vec(prop::collection::vec(1u8.., 1..6), 1..4)) {
            let name = |bytes: &Vec<u8>| bytes.iter().map(|byte| if *byte == b'/' { b'-' } else { *byte }).collect::<Vec<u8>>();
            let names: Vec<Vec<u8>> = names.iter().map(name).collect();
            prop_assume!(names.iter().all(|name| name != b"." && name != b".."));
            let path = names.iter().fold(RelPath::top(), |path, name| path.join(OsStr::from_bytes(name)));
            prop_assert_eq!(RelPath::from_text(&path.text()), Some(path));
        }
    }
}
