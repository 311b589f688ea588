//! The search of one file.

use std::fs::File;
use std::io::{self, Read};
use std::time::Instant;

use deputize_gate::GrepOutput;
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkError, SinkMatch,
};

use crate::limits::{MATCH_CHARS, OUTPUT_BYTES, SEARCHED_LINE};
use crate::text::{cut, cut_around, line};

/// What to look for in each file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) matcher: &'a RegexMatcher,
    pub(super) output: GrepOutput,
    pub(super) context: usize,
    /// Matching lines that are worth keeping.
    pub(super) limit: u64,
    pub(super) deadline: Instant,
}

/// What was found in one file.
#[derive(Debug, Default)]
pub(super) struct FileHits {
    /// Lines to show, in order.
    pub(super) lines: Vec<ShownLine>,
    /// Matching lines; where only the first matters, 1.
    pub(super) count: u64,
    pub(super) end: End,
}

/// A line of the output.
#[derive(Debug)]
pub(super) enum ShownLine {
    Match(u64, String),
    Context(u64, String),
    /// Lines were left out between two groups.
    Gap,
}

/// How the search of a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum End {
    /// At its end, or when enough was found.
    #[default]
    Searched,
    /// At a NUL: it's not text.
    Binary,
    /// It couldn't be opened or read.
    Unreadable,
    /// It has a line that is too long.
    LongLine,
    /// Time was up.
    TimeUp,
}

/// A searcher; each thread has its own.
pub(super) fn searcher(task: &Task<'_>) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(task.context)
        .after_context(task.context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(SEARCHED_LINE))
        .build()
}

/// Searches one opened file.
pub(super) fn search(task: &Task<'_>, searcher: &mut Searcher, file: File) -> FileHits {
    let mut hits = Hits {
        task,
        found: FileHits::default(),
        bytes: 0,
    };
    let reader = Timed {
        file,
        deadline: task.deadline,
    };
    let result = searcher.search_reader(task.matcher, reader, &mut hits);
    let mut found = hits.found;
    if let Err(Broken(end)) = result {
        found.end = end;
    }
    if found.end == End::Binary {
        // What stands before the NUL is no text either.
        found.lines.clear();
        found.count = 0;
    }
    found
}

struct Hits<'a> {
    task: &'a Task<'a>,
    found: FileHits,
    bytes: usize,
}

impl Hits<'_> {
    fn keep(&mut self, line: ShownLine, length: usize) {
        // More than the whole output holds is never shown.
        if self.bytes <= OUTPUT_BYTES {
            self.bytes += length;
            self.found.lines.push(line);
        }
    }
}

impl Sink for Hits<'_> {
    type Error = Broken;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Broken> {
        self.found.count += 1;
        match self.task.output {
            GrepOutput::Files => return Ok(false),
            GrepOutput::Count => return Ok(true),
            GrepOutput::Lines => {}
        }
        let bytes = found.bytes();
        let at = match self.task.matcher.find(bytes) {
            Ok(Some(range)) => range.start(),
            _ => 0,
        };
        let text = cut_around(&line(bytes), at, MATCH_CHARS).into_owned();
        let length = text.len();
        self.keep(
            ShownLine::Match(found.line_number().unwrap_or(0), text),
            length,
        );
        Ok(self.found.count < self.task.limit)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Broken> {
        let text = cut(&line(context.bytes()), MATCH_CHARS).into_owned();
        let length = text.len();
        self.keep(
            ShownLine::Context(context.line_number().unwrap_or(0), text),
            length,
        );
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Broken> {
        self.keep(ShownLine::Gap, 0);
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Broken> {
        self.found.end = End::Binary;
        Ok(false)
    }
}

/// Why a search was broken off.
#[derive(Debug)]
pub(super) struct Broken(End);

impl SinkError for Broken {
    fn error_message<T: std::fmt::Display>(_: T) -> Self {
        // The searcher reports only one failure of its own: a line above the heap limit.
        Self(End::LongLine)
    }

    fn error_io(error: io::Error) -> Self {
        Self(match error.kind() {
            io::ErrorKind::TimedOut => End::TimeUp,
            // The limit on a line's memory is reported as an error of this kind.
            io::ErrorKind::Other => End::LongLine,
            _ => End::Unreadable,
        })
    }
}

/// A file that stops giving bytes when time is up: one file can be larger than all the others.
struct Timed {
    file: File,
    deadline: Instant,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() > self.deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.read(buffer)
    }
}
