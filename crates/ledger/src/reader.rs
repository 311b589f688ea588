//! Reads a ledger event by event, and stops where the chain breaks.
//!
//! The bytes are anybody's: a line has a size limit, and nothing here panics on what it finds.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use serde::Serialize;

use crate::{Digest, Event, Head, LedgerOpened, MAX_LINE, Record};

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// It isn't a JSON object.
    NotJson,
    /// It lacks a field of an event, or a field has the wrong type.
    Shape,
    /// It is longer than [`MAX_LINE`].
    TooLong,
    /// Its content doesn't match its own hash.
    Hash,
    /// It says the right thing in another spelling.
    Spelling,
    /// It doesn't follow the event before: one was changed, dropped, doubled or moved.
    Prev,
    /// Its number isn't the next one.
    Seq,
    /// The first event doesn't open a ledger.
    Opening,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotJson => "the line is not a JSON object",
            Self::Shape => "the line does not have the fields of an event",
            Self::TooLong => "the line is longer than an event can be",
            Self::Hash => "the content does not match its hash",
            Self::Spelling => "the line is not spelled as it was written",
            Self::Prev => "the event does not follow the one before it",
            Self::Seq => "the number is not the next one",
            Self::Opening => "the first event does not open a ledger",
        })
    }
}

/// Where a chain breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Fault {
    /// The line, counted from 1.
    pub line: u64,
    /// The number of the event that should have stood there.
    pub seq: u64,
    /// What is wrong.
    pub what: What,
}

/// Why reading stopped before the end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The bytes couldn't be read.
    #[error("the ledger could not be read")]
    Io(#[from] io::Error),
    /// The chain breaks.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Reads the events of a ledger in order, each checked against the one before.
///
/// The iteration ends after the last whole event or after the first error. A torn tail is no error:
/// [`Events::torn_bytes`] counts it once the iteration ended.
pub fn read<R: Read>(reader: R) -> Events<R> {
    Events {
        reader: BufReader::with_capacity(MAX_LINE, reader),
        line: Vec::new(),
        run: None,
        head: None,
        whole_bytes: 0,
        torn_bytes: 0,
        is_done: false,
    }
}

/// The iterator that [`read`] gives.
#[derive(Debug)]
pub struct Events<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    run: Option<String>,
    head: Option<Head>,
    whole_bytes: u64,
    torn_bytes: u64,
    is_done: bool,
}

impl<R: Read> Events<R> {
    /// The run that the ledger belongs to, once its first event was read.
    #[must_use]
    pub fn run(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// The last event read.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        self.head
    }

    /// The bytes of the events read, with their line breaks.
    #[must_use]
    pub fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    /// The bytes after the last line break: what a crash left of an event that was being written.
    #[must_use]
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    fn step(&mut self) -> Result<Option<Event>, ReadError> {
        self.line.clear();
        let limit = MAX_LINE as u64 + 1;
        let read = (&mut self.reader)
            .take(limit)
            .read_until(b'\n', &mut self.line)?;
        if self.line.pop_if(|last| *last == b'\n').is_none() {
            if read as u64 == limit {
                return Err(self.fault(What::TooLong).into());
            }
            self.torn_bytes = read as u64;
            return Ok(None);
        }
        let event = Event::parse(&self.line).map_err(|what| self.fault(what))?;
        self.follow(&event).map_err(|what| self.fault(what))?;
        self.head = Some(Head {
            seq: event.seq,
            hash: event.hash,
        });
        self.whole_bytes += read as u64;
        Ok(Some(event))
    }

    fn follow(&mut self, event: &Event) -> Result<(), What> {
        let prev = match self.head {
            Some(head) => head.hash,
            None => {
                let run = LedgerOpened::run_of(event).ok_or(What::Opening)?;
                let genesis = Digest::genesis(&run);
                self.run = Some(run);
                genesis
            }
        };
        if event.seq != self.next_seq() {
            return Err(What::Seq);
        }
        if event.prev != prev {
            return Err(What::Prev);
        }
        Ok(())
    }

    fn next_seq(&self) -> u64 {
        self.head.map_or(0, |head| head.seq.saturating_add(1))
    }

    fn fault(&self, what: What) -> Fault {
        let seq = self.next_seq();
        Fault {
            line: seq.saturating_add(1),
            seq,
            what,
        }
    }
}

impl<R: Read> Iterator for Events<R> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let step = self.step().transpose();
        self.is_done = !matches!(step, Some(Ok(_)));
        step
    }
}

impl LedgerOpened {
    /// The run of a first event, when it is one.
    fn run_of(event: &Event) -> Option<String> {
        let opens = event.kind == Self::KIND && event.data.get("format")?.as_u64() == Some(1);
        let run = event.data.get("run")?.as_str()?;
        opens.then(|| run.to_owned())
    }
}
