//! What a person asks to be applied.

use deputize_authority::Refusal;

use crate::CopyError;
use crate::entry::What;
use crate::manifest::{Change, Disposition, Manifest, State};
use crate::rel_path::RelPath;

/// What is to be applied.
#[derive(Debug, Clone, Default)]
pub struct ApplyRequest {
    /// The hash of the manifest that was reviewed, or a beginning of it that is long enough.
    pub manifest: Option<String>,
    /// Paths that are held back and applied all the same, with what lies in them.
    pub include: Vec<RelPath>,
}

/// Digits of a hash that tell one manifest from another.
const SHORTEST_HASH: usize = 12;

impl ApplyRequest {
    /// Whether a manifest is the one that was reviewed.
    pub(crate) fn check(&self, manifest: &Manifest) -> Result<(), CopyError> {
        let Some(reviewed) = &self.manifest else {
            return Ok(());
        };
        if reviewed.len() >= SHORTEST_HASH && manifest.digest.starts_with(reviewed.as_str()) {
            return Ok(());
        }
        Err(changed(&manifest.digest).into())
    }

    /// The changes that are applied.
    pub(crate) fn select<'m>(&self, manifest: &'m Manifest) -> Result<Vec<&'m Change>, CopyError> {
        for wanted in &self.include {
            self.can_include(wanted, manifest)?;
        }
        let named = |change: &Change| {
            self.include.iter().any(|wanted| {
                // The folders on the way come along: without them it has no place.
                change.path.lies_in(wanted) || wanted.lies_in(&change.path)
            })
        };
        let chosen = |change: &&Change| match change.disposition {
            Disposition::Apply => true,
            Disposition::Hold(_) => named(change),
            Disposition::Skip | Disposition::Refuse(_) => false,
        };
        // What took a folder's place and stays out leaves the folder with all that it holds.
        let stays: Vec<&RelPath> = manifest
            .changes
            .iter()
            .filter(|change| replaces_folder(change) && !chosen(change))
            .map(|change| &change.path)
            .collect();
        let free = |change: &&Change| !stays.iter().any(|path| change.path.lies_in(path));
        let all = manifest.changes.iter();
        Ok(all.filter(chosen).filter(free).collect())
    }

    fn can_include(&self, wanted: &RelPath, manifest: &Manifest) -> Result<(), CopyError> {
        let mut below = manifest
            .changes
            .iter()
            .filter(|change| change.path.lies_in(wanted));
        let exact = manifest
            .changes
            .iter()
            .find(|change| change.path == *wanted);
        if let Some(Disposition::Refuse(why)) = exact.map(|change| &change.disposition) {
            return Err(Refusal::new(
                "include_refused",
                "include",
                format!("`{}` is never applied: {why}", wanted.shown()),
                "leave it out, and take it from the copy by hand if you trust it",
            )
            .into());
        }
        if let Some(Disposition::Skip) = exact.map(|change| &change.disposition) {
            return Err(Refusal::new(
                "include_ignored",
                "include",
                format!("`{}` is ignored by your ignore rules", wanted.shown()),
                "leave it out, and take it from the copy by hand if you want it",
            )
            .into());
        }
        if below.any(|change| matches!(change.disposition, Disposition::Hold(_))) {
            return Ok(());
        }
        Err(Refusal::new(
            "include_unknown",
            "include",
            format!("nothing at `{}` is held back", wanted.shown()),
            "`deputize diff RUN` lists what is held back",
        )
        .into())
    }
}

fn replaces_folder(change: &Change) -> bool {
    let what = |state: &Option<State>| state.as_ref().map(|state| state.what);
    what(&change.old) == Some(What::Folder)
        && what(&change.new).is_some_and(|what| what != What::Folder)
}

pub(crate) fn changed(digest: &str) -> Refusal {
    Refusal::new(
        "manifest_changed",
        "manifest",
        format!("the copy isn't the one that was reviewed; its manifest is {digest} now"),
        "look at `deputize diff RUN` again",
    )
}
