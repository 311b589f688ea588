//! The providers that are known by name, and those that a person configured.

use deputize_authority::{Refusal, escape};

use crate::config::{Config, ProviderConfig};
use crate::endpoint::{BaseUrl, Endpoint, KeyNeed, KeySource, Plain, UrlError};
use crate::price::Prices;
use crate::wire::Wire;
use crate::{ModelName, NameError};

/// A provider that needs no configuration.
struct BuiltIn {
    name: &'static str,
    wire: Wire,
    base: &'static str,
    /// The variable that moves it.
    base_variable: &'static str,
    key_variables: &'static [&'static str],
    /// The name that its key is stored under.
    account: &'static str,
    need: KeyNeed,
}

const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "anthropic",
        wire: Wire::Anthropic,
        base: "https://api.anthropic.com",
        base_variable: "ANTHROPIC_BASE_URL",
        key_variables: &["ANTHROPIC_API_KEY"],
        account: "anthropic",
        need: KeyNeed::Always,
    },
    BuiltIn {
        name: "openai",
        wire: Wire::OpenaiResponses,
        base: "https://api.openai.com/v1",
        base_variable: "OPENAI_BASE_URL",
        key_variables: &["OPENAI_API_KEY"],
        account: "openai",
        need: KeyNeed::Always,
    },
    BuiltIn {
        name: "openai-chat",
        wire: Wire::OpenaiChat,
        base: "https://api.openai.com/v1",
        base_variable: "OPENAI_BASE_URL",
        key_variables: &["OPENAI_API_KEY"],
        account: "openai",
        need: KeyNeed::Always,
    },
    BuiltIn {
        name: "gemini",
        wire: Wire::Gemini,
        base: "https://generativelanguage.googleapis.com",
        base_variable: "GOOGLE_GEMINI_BASE_URL",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        account: "gemini",
        need: KeyNeed::Always,
    },
    BuiltIn {
        name: "ollama",
        wire: Wire::Ollama,
        base: "http://127.0.0.1:11434",
        base_variable: "OLLAMA_HOST",
        key_variables: &["OLLAMA_API_KEY"],
        account: "ollama",
        need: KeyNeed::Optional,
    },
];

