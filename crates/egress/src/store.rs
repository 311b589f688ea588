//! Keys at rest (N6): in the keyring, else in a file of their own that only its owner can read. The file
//! also says whose keys the keyring holds, so that it is asked for those alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use deputize_authority::escape;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::key::{KeyError, Secret};
use crate::keyring;
use crate::limits::STORE_BYTES;
use crate::protocol::KeyPlace;

/// The file of keys below its folder.
const NAME: &str = "auth.json";

/// Keys by the name of their account, in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStore {
    folder: PathBuf,
}

/// A key that nobody has looked at, and where it lay.
type Found = (Zeroizing<Vec<u8>>, KeyPlace);

/// Where a key is to lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// In the keyring, else in the file.
    KeyringFirst,
    /// In the file.
    File,
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
    /// The keyring that holds it doesn't give it, or doesn't let go of it.
    #[error("the keyring that holds the key fails: {why}")]
    Keyring {
        /// Why.
        why: String,
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
    /// Accounts whose keys lie in the keyring.
    #[serde(default)]
    keyring: BTreeSet<String>,
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

    /// The key of an account, and where it lay.
    pub(crate) fn get(&self, account: &str) -> Result<Option<Found>, StoreError> {
        let mut keys = self.read()?;
        if let Some(key) = keys.keys.remove(account) {
            let key = Zeroizing::new(key.as_bytes().to_vec());
            return Ok(Some((key, KeyPlace::File)));
        }
        if !keys.keyring.contains(account) {
            return Ok(None);
        }
        match keyring::lookup(account) {
            Ok(Some(key)) => Ok(Some((key, KeyPlace::Keyring))),
            Ok(None) => Ok(None),
            Err(why) => Err(StoreError::Keyring { why }),
        }
    }

    /// The accounts that have a key, and where it lies. No key is read from the keyring for it.
    ///
    /// # Errors
    /// When the file can't be trusted or read.
    pub fn accounts(&self) -> Result<BTreeMap<String, KeyPlace>, StoreError> {
        let Keys { keys, keyring } = self.read()?;
        let ring = keyring.into_iter().map(|name| (name, KeyPlace::Keyring));
        let file = keys.into_keys().map(|name| (name, KeyPlace::File));
        Ok(ring.chain(file).collect())
    }

    /// Stores the key of an account in place of an earlier one: in the keyring where there is one that
    /// answers, else in the file. Returns where, and why not in the keyring.
    ///
    /// # Errors
    /// When the bytes are no key, or the file can't be trusted, read or written.
    pub fn set(
        &self,
        account: &str,
        key: &[u8],
        wanted: Wanted,
    ) -> Result<(KeyPlace, Option<String>), StoreError> {
        let key = Secret::checked(key)?;
        let _lock = self.lock()?;
        let mut keys = self.read()?;
        let refused = match wanted {
            Wanted::File => None,
            Wanted::KeyringFirst => match keyring::store(account, key.expose()) {
                Ok(()) => {
                    keys.keys.remove(account);
                    keys.keyring.insert(account.to_owned());
                    self.write(&keys)?;
                    return Ok((KeyPlace::Keyring, None));
                }
                Err(why) => Some(why),
            },
        };
        if keys.keyring.remove(account) {
            keyring::clear(account).map_err(|why| StoreError::Keyring { why })?;
        }
        let text = Zeroizing::new(key.expose().to_owned());
        keys.keys.insert(account.to_owned(), text);
        self.write(&keys)?;
        Ok((KeyPlace::File, refused))
    }

    /// Removes the key of an account; returns where it lay, `None` where there was none.
    ///
    /// # Errors
    /// When the file can't be trusted, read or written, or the keyring doesn't let go of it.
    pub fn remove(&self, account: &str) -> Result<Option<KeyPlace>, StoreError> {
        if !self.path().exists() {
            return Ok(None);
        }
        let _lock = self.lock()?;
        let mut keys = self.read()?;
        let place = if keys.keyring.remove(account) {
            keyring::clear(account).map_err(|why| StoreError::Keyring { why })?;
            KeyPlace::Keyring
        } else if keys.keys.remove(account).is_some() {
            KeyPlace::File
        } else {
            return Ok(None);
        };
        self.write(&keys)?;
        Ok(Some(place))
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

    fn set(store: &KeyStore, account: &str, key: &str) {
        let (place, _) = store.set(account, key.as_bytes(), Wanted::File).unwrap();
        assert_eq!(place, KeyPlace::File);
    }

    fn got(store: &KeyStore, account: &str) -> Option<String> {
        let (key, _) = store.get(account).unwrap()?;
        Some(String::from_utf8(key.to_vec()).unwrap())
    }

    /// N6: keys lie in a file that only its owner can read, in a folder that only its owner can enter.
    #[test]
    fn keys_are_kept_for_their_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let store = KeyStore::below(home.path().join("deputize"));
        assert_eq!(got(&store, "a"), None);
        assert_eq!(store.remove("a").unwrap(), None);
        set(&store, "a", "first");
        set(&store, "b", "second");
        set(&store, "a", "third");
        assert_eq!(got(&store, "a").as_deref(), Some("third"));
        assert_eq!(store.accounts().unwrap().len(), 2);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&store.folder), mode(&store.path())), (0o700, 0o600));
        assert_eq!(store.remove("a").unwrap(), Some(KeyPlace::File));
        assert!(store.accounts().unwrap().into_keys().eq(["b"]));
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 1);
    }

    /// N6: a file that others can read or could have planted is refused, and its text never told.
    #[test]
    fn a_file_that_others_can_reach_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let store = KeyStore::below(home.path().to_owned());
        set(&store, "a", "canary");
        let chmod = |mode| {
            fs::set_permissions(store.path(), fs::Permissions::from_mode(mode)).unwrap();
        };
        for mode in [0o640, 0o604, 0o620, 0o602] {
            chmod(mode);
            assert!(
                matches!(store.get("a"), Err(StoreError::Open { .. })),
                "{mode:o}"
            );
        }
        chmod(0o600);
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
        assert!(store.set("b", b"canary", Wanted::File).is_err());
    }
}
