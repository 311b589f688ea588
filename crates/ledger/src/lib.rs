//! The audit log of a run: append-only, hash-chained, free of secrets (A1-A3).
//!
//! A ledger is a text file with one JSON event per line. Every event names the hash of the line
//! before it, so an event that was changed, dropped, doubled or moved breaks the chain where it
//! happened ([`verify`]). Only the supervisor of a run writes; anybody can read and check.
//!
//! # Form of a line
//! ```text
//! {"at":"2026-09-01T12:00:00.000Z","data":{…},"kind":"call.decided","prev":"<64 hex>","seq":7,"hash":"<64 hex>"}
//! ```
//! Keys are sorted at every depth, except that `hash` comes last; there is no white space; numbers
//! are integers ([`canonical`]). `hash` is the SHA-256 of the line's bytes without `,"hash":"…"` and
//! without the line break, so it can be checked without this program, for line 8 so:
//! ```text
//! sed -n 8p ledger.jsonl | sed -E 's/,"hash":"[0-9a-f]{64}"\}$/}/' | tr -d '\n' | sha256sum
//! ```
//! `prev` is the `hash` of the line before; for the first line it is the SHA-256 of
//! `deputize ledger 1\n` followed by the run's id.
//!
//! # Invariants
//! - One event is one `write(2)`; a crash at any byte loses at most the event being written. What is
//!   left of it is a torn tail, which is counted and never taken for corruption.
//! - A failed write (full disk) is undone: the file ends with its last whole event and the next
//!   append carries on from there.
//! - Every string passes the [`Redactor`] before it is hashed and written.
//!
//! # What a chain proves
//! That the file is whole and in order. It does not prove who wrote it: whoever can write the file
//! can write a new chain. A [`Head`] that was kept elsewhere shows that ([`verify_against`]), and
//! shows a cut end too, which the chain alone can't.

mod bound;
mod canonical;
mod digest;
mod event;
mod reader;
mod receipt;
mod records;
mod redact;
mod shapes;
mod verify;
mod writer;

pub use bound::MAX_PAYLOAD;
pub use canonical::canonical;
pub use digest::{Digest, Head, MalformedDigest};
pub use event::{Event, MAX_LINE};
pub use reader::{Events, Fault, ReadError, What, read};
pub use receipt::{
    Asked, Enforced, Enforcement, Enforcer, Granted, Limit, Narrowing, Probe, ProbeOutcome,
    Receipt, Used,
};
pub use records::{
    Approved, BoundaryStarted, CallAnswered, CallDecided, CallFinished, ChangesObserved, Checked,
    CopyMade, GrantRecorded, LedgerOpened, ModelTurn, Noticed, Record, Recovered, RunFinished,
    RunStarted, Tokens, Verdict,
};
pub use redact::{MIN_SECRET, REDACTED, Redactor, RedactorError};
pub use verify::{Anchor, Report, verify, verify_against};
pub use writer::{AppendError, Ledger, OpenError};