/// What a person's own files and shell say about providers. Files of a project are never among them.
pub struct Known<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The prices.
    pub prices: &'a Prices,
    /// The variables of the person's shell.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Known<'_> {
    /// The endpoint of a provider's model.
    ///
    /// # Errors
    /// Refusals with the codes `provider_unknown`, `provider_incomplete`, `provider_url` and
    /// `provider_insecure`.
    pub fn endpoint(&self, provider: &str, model: &str) -> Result<Endpoint, Refusal> {
        let built_in = BUILT_IN.iter().find(|one| one.name == provider);
        let own = self.config.providers.get(provider);
        if built_in.is_none() && own.is_none() {
            return Err(self.unknown(provider));
        }
        let nothing = ProviderConfig::default();
        let own = own.unwrap_or(&nothing);
        let wire = own.kind.or(built_in.map(|one| one.wire));
        let wire = wire.ok_or_else(|| incomplete(provider, "kind"))?;
        let base = self.base(provider, built_in, own)?;
        let mut variables: Vec<String> = own.key_env.iter().cloned().collect();
        if let (Some(one), []) = (built_in, variables.as_slice()) {
            variables.extend(one.key_variables.iter().map(|name| (*name).to_owned()));
        }
        let need = match (built_in, &own.key_env) {
            (_, Some(_)) => KeyNeed::Always,
            (Some(one), None) => one.need,
            (None, None) => KeyNeed::Optional,
        };
        let name: ModelName =
            format!("{provider}:{model}")
                .parse()
                .map_err(|error: NameError| {
                    Refusal::new(
                        "model_name",
                        "model",
                        error.to_string(),
                        "write `provider:model`",
                    )
                })?;
        if wire.path(model).is_none() {
            return Err(Refusal::new(
                "model_name",
                "model",
                format!("`{}` is no model's name for this provider", escape(model)),
                "write the model as the provider's own list spells it",
            ));
        }
        let mut endpoint = Endpoint {
            name,
            model: model.to_owned(),
            wire,
            base,
            key: KeySource {
                variables,
                account: built_in.map_or(provider, |one| one.account).to_owned(),
                need,
            },
            price: None,
        };
        endpoint.price = self.prices.of_endpoint(&endpoint, provider);
        Ok(endpoint)
    }

    fn base(
        &self,
        provider: &str,
        built_in: Option<&BuiltIn>,
        own: &ProviderConfig,
    ) -> Result<BaseUrl, Refusal> {
        let from_shell = built_in.and_then(|one| {
            let value = (self.variable)(one.base_variable)?;
            let value = value.trim().to_owned();
            (!value.is_empty()).then(|| {
                if one.wire == Wire::Ollama {
                    ollama(&value)
                } else {
                    value
                }
            })
        });
        let usual = built_in.map(|one| one.base.to_owned());
        let url = own.base_url.clone().or(from_shell).or(usual);
        let url = url.ok_or_else(|| incomplete(provider, "base_url"))?;
        let plain = if own.insecure {
            Plain::Anywhere
        } else {
            Plain::Loopback
        };
        BaseUrl::parse(&url, plain).map_err(|error| match error {
            UrlError::Form { .. } => Refusal::new(
                "provider_url",
                "model",
                error.to_string(),
                "write a base URL such as `https://models.example.com/v1`",
            ),
            UrlError::Insecure { .. } => Refusal::new(
                "provider_insecure",
                "model",
                error.to_string(),
                format!(
                    "use https, or say `insecure = true` in [providers.{provider}] of config.toml"
                ),
            ),
        })
    }

    fn unknown(&self, provider: &str) -> Refusal {
        let built_in = BUILT_IN.iter().map(|one| one.name.to_owned());
        let names: Vec<String> = built_in
            .chain(self.config.providers.keys().cloned())
            .collect();
        Refusal::new(
            "provider_unknown",
            "model",
            format!("no provider is called `{}`", escape(provider)),
            format!(
                "known are {}; configure others under [providers.NAME] in config.toml",
                names.join(", ")
            ),
        )
    }

    /// The name that a provider's key is stored under.
    ///
    /// # Errors
    /// `provider_unknown`.
    pub fn account(&self, provider: &str) -> Result<String, Refusal> {
        let built_in = BUILT_IN.iter().find(|one| one.name == provider);
        match (built_in, self.config.providers.contains_key(provider)) {
            (Some(one), _) => Ok(one.account.to_owned()),
            (None, true) => Ok(provider.to_owned()),
            (None, false) => Err(self.unknown(provider)),
        }
    }

    /// The names that keys are stored under, with the variables that may hold them.
    #[must_use]
    pub fn accounts(&self) -> Vec<KeySource> {
        let mut accounts: Vec<KeySource> = Vec::new();
        let built_in = BUILT_IN.iter().map(|one| one.name);
        for provider in built_in.chain(self.config.providers.keys().map(String::as_str)) {
            let own = self.config.providers.get(provider);
            let known = BUILT_IN.iter().find(|one| one.name == provider);
            let usual = known.map_or(&[][..], |one| one.key_variables);
            let variables = match own.and_then(|own| own.key_env.clone()) {
                Some(own) => vec![own],
                None => usual.iter().map(|name| (*name).to_owned()).collect(),
            };
            let account = known.map_or(provider, |one| one.account);
            if accounts.iter().all(|one| one.account != account) {
                accounts.push(KeySource {
                    variables,
                    account: account.to_owned(),
                    need: known.map_or(KeyNeed::Optional, |one| one.need),
                });
            }
        }
        accounts
    }
}

fn incomplete(provider: &str, lacks: &str) -> Refusal {
    Refusal::new(
        "provider_incomplete",
        "model",
        format!("the provider `{}` has no `{lacks}`", escape(provider)),
        format!(
            "add `{lacks}` to [providers.{}] in config.toml",
            escape(provider)
        ),
    )
}

/// `OLLAMA_HOST` is written without a scheme, and may be an address to listen on.
fn ollama(host: &str) -> String {
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let rest = rest.trim_end_matches('/');
    let rest = rest.replace("0.0.0.0", "127.0.0.1");
    let bare = rest.rsplit(']').next().unwrap_or(&rest);
    if bare.contains(':') || rest.contains('/') {
        format!("{scheme}://{rest}")
    } else {
        format!("{scheme}://{rest}:11434")
    }
}
