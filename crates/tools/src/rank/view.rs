//! What a file is like: its lines, definitions and tests, and where the terms stand in it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

use super::decisions::Decisions;
use super::lines::{Lines, is_comment};
use super::matcher::Hit;
use super::order::{Found, whole};
use super::symbols::{Symbol, find};
use super::terms::{MAX_TERMS, Term};

/// The most lines of one file that are weighed.
const MAX_LINES: usize = 2_000;
/// How many lines of comment above a definition count as its own.
const MAX_DOC_LINES: usize = 40;
/// How many lines a file's own comment may have.
const MAX_HEAD_LINES: usize = 30;

/// What a term counts that stands in the file's name, elsewhere in its path, or in the comment that it
/// begins with, beside a definition's name.
const FILE_NAME: f32 = 0.35;
const PATH: f32 = 0.2;
const ABOUT: f32 = 0.3;

/// What a word in a text that the program says counts, beside one in code.
const IN_STRING: f32 = 0.7;

/// Per term, how much of it there is; from 0 to 1.
pub(super) type Strengths = [f32; MAX_TERMS];

/// A file to pick from.
pub(super) struct Source<'a> {
    pub(super) path: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) found: &'a Found,
    /// Ends parsing.
    pub(super) deadline: Instant,
}

/// A file, as far as the terms need it.
pub(super) struct View<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) lines: Lines<'a>,
    pub(super) symbols: Vec<Symbol>,
    /// What stands on each line that has a term.
    by_line: BTreeMap<usize, Strengths>,
    /// Lines that decide; looked for where terms ask for them.
    pub(super) decisions: Decisions,
    /// The terms that ask for a decision.
    pub(super) asking: Vec<usize>,
    /// Whether a term says what is done to something.
    pub(super) acts: bool,
    /// What the file as a whole has of each term, by its path and its own comment.
    pub(super) about: Strengths,
    pub(super) terms: &'a [Term],
    pub(super) worth: &'a [f32],
    /// What a place would be worth that had every term.
    pub(super) whole: f32,
}

impl<'a> View<'a> {
    pub(super) fn of(
        source: &'a Source<'a>,
        terms: &'a [Term],
        worth: &'a [f32],
        hits: &[Hit],
    ) -> Self {
        let name = source.path.rsplit('/').next().unwrap_or_default();
        let lines = Lines::new(source.bytes);
        let asking: Vec<usize> = (0..terms.len()).filter(|term| terms[*term].asks).collect();
        let decisions = if asking.is_empty() {
            Decisions::default()
        } else {
            Decisions::of(source.bytes, &lines)
        };
        let mut view = Self {
            lines,
            symbols: find(name, source.bytes, hits, source.deadline),
            by_line: BTreeMap::new(),
            decisions,
            asking,
            acts: terms.iter().any(|term| term.shown.ends_with("ed")),
            about: [0.0; MAX_TERMS],
            source,
            terms,
            worth,
            whole: whole(worth, terms),
        };
        view.count(hits);
        view.describe();
        view
    }

    fn count(&mut self, hits: &[Hit]) {
        for hit in hits {
            let line = self.lines.at(hit.start);
            if self.by_line.len() == MAX_LINES && !self.by_line.contains_key(&line) {
                break;
            }
            let strengths = self.by_line.entry(line).or_insert([0.0; MAX_TERMS]);
            let text = &self.source.bytes[self.lines.start(line).min(hit.start)..hit.start];
            let share = if ends_in_string(text) { IN_STRING } else { 1.0 };
            raise(strengths, hit.term, hit.strength * share);
        }
    }

    /// What the file as a whole has of each term.
    fn describe(&mut self) {
        let mut about = [0.0; MAX_TERMS];
        for term in 0..self.worth.len() {
            let bit = 1 << term;
            if self.source.found.in_name & bit != 0 {
                raise(&mut about, term, FILE_NAME);
            } else if self.source.found.in_path & bit != 0 {
                raise(&mut about, term, PATH);
            }
        }
        self.add_lines(&mut about, 0..self.head_lines(), ABOUT);
        self.about = about;
    }

    /// How many lines of comment a file begins with.
    fn head_lines(&self) -> usize {
        let is_head = |line: &usize| {
            let text = self.lines.text(*line);
            is_comment(text) || text.starts_with(b"#!")
        };
        (0..MAX_HEAD_LINES).take_while(is_head).count()
    }

    /// The lines that have a term.
    pub(super) fn lines_with_terms(&self) -> impl Iterator<Item = usize> {
        self.by_line.keys().copied()
    }

    pub(super) fn add_lines(&self, strengths: &mut Strengths, lines: Range<usize>, share: f32) {
        if lines.is_empty() {
            return;
        }
        for (_, found) in self.by_line.range(lines) {
            for (term, strength) in found.iter().enumerate() {
                raise(strengths, term, strength * share);
            }
        }
    }

    /// The innermost definition around a line.
    pub(super) fn enclosing(&self, line: usize) -> Option<usize> {
        let start = self.lines.start(line);
        self.symbols
            .iter()
            .enumerate()
            .filter(|(_, symbol)| symbol.bytes.start <= start && start < symbol.bytes.end)
            .min_by_key(|(_, symbol)| symbol.bytes.len())
            .map(|(index, _)| index)
    }

    /// The lines of test modules and test functions.
    pub(super) fn test_ranges(&self) -> Vec<Range<usize>> {
        self.symbols
            .iter()
            .filter(|symbol| self.is_test(symbol))
            .map(|symbol| self.lines.at(symbol.bytes.start)..self.lines.at(symbol.bytes.end) + 1)
            .collect()
    }

    /// `mod tests`, `#[test] fn …`, `def test_…`, `func Test…`.
    fn is_test(&self, symbol: &Symbol) -> bool {
        match symbol.kind {
            "mod" => matches!(symbol.name.as_str(), "test" | "tests"),
            "def" => symbol.name.starts_with("test_"),
            "func" => symbol.name.starts_with("Test"),
            "fn" | "method" => {
                let first = self.lines.at(symbol.bytes.start);
                let above = (first.saturating_sub(MAX_DOC_LINES)..first).rev();
                above
                    .map(|line| self.lines.text(line))
                    .take_while(|text| is_attribute(text))
                    .any(|text| {
                        text.to_ascii_lowercase()
                            .windows(4)
                            .any(|part| part == b"test")
                    })
            }
            _ => false,
        }
    }

    /// The lines of comment and attribute above a definition, to the end of a docstring below it.
    pub(super) fn doc_lines(&self, first: usize, line: usize, symbol: &Symbol) -> Range<usize> {
        let above = (first.saturating_sub(MAX_DOC_LINES)..first)
            .rev()
            .take_while(|line| {
                let text = self.lines.text(*line);
                is_comment(text) || is_attribute(text)
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
}

pub(super) fn raise(strengths: &mut Strengths, term: usize, strength: f32) {
    if strength > strengths[term] {
        strengths[term] = strength;
    }
}

/// `#[must_use]`, `@override`.
fn is_attribute(line: &[u8]) -> bool {
    line.starts_with(b"#[") || line.starts_with(b"@")
}

/// Whether a line goes on within a string: an odd number of quotation marks stands before.
fn ends_in_string(text: &[u8]) -> bool {
    let marks = text.iter().filter(|byte| **byte == b'"').count();
    marks % 2 == 1 && !is_comment(text)
}
