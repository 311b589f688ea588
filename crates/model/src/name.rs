//! How models are named.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest name: `script:` and the longest path that Linux takes.
const MAX_NAME_BYTES: usize = 7 + 4_096;

/// The name of a model: `scout`, `script:FILE`, `host`, `host:NAME` or `provider:model`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ModelName {
    /// Code search.
    Scout,
    /// A script, by its path.
    Script(String),
    /// The host's own model, or the one of its models that has this name (N5).
    Host(Option<String>),
    /// A model of a provider.
    Provider {
        /// The provider: lower-case letters, digits, `-` and `_`.
        provider: String,
        /// The model, as the provider spells it.
        model: String,
    },
}

/// A name that is no model's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty.
    #[error("the model's name is empty")]
    Empty,
    /// It is longer than any name.
    #[error("the model's name has {0} bytes, at most {MAX_NAME_BYTES} are taken")]
    TooLong(usize),
    /// It has a control character.
    #[error("the model's name has a control character")]
    Control,
    /// It has no provider.
    #[error("`{}` names no provider", deputize_authority::escape(.0))]
    NoProvider(String),
    /// Its provider is not spelled like one.
    #[error("`{}` is not a provider's name", deputize_authority::escape(.0))]
    BadProvider(String),
    /// Nothing follows the colon.
    #[error("nothing follows the colon in `{}`", deputize_authority::escape(.0))]
    NothingNamed(String),
}

impl FromStr for ModelName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name.len() > MAX_NAME_BYTES {
            return Err(NameError::TooLong(name.len()));
        }
        if name.contains(char::is_control) {
            return Err(NameError::Control);
        }
        if name == "scout" {
            return Ok(Self::Scout);
        }
        if name == "host" {
            return Ok(Self::Host(None));
        }
        let (provider, model) = name
            .split_once(':')
            .ok_or_else(|| NameError::NoProvider(name.to_owned()))?;
        let spelled = !provider.is_empty()
            && provider
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'));
        if !spelled {
            return Err(NameError::BadProvider(provider.to_owned()));
        }
        if model.is_empty() {
            return Err(NameError::NothingNamed(name.to_owned()));
        }
        Ok(match provider {
            "script" => Self::Script(model.to_owned()),
            "host" => Self::Host(Some(model.to_owned())),
            _ => Self::Provider {
                provider: provider.to_owned(),
                model: model.to_owned(),
            },
        })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scout => f.write_str("scout"),
            Self::Script(file) => write!(f, "script:{file}"),
            Self::Host(None) => f.write_str("host"),
            Self::Host(Some(model)) => write!(f, "host:{model}"),
            Self::Provider { provider, model } => write!(f, "{provider}:{model}"),
        }
    }
}

impl TryFrom<String> for ModelName {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse()
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> Self {
        name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip() {
        for name in [
            "scout",
            "script:a b.json",
            "host",
            "host:anthropic/claude",
            "ollama:llama3:8b",
            "anthropic:claude",
        ] {
            let parsed: ModelName = name.parse().unwrap();
            assert_eq!(parsed.to_string(), name);
        }
    }

    #[test]
    fn what_is_no_name_is_an_error() {
        for (name, error) in [
            ("", NameError::Empty),
            ("gpt", NameError::NoProvider("gpt".into())),
            (":x", NameError::BadProvider(String::new())),
            ("Open AI:x", NameError::BadProvider("Open AI".into())),
            ("script:", NameError::NothingNamed("script:".into())),
            ("host:", NameError::NothingNamed("host:".into())),
            ("a:\u{1b}", NameError::Control),
        ] {
            assert_eq!(name.parse::<ModelName>(), Err(error), "{name:?}");
        }
        let long = format!("a:{}", "x".repeat(MAX_NAME_BYTES));
        assert_eq!(
            long.parse::<ModelName>(),
            Err(NameError::TooLong(long.len()))
        );
    }
}
