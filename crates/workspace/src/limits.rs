//! How much of a copy is looked at, held and made. Each number has its reason.

use std::time::Duration;

/// Folders within folders that are looked at. Each holds a descriptor open while it is, and a process
/// has 1,024 of them; trees that people keep are far from it.
pub(crate) const DEPTH: usize = 200;
/// Longest path that is applied: what one system call takes.
pub(crate) const PATH_BYTES: usize = 4_095;
/// Entries of a copy that are looked at: some 300 bytes of memory each.
pub(crate) const ENTRIES: usize = 2_000_000;
/// Entries of a folder that a mirror is made of: each costs a few system calls before a run begins.
pub(crate) const MIRROR_ENTRIES: usize = 1_000_000;
/// Bytes that a mirror copies where the file system can't share them: a minute or so on a slow disk.
pub(crate) const MIRROR_BYTES: u64 = 16 << 30;
/// Bytes of one ignore file: compiling patterns costs far more than reading them.
pub(crate) const IGNORE_FILE_BYTES: u64 = 256 * 1024;
/// Bytes of content that are hashed for a manifest: seconds of work. Beyond it nothing is applied.
pub(crate) const MANIFEST_BYTES: u64 = 4 << 30;
/// Bytes of content that are hashed after one call of a child: what is left counts as changed.
pub(crate) const OBSERVED_BYTES: u64 = 128 << 20;
/// Bytes of a record that is read back: some hundred for each entry of the largest copy.
pub(crate) const RECORD_BYTES: u64 = 2 << 30;
/// Links that are followed to see where a link leads, as many as the kernel follows.
pub(crate) const HOPS: usize = 40;
/// How often, and after which pause, a lock is asked for again: a process that is being started holds
/// what its parent had open until it becomes another program.
pub(crate) const LOCK_TRIES: u32 = 10;
pub(crate) const LOCK_PAUSE: Duration = Duration::from_millis(10);
