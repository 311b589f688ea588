//! Writes a ledger: one event, one `write(2)`.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use serde_json::Value;

use crate::bound::fitted;
use crate::event::{MAX_KIND, spelled_time};
use crate::{
    Digest, Event, Fault, Head, LedgerOpened, ReadError, Record, Recovered, Redactor, read,
};

/// The most bytes of a run's id: it stands in the first event, which must never be cut.
const MAX_RUN: usize = 128;

/// Why a ledger couldn't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The run's id is empty, longer than 128 bytes or not plain text.
    #[error("a run's id has 1 to 128 printable ASCII characters")]
    RunId,
    /// There is a file of that name already.
    #[error("the ledger exists already")]
    Exists,
    /// The file couldn't be created or opened.
    #[error("the ledger could not be opened")]
    Open(#[source] Errno),
    /// Another process writes this ledger.
    #[error("another process writes this ledger")]
    InUse,
    /// The file couldn't be locked.
    #[error("the ledger could not be locked")]
    Lock(#[source] Errno),
    /// What is there couldn't be read.
    #[error("the ledger could not be read")]
    Read(#[source] std::io::Error),
    /// The chain is broken, so nothing may be added to it.
    #[error("the chain is broken at {0}")]
    Broken(Fault),
    /// The ledger belongs to another run.
    #[error("the ledger belongs to another run")]
    OtherRun,
    /// A torn tail couldn't be removed.
    #[error("the torn tail could not be removed")]
    Truncate(#[source] Errno),
    /// The first event couldn't be written.
    #[error("the first event could not be written")]
    Append(#[source] AppendError),
}

/// Why an event wasn't written. The chain is whole all the same, and the next event may be tried.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The kind is empty, longer than 64 bytes or not of `a-z`, `_` and `.`.
    #[error("`{0}` is not a kind of event")]
    Kind(&'static str),
    /// The time is beyond the year 9999.
    #[error("{0} ms is not a time")]
    Time(u64),
    /// The payload can't be written as JSON.
    #[error("the payload can't be written as JSON")]
    Payload(#[source] serde_json::Error),
    /// The system refused the write (a full disk, an I/O error).
    #[error("the event could not be written")]
    Write(#[source] Errno),
    /// Only a part of the event was taken, as happens when a disk fills up.
    #[error("only {written} of {length} bytes were written")]
    Short {
        /// Bytes that the system took.
        written: usize,
        /// Bytes of the line.
        length: usize,
    },
    /// What an earlier failed write left behind can't be removed yet.
    #[error("the rest of a failed write could not be removed")]
    Rest(#[source] Errno),
}

impl AppendError {
    /// A stable name for scripts and reports.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Kind(_) => "ledger_kind",
            Self::Time(_) => "ledger_time",
            Self::Payload(_) => "ledger_payload",
            Self::Write(_) => "ledger_write",
            Self::Short { .. } => "ledger_short_write",
            Self::Rest(_) => "ledger_rest",
        }
    }
}

/// A ledger that is being written. Its file is locked as long as this value lives.
#[derive(Debug)]
pub struct Ledger {
    file: File,
    redactor: Redactor,
    head: Head,
    /// The bytes of all whole events.
    length: u64,
    tail: Tail,
}

/// Whether the file ends with a whole event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    Whole,
    /// A failed write left something that couldn't be removed at once.
    Dirty,
}

impl Ledger {
    /// Creates the ledger of a run and writes its first event, at `at_ms` milliseconds since 1970.
    ///
    /// The file is new (never one that was there before, never through a symlink), readable by its
    /// owner alone, and not passed on to other programs.
    ///
    /// # Errors
    /// When the file exists, or can't be created or written. A file that was created for nothing is
    /// removed again.
    pub fn create(
        path: &Path,
        run: &str,
        redactor: Redactor,
        at_ms: u64,
    ) -> Result<Self, OpenError> {
        check_run(run)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = open(path, flags).map_err(|error| match error {
            Errno::EXIST => OpenError::Exists,
            _ => OpenError::Open(error),
        })?;
        let made = Self::begin(file, run, redactor, at_ms);
        if made.is_err() {
            // Best effort: the error that is reported is the one that caused this.
            let _ = rustix::fs::unlink(path);
        }
        made
    }

    fn begin(file: File, run: &str, redactor: Redactor, at_ms: u64) -> Result<Self, OpenError> {
        lock(&file)?;
        let mut ledger = Self {
            file,
            redactor,
            head: Head {
                seq: 0,
                hash: Digest::genesis(run),
            },
            length: 0,
            tail: Tail::Whole,
        };
        ledger
            .write_opening(run, at_ms)
            .map_err(OpenError::Append)?;
        Ok(ledger)
    }

    /// Opens the ledger of a run again, to carry on its chain.
    ///
    /// A torn tail is removed, and an event records how many bytes it had.
    ///
    /// # Errors
    /// When the file can't be read, is written by another process, belongs to another run, or its
    /// chain is broken; the file is then left as it was.
    pub fn reopen(
        path: &Path,
        run: &str,
        redactor: Redactor,
        at_ms: u64,
    ) -> Result<Self, OpenError> {
        check_run(run)?;
        let mut file = open(path, OFlags::NOFOLLOW).map_err(OpenError::Open)?;
        lock(&file)?;
        file.seek(SeekFrom::Start(0)).map_err(OpenError::Read)?;
        let mut events = read(&file);
        for event in events.by_ref() {
            match event {
                Ok(_) => {}
                Err(ReadError::Io(error)) => return Err(OpenError::Read(error)),
                Err(ReadError::Fault(fault)) => return Err(OpenError::Broken(fault)),
            }
        }
        if events.run().is_some_and(|owner| owner != run) {
            return Err(OpenError::OtherRun);
        }
        let (head, length, torn) = (events.head(), events.whole_bytes(), events.torn_bytes());
        if torn > 0 {
            rustix::fs::ftruncate(&file, length).map_err(OpenError::Truncate)?;
        }
        let mut ledger = match head {
            None => Self::begin(file, run, redactor, at_ms)?,
            Some(head) => Self {
                file,
                redactor,
                head,
                length,
                tail: Tail::Whole,
            },
        };
        if torn > 0 {
            let recovered = Recovered {
                dropped_bytes: torn,
            };
            ledger
                .record(&recovered, at_ms)
                .map_err(OpenError::Append)?;
        }
        Ok(ledger)
    }

    /// Writes an event of a known kind.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub fn record<R: Record>(&mut self, record: &R, at_ms: u64) -> Result<Head, AppendError> {
        self.append(R::KIND, record, at_ms)
    }

    /// Writes an event: redacted, kept within its size, chained to the one before.
    ///
    /// `at_ms` counts milliseconds since 1970. The event is in the file when this returns, and
    /// survives the end of this process; a power failure only after [`Ledger::sync`].
    ///
    /// # Errors
    /// When the event can't be spelled or the system doesn't take it. The chain then ends with the
    /// event before, as if this one had never been tried.
    pub fn append(
        &mut self,
        kind: &'static str,
        payload: impl Serialize,
        at_ms: u64,
    ) -> Result<Head, AppendError> {
        let data = serde_json::to_value(payload).map_err(AppendError::Payload)?;
        let data = fitted(data, &self.redactor);
        self.write(self.head.seq + 1, kind, data, at_ms)
    }

    /// Makes what was written survive a power failure. It takes about as long as the disk takes to
    /// turn, so only grants and approvals wait for it.
    ///
    /// # Errors
    /// When the system reports that it couldn't.
    pub fn sync(&self) -> std::io::Result<()> {
        self.file.sync_data()
    }

    /// The last event written.
    #[must_use]
    pub fn head(&self) -> Head {
        self.head
    }

    /// What keeps secrets out of this ledger, for other records of the same run.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The opening is the key to the chain: it passes neither the redactor nor the size limit.
    fn write_opening(&mut self, run: &str, at_ms: u64) -> Result<Head, AppendError> {
        let opening = LedgerOpened {
            format: 1,
            run: run.to_owned(),
        };
        let data = serde_json::to_value(opening).map_err(AppendError::Payload)?;
        self.write(0, LedgerOpened::KIND, data, at_ms)
    }

    fn write(
        &mut self,
        seq: u64,
        kind: &'static str,
        data: Value,
        at_ms: u64,
    ) -> Result<Head, AppendError> {
        let is_kind = (1..=MAX_KIND).contains(&kind.len())
            && kind
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'.' || byte == b'_');
        if !is_kind {
            return Err(AppendError::Kind(kind));
        }
        let at = spelled_time(at_ms).ok_or(AppendError::Time(at_ms))?;
        let event = Event::new(seq, at, kind, data, self.head.hash);
        let mut line = event.line();
        line.push('\n');
        self.put(line.as_bytes())?;
        self.head = Head {
            seq,
            hash: event.hash,
        };
        Ok(self.head)
    }

    fn put(&mut self, line: &[u8]) -> Result<(), AppendError> {
        if self.tail == Tail::Dirty {
            self.cut_back().map_err(AppendError::Rest)?;
        }
        let taken = rustix::io::retry_on_intr(|| rustix::io::write(&self.file, line));
        if taken == Ok(line.len()) {
            self.length += line.len() as u64;
            return Ok(());
        }
        self.tail = Tail::Dirty;
        // When this fails too, the next append tries again before it writes.
        let _ = self.cut_back();
        Err(match taken {
            Ok(written) => AppendError::Short {
                written,
                length: line.len(),
            },
            Err(error) => AppendError::Write(error),
        })
    }

    fn cut_back(&mut self) -> Result<(), Errno> {
        rustix::fs::ftruncate(&self.file, self.length)?;
        self.tail = Tail::Whole;
        Ok(())
    }
}

fn check_run(run: &str) -> Result<(), OpenError> {
    let is_id =
        (1..=MAX_RUN).contains(&run.len()) && run.bytes().all(|byte| byte.is_ascii_graphic());
    is_id.then_some(()).ok_or(OpenError::RunId)
}

fn open(path: &Path, more: OFlags) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC | more;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

fn lock(file: &File) -> Result<(), OpenError> {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
        Errno::WOULDBLOCK => OpenError::InUse,
        _ => OpenError::Lock(error),
    })
}
