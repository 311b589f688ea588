//! What a person configured about models: text in, values out.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::Deserialize;

use crate::wire::Wire;
use crate::{ModelName, NameError};

/// The largest configuration file: a person writes it.
pub const MAX_CONFIG_BYTES: usize = 256 << 10;

/// `config.toml`: what it says about models, and about how many runs there may be.
///
/// ```toml
/// model = "anthropic:claude-sonnet-4-5"
/// fallback = ["anthropic:claude-haiku-4-5"]
///
/// [providers.work]
/// kind = "openai-chat"
/// base_url = "https://models.example.com/v1"
/// key_env = "WORK_MODELS_KEY"
///
/// [presets.read-only]
/// model = "work:small"   # a pin: the caller can't choose another
///
/// [runs]
/// at_once = 4
/// per_minute = 12
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The model where none is named.
    #[serde(default)]
    pub model: Option<String>,
    /// The models that take over, in order, where none are named.
    #[serde(default)]
    pub fallback: Vec<String>,
    /// Providers, by the name before the colon.
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Presets, by name.
    #[serde(default)]
    pub presets: BTreeMap<String, PresetConfig>,
    /// How many runs there may be. It stands here because one file has one reader: an unknown key in
    /// it is an error.
    #[serde(default)]
    pub runs: RunsConfig,
}

/// How many runs one process may host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunsConfig {
    /// At a time.
    #[serde(default)]
    pub at_once: Option<NonZeroUsize>,
    /// Within a minute.
    #[serde(default)]
    pub per_minute: Option<NonZeroUsize>,
}

/// A provider of the person's own, or a built-in one in another place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// How it is spoken to; a built-in one knows it.
    #[serde(default)]
    pub kind: Option<Wire>,
    /// Where it is.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The variable that holds its key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// Whether it may be spoken to unencrypted beyond this machine.
    #[serde(default)]
    pub insecure: bool,
}

/// What is fixed for a preset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetConfig {
    /// Its model, whatever the caller says.
    #[serde(default)]
    pub model: Option<String>,
}

/// Why a text is no configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It is too large.
    #[error("it is larger than {MAX_CONFIG_BYTES} bytes")]
    TooLarge,
    /// It is not of the right form.
    #[error("line {line}, column {column}: {what}")]
    Form {
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in characters.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// A provider can't be called that.
    #[error("`{}` can't be a provider's name: {what}", deputize_authority::escape(.name))]
    Provider {
        /// The name.
        name: String,
        /// Why.
        what: &'static str,
    },
    /// A model is misspelt.
    #[error("{0}")]
    Model(#[from] NameError),
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// See [`ConfigError`]; unknown keys are errors, so that a misspelt limit can't pass unseen.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        if text.len() > MAX_CONFIG_BYTES {
            return Err(ConfigError::TooLarge);
        }
        let config: Self = toml::from_str(text).map_err(|error| at(text, &error))?;
        for name in config.providers.keys() {
            let named: Result<ModelName, _> = format!("{name}:x").parse();
            let what = match named {
                _ if name == "scout" || name == "script" => "it means something else",
                Ok(_) => continue,
                Err(_) => "write lower-case letters, digits, `-` and `_`",
            };
            return Err(ConfigError::Provider {
                name: name.clone(),
                what,
            });
        }
        let pinned = config.presets.values().filter_map(|one| one.model.as_ref());
        for name in config.model.iter().chain(&config.fallback).chain(pinned) {
            let _: ModelName = name.parse()?;
        }
        Ok(config)
    }

    /// The pin of a preset; `_` and `-` are equal.
    #[must_use]
    pub fn pin(&self, preset: &str) -> Option<&str> {
        let same = |name: &str| name.replace('_', "-") == preset.replace('_', "-");
        let found = self.presets.iter().find(|(name, _)| same(name));
        found.and_then(|(_, preset)| preset.model.as_deref())
    }
}

/// Where in a text an error is.
pub(crate) fn at(text: &str, error: &toml::de::Error) -> ConfigError {
    let offset = error.span().map_or(0, |span| span.start);
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let last = before.rsplit('\n').next().unwrap_or_default();
    ConfigError::Form {
        line,
        column: last.chars().count() + 1,
        what: error.message().replace('\n', "; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_read() {
        let text = "model = \"a:b\"\nfallback = [\"c:d\"]\n[providers.work]\nkind = \"openai-chat\"\n\
                    base_url = \"https://x\"\nkey_env = \"K\"\n[presets.read_only]\nmodel = \"e:f\"\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.runs, RunsConfig::default());
        let runs = Config::parse("[runs]\nat_once = 2\n").unwrap().runs;
        assert_eq!(runs.at_once.map(NonZeroUsize::get), Some(2));
        assert!(Config::parse("[runs]\nat_once = 0\n").is_err());
        assert_eq!(config.pin("read-only"), Some("e:f"));
        assert_eq!(config.providers["work"].kind, Some(Wire::OpenaiChat));
        assert_eq!(Config::parse("").unwrap(), Config::default());
    }

    /// N4: a misspelt key is an error with its place.
    #[test]
    fn errors_have_line_and_column() {
        let told = |text: &str| Config::parse(text).unwrap_err().to_string();
        let unknown = told("model = \"a:b\"\n[providers.x]\nkeyenv = \"K\"\n");
        assert!(
            unknown.starts_with("line 3, column 1: unknown field `keyenv`"),
            "{unknown}"
        );
        let broken = told("model = \n");
        assert!(broken.starts_with("line 1, column 9:"), "{broken}");
        for name in ["scout", "script"] {
            assert!(told(&format!("[providers.{name}]\n")).contains("means something else"));
        }
        assert!(told("[providers.\"A B\"]\n").contains("lower-case"));
        assert!(told("fallback = [\"gpt\"]").contains("names no provider"));
        assert!(told("[providers.x]\nkind = \"mcp\"\n").contains("line 2"));
        assert_eq!(
            Config::parse(&" ".repeat(MAX_CONFIG_BYTES + 1)),
            Err(ConfigError::TooLarge)
        );
    }
}
