//! The second pass: which lines of a good file to show.

use std::ops::Range;

use super::lines::is_comment;
use super::matcher::{Hit, Matcher};
use super::report::{Place, piece};
use super::symbols::Symbol;
use super::terms::{MAX_TERMS, Term, parts};
use super::view::{Source, Strengths, View, raise};

/// The most hits of one file that are looked at; a file with more is a list of words.
const MAX_HITS: usize = 20_000;
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
    /// A decision, where the term asks for one.
    pub(super) const DECISION: f32 = 0.35;
}

/// How much of a term must be there to have it.
const COVERED: f32 = 0.2;
/// What remains of the worth of a place that has no term to speak of.
const LEAST_COVERAGE: f32 = 0.4;
/// What `mod` and `impl` are worth beside definitions that do something.
const GROUPING: f32 = 0.55;
/// What definitions are worth that give something a name.
const NAMING: f32 = 0.8;
/// What remains of a place that decides nothing where the terms ask for a decision, and how much of
/// such a term shows that one is there.
const UNDECIDED: f32 = 0.6;
const DECIDED: f32 = 0.25;
/// How many lines around a line make its decision.
const AROUND: usize = 2;
/// What definitions are worth that hold something, where the terms say what is done to it.
const HOLDING: f32 = 0.8;
/// What is within a test module, beside other code.
const IN_TESTS: f32 = 0.3;

/// A place with its score: from 0 to about 1, where 1 is a definition named by all terms.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) score: f32,
    pub(super) place: Place,
}

/// The best places of a file, best first.
pub(super) fn pick(
    source: &Source<'_>,
    terms: &[Term],
    worth: &[f32],
    matcher: &Matcher,
) -> Vec<Candidate> {
    let hits: Vec<Hit> = matcher.hits(source.bytes).take(MAX_HITS).collect();
    View::of(source, terms, worth, &hits).pick(&hits)
}

/// A place before its words are made.
struct Raw {
    score: f32,
    line: usize,
    symbol: Option<usize>,
    within: bool,
    /// The terms that stand there; others count for it too.
    matched: Vec<usize>,
}

impl Raw {
    /// Whether it is a definition, not a line in or outside one.
    fn begins(&self) -> bool {
        self.symbol.is_some() && !self.within
    }
}

impl View<'_> {
    fn pick(&self, hits: &[Hit]) -> Vec<Candidate> {
        let tests = self.test_ranges();
        let mut docs: Vec<Range<usize>> = Vec::new();
        let mut raw: Vec<Raw> = Vec::new();
        for (index, symbol) in self.symbols.iter().enumerate() {
            let (place, doc) = self.weigh_symbol(index, symbol, hits);
            docs.push(doc);
            raw.extend(place);
        }
        for line in self.lines_with_terms() {
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
        let matched = self.matched(&strengths);
        let decided = self.add_decisions(&mut strengths, line..last + 1);
        self.add_file(&mut strengths);
        let grouping = match symbol.kind {
            "mod" | "impl" | "namespace" => GROUPING,
            "const" | "static" | "variable" | "var" | "type" | "#define" => NAMING,
            "struct" | "enum" | "union" | "class" | "trait" | "interface" if self.acts => HOLDING,
            _ => 1.0,
        };
        let raw = Raw {
            score: self.value(&strengths) * grouping * decided * self.precision(symbol, named),
            line,
            symbol: Some(index),
            within: false,
            matched,
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
        let matched = self.matched(&strengths);
        let around = line.saturating_sub(AROUND)..line + AROUND + 1;
        let decided = self.add_decisions(&mut strengths, around);
        let remark = !self.asking.is_empty() && is_comment(self.lines.text(line));
        self.add_file(&mut strengths);
        Raw {
            score: self.value(&strengths) * if remark { UNDECIDED } else { decided },
            line,
            symbol,
            within: symbol.is_some(),
            matched,
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

    /// The terms that stand at the place, or in what the file says of itself.
    fn matched(&self, strengths: &Strengths) -> Vec<usize> {
        (0..self.terms.len())
            .filter(|term| strengths[*term] > 0.0 || self.about[*term] > 0.0)
            .collect()
    }

    /// Adds what the file as a whole has.
    fn add_file(&self, strengths: &mut Strengths) {
        for (term, strength) in self.about.iter().enumerate() {
            raise(strengths, term, *strength);
        }
    }

    /// Adds a decision in these lines to the terms that ask for one.
    ///
    /// Gives what remains of the place: whatever it holds, one that decides nothing is no answer.
    fn add_decisions(&self, strengths: &mut Strengths, lines: Range<usize>) -> f32 {
        if self.asking.is_empty() {
            return 1.0;
        }
        if self.decisions.any(lines) {
            for &term in &self.asking {
                raise(strengths, term, counts_for::DECISION);
            }
        }
        let decided = self.asking.iter().any(|term| strengths[*term] >= DECIDED);
        if decided { 1.0 } else { UNDECIDED }
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

    fn candidate(&self, raw: &Raw) -> Candidate {
        let symbol = raw.symbol.map(|index| &self.symbols[index]);
        let matched = raw
            .matched
            .iter()
            .map(|term| self.terms[*term].shown.clone());
        Candidate {
            score: raw.score,
            place: Place {
                path: self.source.path.to_owned(),
                line: raw.line + 1,
                kind: symbol.map(|symbol| symbol.kind),
                name: symbol.map(|symbol| symbol.name.clone()),
                within: raw.within,
                matched: matched.collect(),
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
