//! Looking at a copy: what it changed so far, and what the base was.

use std::collections::BTreeSet;

use crate::CopyError;
use crate::bases::{Base, Basis};
use crate::beneath::{Anchor, is_absence};
use crate::copy::WorkingCopy;
use crate::differences::{Difference, Differences, Ignored, Was};
use crate::digest;
use crate::entry::{Seen, What};
use crate::error::Doing as _;
use crate::judge::Judge;
use crate::limits::{MANIFEST_BYTES, OBSERVED_BYTES};
use crate::manifest::{Change, ChangeKind, Disposition, Manifest, State};
use crate::named::Named;
use crate::overlay::is_hollow;
use crate::rel_path::RelPath;
use crate::view::View;

/// What a copy came to so far, for a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Files and links that are others than in the base, ignored ones left out.
    pub changed_files: u64,
    /// Bytes that the copy's files have.
    pub bytes: u64,
}

impl WorkingCopy {
    /// Records what the base was at every path that the copy touched since the last time. The
    /// supervisor calls it after each tool call that may have changed something.
    ///
    /// # Errors
    /// When the copy or the base can't be read, or the record can't be written.
    pub fn observe(&mut self) -> Result<Observed, CopyError> {
        let (top, base) = (self.top()?, self.base()?);
        let found = self.look(&top, &base)?;
        let bytes = found.bytes;
        let changes = self.judged(&top, &base, found, OBSERVED_BYTES)?;
        let counted = changes.iter().filter(|change| {
            let folder = |state: &State| state.what == What::Folder;
            let only_folders = change.new.iter().chain(&change.old).all(folder);
            !only_folders && change.disposition != Disposition::Skip
        });
        Ok(Observed {
            changed_files: counted.count() as u64,
            bytes,
        })
    }

    /// Every change, judged. What wasn't recorded yet is recorded first, so that the manifest is the
    /// same as long as the copy is.
    ///
    /// # Errors
    /// As [`WorkingCopy::observe`].
    pub fn changes(&mut self) -> Result<Manifest, CopyError> {
        if self.is_snapshot() {
            return self.written();
        }
        let (top, base) = (self.top()?, self.base()?);
        let found = self.look(&top, &base)?;
        Ok(Manifest::of(self.judged(
            &top,
            &base,
            found,
            MANIFEST_BYTES,
        )?))
    }

    fn look(&mut self, top: &Anchor, base: &Anchor) -> Result<Differences, CopyError> {
        let began = self.bases.now()?;
        let found = self.differences(top, base)?;
        for difference in &found.all {
            self.remember(difference, base)?;
        }
        for folder in &found.emptied {
            if !self.bases.is_emptied(folder) {
                self.bases.record_emptied(folder.clone());
            }
        }
        if began > self.bases.observed() && self.bases.has_news() {
            self.bases.record_observed(began);
        }
        self.bases.flush()?;
        Ok(found)
    }

    /// Records the base of a difference that has none yet.
    fn remember(&mut self, difference: &Difference, base: &Anchor) -> Result<(), CopyError> {
        // What is left out is never applied, so nobody asks for its base.
        if difference.ignored == Ignored::Yes {
            return Ok(());
        }
        let recorded = match &difference.was {
            Was::Recorded => return Ok(()),
            Was::Live(None) => Base {
                was: None,
                digest: None,
                basis: Basis::Sure,
            },
            Was::Live(Some(seen)) => {
                let trusted = difference.touched.max(self.bases.observed());
                let basis = if seen.ctime < trusted {
                    Basis::Sure
                } else {
                    Basis::Unsure
                };
                base_of(base, difference, seen, basis)?
            }
            Was::Copied(_) if self.bases.get(&difference.path).is_some() => return Ok(()),
            // What the child began from is what git made, whatever the person's folder holds.
            Was::Copied(seen) if self.record().kind == crate::CopyKind::Worktree => {
                let index = self.index.as_ref();
                let copied = index.and_then(|index| index.get(&difference.path));
                Base {
                    was: Some(seen.clone()),
                    digest: copied.and_then(|copied| copied.digest.clone()),
                    basis: Basis::Sure,
                }
            }
            Was::Copied(seen) => {
                let live = base
                    .look(&difference.path)
                    .doing("look at", difference.path.as_path())?;
                match live {
                    Some(live) if live.stamp() == seen.stamp() => {
                        base_of(base, difference, seen, Basis::Sure)?
                    }
                    // What the child began from is gone.
                    _ => Base {
                        was: Some(seen.clone()),
                        digest: None,
                        basis: Basis::Unsure,
                    },
                }
            }
        };
        self.bases.record(difference.path.clone(), recorded);
        Ok(())
    }

