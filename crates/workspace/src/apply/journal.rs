//! The journal: what was begun and how it ended. Written ahead, read by whoever comes after a kill.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::closed::Closed;
use crate::CopyError;
use crate::error::Doing as _;
use crate::limits::RECORD_BYTES;
use crate::manifest::State;
use crate::rel_path::RelPath;

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The copy's changes go to the person's folder.
    Apply,
    /// What was applied is taken back.
    Undo,
}

/// One path of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) path: RelPath,
    /// What is there before.
    pub(crate) from: Option<State>,
    /// What is there afterwards.
    pub(crate) to: Option<State>,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    Done,
    TakenBack,
}

/// A line of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Line {
    /// A transaction begins; its staging folder gets this name. What is in conflict is left.
    Begin {
        action: Action,
        manifest: String,
        stage: String,
        left: Vec<RelPath>,
    },
    /// A folder that it will open, and close again at its end.
    Open(Closed),
    /// What it will do.
    Step { number: usize, step: Step },
    /// All is staged and kept: from here on it is finished, whatever happens.
    Commit,
    /// It met something: from here on it is taken back, whatever happens.
    Abort,
    /// It ended. Paths that were the person's own work by then were left as they were.
    End { how: End, left: Vec<RelPath> },
}

/// How far a transaction got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Begun,
    Committed,
    Aborted,
    Ended(End),
}

/// A transaction, as the journal tells it.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) action: Action,
    pub(crate) stage: String,
    /// Folders that it opens.
    pub(crate) opened: Vec<Closed>,
    pub(crate) steps: Vec<Step>,
    pub(crate) phase: Phase,
    pub(crate) left: BTreeSet<RelPath>,
}

/// The journal of a copy.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    pub(crate) transactions: Vec<Told>,
}

impl Journal {
    /// Reads the journal; an absent one is empty. A torn last line was never acted upon, since what a
    /// line announces begins after it is on the disk.
    pub(crate) fn read(path: &Path) -> Result<Self, CopyError> {
        let mut journal = Self {
            path: path.to_owned(),
            transactions: Vec::new(),
        };
        let mut text = Vec::new();
        match File::open(path) {
            Ok(file) => file
                .take(RECORD_BYTES)
                .read_to_end(&mut text)
                .doing("read the journal", path)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(journal),
            Err(error) => return Err(error).doing("open the journal", path),
        };
        let whole = text.iter().rposition(|byte| *byte == b'\n');
        let whole = text.get(..whole.map_or(0, |at| at + 1)).unwrap_or_default();
        for line in whole.split(|byte| *byte == b'\n') {
            // A torn line that was ended by the next writer.
            if line.is_empty() || line.last() == Some(&TORN) {
                continue;
            }
            let line = serde_json::from_slice(line).map_err(|error| CopyError::Record {
                path: path.to_owned(),
                why: error.to_string(),
            })?;
            journal.take(line);
        }
        Ok(journal)
    }

    fn take(&mut self, line: Line) {
        if let Line::Begin {
            action,
            stage,
            left,
            ..
        } = line
        {
            self.transactions.push(Told {
                action,
                stage,
                opened: Vec::new(),
                steps: Vec::new(),
                phase: Phase::Begun,
                left: left.into_iter().collect(),
            });
            return;
        }
        let Some(told) = self.transactions.last_mut() else {
            return;
        };
        match line {
            Line::Begin { .. } => {}
            Line::Open(folder) => told.opened.push(folder),
            Line::Step { step, .. } => told.steps.push(step),
            Line::Commit => told.phase = Phase::Committed,
            Line::Abort => told.phase = Phase::Aborted,
            Line::End { how, left } => {
                told.phase = Phase::Ended(how);
                told.left.extend(left);
            }
        }
    }

    /// Whether the last line isn't one that ends a transaction. What can't be read is left to whoever
    /// reads it whole.
    pub(crate) fn ends_open(path: &Path) -> bool {
        use std::os::unix::fs::FileExt as _;
        let Ok(file) = File::open(path) else {
            return false;
        };
        let length = file.metadata().map_or(0, |meta| meta.len());
        let tail = length.min(LAST_LINE);
        let mut text = vec![0u8; usize::try_from(tail).unwrap_or(0)];
        if length == 0 || file.read_exact_at(&mut text, length - tail).is_err() {
            return false;
        }
        let body = text.strip_suffix(b"\n").unwrap_or_default();
        let last = body.rsplit(|byte| *byte == b'\n').next();
        // A last line that is longer than what was read lists what was left: it is an end too, or
        // reading all of it tells that there is nothing to do.
        !last.is_some_and(|line| line.starts_with(b"{\"end\""))
    }

