//! One thing that a configuration is to say, whatever it is written in.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::{json, toml};

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Json,
    Toml,
}

/// An entry, and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The tables from the top down to the one that holds it.
    pub(crate) at: Vec<String>,
    /// Its name there; `None` for an element of a list, which the last of `at` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    pub(crate) value: Value,
}

/// A text with the entry in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Put {
    pub(crate) text: String,
    /// How many of the tables on the way weren't there before.
    pub(crate) made: usize,
}

impl Format {
    /// What a file begins as.
    pub(crate) fn empty(self) -> &'static str {
        match self {
            Self::Json => "{}\n",
            Self::Toml => "",
        }
    }

    /// The text with the entry; `None` where it says so already.
    pub(crate) fn put(self, text: &str, entry: &Entry) -> Result<Option<Put>, Fault> {
        match self {
            Self::Json => json::put(text, entry),
            Self::Toml => toml::put(text, entry),
        }
    }

    /// The text without the entry, and without the last `made` tables on its way where nothing else
    /// is in them; `None` where it isn't there, or says something else by now.
    pub(crate) fn take(
        self,
        text: &str,
        entry: &Entry,
        made: usize,
    ) -> Result<Option<String>, Fault> {
        match self {
            Self::Json => json::take(text, entry, made),
            Self::Toml => toml::take(text, entry, made),
        }
    }
}

/// Members by name: in which order a library keeps them is no business of a person's file.
pub(crate) fn sorted(members: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|(name, _)| *name);
    members.into_iter()
}
