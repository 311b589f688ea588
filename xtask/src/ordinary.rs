//! An ordinary user, for root: a free id, a home and a temporary folder that go away again.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// Where the search for a free id begins: above what distributions hand out, below what containers
/// map.
const FIRST_ID: u32 = 61_000;

/// Where it ends: a machine that has all of these has no place for us.
const LAST_ID: u32 = 61_999;

/// A user that nobody else is, with folders of its own. Dropping it removes the folders.
#[derive(Debug)]
pub(crate) struct Ordinary {
    id: u32,
    folder: PathBuf,
}

/// Whether this process is root in its own user namespace.
pub(crate) fn is_root() -> bool {
    // The owner of our own entry in /proc is our effective user, unless /proc isn't there.
    fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}

impl Ordinary {
    /// Picks a free id and makes the folders. Only root can do it.
    pub(crate) fn new(purpose: &str) -> Result<Self, Failure> {
        let taken = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let id = (FIRST_ID..=LAST_ID)
            .find(|id| !is_taken(&taken, *id))
            .ok_or_else(|| Failure::Missing("there is no free user id".to_owned()))?;
        let folder =
            std::env::temp_dir().join(format!("deputize-{purpose}-{}", std::process::id()));
        // `create_dir` fails when somebody has put something there before us.
        fs::create_dir(&folder).map_err(Failure::file(&folder))?;
        let ordinary = Self { id, folder };
        open_to_all(ordinary.folder())?;
        for own in [ordinary.home(), ordinary.temporary()] {
            fs::create_dir(&own).map_err(Failure::file(&own))?;
            ordinary.give(&own)?;
        }
        Ok(ordinary)
    }

    /// The user id, which is the group id too.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// A folder of root's that everybody can read.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The user's home.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// Makes the user the owner of a folder and of all that it holds.
    pub(crate) fn give(&self, path: &Path) -> Result<(), Failure> {
        std::os::unix::fs::lchown(path, Some(self.id), Some(self.id))
            .map_err(Failure::file(path))?;
        if path.is_dir() && !path.is_symlink() {
            for entry in fs::read_dir(path).map_err(Failure::file(path))? {
                self.give(&entry.map_err(Failure::file(path))?.path())?;
            }
        }
        Ok(())
    }

    /// Makes a command run as the user: ids, no groups, and an environment that names its folders.
    pub(crate) fn adopt(&self, command: &mut Command) {
        // Where root asks for another user and names no groups, the standard library drops root's.
        command.uid(self.id).gid(self.id);
        self.furnish(command);
    }

    /// Gives a command the environment of the user, and the rights that it had.
    pub(crate) fn furnish(&self, command: &mut Command) {
        command.env_clear();
        command.env("HOME", self.home());
        command.env("TMPDIR", self.temporary());
        command.env("PATH", reachable_path());
        command.env("LANG", "C.UTF-8");
    }
}

impl Drop for Ordinary {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("xtask: {} stays: {error}", self.folder.display());
        }
    }
}

/// Lets everybody enter and read a folder, whatever the umask says.
pub(crate) fn open_to_all(folder: &Path) -> Result<(), Failure> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).map_err(Failure::file(folder))
}

/// The first folder on the way to `path` that other users can't pass, if there is one.
pub(crate) fn blocked(path: &Path) -> Option<&Path> {
    let open = |step: &&Path| {
        fs::metadata(step).is_ok_and(|entry| entry.permissions().mode() & 0o001 != 0)
    };
    let mut steps: Vec<&Path> = path.ancestors().collect();
    steps.reverse();
    steps.into_iter().find(|step| !open(step))
}

/// PATH without the folders that an ordinary user can't enter.
fn reachable_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| blocked(folder).is_none());
    std::env::join_paths(folders).unwrap_or_default()
}

fn is_taken(passwd: &str, id: u32) -> bool {
    let id = id.to_string();
    passwd
        .lines()
        .any(|line| line.split(':').nth(2) == Some(&id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_id_is_seen() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nx:x:61000:5::/:/bin/false\n";
        assert!(is_taken(passwd, 61_000));
        assert!(!is_taken(passwd, 61_001));
        assert!(!is_taken(passwd, 5));
    }

    #[test]
    fn a_closed_folder_blocks_what_lies_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        open_to_all(&inner).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(blocked(&inner), Some(folder.path()));
        open_to_all(folder.path()).unwrap();
        let above = folder.path().parent().unwrap();
        assert_eq!(blocked(&inner), blocked(above));
    }
}
