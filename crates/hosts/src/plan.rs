//! What would be written, and the writing of it.

use std::path::{Path, PathBuf};

use deputize_authority::Refusal;
use similar::{ChangeTag, TextDiff};

use crate::file::{self, Read};
use crate::host::{Around, Host, Wish, wanted};
use crate::record::{Record, Step, Written};

/// What becomes of a host's files, and of the record.
#[derive(Debug)]
pub struct Plan {
    host: Host,
    state: PathBuf,
    edits: Vec<Edit>,
    record: Record,
}

/// One file's change.
#[derive(Debug)]
pub struct Edit {
    seen: Read,
    after: Option<String>,
    /// Folders that go with it, from the outermost one, as far as nothing else is in them.
    folders: Vec<PathBuf>,
}

/// Computes what an installation writes. Where another one stands, it is replaced.
///
/// # Errors
/// What keeps the host's files from being read or changed.
pub fn plan(wish: &Wish, around: &Around<'_>) -> Result<Plan, Refusal> {
    let earlier = Record::read(&around.state, wish.host)?;
    let mut files = without(earlier.as_ref())?;
    let mut written = Vec::new();
    for wanted in wanted(wish, around)? {
        let seen = file::read(&wanted.path)?;
        let known = earlier_of(earlier.as_ref(), &seen);
        let position = match files.iter().position(|edit| edit.seen.real == seen.real) {
            Some(position) => position,
            None => {
                let after = seen.text.clone();
                files.push(Edit {
                    seen,
                    after,
                    folders: Vec::new(),
                });
                files.len() - 1
            }
        };
        let Some(edit) = files.get_mut(position) else {
            continue;
        };
        let mut steps = Vec::new();
        for entry in wanted.entries {
            let before = edit
                .after
                .clone()
                .unwrap_or_else(|| wanted.format.empty().to_owned());
            let put = wanted.format.put(&before, &entry);
            if let Some(put) = put.map_err(|fault| fault.refusal(&wanted.path))? {
                steps.push(Step::between(&before, &put.text, entry, put.made));
                edit.after = Some(put.text);
            }
        }
        if !steps.is_empty() {
            written.push(Written {
                path: edit.seen.real.clone(),
                written_as: wanted.format,
                created: edit.seen.text.is_none() || known.is_some_and(|known| known.created),
                folders: match known {
                    Some(known) if edit.seen.text.is_some() => known.folders.clone(),
                    _ => missing_folders(&edit.seen.real),
                },
                steps,
            });
        }
    }
    Ok(Plan::of(wish.host, around, files, Record::new(written)))
}

/// Computes what takes an installation back.
///
/// # Errors
/// `not_installed`, and what keeps the host's files from being read or changed.
pub fn plan_removal(host: Host, around: &Around<'_>) -> Result<Plan, Refusal> {
    let Some(record) = Record::read(&around.state, host)? else {
        return Err(Refusal::new(
            "not_installed",
            "host",
            format!("`deputize install {}` wrote nothing here", host.name()),
            "an entry that was added by hand is removed by hand",
        ));
    };
    let files = without(Some(&record))?;
    Ok(Plan::of(host, around, files, Record::new(Vec::new())))
}

/// The files of an earlier installation, without it.
fn without(record: Option<&Record>) -> Result<Vec<Edit>, Refusal> {
    let mut edits = Vec::new();
    for written in record.into_iter().flat_map(|record| &record.files) {
        let seen = file::read(&written.path)?;
        let mut text = seen.text.clone();
        for step in written.steps.iter().rev() {
            let Some(now) = &text else { break };
            let back = step.undone(now, written.written_as);
            if let Some(back) = back.map_err(|fault| fault.refusal(&written.path))? {
                text = Some(back);
            }
        }
        let is_ours = |text: &String| text.trim() == written.written_as.empty().trim();
        let after = text.filter(|text| !(written.created && is_ours(text)));
        edits.push(Edit {
            seen,
            after,
            folders: written.folders.clone(),
        });
    }
    Ok(edits)
}

/// What an earlier installation knows of the file.
fn earlier_of<'r>(record: Option<&'r Record>, seen: &Read) -> Option<&'r Written> {
    record?
        .files
        .iter()
        .find(|written| written.path == seen.real)
}

/// The folders on the way to a file that aren't there, from the outermost one.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let ways = path.ancestors().skip(1);
    let mut missing: Vec<PathBuf> = ways
        .take_while(|folder| std::fs::symlink_metadata(folder).is_err())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}

impl Plan {
    fn of(host: Host, around: &Around<'_>, edits: Vec<Edit>, record: Record) -> Self {
        let changed = edits.into_iter();
        Self {
            host,
            state: around.state.clone(),
            edits: changed
                .filter(|edit| edit.after != edit.seen.text)
                .collect(),
            record,
        }
    }

    /// The files that change; none where everything is as it should be.
    #[must_use]
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// Writes it. The record comes first, so that whatever was written can be taken back.
    ///
    /// # Errors
    /// When a file changed since it was read, or can't be written: files before it are changed then, and
    /// the same command goes on where it stopped.
    pub fn write(self) -> Result<(), Refusal> {
        let is_removal = self.record.files.is_empty();
        if !is_removal {
            self.record.clone().keep(&self.state, self.host)?;
        }
        for edit in &self.edits {
            file::replace(&edit.seen, edit.after.as_deref())?;
            if edit.after.is_none() {
                for folder in edit.folders.iter().rev() {
                    // One that holds something by now is somebody's.
                    let _ = std::fs::remove_dir(folder);
                }
            }
        }
        if is_removal {
            self.record.keep(&self.state, self.host)?;
        }
        Ok(())
    }
}

impl Edit {
    /// The file, where it really lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.seen.real
    }

    /// What happens to it, in a word: `new file`, `changed file`, `removed file`.
    #[must_use]
    pub fn what(&self) -> &'static str {
        match (&self.seen.text, &self.after) {
            (None, _) => "new file",
            (Some(_), Some(_)) => "changed file",
            (Some(_), None) => "removed file",
        }
    }

    /// The lines that come and go, each with its number and its sign. Other lines aren't shown: they
    /// are nobody's business here, and may hold a key.
    #[must_use]
    pub fn lines(&self) -> Vec<(usize, char, String)> {
        let before = self.seen.text.as_deref().unwrap_or_default();
        let after = self.after.as_deref().unwrap_or_default();
        let diff = TextDiff::from_lines(before, after);
        diff.iter_all_changes()
            .filter_map(|change| {
                let (sign, index) = match change.tag() {
                    ChangeTag::Equal => return None,
                    ChangeTag::Delete => ('-', change.old_index()),
                    ChangeTag::Insert => ('+', change.new_index()),
                };
                let line = change.value().trim_end_matches('\n').to_owned();
                Some((index.unwrap_or(0) + 1, sign, line))
            })
            .collect()
    }
}
