//! How much is taken, waited for and tried.

use std::time::Duration;

/// Bytes of a request to the relay: a conversation, whose tool results a run bounds to a few MiB.
pub const ASK_BYTES: usize = 64 << 20;

/// Bytes of an answer of the relay: a turn of text, calls and thoughts, with room for escapes.
pub const TOLD_BYTES: usize = 32 << 20;

/// Bytes of a response's head: providers send about 2 KiB.
pub const HEAD_BYTES: usize = 64 << 10;

/// Headers of a response: providers send about thirty.
pub const HEADERS: usize = 128;

/// Bytes of the body of an error that are read: the reason stands at its beginning.
pub const ERROR_BYTES: usize = 16 << 10;

/// Characters of a provider's reason that are passed on.
pub const REASON_CHARACTERS: usize = 400;

/// How long a connection may take.
pub const CONNECT: Duration = Duration::from_secs(20);

/// How long the first byte may take: a model that is loaded from a disk answers late.
pub const FIRST_BYTE: Duration = Duration::from_secs(300);

/// How long a stream may be silent: a model that thinks sends nothing for minutes.
pub const IDLE: Duration = Duration::from_secs(180);

/// How long the end of a response may take once its answer is whole; then the connection is dropped.
pub const REST: Duration = Duration::from_millis(100);

/// Times that a request is sent when the provider is busy (429, 503, 529).
pub const BUSY_TRIES: u32 = 4;

/// Times that a request is sent when the provider failed (500, 502, 504) or couldn't be reached.
pub const FAILED_TRIES: u32 = 3;

/// The longest wait that a provider may ask for: a run with a budget of minutes is better told.
pub const RETRY_AFTER: Duration = Duration::from_secs(60);

/// The first wait where the provider asks for none; each further one is twice as long.
pub const BACK_OFF: Duration = Duration::from_millis(500);

/// How often the supervisor is told that a stream lives.
pub const SIGN_OF_LIFE: Duration = Duration::from_millis(100);

/// How long a relay may take to start: it reads its key and the trust roots.
pub const START: Duration = Duration::from_secs(20);

/// How long the search for a model on this machine may take.
pub const LOCAL: Duration = Duration::from_secs(2);

/// Bytes of a list of models on this machine.
pub const LOCAL_BYTES: usize = 1 << 20;

/// Models on this machine that are asked what they can do.
pub const LOCAL_MODELS: usize = 16;

/// Bytes of a key: the longest, signed tokens, have two or three KiB.
pub const KEY_BYTES: usize = 8 << 10;

/// Bytes of the file of keys.
pub const STORE_BYTES: u64 = 256 << 10;
