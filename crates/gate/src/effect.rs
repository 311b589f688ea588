//! What a call does, typed: the first of the gate's two steps (G2).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use deputize_authority::Untrusted;
use serde::{Serialize, Serializer};

use crate::ShellEffect;

/// Characters of a path or argument that explanations repeat.
const SHOWN: usize = 300;
/// Arguments that explanations repeat.
const SHOWN_ARGUMENTS: usize = 64;

/// One effect of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Names or contents are read.
    Read {
        /// Where: canonical when known, else the path that is meant.
        #[serde(serialize_with = "shown_path")]
        path: PathBuf,
        /// How much of it.
        reach: Reach,
    },
    /// A file is made, replaced or changed.
    Write {
        /// Where: canonical when known, else the path that is meant.
        #[serde(serialize_with = "shown_path")]
        path: PathBuf,
        /// What happens to it.
        change: Change,
    },
    /// A program runs.
    Execute {
        /// The file, when it was found, else the name.
        #[serde(serialize_with = "shown_path")]
        program: PathBuf,
        /// The arguments, the program's name first.
        #[serde(serialize_with = "shown_arguments")]
        argv: Vec<OsString>,
        /// What kind of command it is.
        class: Class,
    },
    /// Something that a command line does, told from its text.
    #[serde(untagged)]
    Shell(ShellEffect),
}

/// How much of a path is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The content of one file.
    File,
    /// The names in one folder.
    Folder,
    /// Everything below, secrets left out.
    Recursive,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is made, with the folders on the way to it.
    Create,
    /// It gets another content.
    Replace,
    /// A part of it changes.
    Edit,
}

/// The class of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Nobody can tell from outside what it does.
    Opaque,
    /// It looks at a repository, and git is kept from running anything else.
    History,
    /// It would administer Deputize itself.
    Admin,
}

impl Effect {
    /// The effect in words.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Read { path, reach } => {
                let what = match reach {
                    Reach::File => "reads",
                    Reach::Folder => "lists",
                    Reach::Recursive => "searches below",
                };
                format!("{what} {}", shown(path))
            }
            Self::Write { path, change } => {
                let what = match change {
                    Change::Create => "creates",
                    Change::Replace => "replaces",
                    Change::Edit => "edits",
                };
                format!("{what} {}", shown(path))
            }
            Self::Execute { program, class, .. } => match class {
                Class::Opaque => format!("runs {}", shown(program)),
                Class::History => format!("looks at the history with {}", shown(program)),
                Class::Admin => format!("administers Deputize with {}", shown(program)),
            },
            Self::Shell(effect) => effect.describe(),
        }
    }
}

/// Foreign text as explanations and messages show it.
pub(crate) fn shown_text(text: &str) -> String {
    Untrusted::new(text).preview(SHOWN)
}

/// A path as explanations and messages show it.
pub(crate) fn shown(path: &Path) -> String {
    Untrusted::new(path.to_string_lossy()).preview(SHOWN)
}

fn shown_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown(path))
}

fn shown_arguments<S: Serializer>(argv: &[OsString], serializer: S) -> Result<S::Ok, S::Error> {
    let more = argv.len().saturating_sub(SHOWN_ARGUMENTS);
    let rest = (more > 0).then(|| format!("… {more} more"));
    serializer.collect_seq(
        argv.iter()
            .take(SHOWN_ARGUMENTS)
            .map(|argument| shown(Path::new(argument)))
            .chain(rest),
    )
}
