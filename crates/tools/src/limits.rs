//! How much a tool reads, holds and hands back. Each number has its reason.

use std::time::Duration;

/// Lines that one `read` shows: what a model can use at a time.
pub(crate) const READ_LINES: u64 = 2_000;
/// Bytes of text that any tool hands back: about 12,000 tokens.
pub(crate) const OUTPUT_BYTES: usize = 50 * 1024;
/// Characters of a line that `read` shows; longer lines are data, not text for reading.
pub(crate) const LINE_CHARS: usize = 2_000;
/// Characters of a matching line that `grep` shows.
pub(crate) const MATCH_CHARS: usize = 400;
/// Bytes at the start of a file in which a NUL says that it's not text.
pub(crate) const SNIFFED_BYTES: usize = 8 * 1024;
/// Bytes that `read` skips to reach an offset: some seconds on a slow disk.
pub(crate) const SKIPPED_BYTES: u64 = 4 << 30;
/// Entries of a folder that `ls` shows.
pub(crate) const LS_SHOWN: usize = 1_000;
/// Entries of one folder that are read; their names are held in memory.
pub(crate) const FOLDER_ENTRIES: usize = 200_000;
/// Entries that one walk visits.
pub(crate) const WALK_ENTRIES: usize = 2_000_000;
/// Files that one search holds in its list: about 100 bytes each.
pub(crate) const SEARCHED_FILES: usize = 400_000;
/// How long a walk or a search goes on. A model waits for it, and a budget counts.
pub(crate) const SEARCH_TIME: Duration = Duration::from_secs(20);
/// Bytes of one ignore file, and of all in one walk. Compiling patterns costs far more than reading
/// them, and whoever wrote the tree wrote the patterns.
pub(crate) const IGNORE_FILE_BYTES: usize = 64 * 1024;
pub(crate) const IGNORE_BYTES: usize = 1 << 20;
/// Results of `find`, and of `grep` in lines, when the call names no limit.
pub(crate) const FIND_RESULTS: u64 = 1_000;
pub(crate) const GREP_LINES: u64 = 100;
/// Memory of a compiled pattern, and of its lazy automaton, per thread.
pub(crate) const PATTERN_MEMORY: usize = 4 << 20;
/// Nesting of a pattern: above what people write, below what recursion suffers from.
pub(crate) const PATTERN_NESTING: u32 = 100;
/// Longest line that is searched; a longer one ends the search of its file.
pub(crate) const SEARCHED_LINE: usize = 8 << 20;
/// Bytes of a request frame. The largest holds a program's arguments, escaped.
pub(crate) const REQUEST_BYTES: usize = 8 << 20;
/// Bytes of a response frame: the output, escaped, and its notes.
pub(crate) const RESPONSE_BYTES: usize = 4 << 20;
/// Questions or claims in one request.
pub(crate) const REQUEST_ITEMS: usize = 256;
/// Bytes of a quote that is looked for.
pub(crate) const QUOTE_BYTES: usize = 8 * 1024;
/// Bytes of a file in which claims are checked.
pub(crate) const CHECKED_FILE_BYTES: u64 = 64 << 20;
/// Lines around the claimed one in which a quote may stand.
pub(crate) const QUOTE_REACH: u64 = 3;
/// Bytes of a file that is edited or replaced, and whose content `read` tells apart: it is held in
/// memory a few times over. Larger ones are data, not text for editing.
pub(crate) const CHANGED_FILE_BYTES: u64 = 4 << 20;
/// Files whose last read content is remembered: about 150 bytes each.
pub(crate) const REMEMBERED_FILES: usize = 50_000;
/// Lines of a change that an answer shows: the model knows what it sent.
pub(crate) const WINDOW_LINES: usize = 24;
/// Places of an ambiguous text that a failure names.
pub(crate) const SHOWN_PLACES: usize = 10;
/// How long a change waits while another run changes the same file. One takes milliseconds.
pub(crate) const LOCK_TIME: Duration = Duration::from_secs(2);
