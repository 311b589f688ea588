//! The tool `read`: a text file, or a part of it, with line numbers.
//!
//! The file is streamed: memory is bounded by the output, whatever the file's or a line's length.

use std::fs::File;
use std::io::{self, Cursor, Read};

use crate::beneath::Beneath;
use crate::change::Hash;
use crate::limits::{CHANGED_FILE_BYTES, LINE_CHARS, READ_LINES, SKIPPED_BYTES, SNIFFED_BYTES};
use crate::output::{Draft, Room, ToolFailure, ToolOutput, count};
use crate::sniff::describe_binary;
use crate::text::{CUT, cut};

/// Bytes that are read at a time.
const BLOCK: usize = 64 * 1024;

/// Bytes of a line that are kept: four for each character that may be shown, and one more to tell
/// that there was more.
const LINE_BYTES: usize = LINE_CHARS * 4 + 4;

/// Whether the content is told apart from others: for a child that may change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    /// The answer states its hash.
    Hash,
    /// It doesn't.
    Nothing,
}

/// Reads lines `offset..offset + limit` of a file, the first line being 1. With them comes the hash
/// of the whole content, if it is told and the file isn't too large to be changed.
pub(crate) fn read(
    place: &Beneath<'_>,
    offset: Option<u64>,
    limit: Option<u64>,
    telling: Telling,
) -> Result<(ToolOutput, Option<Hash>), ToolFailure> {
    let mut file = place.file()?;
    if telling == Telling::Nothing {
        return Ok((shown(place, Source::File(file), offset, limit)?, None));
    }
    // What is shown and what is told apart must be the same bytes, so they are read once.
    let mut content = Vec::new();
    (&mut file)
        .take(CHANGED_FILE_BYTES + 1)
        .read_to_end(&mut content)?;
    if content.len() as u64 > CHANGED_FILE_BYTES {
        let whole = Source::Longer(Cursor::new(content).chain(file));
        return Ok((shown(place, whole, offset, limit)?, None));
    }
    let hash = Hash::of(&content);
    let mut output = shown(place, Source::Held(Cursor::new(content)), offset, limit)?;
    output.notes.push(format!("content {hash}"));
    Ok((output, Some(hash)))
}

fn shown(
    place: &Beneath<'_>,
    source: Source,
    offset: Option<u64>,
    limit: Option<u64>,
) -> Result<ToolOutput, ToolFailure> {
    let mut draft = Draft::new();
    draft.files_seen = 1;
    let mut lines = Lines::new(source)?;
    let head = lines.peek();
    if head.is_empty() {
        draft.note("the file is empty");
        return Ok(draft.finish());
    }
    if head.iter().take(SNIFFED_BYTES).any(|byte| *byte == 0) {
        draft.note(format!(
            "not text: {}, {}",
            describe_binary(head),
            count(place.size(), "byte", "bytes")
        ));
        return Ok(draft.finish());
    }
    let first = offset.unwrap_or(1).max(1);
    let skipped = lines.skip(first - 1)?;
    if skipped < first - 1 || lines.is_at_end()? {
        return Err(ToolFailure::new(
            "past_end",
            format!(
                "line {first} is past the end: the file has {}",
                count(skipped, "line", "lines")
            ),
        ));
    }
    show(&mut draft, &mut lines, first, limit.unwrap_or(READ_LINES))?;
    Ok(draft.finish())
}

fn show(draft: &mut Draft, lines: &mut Lines, first: u64, limit: u64) -> Result<(), ToolFailure> {
    let mut number = first;
    let (mut cut_lines, mut odd_lines) = (0, 0);
    loop {
        if lines.is_at_end()? {
            break;
        }
        if number - first == limit {
            draft.truncated = Some(format!("more follows: continue with offset={number}"));
            break;
        }
        let line = lines.next_line()?;
        let text = String::from_utf8_lossy(&line.kept);
        let shown = cut(&text, LINE_CHARS);
        let is_cut = line.was_longer || shown.len() != text.len();
        let end = if line.was_longer && !shown.ends_with(CUT) {
            CUT
        } else {
            ""
        };
        if draft.line(&format!("{number:>6}\t{shown}{end}")) == Room::Full {
            draft.truncated = Some(format!("more follows: continue with offset={number}"));
            break;
        }
        cut_lines += u64::from(is_cut);
        odd_lines += u64::from(std::str::from_utf8(&line.kept).is_err() && !line.was_longer);
        number += 1;
    }
    if cut_lines > 0 {
        draft.note(format!(
            "{} cut after {LINE_CHARS} characters",
            count(cut_lines, "line was", "lines were")
        ));
    }
    if odd_lines > 0 {
        draft.note(format!(
            "{} bytes that aren't UTF-8, shown as U+FFFD",
            count(odd_lines, "line holds", "lines hold")
        ));
    }
    Ok(())
}

