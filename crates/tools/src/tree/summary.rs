//! What a walk left out, and how results say so.

use std::path::PathBuf;

use crate::output::{Draft, count};
use crate::text::shown_name;

/// Ignored names that a summary repeats.
pub(super) const NAMED_IGNORED: usize = 3;

/// What a walk left out.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// Entries that ignore rules left out; what is in an ignored folder isn't counted.
    pub(crate) ignored: u64,
    /// The first of them.
    pub(crate) named: Vec<PathBuf>,
    /// Secrets that were left out.
    pub(crate) secrets: u64,
    /// Folders that couldn't be entered.
    pub(crate) unreadable: u64,
    /// Ignore files that were too large to obey in full.
    pub(crate) ignores_cut: u64,
    /// Why the walk ended early, if it did.
    pub(crate) stopped: Option<String>,
}

/// Whether a search has results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// It has.
    Something,
    /// It has none: then what was ignored may be what was meant.
    Nothing,
}

impl Summary {
    /// Adds notes about what was left out.
    pub(crate) fn say(&self, draft: &mut Draft, found: Found) {
        if let Some(reason) = &self.stopped {
            draft.note(format!("the search ended early: {reason}"));
        }
        if found == Found::Nothing && self.ignored > 0 {
            let named: Vec<String> = self.named.iter().map(|path| shown_name(path)).collect();
            let more = if self.ignored > self.named.len() as u64 {
                ", …"
            } else {
                ""
            };
            draft.note(format!(
                "{} by .gitignore and not searched: {}{more}; name an ignored folder in `path` to \
                 search it",
                count(self.ignored, "entry is ignored", "entries are ignored"),
                named.join(", ")
            ));
        }
        for (number, one, many, what) in [
            (self.secrets, "secret was", "secrets were", "left out"),
            (
                self.unreadable,
                "folder could",
                "folders could",
                "not be read",
            ),
            (
                self.ignores_cut,
                "ignore file was",
                "ignore files were",
                "too large to obey in full",
            ),
        ] {
            if number > 0 {
                draft.note(format!("{} {what}", count(number, one, many)));
            }
        }
    }
}
