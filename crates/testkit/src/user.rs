//! Somebody who isn't root, for tests that run as root.

use std::fs;
use std::os::unix::fs::lchown;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Ids that distributions and containers leave free.
const IDS: std::ops::RangeInclusive<u32> = 61_000..=61_999;

/// Whether the test runs as root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A user id that nobody on this machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrdinaryUser(u32);

impl OrdinaryUser {
    /// Somebody else, when the test runs as root; `None` for a test that already is an ordinary
    /// user, and so has the rights that this one would have.
    #[must_use]
    pub fn for_root() -> Option<Self> {
        if !is_root() {
            return None;
        }
        let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let taken = |id: &u32| {
            let id = id.to_string();
            known
                .lines()
                .any(|line| line.split(':').nth(2) == Some(&id))
        };
        let free = IDS.into_iter().find(|id| !taken(id));
        assert!(free.is_some(), "every id in {IDS:?} is taken");
        free.map(Self)
    }

    /// The user id, which is the group id too.
    #[must_use]
    pub fn id(self) -> u32 {
        self.0
    }

    /// Makes a command run as this user, without groups of root's.
    pub fn adopt(self, command: &mut Command) {
        // Where root asks for another user and names no groups, the standard library drops root's.
        command.uid(self.0).gid(self.0);
    }

    /// Makes this user the owner of `path` and of all below it; links aren't followed.
    pub fn give(self, path: &Path) {
        lchown(path, Some(self.0), Some(self.0)).unwrap();
        if path.is_dir() && !path.is_symlink() {
            for entry in fs::read_dir(path).unwrap() {
                self.give(&entry.unwrap().path());
            }
        }
    }
}
