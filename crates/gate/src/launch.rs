//! One program with literal arguments: what `deputize exec` asks for.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use deputize_authority::EnvName;
use serde::{Deserialize, Serialize};

use crate::arguments::CallError;
use crate::{Limits, exact};

/// Where a program without a slash in its name is looked up when the caller names no folders.
pub const DEFAULT_SEARCH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// A program start as it was asked for. No shell is between these bytes and `execve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    #[serde(with = "exact::list")]
    argv: Vec<OsString>,
    #[serde(with = "exact")]
    cwd: PathBuf,
    env: Vec<EnvName>,
    #[serde(with = "exact::list")]
    search: Vec<PathBuf>,
}

impl Launch {
    /// Describes a start: the arguments with the program first, the working folder (relative ones
    /// count from the workspace), the NAMES of the environment variables that it will see, and the
    /// folders in which a program named without a slash is looked up (what PATH will be).
    ///
    /// # Errors
    /// When there is no program, or an argument holds a NUL or exceeds a limit.
    pub fn new(
        argv: Vec<OsString>,
        cwd: PathBuf,
        env: Vec<EnvName>,
        search: Vec<PathBuf>,
    ) -> Result<Self, CallError> {
        let launch = Self {
            argv,
            cwd,
            env,
            search,
        };
        launch.check()?;
        Ok(launch)
    }

    /// The arguments, the program first; never empty.
    #[must_use]
    pub fn argv(&self) -> &[OsString] {
        &self.argv
    }

    /// The program as it was named.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        // `check` refuses an empty list; were it skipped, the empty name resolves to nothing.
        self.argv
            .first()
            .map_or(OsStr::new(""), OsString::as_os_str)
    }

    /// The working folder as it was named.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The names of the environment variables that the program will see.
    #[must_use]
    pub fn env(&self) -> &[EnvName] {
        &self.env
    }

    /// The folders in which a program named without a slash is looked up.
    #[must_use]
    pub fn search(&self) -> &[PathBuf] {
        &self.search
    }

    pub(crate) fn check(&self) -> Result<(), CallError> {
        if self.program().is_empty() {
            return Err(CallError::Empty { name: "argv" });
        }
        if self.argv.len() > Limits::ARGUMENTS {
            return Err(CallError::too_many("argv", Limits::ARGUMENTS));
        }
        let bytes: usize = self.argv.iter().map(|argument| argument.len()).sum();
        if bytes > Limits::ARGUMENT_BYTES {
            return Err(CallError::too_long("argv", Limits::ARGUMENT_BYTES));
        }
        if self.env.len() > Limits::NAMES {
            return Err(CallError::too_many("env", Limits::NAMES));
        }
        if self.search.len() > Limits::NAMES {
            return Err(CallError::too_many("search", Limits::NAMES));
        }
        let longest = self.search.iter().map(|path| path.as_os_str().len()).max();
        for (name, bytes) in [
            ("cwd", self.cwd.as_os_str().len()),
            ("search", longest.unwrap_or(0)),
        ] {
            if bytes > Limits::PATH {
                return Err(CallError::too_long(name, Limits::PATH));
            }
        }
        let has_nul = |text: &OsStr| text.as_bytes().contains(&0);
        for (name, found) in [
            ("argv", self.argv.iter().any(|text| has_nul(text))),
            ("cwd", has_nul(self.cwd.as_os_str())),
            (
                "search",
                self.search.iter().any(|path| has_nul(path.as_os_str())),
            ),
        ] {
            if found {
                return Err(CallError::Nul { name });
            }
        }
        let is_name = |name: &EnvName| {
            !name.0.is_empty() && name.0.len() <= Limits::TERM && !name.0.contains(['=', '\0'])
        };
        if !self.env.iter().all(is_name) {
            return Err(CallError::Malformed {
                name: "env",
                expected: "names of environment variables",
            });
        }
        Ok(())
    }
}