    fn judged(
        &mut self,
        top: &Anchor,
        base: &Anchor,
        found: Differences,
        most_hashed: u64,
    ) -> Result<Vec<Change>, CopyError> {
        let mut left = most_hashed;
        let view = View {
            top,
            below: self.is_overlay().then_some(base),
        };
        let of = self.record().base.clone();
        let mut judge = Judge::new(view, &found.names, Named::new(base, &of));
        let mut changes = Vec::new();
        for difference in found.all {
            if difference.ignored == Ignored::Yes {
                changes.push(skipped(&difference));
                continue;
            }
            let mut difference = difference;
            let new = self.new_state(top, &mut difference, &mut left)?;
            let Some(base) = self.bases.get(&difference.path) else {
                continue;
            };
            let old = base
                .was
                .as_ref()
                .map(|seen| state(seen, base.digest.clone()));
            let basis = base.basis;
            let kind = match (&old, &new) {
                (None, None) => continue,
                (Some(_), None) => ChangeKind::Deleted,
                (None, Some(_)) => ChangeKind::Created,
                (Some(old), Some(new)) if same(old, new) && difference.trouble.is_none() => {
                    continue;
                }
                (Some(_), Some(_)) => ChangeKind::Modified,
            };
            let disposition = judge.disposition(&difference, base.was.as_ref());
            changes.push(Change {
                path: difference.path,
                kind,
                old,
                new,
                basis,
                disposition,
            });
        }
        hold_links_through(&mut changes, top);
        Ok(changes)
    }

    /// What the copy has at a path, with its digest; what can't be read is marked as trouble.
    fn new_state(
        &mut self,
        top: &Anchor,
        difference: &mut Difference,
        left: &mut u64,
    ) -> Result<Option<State>, CopyError> {
        let Some(seen) = difference.new.clone() else {
            return Ok(None);
        };
        let known = self.digests.get(&difference.path);
        let digest = match known {
            Some((stamp, digest)) if *stamp == seen.stamp() => Some(digest.clone()),
            // Holes are read like anything else, so the size counts, not what is on the disk.
            _ if seen.what == What::File && seen.size > *left => {
                difference.trouble = Some("there is too much content to compare");
                None
            }
            _ => match content(top, &difference.path, &seen) {
                Ok(Content::Digest(digest)) => {
                    *left = left.saturating_sub(seen.size);
                    let entry = (seen.stamp(), digest.clone());
                    self.digests.insert(difference.path.clone(), entry);
                    Some(digest)
                }
                Ok(Content::None) => None,
                Ok(Content::Hollow) => {
                    difference.trouble = Some("it has marks of an overlay that isn't ours");
                    None
                }
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    difference.trouble = Some("it can't be read");
                    None
                }
                // A child that works on may have removed it meanwhile; the next look tells.
                Err(error) if is_absence(&error) => {
                    difference.trouble = Some("it changed while it was read");
                    None
                }
                Err(error) => {
                    return Err(error).doing("read the copy's", difference.path.as_path());
                }
            },
        };
        Ok(Some(state(&seen, digest)))
    }

    fn is_overlay(&self) -> bool {
        self.record().kind == crate::CopyKind::Overlay
    }
}