/// One line without its end, no more of it than can be shown.
struct Line {
    kept: Vec<u8>,
    was_longer: bool,
}

/// Where the bytes come from.
enum Source {
    File(File),
    Held(Cursor<Vec<u8>>),
    Longer(io::Chain<Cursor<Vec<u8>>, File>),
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Held(content) => content.read(buffer),
            Self::Longer(both) => both.read(buffer),
        }
    }
}

/// A file, line by line, in bounded memory.
struct Lines {
    file: Source,
    block: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Lines {
    fn new(file: Source) -> io::Result<Self> {
        let mut lines = Self {
            file,
            block: vec![0; BLOCK].into_boxed_slice(),
            start: 0,
            end: 0,
        };
        lines.fill()?;
        if lines.peek().starts_with(b"\xef\xbb\xbf") {
            lines.start += 3;
        }
        Ok(lines)
    }

    /// What is in memory and not used yet.
    fn peek(&self) -> &[u8] {
        &self.block[self.start..self.end]
    }

    /// Reads the next block; nothing in memory means the end.
    fn fill(&mut self) -> io::Result<()> {
        loop {
            match self.file.read(&mut self.block) {
                Ok(bytes) => {
                    (self.start, self.end) = (0, bytes);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn is_at_end(&mut self) -> io::Result<bool> {
        if self.start == self.end {
            self.fill()?;
        }
        Ok(self.start == self.end)
    }

    /// Skips whole lines; gives the number of lines passed, the last one perhaps without an end.
    fn skip(&mut self, lines: u64) -> Result<u64, ToolFailure> {
        let (mut passed, mut bytes) = (0, 0_u64);
        let mut in_line = false;
        while passed < lines && !self.is_at_end()? {
            let left = usize::try_from(lines - passed).unwrap_or(usize::MAX);
            let block = self.peek();
            let found = memchr::memchr_iter(b'\n', block).count();
            let used = if found < left {
                passed += found as u64;
                in_line = block.last() != Some(&b'\n');
                block.len()
            } else {
                let last = memchr::memchr_iter(b'\n', block).nth(left - 1);
                passed = lines;
                in_line = false;
                last.map_or(block.len(), |at| at + 1)
            };
            self.start += used;
            bytes += used as u64;
            if bytes > SKIPPED_BYTES {
                return Err(ToolFailure::new(
                    "too_far",
                    format!("the offset lies more than {SKIPPED_BYTES} bytes into the file"),
                ));
            }
        }
        Ok(passed + u64::from(in_line))
    }

    fn next_line(&mut self) -> Result<Line, ToolFailure> {
        let mut line = Line {
            kept: Vec::new(),
            was_longer: false,
        };
        let mut bytes = 0_u64;
        while !self.is_at_end()? {
            let block = self.peek();
            let end = memchr::memchr(b'\n', block);
            let part = &block[..end.unwrap_or(block.len())];
            let room = LINE_BYTES - line.kept.len();
            line.kept.extend_from_slice(&part[..part.len().min(room)]);
            line.was_longer |= part.len() > room;
            let used = part.len() + usize::from(end.is_some());
            bytes += used as u64;
            self.start += used;
            if end.is_some() {
                break;
            }
            if bytes > SKIPPED_BYTES {
                // The rest of the file is one line that nobody will read.
                self.end = self.start;
                line.was_longer = true;
                break;
            }
        }
        if line.kept.last() == Some(&b'\r') && !line.was_longer {
            line.kept.pop();
        }
        Ok(line)
    }
}
