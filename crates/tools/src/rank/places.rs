//! The second pass: which lines of a good file to show.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

use super::lines::{Lines, is_comment};
use super::matcher::{Hit, Matcher};
use super::order::{Found, whole};
use super::report::{Place, piece};
use super::symbols::{Symbol, find};
use super::terms::{MAX_TERMS, Term, parts};

/// The most hits of one file that are looked at; a file with more is a list of words.
const MAX_HITS: usize = 20_000;
/// The most lines of one file that are weighed.
const MAX_LINES: usize = 2_000;
/// The most places of one file.
const MAX_PLACES: usize = 8;
/// The most places within one definition, besides its beginning.
const MAX_WITHIN: usize = 1;
/// Places closer than this show the same thing twice.
const APART: usize = 4;
/// How many lines around a line count for it.
const NEAR: usize = 3;
/// How many lines of a body count for a definition.
const BODY_LINES: usize = 60;
/// How many lines of comment above a definition count as its own.
const MAX_DOC_LINES: usize = 40;

/// What a term counts by where it stands, beside a definition's name.
mod counts_for {
    pub(super) const NAME: f32 = 1.0;
    pub(super) const DOC: f32 = 0.5;
    pub(super) const HOLDER: f32 = 0.5;
    pub(super) const BODY: f32 = 0.3;
    pub(super) const CODE: f32 = 0.6;
    pub(super) const COMMENT: f32 = 0.4;
    pub(super) const IMPORT: f32 = 0.15;
    pub(super) const NEARBY: f32 = 0.22;
    pub(super) const ENCLOSING_NAME: f32 = 0.4;
    pub(super) const FILE_NAME: f32 = 0.35;
    pub(super) const PATH: f32 = 0.2;
}

/// How much of a term must be there to have it.
const COVERED: f32 = 0.2;
/// What remains of the worth of a place that has no term to speak of.
const LEAST_COVERAGE: f32 = 0.4;
/// What `mod` and `impl` are worth beside definitions that do something.
const GROUPING: f32 = 0.55;
/// What definitions are worth that give something a name.
const NAMING: f32 = 0.8;
/// What is within a test module, beside other code.
const IN_TESTS: f32 = 0.3;

/// A file to pick from.
pub(super) struct Source<'a> {
    pub(super) path: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) found: &'a Found,
    /// Ends parsing.
    pub(super) deadline: Instant,
}

/// A place with its score: from 0 to about 1, where 1 is a definition named by all terms.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) score: f32,
    pub(super) place: Place,
}

/// Per term, how much of it there is; from 0 to 1.
type Strengths = [f32; MAX_TERMS];

/// The best places of a file, best first.
pub(super) fn pick(
    source: &Source<'_>,
    terms: &[Term],
    worth: &[f32],
    matcher: &Matcher,
) -> Vec<Candidate> {
    let hits: Vec<Hit> = matcher.hits(source.bytes).take(MAX_HITS).collect();
    let name = source.path.rsplit('/').next().unwrap_or_default();
    let view = View {
        lines: Lines::new(source.bytes),
        symbols: find(name, source.bytes, &hits, source.deadline),
        by_line: BTreeMap::new(),
        source,
        worth,
        terms,
        whole: whole(worth, terms),
    };
    view.with_hits(&hits).pick(&hits)
}

struct View<'a> {
    source: &'a Source<'a>,
    lines: Lines<'a>,
    symbols: Vec<Symbol>,
    by_line: BTreeMap<usize, Strengths>,
    terms: &'a [Term],
    worth: &'a [f32],
    whole: f32,
}

/// A place before its words are made.
struct Raw {
    score: f32,
    line: usize,
    symbol: Option<usize>,
    within: bool,
    strengths: Strengths,
}

impl Raw {
    /// Whether it is a definition, not a line in or outside one.
    fn begins(&self) -> bool {
        self.symbol.is_some() && !self.within
    }
}