    /// Writes lines; they are on the disk when this returns.
    pub(crate) fn write(&mut self, lines: Vec<Line>) -> Result<(), CopyError> {
        let mut bytes = Vec::new();
        for line in &lines {
            serde_json::to_writer(&mut bytes, line)
                .map_err(std::io::Error::from)
                .doing("write the journal", &self.path)?;
            bytes.push(b'\n');
        }
        let written = self.open().and_then(|mut file| {
            let length = file.metadata()?.len();
            let written = file.write_all(&bytes).and_then(|()| file.sync_all());
            if written.is_err() {
                // What was announced isn't done, and on a full disk its space is needed.
                let _ = file.set_len(length);
            }
            written
        });
        written.doing("write the journal", &self.path)?;
        lines.into_iter().for_each(|line| self.take(line));
        Ok(())
    }

    /// Writes a journal as a whole, where there is none: all of it is there afterwards, or nothing.
    pub(crate) fn whole(path: &Path, lines: &[Line]) -> Result<(), CopyError> {
        let draft = path.with_extension("draft");
        let write = || {
            let mut file = std::io::BufWriter::new(File::create(&draft)?);
            for line in lines {
                serde_json::to_writer(&mut file, line).map_err(std::io::Error::from)?;
                file.write_all(b"\n")?;
            }
            file.into_inner()?.sync_all()?;
            std::fs::rename(&draft, path)
        };
        let written = write();
        if written.is_err() {
            // The error that is reported is the one that caused this.
            let _ = std::fs::remove_file(&draft);
        }
        written.doing("write the journal", path)
    }

    /// Opens it at its end. What a kill left of a line is marked as such and ended.
    fn open(&self) -> std::io::Result<File> {
        let mut file = File::options()
            .create(true)
            .read(true)
            .append(true)
            .open(&self.path)?;
        let length = file.metadata()?.len();
        if length > 0 {
            let mut last = [0u8];
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut last, length - 1)?;
            if last != [b'\n'] {
                file.write_all(&[TORN, b'\n'])?;
            }
        }
        Ok(file)
    }

    /// The transaction that a kill cut off, if the last one was.
    pub(crate) fn unfinished(&self) -> Option<&Told> {
        let last = self.transactions.last()?;
        (!matches!(last.phase, Phase::Ended(_))).then_some(last)
    }

    /// Digests of what only the last transaction replaces.
    pub(crate) fn only_in_last(&self) -> BTreeSet<String> {
        let of = |told: &Told| -> Vec<String> {
            let before = told.steps.iter().filter_map(|step| step.from.as_ref());
            before.filter_map(|state| state.digest.clone()).collect()
        };
        let Some((last, earlier)) = self.transactions.split_last() else {
            return BTreeSet::new();
        };
        let needed: BTreeSet<String> = earlier.iter().flat_map(of).collect();
        let only = of(last).into_iter();
        only.filter(|digest| !needed.contains(digest)).collect()
    }

    /// The apply that holds, if none was taken back since.
    pub(crate) fn last_applied(&self) -> Option<&Told> {
        let done = |told: &&Told| told.phase == Phase::Ended(End::Done);
        let last = self.transactions.iter().rev().find(done)?;
        (last.action == Action::Apply || !self.applied().is_empty()).then_some(last)
    }

    /// What is applied and wasn't taken back: for each path what was there before, and what was put
    /// there.
    pub(crate) fn applied(&self) -> BTreeMap<RelPath, (Option<State>, Option<State>)> {
        let mut net: BTreeMap<RelPath, (Option<State>, Option<State>)> = BTreeMap::new();
        for told in &self.transactions {
            if told.phase != Phase::Ended(End::Done) {
                continue;
            }
            for step in &told.steps {
                if told.left.contains(&step.path) {
                    continue;
                }
                match told.action {
                    Action::Apply => {
                        let before = net.get(&step.path).map(|(before, _)| before.clone());
                        let before = before.unwrap_or_else(|| step.from.clone());
                        net.insert(step.path.clone(), (before, step.to.clone()));
                    }
                    Action::Undo => {
                        net.remove(&step.path);
                    }
                }
            }
        }
        net
    }
}

/// Bytes of a journal's end that tell whether it is one: more than an end without a list has.
const LAST_LINE: u64 = 4_096;

/// Stands at the end of a line that a kill tore: no JSON has it.
const TORN: u8 = 0x18;
