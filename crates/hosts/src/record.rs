//! What was written where, so that it can be taken back exactly.
//!
//! A record holds the entry and the bytes around which it was put, never the rest of a file: that may
//! hold a host's keys.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use deputize_authority::{Refusal, escape};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::entry::{Entry, Format};
use crate::fault::Fault;
use crate::file;
use crate::host::Host;

const FORMAT: u32 = 1;

/// What an installation wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    format: u32,
    pub(crate) files: Vec<Written>,
}

/// One file's part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Written {
    pub(crate) path: PathBuf,
    pub(crate) written_as: Format,
    /// Whether there was no such file.
    pub(crate) created: bool,
    /// Folders that weren't there either, from the outermost one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) steps: Vec<Step>,
}

/// One entry: where its bytes went, and how both texts are known again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    entry: Entry,
    made: usize,
    at: usize,
    removed: String,
    inserted: String,
    before: String,
    after: String,
}

impl Record {
    pub(crate) fn new(files: Vec<Written>) -> Self {
        Self {
            format: FORMAT,
            files,
        }
    }

    /// The record of a host; `None` where nothing was installed.
    pub(crate) fn read(state: &Path, host: Host) -> Result<Option<Self>, Refusal> {
        let path = place(state, host);
        let seen = file::read(&path)?;
        let Some(text) = seen.text else {
            return Ok(None);
        };
        let record: Self =
            serde_json::from_str(&text).map_err(|error| damaged(&path, &error.to_string()))?;
        match record.format {
            FORMAT => Ok(Some(record)),
            other => Err(damaged(
                &path,
                &format!("format {other} is a newer program's"),
            )),
        }
    }

    /// Writes it down, or removes it where nothing is installed any more.
    pub(crate) fn keep(self, state: &Path, host: Host) -> Result<(), Refusal> {
        let path = place(state, host);
        if self.files.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(damaged(&path, &error.to_string()))
                }
                _ => Ok(()),
            };
        }
        let seen = file::read(&path)?;
        let text = serde_json::to_string_pretty(&self)
            .map_err(|error| damaged(&path, &error.to_string()))?;
        file::replace(&seen, Some(&text))
    }
}

impl Step {
    /// The step from one text to the next.
    pub(crate) fn between(before: &str, after: &str, entry: Entry, made: usize) -> Self {
        let at = shared(before.bytes(), after.bytes());
        let at = boundary(before, after, at);
        let (rest, new) = (&before[at..], &after[at..]);
        let tail = shared(rest.bytes().rev(), new.bytes().rev());
        let tail = (0..=tail)
            .rev()
            .find(|tail| {
                rest.is_char_boundary(rest.len() - tail) && new.is_char_boundary(new.len() - tail)
            })
            .unwrap_or(0);
        Self {
            entry,
            made,
            at,
            removed: rest[..rest.len() - tail].to_owned(),
            inserted: new[..new.len() - tail].to_owned(),
            before: digest(before),
            after: digest(after),
        }
    }

    /// The text before this step: byte for byte where the file is as it was left, else without the
    /// entry. `None` where the entry isn't in it.
    pub(crate) fn undone(&self, text: &str, format: Format) -> Result<Option<String>, Fault> {
        if digest(text) == self.before {
            return Ok(None);
        }
        if digest(text) == self.after
            && let Some(head) = text.get(..self.at)
            && let Some(tail) = text
                .get(self.at..)
                .and_then(|rest| rest.strip_prefix(self.inserted.as_str()))
        {
            let before = format!("{head}{}{tail}", self.removed);
            if digest(&before) == self.before {
                return Ok(Some(before));
            }
        }
        format.take(text, &self.entry, self.made)
    }
}

fn shared(one: impl Iterator<Item = u8>, other: impl Iterator<Item = u8>) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// The last place up to `at` between two characters of both texts.
fn boundary(one: &str, other: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| one.is_char_boundary(*at) && other.is_char_boundary(*at))
        .unwrap_or(0)
}

fn digest(text: &str) -> String {
    let bytes = Sha256::digest(text.as_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn place(state: &Path, host: Host) -> PathBuf {
    state.join("hosts").join(format!("{}.json", host.name()))
}

fn damaged(path: &Path, why: &str) -> Refusal {
    Refusal::new(
        "host_record_unusable",
        "host",
        format!(
            "the record `{}`: {}",
            escape(&path.to_string_lossy()),
            escape(why)
        ),
        "remove the entry from the host's configuration by hand, then this record",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        /// H9: whatever lies around an entry, its step leads back to the very bytes.
        #[test]
        fn a_step_leads_back(head in ".{0,20}", old in ".{0,8}", new in ".{0,20}", tail in ".{0,20}") {
            let (before, after) = (format!("{head}{old}{tail}"), format!("{head}{new}{tail}"));
            let entry = Entry { at: Vec::new(), name: Some("x".to_owned()), value: json!(1) };
            let step = Step::between(&before, &after, entry, 0);
            if before != after {
                prop_assert_eq!(step.undone(&after, Format::Json).unwrap(), Some(before));
            }
        }
    }
}
