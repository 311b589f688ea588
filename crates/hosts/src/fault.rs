//! Why a configuration can't be changed.

use std::path::Path;

use deputize_authority::{Refusal, escape};

/// What is wrong with a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It can't be read as what it should be; with the place.
    Invalid(String),
    /// A table on the way is something else.
    Shape(String),
    /// Somebody else's entry has the name.
    Taken(String),
}

impl Fault {
    pub(crate) fn refusal(&self, path: &Path) -> Refusal {
        let file = escape(&path.to_string_lossy());
        match self {
            Self::Invalid(why) => Refusal::new(
                "host_config_invalid",
                "host",
                format!("`{file}` can't be read: {}", escape(why)),
                "correct the file; the host can't read it either",
            ),
            Self::Shape(what) => Refusal::new(
                "host_config_shape",
                "host",
                format!(
                    "`{}` in `{file}` isn't what the host expects there",
                    escape(what)
                ),
                "correct the file, or add the entry by hand: `--print` shows it",
            ),
            Self::Taken(name) => Refusal::new(
                "host_entry_taken",
                "host",
                format!("`{file}` has another entry called `{}`", escape(name)),
                "remove or rename it by hand, then install again",
            ),
        }
    }
}
