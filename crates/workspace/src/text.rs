//! The texts behind changes, line by line, for a person to read.
//!
//! Nothing here is for a screen yet: lines are untrusted text, and whoever shows them escapes them.

use std::fs::File;
use std::io::{self, Read as _};
use std::time::Duration;

use deputize_authority::Untrusted;
use similar::{ChangeTag, TextDiff};

use crate::apply::Store;
use crate::beneath::Anchor;
use crate::copy::WorkingCopy;
use crate::digest;
use crate::entry::What;
use crate::manifest::{Change, State};
use crate::{CopyError, Disposition};

/// Bytes of a file that is compared line by line: more is no text that a person reads.
const TEXT_BYTES: u64 = 4 << 20;
/// Bytes at the start of a file in which a NUL says that it's not text.
const SNIFFED: usize = 8 * 1024;
/// How long one file's lines are compared before the rest of them counts as all different.
const PATIENCE: Duration = Duration::from_millis(500);
/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// A line's part in a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It is in both.
    Same,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// Its part in the change.
    pub sign: Sign,
    /// Its text, without the line break.
    pub text: Untrusted,
    /// Whether it ends without a line break.
    pub is_unended: bool,
}

/// A stretch of lines; numbers count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First line and number of lines in the old text.
    pub old: (usize, usize),
    /// First line and number of lines in the new text.
    pub new: (usize, usize),
    /// The lines.
    pub lines: Vec<DiffLine>,
}

/// What can be shown of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Lines.
    Text {
        /// The stretches around changes.
        hunks: Vec<Hunk>,
        /// Lines that are new.
        added: usize,
        /// Lines that are gone.
        removed: usize,
    },
    /// Where a link led and leads.
    Link {
        /// Before.
        old: Option<Untrusted>,
        /// Afterwards.
        new: Option<Untrusted>,
    },
    /// Content that isn't text, or too much of it.
    Binary,
    /// The base's content is gone: the person changed it since, and nothing was kept.
    OldIsGone,
    /// There is nothing to show: folders, permissions, what was left out or refused.
    Nothing,
}

impl WorkingCopy {
    /// What can be shown of a change.
    ///
    /// # Errors
    /// When the copy can't be read. A change of the copy since the manifest was made shows as what it
    /// is now; the hash tells.
    pub fn body(&self, change: &Change) -> Result<Body, CopyError> {
        if matches!(
            change.disposition,
            Disposition::Skip | Disposition::Refuse(_)
        ) || change.is_mode_only()
        {
            return Ok(Body::Nothing);
        }
        let base = match self.is_snapshot() {
            // What the folder was lies here until the run's end, and then in the store.
            true => Anchor::open(&self.tree()).ok(),
            false => self.base().ok(),
        };
        let sides = Sides {
            base,
            top: self.top()?,
            store: Store::open(self.folder()).ok(),
        };
        Ok(sides.body(change))
    }
}

/// Where both texts of a change may be found.
struct Sides {
    base: Option<Anchor>,
    top: Anchor,
    store: Option<Store>,
}

impl Sides {
    fn body(&self, change: &Change) -> Body {
        let is = |state: &Option<State>, what| state.as_ref().is_some_and(|one| one.what == what);
        if is(&change.old, What::Link) || is(&change.new, What::Link) {
            return Body::Link {
                old: self.link(change, change.old.as_ref(), Side::Old),
                new: self.link(change, change.new.as_ref(), Side::New),
            };
        }
        if !is(&change.old, What::File) && !is(&change.new, What::File) {
            return Body::Nothing;
        }
        let old = match change.old.as_ref().filter(|old| old.what == What::File) {
            None => Content::Text(String::new()),
            Some(old) => self.old_text(change, old),
        };
        let new = match is(&change.new, What::File) {
            true => self.top.file(&change.path).map_or(Content::Gone, read),
            false => Content::Text(String::new()),
        };
        match (old, new) {
            (Content::Text(old), Content::Text(new)) => compare(&old, &new),
            (Content::Gone, _) => Body::OldIsGone,
            _ => Body::Binary,
        }
    }

    /// The base's text as it was recorded: from the person's folder, or from what was kept.
    fn old_text(&self, change: &Change, old: &State) -> Content {
        let wanted = old.digest.as_deref().unwrap_or_default();
        let is_it = |file: &mut File| digest::of_file(file).is_ok_and(|digest| digest == wanted);
        let again = || self.base.as_ref()?.file(&change.path).ok();
        if again().is_some_and(|mut file| is_it(&mut file)) {
            return again().map_or(Content::Gone, read);
        }
        let kept = self
            .store
            .as_ref()
            .and_then(|store| store.file(wanted).ok());
        kept.map_or(Content::Gone, read)
    }

    fn link(&self, change: &Change, state: Option<&State>, side: Side) -> Option<Untrusted> {
        let state = state.filter(|state| state.what == What::Link)?;
        let target = match side {
            Side::New => self.top.target(&change.path).ok()?,
            Side::Old => {
                let wanted = state.digest.as_deref()?;
                let live = self
                    .base
                    .as_ref()
                    .and_then(|base| base.target(&change.path).ok());
                let live = live.filter(|target| digest::of_bytes(target) == wanted);
                live.or_else(|| self.store.as_ref()?.target(wanted).ok())?
            }
        };
        Some(Untrusted::new(String::from_utf8_lossy(&target)))
    }
}

#[derive(Clone, Copy)]
enum Side {
    Old,
    New,
}

enum Content {
    Text(String),
    Binary,
    Gone,
}

fn read(file: File) -> Content {
    let mut bytes = Vec::new();
    let read: io::Result<usize> = file.take(TEXT_BYTES + 1).read_to_end(&mut bytes);
    if read.is_err() {
        return Content::Gone;
    }
    let has_nul = bytes.iter().take(SNIFFED).any(|byte| *byte == 0);
    if has_nul || bytes.len() as u64 > TEXT_BYTES {
        return Content::Binary;
    }
    Content::Text(String::from_utf8_lossy(&bytes).into_owned())
}

fn compare(old: &str, new: &str) -> Body {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let mut hunks = Vec::new();
    let (mut added, mut removed) = (0, 0);
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let mut lines = Vec::new();
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => Sign::Same,
                ChangeTag::Insert => Sign::Added,
                ChangeTag::Delete => Sign::Removed,
            };
            added += usize::from(sign == Sign::Added);
            removed += usize::from(sign == Sign::Removed);
            let text = change.value();
            lines.push(DiffLine {
                sign,
                text: Untrusted::new(text.strip_suffix('\n').unwrap_or(text)),
                is_unended: change.missing_newline(),
            });
        }
        hunks.push(Hunk {
            old: stretch(first.old_range().start, last.old_range().end),
            new: stretch(first.new_range().start, last.new_range().end),
            lines,
        });
    }
    Body::Text {
        hunks,
        added,
        removed,
    }
}

/// First line, from 1, and number of lines; an empty stretch is named by the line before it.
fn stretch(start: usize, end: usize) -> (usize, usize) {
    match end - start {
        0 => (start, 0),
        count => (start + 1, count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_named_as_patches_name_them() {
        let Body::Text {
            hunks,
            added,
            removed,
        } = compare("a\nb\nc\n", "a\nB\nc\nd")
        else {
            unreachable!("both are text");
        };
        assert_eq!((added, removed), (2, 1));
        assert_eq!((hunks[0].old, hunks[0].new), ((1, 3), (1, 4)));
        assert!(hunks[0].lines.last().unwrap().is_unended);
        assert_eq!(stretch(0, 0), (0, 0));
    }
}
