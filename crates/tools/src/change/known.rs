//! What the child knows of files: their contents when it last read or wrote them (C3).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Hash;
use crate::limits::REMEMBERED_FILES;
use crate::output::ToolFailure;

/// Contents by canonical path.
#[derive(Debug, Default)]
pub(crate) struct Known {
    contents: HashMap<PathBuf, Hash>,
}

/// What the child knows of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastSeen {
    /// It never read or wrote it.
    Never,
    /// It had this content.
    Content(Hash),
}

impl Known {
    pub(crate) fn last_seen(&self, canonical: &Path) -> LastSeen {
        match self.contents.get(canonical) {
            None => LastSeen::Never,
            Some(hash) => LastSeen::Content(*hash),
        }
    }

    pub(crate) fn remember(&mut self, canonical: &Path, hash: Hash) {
        if self.contents.len() >= REMEMBERED_FILES {
            // Whatever is forgotten has to be read again before it is changed.
            self.contents.clear();
        }
        self.contents.insert(canonical.to_owned(), hash);
    }
}

impl LastSeen {
    /// A change is made from what is there now, and only if the child has seen that.
    pub(crate) fn matches(self, now: Hash, shown: &str) -> Result<(), ToolFailure> {
        match self {
            Self::Content(then) if then == now => Ok(()),
            Self::Content(_) => Err(ToolFailure::new(
                "stale",
                format!(
                    "`{shown}` changed since it was read: its content is now {now}. Read it again, \
                     then make the change from what is there"
                ),
            )),
            Self::Never => Err(ToolFailure::new(
                "stale",
                format!(
                    "`{shown}` exists and was not read: its content is {now}. Read it before it is \
                     replaced, or use edit"
                ),
            )),
        }
    }
}
