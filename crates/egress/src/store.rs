//! Keys at rest (N6): a file of their own, that only its owner can read.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use deputize_authority::escape;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::key::{KeyError, Secret};
use crate::limits::STORE_BYTES;

/// The file of keys below its folder.
const NAME: &str = "auth.json";

/// Keys by the name of their account, in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStore {
    folder: PathBuf,
}

/// Why keys can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It is no key. Nothing of it is told.
    #[error("that is no key: {0}")]
    Key(#[from] KeyError),
    /// Others can read it, or could have put it there.
    #[error("`{}` {what}", escape(&path.to_string_lossy()))]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// It is not what was written there.
    #[error("`{}` is no file of keys: {what}", escape(&path.to_string_lossy()))]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong with it; never a part of it.
        what: String,
    },
    /// The system refused.
    #[error("cannot {doing} `{}`: {source}", escape(&path.to_string_lossy()))]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    #[serde(default)]
    keys: BTreeMap<String, Zeroizing<String>>,
}

impl KeyStore {
    /// The store below a configuration folder, `…/deputize`.
    #[must_use]
    pub fn below(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// The key of an account.
    pub(crate) fn get(&self, account: &str) -> Result<Option<Zeroizing<String>>, StoreError> {
        Ok(self.read()?.keys.remove(account))
    }

    /// The accounts that have a key.
    ///
    /// # Errors
    /// When the file can't be trusted or read.
    pub fn accounts(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.read()?.keys.into_keys().collect())
    }

    /// Stores the key of an account, in place of an earlier one.
    ///
    /// # Errors
    /// When the bytes are no key, or the file can't be trusted, read or written.
    pub fn set(&self, account: &str, key: &[u8]) -> Result<(), StoreError> {
        self.put(account, &Secret::checked(key)?)
    }

    fn put(&self, account: &str, key: &Secret) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let mut keys = self.read()?;
        let key = Zeroizing::new(key.expose().to_owned());
        keys.keys.insert(account.to_owned(), key);
        self.write(&keys)
    }

    /// Removes the key of an account; `false` where there was none.
    ///
    /// # Errors
    /// When the file can't be trusted, read or written.
    pub fn take(&self, account: &str) -> Result<bool, StoreError> {
        if !self.path().exists() {
            return Ok(false);
        }
        let _lock = self.lock()?;
        let mut keys = self.read()?;
        let had = keys.keys.remove(account).is_some();
        if had {
            self.write(&keys)?;
        }
        Ok(had)
    }

    fn read(&self) -> Result<Keys, StoreError> {
        let path = self.path();
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
            .open(&path);
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Keys::default()),
            other => other.map_err(failed("open", &path))?,
        };
        let meta = file.metadata().map_err(failed("look at", &path))?;
        let open = |what| StoreError::Open {
            path: path.clone(),
            what,
        };
        if !meta.is_file() {
            return Err(open("is no file"));
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(open("belongs to somebody else"));
        }
        if meta.mode() & 0o077 != 0 {
            return Err(open("can be read or written by others"));
        }
        let form = |what: String| StoreError::Form {
            path: path.clone(),
            what,
        };
        let mut bytes = Zeroizing::new(Vec::new());
        file.take(STORE_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(failed("read", &path))?;
        if bytes.len() as u64 > STORE_BYTES {
            return Err(form("it is too large".to_owned()));
        }
        // The library's own words could quote the file.
        serde_json::from_slice(&bytes)
            .map_err(|error| form(format!("line {}, column {}", error.line(), error.column())))
    }

    /// Makes the folder, and holds it against another writer.
    fn lock(&self) -> Result<File, StoreError> {
        let folder = &self.folder;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed("make", folder))?;
        let file = File::open(folder).map_err(failed("open", folder))?;
        let meta = file.metadata().map_err(failed("look at", folder))?;
        let open = |what| StoreError::Open {
            path: folder.clone(),
            what,
        };
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(open("belongs to somebody else"));
        }
        if meta.mode() & 0o022 != 0 {
            return Err(open("can be written by others"));
        }
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| failed("lock", folder)(error.into()))?;
        Ok(file)
    }

    fn write(&self, keys: &Keys) -> Result<(), StoreError> {
        let path = self.path();
        let fresh = self.folder.join(format!("{NAME}.{}", std::process::id()));
        let json = serde_json::to_vec(keys).map_err(|error| StoreError::Form {
            path: path.clone(),
            what: error.to_string(),
        })?;
        let json = Zeroizing::new(json);
        // One that a crash left behind holds a key, and must not be added to.
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", &fresh)(error));
            }
            _ => {}
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(flags(OFlags::NOFOLLOW))
            .open(&fresh)
            .map_err(failed("make", &fresh))?;
        let written = file.write_all(&json).and_then(|()| file.sync_all());
        let written = written.and_then(|()| fs::rename(&fresh, &path));
        if written.is_err() {
            // Whatever failed, no half of a key stays behind.
            let _ = fs::remove_file(&fresh);
        }
        written.map_err(failed("write", &path))
    }
}

fn flags(flags: OFlags) -> i32 {
    // The kernel's flags fit: they are what its own interface takes.
    i32::try_from(flags.bits()).unwrap_or_default()
}

fn failed<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| StoreError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::checked(text.as_bytes()).unwrap()
    }

    /// N6: keys lie in a file that only its owner can read, in a folder that only its owner can enter.
    #[test]
    fn keys_are_kept_for_their_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let store = KeyStore::below(home.path().join("deputize"));
        assert!(store.get("a").unwrap().is_none() && !store.take("a").unwrap());
        store.put("a", &secret("first")).unwrap();
        store.put("b", &secret("second")).unwrap();
        store.put("a", &secret("third")).unwrap();
        assert_eq!(store.get("a").unwrap().unwrap().as_str(), "third");
        assert_eq!(store.accounts().unwrap(), ["a", "b"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&store.folder), mode(&store.path())), (0o700, 0o600));
        assert!(store.take("a").unwrap());
        assert_eq!(store.accounts().unwrap(), ["b"]);
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 1);
    }

    /// N6: a file that others can read or could have planted is refused, and its text never told.
    #[test]
    fn a_file_that_others_can_reach_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let store = KeyStore::below(home.path().to_owned());
        store.put("a", &secret("canary")).unwrap();
        let set = |mode| {
            fs::set_permissions(store.path(), fs::Permissions::from_mode(mode)).unwrap();
        };
        for mode in [0o640, 0o604, 0o620, 0o602] {
            set(mode);
            assert!(
                matches!(store.get("a"), Err(StoreError::Open { .. })),
                "{mode:o}"
            );
        }
        set(0o600);
        assert!(store.get("a").is_ok());
        fs::write(store.path(), "{\"keys\": {\"a\": canary").unwrap();
        let told = store.get("a").err().unwrap().to_string();
        assert!(
            told.contains("line 1") && !told.contains("canary"),
            "{told}"
        );
        let moved = home.path().join("moved");
        fs::rename(store.path(), &moved).unwrap();
        std::os::unix::fs::symlink(&moved, store.path()).unwrap();
        assert!(store.get("a").is_err());
    }
}
