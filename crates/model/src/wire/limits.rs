//! How much of an answer is read.

/// Bytes of one line of an answer. The longest holds a whole item again at its end: thoughts and
/// text of a turn of 128,000 tokens fit.
pub const LINE_BYTES: usize = 4 << 20;

/// Bytes of one whole answer: the same turn, in events of a few hundred bytes for each token.
pub const ANSWER_BYTES: u64 = 64 << 20;

/// Events of one answer: two for each of 128,000 tokens, and room.
pub const EVENTS: u64 = 500_000;

/// Text of one turn: 128,000 tokens of eight bytes.
pub const TEXT_BYTES: usize = 1 << 20;

/// Calls of one turn: a run has a few hundred in all.
pub const CALLS: usize = 128;

/// Arguments of one call: a file that is written whole.
pub const ARGUMENT_BYTES: usize = 2 << 20;

/// Bytes of a call's id. Providers use 64 at most; one puts a whole token into it.
pub const ID_BYTES: usize = 512;

/// Bytes of a tool's name. Providers take 128.
pub const NAME_BYTES: usize = 256;

/// Parts of one turn: thoughts, text and calls in turn.
pub const PARTS: usize = 4_096;

/// Bytes of text for a token, for estimates until a provider reports.
pub const BYTES_PER_TOKEN: u64 = 4;