impl View<'_> {
    fn with_hits(mut self, hits: &[Hit]) -> Self {
        for hit in hits {
            let line = self.lines.at(hit.start);
            if self.by_line.len() == MAX_LINES && !self.by_line.contains_key(&line) {
                break;
            }
            let strengths = self.by_line.entry(line).or_insert([0.0; MAX_TERMS]);
            raise(strengths, hit.term, hit.strength);
        }
        self
    }

    fn pick(&self, hits: &[Hit]) -> Vec<Candidate> {
        let tests = self.test_ranges();
        let mut docs: Vec<Range<usize>> = Vec::new();
        let mut raw: Vec<Raw> = Vec::new();
        for (index, symbol) in self.symbols.iter().enumerate() {
            let (place, doc) = self.weigh_symbol(index, symbol, hits);
            docs.push(doc);
            raw.extend(place);
        }
        for &line in self.by_line.keys() {
            let in_doc = docs.iter().any(|doc| doc.contains(&line));
            let starts = raw.iter().any(|raw| raw.begins() && raw.line == line);
            if !in_doc && !starts {
                raw.push(self.weigh_line(line, hits));
            }
        }
        for place in &mut raw {
            if tests.iter().any(|tests| tests.contains(&place.line)) {
                place.score *= IN_TESTS;
            }
        }
        raw.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.line.cmp(&b.line)));
        spread(raw)
            .into_iter()
            .map(|raw| self.candidate(&raw))
            .collect()
    }

    /// Weighs a definition; gives the lines of its comment too.
    fn weigh_symbol(
        &self,
        index: usize,
        symbol: &Symbol,
        hits: &[Hit],
    ) -> (Option<Raw>, Range<usize>) {
        let line = self.lines.at(symbol.name_bytes.start);
        let first = self.lines.at(symbol.bytes.start);
        let doc = self.doc_lines(first, line, symbol);
        let mut strengths = [0.0; MAX_TERMS];
        let named = self.add_hits(&mut strengths, hits, &symbol.name_bytes, counts_for::NAME);
        if let Some(holder) = &symbol.holder_bytes {
            self.add_hits(&mut strengths, hits, holder, counts_for::HOLDER);
        }
        // The comment above, and below where Python has it; then the body.
        self.add_lines(&mut strengths, doc.start..first, counts_for::DOC);
        self.add_lines(&mut strengths, line..doc.end, counts_for::DOC);
        let last = self.lines.at(symbol.bytes.end.saturating_sub(1));
        let body = line..(last + 1).min(line + BODY_LINES);
        self.add_lines(&mut strengths, body, counts_for::BODY);
        if strengths.iter().all(|strength| *strength == 0.0) {
            return (None, doc);
        }
        self.add_path(&mut strengths);
        let grouping = match symbol.kind {
            "mod" | "impl" | "namespace" => GROUPING,
            "const" | "static" | "variable" | "var" | "type" | "#define" => NAMING,
            _ => 1.0,
        };
        let raw = Raw {
            score: self.value(&strengths) * grouping * self.precision(symbol, named),
            line,
            symbol: Some(index),
            within: false,
            strengths,
        };
        (Some(raw), doc)
    }

    /// A name that says little else than the terms is worth more than one that has them among others.
    fn precision(&self, symbol: &Symbol, named: usize) -> f32 {
        let name = self.source.bytes.get(symbol.name_bytes.clone());
        let count = name.map_or(1, |name| parts(&String::from_utf8_lossy(name)).len());
        let share = f32::from(u8::try_from(named.min(count)).unwrap_or(u8::MAX))
            / f32::from(u8::try_from(count.max(1)).unwrap_or(u8::MAX));
        0.85 + 0.25 * share
    }

    fn weigh_line(&self, line: usize, hits: &[Hit]) -> Raw {
        let mut strengths = [0.0; MAX_TERMS];
        let share = share_of(self.lines.text(line));
        self.add_lines(&mut strengths, line..line + 1, share);
        let nearby = line.saturating_sub(NEAR)..line + NEAR + 1;
        self.add_lines(&mut strengths, nearby, counts_for::NEARBY.min(share));
        let symbol = self.enclosing(line);
        if let Some(symbol) = symbol.map(|index| &self.symbols[index]) {
            let share = counts_for::ENCLOSING_NAME.min(share);
            self.add_hits(&mut strengths, hits, &symbol.name_bytes, share);
            if let Some(holder) = &symbol.holder_bytes {
                self.add_hits(&mut strengths, hits, holder, share);
            }
        }
        self.add_path(&mut strengths);
        Raw {
            score: self.value(&strengths),
            line,
            symbol,
            within: symbol.is_some(),
            strengths,
        }
    }

    /// How many terms stand in `bytes`.
    fn add_hits(
        &self,
        strengths: &mut Strengths,
        hits: &[Hit],
        bytes: &Range<usize>,
        share: f32,
    ) -> usize {
        // Hits are ordered by their ends.
        let from = hits.partition_point(|hit| hit.end <= bytes.start);
        let mut seen = 0_u32;
        for hit in hits[from..]
            .iter()
            .take_while(|hit| hit.start < bytes.end || hit.end <= bytes.end)
        {
            if hit.start >= bytes.start && hit.end <= bytes.end {
                raise(strengths, hit.term, hit.strength * share);
                seen |= 1 << hit.term;
            }
        }
        seen.count_ones() as usize
    }

    fn add_lines(&self, strengths: &mut Strengths, lines: Range<usize>, share: f32) {
        if lines.is_empty() {
            return;
        }
        for (_, found) in self.by_line.range(lines) {
            for (term, strength) in found.iter().enumerate() {
                raise(strengths, term, strength * share);
            }
        }
    }

    fn add_path(&self, strengths: &mut Strengths) {
        for term in 0..self.worth.len() {
            let bit = 1 << term;
            if self.source.found.in_name & bit != 0 {
                raise(strengths, term, counts_for::FILE_NAME);
            } else if self.source.found.in_path & bit != 0 {
                raise(strengths, term, counts_for::PATH);
            }
        }
    }

    /// What a place is worth that has so much of each term. To have a bit of every term is worth more
    /// than to be named by one of them.
    fn value(&self, strengths: &Strengths) -> f32 {
        let (mut sum, mut covered) = (0.0, 0.0);
        for ((worth, term), strength) in self.worth.iter().zip(self.terms).zip(strengths) {
            sum += worth * strength;
            if !term.phrase && *strength >= COVERED {
                covered += worth;
            }
        }
        let coverage = covered / self.whole;
        sum / self.whole * (LEAST_COVERAGE + (1.0 - LEAST_COVERAGE) * coverage)
    }

    /// The innermost definition around a line.
    fn enclosing(&self, line: usize) -> Option<usize> {
        let start = self.lines.start(line);
        self.symbols
            .iter()
            .enumerate()
            .filter(|(_, symbol)| symbol.bytes.start <= start && start < symbol.bytes.end)
            .min_by_key(|(_, symbol)| symbol.bytes.len())
            .map(|(index, _)| index)
    }

    fn test_ranges(&self) -> Vec<Range<usize>> {
        self.symbols
            .iter()
            .filter(|symbol| {
                symbol.kind == "mod" && matches!(symbol.name.as_str(), "test" | "tests")
            })
            .map(|symbol| self.lines.at(symbol.bytes.start)..self.lines.at(symbol.bytes.end) + 1)
            .collect()
    }

    /// The lines of comment and attribute above a definition, to the end of a docstring below it.
    fn doc_lines(&self, first: usize, line: usize, symbol: &Symbol) -> Range<usize> {
        let above = (first.saturating_sub(MAX_DOC_LINES)..first)
            .rev()
            .take_while(|line| {
                let text = self.lines.text(*line);
                is_comment(text) || text.starts_with(b"#[") || text.starts_with(b"@")
            })
            .count();
        let mut end = line;
        let below = line + 1..line + 1 + MAX_DOC_LINES;
        if matches!(symbol.kind, "def" | "class") {
            let mut quotes = 0;
            for (index, line) in below.enumerate() {
                let text = self.lines.text(line);
                let marks = text
                    .windows(3)
                    .filter(|mark| matches!(*mark, b"\"\"\"" | b"'''"))
                    .count();
                if index == 0 && marks == 0 {
                    break;
                }
                end = line + 1;
                quotes += marks;
                if quotes >= 2 {
                    break;
                }
            }
        }
        first - above..end
    }

    fn candidate(&self, raw: &Raw) -> Candidate {
        let symbol = raw.symbol.map(|index| &self.symbols[index]);
        let matched = self
            .terms
            .iter()
            .zip(&raw.strengths)
            .filter(|(_, strength)| **strength > 0.0)
            .map(|(term, _)| term.shown.clone())
            .collect();
        Candidate {
            score: raw.score,
            place: Place {
                path: self.source.path.to_owned(),
                line: raw.line + 1,
                kind: symbol.map(|symbol| symbol.kind),
                name: symbol.map(|symbol| symbol.name.clone()),
                within: raw.within,
                matched,
                text: piece(self.lines.text(raw.line)),
            },
        }
    }
}

