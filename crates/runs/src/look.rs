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
    /// Where state lives.
    pub state: PathBuf,
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
            // Without a home, a place that is the user's alone.
            .unwrap_or_else(|| {
                PathBuf::from(format!(
                    "/var/tmp/deputize-{}",
                    rustix::process::geteuid().as_raw()
                ))
            })
            .join("deputize");
        let caller = fs::canonicalize(&caller).unwrap_or(caller);
        Self {
            variables,
            caller,
            home,
            state,
        }
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
        let mut reserved = vec![Reserved {
            path: self.state.clone(),
            what: "Deputize's state folder",
        }];
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
            Ok(_) => Found::Other { canonical },
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
        assert!(look.state.starts_with(&base));
    }
}
