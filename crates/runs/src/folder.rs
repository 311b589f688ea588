//! The folder of a run: 0700, locked as long as its supervisor lives.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::RunError;
use crate::error::Doing as _;

/// The id of a run: a UUID of version 7 without dashes, so ids sort by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// A new id.
    #[must_use]
    pub fn new() -> Self {
        Self(uuid::Uuid::now_v7().simple().to_string())
    }

    /// Takes an id, or a part of one, as a person types it: a single path segment of hexadecimal
    /// digits and nothing else (H7).
    #[must_use]
    pub fn typed(text: &str) -> Option<Self> {
        let plain: String = text.chars().filter(|character| *character != '-').collect();
        let hex = !plain.is_empty()
            && plain.len() <= 32
            && plain
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        hex.then_some(Self(plain))
    }

    /// The whole id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a part that was typed is the beginning or the end of this id.
    pub(crate) fn is_meant_by(&self, part: &Self) -> bool {
        self.0.starts_with(&part.0) || self.0.ends_with(&part.0)
    }

    /// Its last eight digits, which are random: enough for people.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0
            .get(self.0.len().saturating_sub(8)..)
            .unwrap_or(&self.0)
    }
}

impl Default for RunId {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The folder of a run that is being made.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Locked: whoever can take the lock knows that the supervisor is gone.
    _lock: File,
}

impl RunFolder {
    /// Makes the folder of a new run below `runs`.
    ///
    /// # Errors
    /// When the disk is full or access is missing; what was made is removed again.
    pub fn create(runs: &Path, id: &RunId) -> Result<Self, RunError> {
        private_folders(runs)?;
        let path = runs.join(id.as_str());
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .doing("make the run's folder", &path)?;
        let lock_path = path.join("lock");
        let lock = File::create_new(&lock_path)
            .and_then(|file| {
                flock(&file, FlockOperation::NonBlockingLockExclusive)?;
                Ok(file)
            })
            .doing("lock the run's folder", &lock_path);
        match lock {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(error) => {
                // Best effort: the error that is reported is the one that caused this.
                let _ = fs::remove_dir_all(&path);
                Err(error)
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ledger's file.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.path.join("ledger.jsonl")
    }

    /// Writes a file of the run at once: whole or not at all.
    ///
    /// # Errors
    /// When the disk is full or access is missing; a former file of that name is untouched then.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, RunError> {
        let path = self.path.join(name);
        let draft = self.path.join(format!("{name}.draft"));
        let written = File::create(&draft).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_data()?;
            fs::rename(&draft, &path)
        });
        if written.is_err() {
            // Best effort: the error that is reported is the one that caused this.
            let _ = fs::remove_file(&draft);
        }
        written.doing("write", &path)?;
        Ok(path)
    }

    /// Removes the folder of a run that never started.
    pub fn discard(self) {
        // It holds nothing but an empty lock and what a failed start left.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Makes a folder, and the state folder that holds it, for their owner alone. Both must be real
/// folders of this user that nobody else can write to: whoever could would choose what is trusted.
/// One that others could only look into is closed to them.
pub(crate) fn private_folders(path: &Path) -> Result<(), RunError> {
    let user = geteuid().as_raw();
    if let Some(state) = path.parent() {
        own_place(state, user)?;
        own_folder(state, user)?;
    }
    own_folder(path, user)
}

/// Nothing is put into a folder of somebody else who isn't root: `sudo` may keep the HOME of the
/// person who called it, and what root makes there that person can take away again.
fn own_place(state: &Path, user: u32) -> Result<(), RunError> {
    let looked = state.ancestors().skip(1).find_map(|above| {
        let meta = fs::metadata(above).ok()?;
        Some((above, meta.uid()))
    });
    match looked {
        Some((above, owner)) if owner != user && owner != 0 => {
            Err(somebody_elses(owner, user)).doing("keep state below", above)
        }
        Some(_) | None => Ok(()),
    }
}

fn own_folder(path: &Path, user: u32) -> Result<(), RunError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .doing("make the folder", path)?;
    // The link itself, not where it leads.
    let meta = fs::symlink_metadata(path).doing("look at", path)?;
    let trusted = if !meta.is_dir() {
        Err(io::Error::other("it is a link"))
    } else if meta.uid() != user {
        Err(somebody_elses(meta.uid(), user))
    } else if meta.mode() & 0o022 != 0 {
        Err(io::Error::other(format!(
            "others can write to it (its mode is {:o}), so what is in it may be theirs",
            meta.mode() & 0o7777
        )))
    } else {
        Ok(())
    };
    trusted.doing("trust the folder", path)?;
    if meta.mode() & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(0o700))
        .doing("close to others the folder", path)
}

