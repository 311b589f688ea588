//! Looks the facts up that preflight and plan are computed from. The one place that reads the
//! person's environment for a run.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use deputize_authority::preflight::{FolderFact, Found, Reserved, Surroundings};
use deputize_authority::{Bounds, Refusal};
use deputize_boundary::HostFacts;
use deputize_ledger::Redactor;

use crate::RunError;

/// The person's environment, read once.
#[derive(Debug, Clone)]
pub struct Look {
    variables: Vec<(OsString, OsString)>,
    /// The caller's folder, canonical.
    pub caller: PathBuf,
    /// The home folder, canonical.
    pub home: Option<PathBuf>,
    /// Where state lives; `None` where no place is known to be the user's own.
    state: Option<PathBuf>,
}

impl Look {
    /// Reads the environment of this process.
    ///
    /// # Errors
    /// When the current folder is gone.
    pub fn around() -> std::io::Result<Self> {
        Ok(Self::of(
            std::env::vars_os().collect(),
            std::env::current_dir()?,
        ))
    }

    /// As [`Look::around`], for a given environment.
    #[must_use]
    pub fn of(variables: Vec<(OsString, OsString)>, caller: PathBuf) -> Self {
        let get = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| PathBuf::from(value))
        };
        let home = get("HOME").and_then(|home| fs::canonicalize(home).ok());
        let absolute = |name: &str| get(name).filter(|path| path.is_absolute());
        let state = absolute("XDG_STATE_HOME")
            .or_else(|| home.as_ref().map(|home| home.join(".local/state")))
            .or_else(|| homeless(rustix::process::geteuid().as_raw()))
            .map(|base| base.join("deputize"));
        let caller = fs::canonicalize(&caller).unwrap_or(caller);
        Self {
            variables,
            caller,
            home,
            state,
        }
    }

    /// Where state lives. Nothing is created, and whose it is isn't looked at.
    ///
    /// # Errors
    /// `state_unknown`, where neither a variable nor the user's number names a place.
    pub fn state(&self) -> Result<&Path, Refusal> {
        self.state.as_deref().ok_or_else(|| {
            Refusal::new(
                "state_unknown",
                "HOME",
                "no folder is known that is this user's own, so no run can be written down",
                "set HOME or XDG_STATE_HOME to a folder of this user",
            )
        })
    }

    /// The person's file of rules, whether it is there or not; `None` where no folder is known for
    /// configuration.
    #[must_use]
    pub fn rules_file(&self) -> Option<PathBuf> {
        self.configuration().map(|folder| folder.join("rules.toml"))
    }

    /// The environment, as it was read.
    pub(crate) fn environment(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// Where the person's configuration of Deputize lies; `None` without a home.
    #[must_use]
    pub fn configuration(&self) -> Option<PathBuf> {
        let moved = self.variable("XDG_CONFIG_HOME").map(PathBuf::from);
        let moved = moved.filter(|path| path.is_absolute());
        let base = moved.or_else(|| self.home.as_ref().map(|home| home.join(".config")));
        base.map(|base| base.join("deputize"))
    }

    /// A variable's value, if it is text.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let (_, value) = self.variables.iter().find(|(key, _)| key == name)?;
        value.to_str().map(str::to_owned)
    }

    /// What keeps the person's secrets out of everything that we write.
    ///
    /// # Errors
    /// When they are too many to look for: then nothing is written.
    pub(crate) fn redactor(&self) -> Result<Redactor, RunError> {
        Redactor::new(self.secret_values()).map_err(|error| {
            RunError::Refused(Refusal::new(
                "secrets_too_large",
                "environment",
                error.to_string(),
                "start it with fewer variables, for example with `env -i`",
            ))
        })
    }

    /// Values that must not get into anything that we write: what the person's environment holds
    /// under names of credentials.
    #[must_use]
    fn secret_values(&self) -> Vec<String> {
        const WORDS: [&str; 9] = [
            "KEY",
            "TOKEN",
            "SECRET",
            "PASSWORD",
            "PASSWD",
            "PASSPHRASE",
            "CREDENTIAL",
            "AUTH",
            "_PW",
        ];
        self.variables
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?.to_uppercase(), value.to_str()?)))
            .filter(|(name, _)| WORDS.iter().any(|word| name.contains(word)))
            .map(|(_, value)| value.to_owned())
            // A path is no credential, and every file name would be redacted with it.
            .filter(|value| !value.starts_with('/'))
            .collect()
    }

    /// Facts about this machine.
    #[must_use]
    pub fn host(&self) -> HostFacts {
        HostFacts::gather(|name| self.variable(name))
    }

    /// Facts for a request that works in `workdir`, or in the caller's folder.
    #[must_use]
    pub fn surroundings(&self, workdir: Option<&Path>) -> Surroundings {
        Surroundings {
            caller: self.caller.clone(),
            workdir: self.folder(workdir.unwrap_or(Path::new("."))),
            home: self.home.clone(),
            reserved: self.reserved(),
            global: Bounds::ANY,
            parent: None,
        }
    }

    /// What is at a path as typed; `~` is the home folder.
    #[must_use]
    pub fn folder(&self, typed: &Path) -> FolderFact {
        let expanded = match (typed.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => typed.to_owned(),
        };
        folder_fact(&self.caller.join(expanded))
    }

    /// Folders that no child works in: state, configuration, keys, agents.
    fn reserved(&self) -> Vec<Reserved> {
        let mut reserved: Vec<Reserved> = self
            .state
            .iter()
            .map(|path| Reserved {
                path: path.clone(),
                what: "Deputize's state folder",
            })
            .collect();
        let named = [
            ("XDG_CONFIG_HOME", ".config", "the configuration folder"),
            ("XDG_STATE_HOME", ".local/state", "the state folder"),
        ];
        for (variable, below, what) in named {
            let moved = self.variable(variable).map(PathBuf::from);
            let path = moved.or_else(|| self.home.as_ref().map(|home| home.join(below)));
            reserved.extend(path.map(|path| Reserved { path, what }));
        }
        for below in [".ssh", ".gnupg", ".aws", ".kube", ".password-store"] {
            let path = self.home.as_ref().map(|home| home.join(below));
            reserved.extend(path.map(|path| Reserved {
                path,
                what: "a folder of keys",
            }));
        }
        for row in &mut reserved {
            row.path = fs::canonicalize(&row.path).unwrap_or_else(|_| row.path.clone());
        }
        reserved
    }
}