/// A change that is left out: nothing of it is read.
fn skipped(difference: &Difference) -> Change {
    let was = match &difference.was {
        Was::Live(seen) => seen.as_ref(),
        Was::Copied(seen) => Some(seen),
        Was::Recorded => None,
    };
    let kind = match (was, &difference.new) {
        (None, _) => ChangeKind::Created,
        (Some(_), Some(_)) => ChangeKind::Modified,
        (Some(_), None) => ChangeKind::Deleted,
    };
    Change {
        path: difference.path.clone(),
        kind,
        old: None,
        new: None,
        basis: Basis::Sure,
        disposition: Disposition::Skip,
    }
}

fn state(seen: &Seen, digest: Option<String>) -> State {
    State {
        what: seen.what,
        digest,
        size: if seen.what == What::File {
            seen.size
        } else {
            0
        },
        mode: match seen.what {
            What::Link => 0,
            _ => seen.permissions(),
        },
    }
}

/// Whether nothing that is applied differs.
fn same(old: &State, new: &State) -> bool {
    old.same_content(new) && old.mode == new.mode
}

enum Content {
    Digest(String),
    /// Folders and special files have none.
    None,
    /// A file whose content the kernel keeps elsewhere.
    Hollow,
}

/// Holds links that lead through something that isn't applied: where they would lead then, the copy
/// doesn't show.
fn hold_links_through(changes: &mut [Change], top: &Anchor) {
    let apart: BTreeSet<RelPath> = changes
        .iter()
        .filter(|change| change.disposition != Disposition::Apply)
        .map(|change| change.path.clone())
        .collect();
    let is_apart = |path: &RelPath| {
        let mut part = Some(path.clone());
        while let Some(place) = part.filter(|place| !place.is_top()) {
            if apart.contains(&place) {
                return true;
            }
            part = place.folder();
        }
        false
    };
    for change in changes {
        let link = change
            .new
            .as_ref()
            .is_some_and(|new| new.what == What::Link);
        if !link || change.disposition != Disposition::Apply {
            continue;
        }
        let places = top
            .target(&change.path)
            .map(|target| crate::view::places(&change.path, &target));
        if places.is_err() || places.is_ok_and(|places| places.iter().any(is_apart)) {
            change.disposition =
                Disposition::Hold("it leads through something that isn't applied".to_owned());
        }
    }
}

fn content(layer: &Anchor, path: &RelPath, seen: &Seen) -> std::io::Result<Content> {
    Ok(match seen.what {
        What::File => {
            let mut file = layer.file(path)?;
            if is_hollow(&file) {
                return Ok(Content::Hollow);
            }
            Content::Digest(digest::of_file(&mut file)?)
        }
        What::Link => Content::Digest(digest::of_bytes(&layer.target(path)?)),
        What::Folder | What::Fifo | What::Socket | What::Device => Content::None,
    })
}

/// The base as it is now; unsure when it changes while it is read.
fn base_of(
    base: &Anchor,
    difference: &Difference,
    seen: &Seen,
    basis: Basis,
) -> Result<Base, CopyError> {
    let unsure = |digest| Base {
        was: Some(seen.clone()),
        digest,
        basis: Basis::Unsure,
    };
    let digest = match content(base, &difference.path, seen) {
        Ok(Content::Digest(digest)) => Some(digest),
        Ok(Content::None | Content::Hollow) => None,
        Err(error)
            if is_absence(&error) || error.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            return Ok(unsure(None));
        }
        Err(error) => return Err(error).doing("read", difference.path.as_path()),
    };
    let after = base
        .look(&difference.path)
        .doing("look at", difference.path.as_path())?;
    if after.is_none_or(|after| after.stamp() != seen.stamp()) {
        return Ok(unsure(digest));
    }
    Ok(Base {
        was: Some(seen.clone()),
        digest,
        basis,
    })
}
