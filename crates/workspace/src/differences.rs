//! Where a copy differs from its base, before anybody judges it.

use std::collections::HashMap;

use crate::CopyError;
use crate::entry::Seen;
use crate::limits::ENTRIES;
use crate::rel_path::RelPath;
use deputize_authority::Refusal;

/// What is known about a path in the base.
#[derive(Debug, Clone)]
pub(crate) enum Was {
    /// It stands in the record of bases.
    Recorded,
    /// It is as the person's folder has it now; `None` where nothing is.
    Live(Option<Seen>),
    /// It was like this when the copy was made.
    Copied(Seen),
}

/// Whether the person's ignore rules leave a path out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ignored {
    No,
    Yes,
}

/// A path that the copy touched. It may turn out to be as it was.
#[derive(Debug, Clone)]
pub(crate) struct Difference {
    pub(crate) path: RelPath,
    /// What the copy has there; `None` where it took something away.
    pub(crate) new: Option<Seen>,
    pub(crate) was: Was,
    /// The time of the file system at which the copy touched it, or earlier; 0 where none is known.
    pub(crate) touched: i64,
    pub(crate) ignored: Ignored,
    /// Why it can't be understood.
    pub(crate) trouble: Option<&'static str>,
}

/// All differences of a copy, in the order of their paths.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    pub(crate) all: Vec<Difference>,
    /// Folders of which everything that the base had was listed.
    pub(crate) emptied: Vec<RelPath>,
    /// Bytes that the copy takes.
    pub(crate) bytes: u64,
    /// How many names each file with several names has in the copy.
    pub(crate) names: HashMap<(u64, u64), u32>,
    entries: usize,
}

impl Differences {
    /// Counts an entry of the copy.
    pub(crate) fn count(&mut self, seen: &Seen) -> Result<(), CopyError> {
        self.entries += 1;
        if self.entries > ENTRIES {
            return Err(too_many(ENTRIES).into());
        }
        let names = self.names.entry((seen.device, seen.inode));
        if seen.links > 1 && !matches!(seen.what, crate::What::Folder) {
            let names = names.or_default();
            *names += 1;
            if *names > 1 {
                return Ok(());
            }
        }
        self.bytes = self.bytes.saturating_add(seen.allocated);
        Ok(())
    }
}

pub(crate) fn too_many(limit: usize) -> Refusal {
    Refusal::new(
        "copy_too_large",
        "workspace",
        format!("the copy has more than {limit} entries"),
        "look at it below the run's folder, take what you want by hand, then `deputize discard` it",
    )
}
