//! The first pass over all files, on two threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, ScopedJoinHandle, scope};
use std::time::Instant;

use super::count::Counts;
use super::listing::Listing;
use super::matcher::Matcher;
use super::open::{Opened, read_text};
use super::order::{Found, Totals};
use super::path_kind::says_generated;

/// How many files a thread takes at a time.
const BATCH: usize = 32;

/// What the first pass found.
#[derive(Default)]
pub(super) struct Tally {
    /// Files with a term, in the order of the walk.
    pub(super) found: Vec<Found>,
    pub(super) totals: Totals,
    pub(super) binary: usize,
    pub(super) large: usize,
    pub(super) unreadable: usize,
    /// Why the pass ended early, if it did.
    pub(super) stopped: Option<&'static str>,
}

/// The first pass.
pub(super) struct Counting<'a> {
    listing: &'a Listing<'a>,
    matcher: &'a Matcher,
    deadline: Instant,
    /// The next file that no thread has taken.
    next: AtomicUsize,
}

impl<'a> Counting<'a> {
    pub(super) fn new(listing: &'a Listing<'a>, matcher: &'a Matcher, deadline: Instant) -> Self {
        Self {
            listing,
            matcher,
            deadline,
            next: AtomicUsize::new(0),
        }
    }

    /// Counts terms in all files, on this thread and one more.
    pub(super) fn run(&self) -> Tally {
        let mut tally = scope(|scope| {
            // Where no thread can be had, this one does it all.
            let other = Builder::new().spawn_scoped(scope, || self.batches());
            let mut tally = self.batches();
            match other.map(ScopedJoinHandle::join) {
                Ok(Ok(other)) => tally.add(other),
                Ok(Err(_)) => tally.stopped = Some("a part of it failed, a fault of Deputize"),
                Err(_) => {}
            }
            tally
        });
        // Threads take files as they come; the order of the walk makes results repeatable.
        tally.found.sort_unstable_by_key(|found| found.file);
        tally
    }

    fn batches(&self) -> Tally {
        let mut tally = Tally::default();
        let mut buffer = Vec::new();
        loop {
            let from = self.next.fetch_add(BATCH, Ordering::Relaxed);
            let to = self.listing.files.len().min(from.saturating_add(BATCH));
            if from >= to {
                return tally;
            }
            if Instant::now() > self.deadline {
                tally.stopped = Some("time ran out: name a smaller folder");
                return tally;
            }
            for file in from..to {
                self.file(file, &mut buffer, &mut tally);
            }
        }
    }

    fn file(&self, file: usize, buffer: &mut Vec<u8>, tally: &mut Tally) {
        let Some(name) = self.listing.name(file) else {
            tally.unreadable += 1;
            return;
        };
        let path = &self.listing.files[file];
        let bytes = match read_text(self.listing.folder, path, buffer) {
            Opened::Text(bytes) => bytes,
            Opened::Binary => {
                tally.binary += 1;
                return;
            }
            Opened::Large => {
                tally.large += 1;
                return;
            }
            Opened::Unreadable => {
                tally.unreadable += 1;
                return;
            }
        };
        tally.totals.files += 1;
        tally.totals.bytes += bytes.len() as u64;
        let counts = Counts::of(self.matcher, bytes);
        let (in_path, in_name) = self.hits_in(&name);
        if counts.is_none() && in_path == 0 {
            return;
        }
        tally.found.push(Found {
            file,
            counts: counts.unwrap_or_default(),
            in_name,
            in_path,
            generated: says_generated(bytes),
        });
    }

    /// A bit per term in the path, and in the file's own name.
    fn hits_in(&self, path: &str) -> (u32, u32) {
        let name_at = path.rfind('/').map_or(0, |slash| slash + 1);
        let (mut in_path, mut in_name) = (0, 0);
        // What only begins alike, or is an alternative, says nothing in a name.
        for hit in self.matcher.hits(path.as_bytes()) {
            if hit.strength > 0.5 {
                in_path |= 1 << hit.term;
                if hit.start >= name_at {
                    in_name |= 1 << hit.term;
                }
            }
        }
        (in_path, in_name)
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.found.extend(other.found);
        self.totals.files += other.totals.files;
        self.totals.bytes += other.totals.bytes;
        self.binary += other.binary;
        self.large += other.large;
        self.unreadable += other.unreadable;
        self.stopped = self.stopped.or(other.stopped);
    }
}