fn somebody_elses(owner: u32, user: u32) -> io::Error {
    io::Error::other(format!(
        "it belongs to user {owner}, and this runs as user {user}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H7: an id is one path segment.
    #[test]
    fn typed_ids_are_hexadecimal_and_nothing_else() {
        assert!(RunId::typed("0194").is_some());
        for text in ["", "..", "a/b", "/etc", "x", "0194\n", "ÿ"] {
            assert!(RunId::typed(text).is_none(), "{text:?}");
        }
        let id = RunId::new();
        assert_eq!(RunId::typed(id.as_str()), Some(id.clone()));
        assert_eq!(id.short().len(), 8);
    }

    #[test]
    fn a_file_is_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(&folder.path().join("runs"), &RunId::new()).unwrap();
        run.write("result.json", b"one").unwrap();
        run.write("result.json", b"two").unwrap();
        assert_eq!(fs::read(run.path().join("result.json")).unwrap(), b"two");
        assert!(run.write("no/such/folder", b"x").is_err());
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// The reason of a refusal that names this folder.
    #[track_caller]
    fn refused(folder: &Path) -> String {
        let refusal = private_folders(folder).unwrap_err().refusal();
        assert_eq!(refusal.code, "state_failed");
        refusal.reason
    }

    /// A2: the state is its owner's: made closed, closed when it was open to looks.
    #[test]
    fn state_is_made_closed_to_others() {
        let base = tempfile::tempdir().unwrap();
        let state = base.path().join("a/deputize");
        let runs = state.join("runs");
        private_folders(&runs).unwrap();
        assert_eq!((mode(&state), mode(&runs)), (0o700, 0o700));
        set(&state, 0o755);
        set(&runs, 0o755);
        private_folders(&runs).unwrap();
        assert_eq!((mode(&state), mode(&runs)), (0o700, 0o700));
    }

    /// A2: what others can write to, or lead elsewhere, isn't trusted.
    #[test]
    fn state_that_others_could_have_made_is_not_trusted() {
        let base = tempfile::tempdir().unwrap();
        let state = base.path().join("deputize");
        let runs = state.join("runs");
        private_folders(&runs).unwrap();
        for open in [&state, &runs] {
            for mode in [0o720, 0o702, 0o1777] {
                set(open, mode);
                assert!(
                    refused(&runs).contains("others can write to it"),
                    "{mode:o}"
                );
            }
            set(open, 0o700);
        }
        let link = state.join("linked");
        std::os::unix::fs::symlink(&runs, &link).unwrap();
        assert!(refused(&link).contains("it is a link"));
        let moved = base.path().join("moved");
        std::os::unix::fs::symlink(&state, &moved).unwrap();
        assert!(refused(&moved.join("new")).contains("it is a link"));
        assert!(!state.join("new").exists());
    }

    /// A2: as with `sudo` and a kept HOME: what is somebody else's is named as theirs, and nothing is
    /// put there.
    #[test]
    fn state_of_somebody_else_is_not_used() {
        let base = tempfile::tempdir().unwrap();
        let theirs = base.path().join("home");
        fs::create_dir(&theirs).unwrap();
        let user = geteuid().as_raw();
        assert!(own_folder(&theirs, user).is_ok());
        let told = own_folder(&theirs, user + 1).unwrap_err().refusal().reason;
        assert!(
            told.contains(&format!("it belongs to user {user},")),
            "{told}"
        );
        if user == 0 {
            std::os::unix::fs::chown(&theirs, Some(4242), None).unwrap();
            let runs = theirs.join(".local/state/deputize/runs");
            assert!(refused(&runs).contains("it belongs to user 4242, and this runs as user 0"));
            assert!(!theirs.join(".local").exists());
        }
    }
}
