//! The search as a whole.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use deputize_authority::SecretRules;

use super::listing::Listing;
use super::matcher::Matcher;
use super::open::{Opened, read_text};
use super::order::{Found, Scored, best};
use super::path_kind::PathKind;
use super::places::{Candidate, pick};
use super::report::{Place, Summary, line};
use super::tally::{Counting, Tally};
use super::terms::{Term, parse};
use super::view::Source;
use crate::beneath::Beneath;
use crate::limits::SEARCH_TIME;
use crate::output::{Draft, Room, ToolFailure, ToolOutput};
use crate::tree;

/// The most places that are shown, and how many are when the call names no limit.
const MAX_PLACES: usize = 50;
const PLACES: usize = 12;

/// How many of the best files are looked at line by line.
const FILES_LOOKED_INTO: usize = 40;

/// What a further place of the same file is worth beside the one before it.
const SAME_FILE: f32 = 0.65;

/// What a further place of the same name or text is worth beside the one before it.
const SAME_NAME: f32 = 0.5;

/// What the best file's score adds to a place, beside what the place is in itself.
const FILE_SHARE: f32 = 0.5;

/// Searches a file, or what lies below a folder, for the places that have most to do with `terms`.
///
/// Paths in the result are relative to `workspace` where they lie in it.
pub(crate) fn rank(
    place: &Beneath<'_>,
    workspace: &Path,
    terms: &[String],
    limit: Option<u64>,
    secrets: &SecretRules,
) -> Result<ToolOutput, ToolFailure> {
    let mut draft = Draft::new();
    let deadline = Instant::now() + SEARCH_TIME;
    let terms = parse(terms);
    if terms.is_empty() {
        return Err(ToolFailure::new(
            "no_terms",
            "no term has a letter or a digit: name words or identifiers to look for",
        ));
    }
    let matcher = Matcher::new(&terms).map_err(|error| {
        ToolFailure::new(
            "terms_too_large",
            format!("use fewer or shorter terms: {error}"),
        )
    })?;
    let listing = Listing::of(place, workspace, secrets)?;
    let tally = Counting::new(&listing, &matcher, deadline).run();
    let limit = limit.map_or(PLACES, |limit| usize::try_from(limit).unwrap_or(MAX_PLACES));
    let places = Looking {
        listing: &listing,
        terms: &terms,
        matcher: &matcher,
        deadline,
    }
    .places(&tally, limit.min(MAX_PLACES));
    write(&mut draft, &listing, &terms, &tally, &places);
    Ok(draft.finish())
}

/// The second pass over the best files.
struct Looking<'a> {
    listing: &'a Listing<'a>,
    terms: &'a [Term],
    matcher: &'a Matcher,
    deadline: Instant,
}

impl Looking<'_> {
    /// The best places of the best files, best first.
    fn places(&self, tally: &Tally, limit: usize) -> Vec<Place> {
        let kind = |found: &Found| self.kind(found);
        let (scored, worth) = best(
            &tally.found,
            self.terms,
            tally.totals,
            FILES_LOOKED_INTO,
            kind,
        );
        let top = scored.first().map_or(1.0, |scored| scored.score);
        let mut buffer = Vec::new();
        let mut candidates: Vec<Candidate> = Vec::new();
        for Scored { found, score } in scored {
            if Instant::now() > self.deadline {
                break;
            }
            let found = &tally.found[found];
            let Some(name) = self.listing.name(found.file) else {
                continue;
            };
            let path = &self.listing.files[found.file];
            let Opened::Text(bytes) = read_text(self.listing.folder, path, &mut buffer) else {
                continue;
            };
            let source = Source {
                path: &name,
                bytes,
                found,
                deadline: self.deadline,
            };
            let mut share = kind(found).weight() * (1.0 - FILE_SHARE + FILE_SHARE * score / top);
            for mut candidate in pick(&source, self.terms, &worth, self.matcher) {
                candidate.score *= share;
                share *= SAME_FILE;
                candidates.push(candidate);
            }
        }
        let mut candidates = vary(candidates);
        candidates.truncate(limit);
        candidates
            .into_iter()
            .map(|candidate| candidate.place)
            .collect()
    }

    fn kind(&self, found: &Found) -> PathKind {
        match self.listing.name(found.file) {
            Some(name) if !found.generated => PathKind::of(&name),
            _ => PathKind::Generated,
        }
    }
}

/// Sorts places, best first. Of those of the same name, as copies and bindings have them, all but
/// the best step back behind others.
fn vary(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    // Stable: of equal places, that of the better file comes first.
    let sort = |candidates: &mut Vec<Candidate>| {
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    };
    sort(&mut candidates);
    let mut shares: HashMap<String, f32> = HashMap::new();
    for candidate in &mut candidates {
        let place = &candidate.place;
        let name = place.name.clone().filter(|_| !place.within);
        let share = shares
            .entry(name.unwrap_or_else(|| place.text.clone()))
            .or_insert(1.0);
        candidate.score *= *share;
        *share *= SAME_NAME;
    }
    sort(&mut candidates);
    candidates
}

fn write(
    draft: &mut Draft,
    listing: &Listing<'_>,
    terms: &[Term],
    tally: &Tally,
    places: &[Place],
) {
    let counted = terms.iter().enumerate().map(|(index, term)| {
        let has = tally
            .found
            .iter()
            .filter(|found| found.counts.has_own(index));
        (term.shown.clone(), has.count())
    });
    let summary = Summary {
        files_searched: tally.totals.files,
        files_matched: tally.found.len(),
        terms: counted.collect(),
        skipped_binary: tally.binary,
        skipped_large: tally.large,
        skipped_unreadable: tally.unreadable,
    };
    draft.files_seen = tally.totals.files as u64;
    draft.line(&line(&summary));
    for place in places {
        if draft.line(&line(place)) == Room::Full {
            draft.truncated = Some("fewer places than found: call with a smaller limit".to_owned());
            break;
        }
    }
    let found = if places.is_empty() {
        tree::Found::Nothing
    } else {
        tree::Found::Something
    };
    listing.walked.say(draft, found);
    if let Some(reason) = tally.stopped {
        draft.note(format!("the search ended early: {reason}"));
    }
}
