//! Orders files by how much they have to do with the terms (BM25 over several fields).

use super::count::Counts;
use super::path_kind::PathKind;
use super::terms::Term;

/// A file that holds a term, in its content or its path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Its place in the listing.
    pub(super) file: usize,
    /// What its content holds.
    pub(super) counts: Counts,
    /// A bit per term in the file's own name.
    pub(super) in_name: u32,
    /// A bit per term in its whole path.
    pub(super) in_path: u32,
    /// It says of itself that a program wrote it.
    pub(super) generated: bool,
}

/// What is known of the tree as a whole.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    /// Text files that were read.
    pub(super) files: usize,
    /// Their bytes.
    pub(super) bytes: u64,
}

/// How fast repetition stops to count.
const K1: f32 = 1.5;
/// How much a file's length counts against it.
const B: f32 = 0.5;
/// A definition counts as this many mentions, and the first few do.
const DEFINITION: f32 = 4.0;
const MAX_DEFINITIONS: f32 = 3.0;
/// A term in the file's name, and elsewhere in its path, as mentions.
const IN_NAME: f32 = 5.0;
const IN_PATH: f32 = 2.0;
/// What remains of the score of a file that holds the least of the terms' weight.
const LEAST_COVERAGE: f32 = 0.25;

/// A file with its score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored {
    /// Its index among the files found.
    pub(super) found: usize,
    /// Above 0; comparable within one search.
    pub(super) score: f32,
}

/// The best files, best first, and what each term is worth.
pub(super) fn best(
    found: &[Found],
    terms: &[Term],
    totals: Totals,
    keep: usize,
    kind: impl Fn(&Found) -> PathKind,
) -> (Vec<Scored>, Vec<f32>) {
    let worth = worth(found, terms, totals.files);
    let whole = whole(&worth, terms);
    let average = average_length(totals);
    let mut scored: Vec<Scored> = found
        .iter()
        .enumerate()
        .map(|(at, found)| {
            let norm = 1.0 - B + B * lossy(found.counts.length as usize) / average;
            let mut score = 0.0;
            let mut covered = 0.0;
            for (index, worth) in worth.iter().enumerate() {
                let weighted = weighted_frequency(found, index, norm);
                score += worth * weighted / (K1 + weighted);
                // A single mention covers a term by half; a file that is about it, wholly.
                if !terms[index].phrase {
                    covered += worth * weighted / (1.0 + weighted);
                }
            }
            let coverage = LEAST_COVERAGE + (1.0 - LEAST_COVERAGE) * covered / whole;
            Scored {
                found: at,
                score: score * coverage * kind(found).weight(),
            }
        })
        .filter(|scored| scored.score > 0.0)
        .collect();
    // The listing's order breaks ties, so that the same tree gives the same answer.
    scored.sort_unstable_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| found[a.found].file.cmp(&found[b.found].file))
    });
    scored.truncate(keep);
    (scored, worth)
}

/// What each term is worth. Rare words are worth more; a phrase is as rare as its words may be, so
/// it is worth what they are on average: a line that has a phrase by chance must not outweigh a file
/// about its words.
fn worth(found: &[Found], terms: &[Term], files: usize) -> Vec<f32> {
    let mut worth: Vec<f32> = terms
        .iter()
        .enumerate()
        .map(|(index, term)| term.weight * rarity(found, index, files))
        .collect();
    let words = worth.iter().zip(terms);
    let words = words
        .filter(|(worth, term)| !term.phrase && **worth > 0.0)
        .count();
    let mean = whole(&worth, terms) / lossy(words.max(1));
    for (worth, term) in worth.iter_mut().zip(terms) {
        if term.phrase {
            *worth = worth.min(term.weight * mean);
        } else if term.asks {
            // Decisions stand for it where the word itself is nowhere.
            *worth = worth.max(term.weight * mean);
        }
    }
    worth
}

/// What a place would be worth that held every term, but for phrases.
pub(super) fn whole(worth: &[f32], terms: &[Term]) -> f32 {
    let words = worth.iter().zip(terms).filter(|(_, term)| !term.phrase);
    words
        .map(|(worth, _)| worth)
        .sum::<f32>()
        .max(f32::MIN_POSITIVE)
}

fn weighted_frequency(found: &Found, term: usize, norm: f32) -> f32 {
    let bit = 1 << term;
    let in_name = if found.in_name & bit != 0 {
        IN_NAME
    } else {
        0.0
    };
    let in_path = if found.in_path & bit != 0 {
        IN_PATH
    } else {
        0.0
    };
    found.counts.frequency(term) / norm
        + DEFINITION * found.counts.definitions(term).min(MAX_DEFINITIONS)
        + in_name
        + in_path
}

/// Rare terms are worth more. A term whose alternatives alone occur is as rare as they are.
fn rarity(found: &[Found], term: usize, files: usize) -> f32 {
    let bit = 1 << term;
    let own = found
        .iter()
        .filter(|found| found.counts.has_own(term) || found.in_path & bit != 0)
        .count();
    let with = if own > 0 {
        own
    } else {
        found.iter().filter(|found| found.counts.has(term)).count()
    };
    if with == 0 {
        return 0.0;
    }
    let (files, with) = (lossy(files.max(with)), lossy(with));
    (1.0 + (files - with + 0.5) / (with + 0.5)).ln()
}

fn average_length(totals: Totals) -> f32 {
    let files = u64::try_from(totals.files.max(1)).unwrap_or(u64::MAX);
    lossy(usize::try_from(totals.bytes / files).unwrap_or(usize::MAX)).max(1.0)
}

/// Scores need no exact numbers.
#[expect(clippy::cast_precision_loss, reason = "scores need no exact numbers")]
fn lossy(number: usize) -> f32 {
    number as f32
}