/// Keeps the best places that are apart from one another.
fn spread(raw: Vec<Raw>) -> Vec<Raw> {
    let mut kept: Vec<Raw> = Vec::new();
    for place in raw {
        let close = kept.iter().any(|other| {
            let both_begin = other.begins() && place.begins();
            !both_begin && other.line.abs_diff(place.line) < APART
        });
        let same = kept
            .iter()
            .filter(|other| place.within && other.within && other.symbol == place.symbol)
            .count();
        if !close && (same < MAX_WITHIN || place.symbol.is_none()) {
            kept.push(place);
        }
        if kept.len() == MAX_PLACES {
            break;
        }
    }
    kept
}

fn raise(strengths: &mut Strengths, term: usize, strength: f32) {
    if strength > strengths[term] {
        strengths[term] = strength;
    }
}

/// What a term on such a line counts.
fn share_of(line: &[u8]) -> f32 {
    const IMPORTS: [&[u8]; 8] = [
        b"use ",
        b"pub use ",
        b"import ",
        b"from ",
        b"#include",
        b"mod ",
        b"pub mod ",
        b"require",
    ];
    if IMPORTS.iter().any(|start| line.starts_with(start)) {
        counts_for::IMPORT
    } else if is_comment(line) {
        counts_for::COMMENT
    } else {
        counts_for::CODE
    }
}
