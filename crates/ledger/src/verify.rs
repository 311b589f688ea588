//! Checks a whole ledger.

use std::fmt::Write as _;
use std::io::{self, Read};

use serde::Serialize;

use crate::{Fault, Head, ReadError, read};

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The run that the ledger belongs to; `None` when not even its first event is whole.
    pub run: Option<String>,
    /// The number of whole events up to the end or to the fault.
    pub events: u64,
    /// The last of them.
    pub head: Option<Head>,
    /// The bytes after the last line break: what a crash left of an event that was being written.
    pub torn_bytes: u64,
    /// Where the chain breaks, if it does.
    pub fault: Option<Fault>,
    /// How the ledger compares with a head that was kept elsewhere, if one was given.
    pub anchor: Option<Anchor>,
}

/// How a ledger compares with a head that was kept elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Anchor {
    /// The event is there with that hash; the ledger may have gone on since.
    Holds,
    /// The event of that number has another hash: the ledger was rewritten.
    Differs {
        /// The head as it stands in the ledger.
        found: Head,
    },
    /// The ledger ends before that event: it was cut.
    Missing,
}

/// Checks every event of a ledger, in bounded memory.
///
/// # Errors
/// When the bytes can't be read. A broken chain is no error but a finding.
pub fn verify(reader: impl Read) -> io::Result<Report> {
    check(reader, None)
}

/// Checks a ledger, and that it still has the event that `kept` names.
///
/// # Errors
/// When the bytes can't be read.
pub fn verify_against(reader: impl Read, kept: &Head) -> io::Result<Report> {
    check(reader, Some(kept))
}

fn check(reader: impl Read, kept: Option<&Head>) -> io::Result<Report> {
    let mut events = read(reader);
    let mut count = 0;
    let mut fault = None;
    let mut anchor = kept.map(|_| Anchor::Missing);
    for event in events.by_ref() {
        match event {
            Ok(event) => {
                count += 1;
                if let Some(kept) = kept.filter(|kept| kept.seq == event.seq) {
                    anchor = Some(if kept.hash == event.hash {
                        Anchor::Holds
                    } else {
                        Anchor::Differs {
                            found: Head {
                                seq: event.seq,
                                hash: event.hash,
                            },
                        }
                    });
                }
            }
            Err(ReadError::Io(error)) => return Err(error),
            Err(ReadError::Fault(found)) => fault = Some(found),
        }
    }
    Ok(Report {
        run: events.run().map(str::to_owned),
        events: count,
        head: events.head(),
        torn_bytes: events.torn_bytes(),
        fault,
        anchor,
    })
}

impl Report {
    /// Whether the chain holds, and the kept head with it. A torn tail does not count against it.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.fault.is_none() && matches!(self.anchor, None | Some(Anchor::Holds))
    }

    /// The finding in one line, for lists.
    #[must_use]
    pub fn line(&self) -> String {
        let state = match self.fault {
            Some(fault) => format!("BROKEN at {fault}"),
            None => "the chain holds".to_owned(),
        };
        let torn = if self.torn_bytes > 0 {
            ", torn tail"
        } else {
            ""
        };
        format!("{state}, {} events{torn}", self.events)
    }

    /// The report for people, with what it does and doesn't prove.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!("{} events", self.events);
        // Writing to a String can't fail.
        if let Some(head) = self.head {
            let _ = write!(out, ", head {head}");
        }
        out.push('\n');
        match self.fault {
            Some(fault) => {
                let _ = writeln!(out, "BROKEN at {fault}; nothing after it can be relied on");
            }
            None => out.push_str("the chain holds\n"),
        }
        if self.torn_bytes > 0 {
            let _ = writeln!(
                out,
                "torn tail: {} bytes of an event whose writing was interrupted",
                self.torn_bytes
            );
        }
        match self.anchor {
            None => {
                out.push_str("no head from elsewhere to compare with: a cut end would not show\n")
            }
            Some(Anchor::Holds) => out.push_str("the kept head is part of it\n"),
            Some(Anchor::Missing) => out.push_str("CUT: it ends before the kept head\n"),
            Some(Anchor::Differs { found }) => {
                let _ = writeln!(out, "REWRITTEN: in place of the kept head stands {found}");
            }
        }
        out.push_str("a chain shows corruption, not a rewrite by the same user\n");
        out
    }
}
