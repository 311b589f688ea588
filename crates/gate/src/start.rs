//! What a sealed call starts, in one shape for every call that starts a program.

use std::ffi::OsString;
use std::time::Duration;

use crate::{Bound, Call, Identity, Limits, Means, Sealed, git};

/// One program start, exactly as it was sealed.
///
/// The boundary builds the environment; [`Start::env`] is set over it. What is started is
/// [`Start::program`] and no other file, in the folder [`Start::cwd`] and no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start<'a> {
    /// The arguments, the program's name first.
    pub argv: Vec<OsString>,
    /// Variables that the start needs, by name and value.
    pub env: Vec<(String, String)>,
    /// The working folder. In a copy of the workspace the path holds and the numbers don't: they are
    /// those of the folder that is shown there.
    pub cwd: &'a Identity,
    /// The program's file; `None` when none was found, so that the start fails honestly.
    pub program: Option<&'a Identity>,
    /// How long it may take; `None` when only a person's patience limits it.
    pub timeout: Option<Duration>,
}

impl Sealed<Call> {
    /// What the call starts; `None` for calls that the worker runs.
    #[must_use]
    pub fn start(&self) -> Option<Start<'_>> {
        let Bound::Launch(bound) = self.bound() else {
            return None;
        };
        let (argv, env, timeout) = match (self.call(), &bound.means) {
            (Call::Exec(launch), Means::Literal) => (launch.argv().to_vec(), Vec::new(), None),
            (
                Call::Bash {
                    command,
                    timeout_seconds,
                },
                means,
            ) => {
                let seconds = timeout_seconds.unwrap_or(Limits::COMMAND_SECONDS);
                (shell(means, command)?, Vec::new(), Some(seconds))
            }
            (Call::Git(look), Means::Git(means)) => {
                let workspace = &bound.cwd.canonical;
                let argv = git::arguments(look, means, workspace);
                let seconds = Limits::GIT_SECONDS;
                (argv, git::variables(workspace), Some(seconds))
            }
            _ => return None,
        };
        Some(Start {
            argv,
            env,
            cwd: &bound.cwd,
            program: bound.program.as_ref(),
            timeout: timeout.map(Duration::from_secs),
        })
    }
}

/// Neither shell reads a file of the workspace or of the account before the command.
fn shell(means: &Means, command: &str) -> Option<Vec<OsString>> {
    let words: &[&str] = match means {
        Means::Bash => &["bash", "--noprofile", "--norc", "-c", command],
        Means::Sh => &["sh", "-c", command],
        Means::Literal | Means::Git(_) => return None,
    };
    Some(words.iter().map(Into::into).collect())
}