/// Where state goes without a home: into a folder that the system made for this user, never into one
/// that somebody else could have made first.
fn homeless(user: u32) -> Option<PathBuf> {
    let root = (user == 0).then(|| PathBuf::from("/root"));
    let runtime = PathBuf::from(format!("/run/user/{user}"));
    if let Some(root) = root.filter(|path| is_own_folder(path, user)) {
        return Some(root.join(".local/state"));
    }
    is_own_folder(&runtime, user).then_some(runtime)
}

fn is_own_folder(path: &Path, user: u32) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == user)
}

/// What is at an absolute path.
#[must_use]
pub fn folder_fact(path: &Path) -> FolderFact {
    let asked = lexical(path);
    let found = match fs::canonicalize(&asked) {
        Ok(canonical) => match fs::metadata(&canonical) {
            Ok(meta) if meta.is_dir() => Found::Folder {
                canonical,
                device: meta.dev(),
                inode: meta.ino(),
            },
            Ok(meta) => Found::Other {
                canonical,
                device: meta.dev(),
                inode: meta.ino(),
            },
            Err(error) => Found::Unreadable(error.to_string()),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Found::Missing,
        Err(error) => Found::Unreadable(error.to_string()),
    };
    FolderFact { asked, found }
}

/// Takes `.` and `..` out by name.
fn lexical(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            other => whole.push(other),
        }
        whole
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_files_links_and_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        fs::write(base.join("file"), "").unwrap();
        std::os::unix::fs::symlink("/usr", base.join("out")).unwrap();
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();
        let look = Look::of(vec![("HOME".into(), base.clone().into())], base.clone());
        let found = |path: &str| look.folder(Path::new(path)).found;
        assert!(matches!(found("."), Found::Folder { canonical, .. } if canonical == base));
        assert!(matches!(found("~/x/.."), Found::Folder { canonical, .. } if canonical == base));
        assert!(matches!(found("file"), Found::Other { .. }));
        assert!(
            matches!(found("out"), Found::Folder { canonical, .. } if canonical == Path::new("/usr"))
        );
        assert!(matches!(found("none"), Found::Missing));
        assert!(matches!(found("loop"), Found::Unreadable(_)));
        assert!(look.state().unwrap().starts_with(&base));
    }

    /// A2: without a home, state goes where only this user can have made a folder, or nowhere.
    #[test]
    fn state_without_a_home() {
        let look = Look::of(Vec::new(), "/".into());
        let user = rustix::process::geteuid().as_raw();
        let own = |path: &str| is_own_folder(Path::new(path), user);
        let runtime = format!("/run/user/{user}");
        match look.state() {
            Ok(state) if user == 0 && own("/root") => {
                assert_eq!(state, Path::new("/root/.local/state/deputize"));
            }
            Ok(state) => {
                assert!(own(&runtime));
                assert_eq!(state, Path::new(&runtime).join("deputize"));
            }
            Err(refusal) => {
                assert!(!own(&runtime));
                assert_eq!((&*refusal.code, &*refusal.field), ("state_unknown", "HOME"));
            }
        }
        // Nobody has this number.
        assert_eq!(homeless(u32::MAX - 7), None);
        let base = tempfile::tempdir().unwrap();
        let link = base.path().join("link");
        std::os::unix::fs::symlink(base.path(), &link).unwrap();
        assert!(is_own_folder(base.path(), user));
        assert!(!is_own_folder(&link, user) && !is_own_folder(base.path(), user + 1));
    }
}
