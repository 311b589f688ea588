//! What an answer shows of a change: how much, and its first lines.

use crate::limits::{MATCH_CHARS, WINDOW_LINES};
use crate::output::{Draft, count};
use crate::text::cut;

/// The changes of one call.
#[derive(Debug, Default)]
pub(super) struct Window {
    added: u64,
    removed: u64,
    places: u64,
    shown: Vec<String>,
    more: u64,
}

impl Window {
    /// Whether more of a change would be shown.
    pub(super) fn has_room(&self) -> bool {
        self.shown.len() < WINDOW_LINES
    }

    /// A change that is only counted.
    pub(super) fn count(&mut self, before: &str, after: &str) {
        self.places += 1;
        self.removed += before.lines().count() as u64;
        self.added += after.lines().count() as u64;
        self.more += 1;
    }

    /// A change of whole lines, from a line counted from 1.
    pub(super) fn add(&mut self, line: u64, before: &str, after: &str) {
        self.places += 1;
        let before: Vec<&str> = before.lines().collect();
        let after: Vec<&str> = after.lines().collect();
        let same = |(a, b): &(&&str, &&str)| a == b;
        let head = before.iter().zip(&after).take_while(same).count();
        let (before, after) = (&before[head..], &after[head..]);
        let tail = before.iter().rev().zip(after.iter().rev());
        let tail = tail.take_while(same).count();
        let before = &before[..before.len() - tail];
        let after = &after[..after.len() - tail];
        self.removed += before.len() as u64;
        self.added += after.len() as u64;
        if before.is_empty() && after.is_empty() {
            return;
        }
        self.show_line(format!("@ line {}", line + head as u64));
        for (mark, lines) in [('-', before), ('+', after)] {
            for line in lines {
                self.show_line(format!("{mark}{}", cut(line, MATCH_CHARS)));
            }
        }
    }

    fn show_line(&mut self, line: String) {
        if self.has_room() {
            self.shown.push(line);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn places(&self) -> u64 {
        self.places
    }

    /// `3 lines added, 1 line removed`.
    pub(super) fn counted(&self) -> String {
        format!(
            "{} added, {} removed",
            count(self.added, "line", "lines"),
            count(self.removed, "line", "lines")
        )
    }

    pub(super) fn show(self, draft: &mut Draft) {
        for line in &self.shown {
            draft.line(line);
        }
        if self.more > 0 {
            draft.note(format!(
                "{} not shown",
                count(self.more, "more line", "more lines")
            ));
        }
    }
}
