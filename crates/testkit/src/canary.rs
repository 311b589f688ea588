//! Secrets that must not turn up anywhere, and the search for them (A3).

use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;

/// A secret made for one test: nothing else on the machine contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    name: String,
    value: String,
}

/// A place where a canary turned up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// Name of the canary.
    pub canary: String,
    /// The form in which it was found: `plain`, `hex`, `HEX`, `base64`.
    pub form: &'static str,
    /// The file, folder or link.
    pub path: PathBuf,
    /// Offset in the file; `None` when the name or the target of a link holds it.
    pub offset: Option<usize>,
}

/// Bytes of randomness in a canary: no two are ever equal, and no text holds one by chance.
const RANDOM_BYTES: usize = 18;

impl Canary {
    /// Makes a secret that is called `name` in reports.
    ///
    /// # Panics
    /// When the kernel has no randomness to give.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut random = [0; RANDOM_BYTES];
        let got = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
        assert_eq!(got, Ok(RANDOM_BYTES), "no randomness");
        let value = format!("canary{}", hex(&random));
        Self {
            name: name.to_owned(),
            value,
        }
    }

    /// The secret.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The forms in which a secret could be written down. Base64 has three alignments; the first
    /// and last characters of each depend on what stands beside it and are left out.
    fn forms(&self) -> Vec<(&'static str, String)> {
        let bytes = self.value.as_bytes();
        let mut forms = vec![
            ("plain", self.value.clone()),
            ("hex", hex(bytes)),
            ("HEX", hex(bytes).to_uppercase()),
        ];
        for shift in 0..3 {
            let shifted = [&vec![0; shift][..], bytes].concat();
            let text = base64(&shifted);
            let end = text.len() - 4;
            forms.push(("base64", text[4 * usize::from(shift > 0)..end].to_owned()));
        }
        forms
    }
}

/// Looks for canaries in every name, link target and byte below `folder`.
///
/// # Panics
/// When something below the folder can't be read: what wasn't searched isn't clean.
#[must_use]
pub fn search_every_byte(folder: &Path, canaries: &[&Canary]) -> Vec<Leak> {
    let forms: Vec<(&Canary, &'static str, String)> = canaries
        .iter()
        .flat_map(|canary| {
            let forms = canary.forms().into_iter();
            forms.map(|(form, text)| (*canary, form, text))
        })
        .collect();
    let patterns = forms.iter().map(|(_, _, text)| text);
    let searcher = AhoCorasick::new(patterns).unwrap();
    let mut leaks = Vec::new();
    let mut report = |path: &Path, pattern: usize, offset: Option<usize>| {
        let (canary, form, _) = &forms[pattern];
        leaks.push(Leak {
            canary: canary.name.clone(),
            form,
            path: path.to_owned(),
            offset,
        });
    };
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let mut names = vec![entry.file_name()];
            if kind.is_symlink() {
                names.push(fs::read_link(&path).unwrap().into_os_string());
            }
            for name in names {
                for found in searcher.find_iter(name.as_bytes()) {
                    report(&path, found.pattern().as_usize(), None);
                }
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let file = fs::File::open(&path).unwrap();
                for found in searcher.stream_find_iter(file) {
                    let found = found.unwrap();
                    report(&path, found.pattern().as_usize(), Some(found.start()));
                }
            }
        }
    }
    leaks
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Base64 as everybody writes it. Our canaries have no padding worth looking for.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for shift in [18, 12, 6, 0] {
            text.push(char::from(ALPHABET[(group >> shift & 63) as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_everybody() {
        assert_eq!(base64(b"light work"), "bGlnaHQgd29yawAA");
    }

    /// A3: a search that misses an encoding would call a leak clean.
    #[test]
    fn a_canary_is_found_in_every_form_and_place() {
        let folder = tempfile::tempdir().unwrap();
        let (found, other) = (Canary::new("found"), Canary::new("other"));
        let value = found.value();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "plain/deep/file",
            &format!("{}{value}", "x".repeat(100_000)),
        );
        write("hex", &hex(value.as_bytes()));
        write("upper", &hex(value.as_bytes()).to_uppercase());
        for lead in ["", "a", "bc"] {
            let text = format!("{lead}{value}{lead}");
            write(&format!("base64-{}", lead.len()), &base64(text.as_bytes()));
        }
        write(value, "");
        std::os::unix::fs::symlink(value, folder.path().join("link")).unwrap();
        write("clean", &value[1..]);

        let leaks = search_every_byte(folder.path(), &[&found, &other]);
        let mut places: Vec<_> = leaks
            .iter()
            .map(|leak| (leak.path.file_name().unwrap().to_str().unwrap(), leak.form))
            .collect();
        places.sort_unstable();
        let mut expected = [
            ("base64-0", "base64"),
            ("base64-1", "base64"),
            ("base64-2", "base64"),
            ("file", "plain"),
            ("hex", "hex"),
            ("link", "plain"),
            ("upper", "HEX"),
            (value, "plain"),
        ];
        expected.sort_unstable();
        assert_eq!(places, expected);
        let deep = leaks.iter().find(|leak| leak.path.ends_with("file"));
        assert_eq!(deep.unwrap().offset, Some(100_000));
    }
}
