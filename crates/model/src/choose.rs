//! Which model answers, and which take over.

use deputize_authority::{Refusal, escape};

use crate::provider::Known;
use crate::{Endpoint, ModelName, Price};

/// Models that may take over, at most: a list longer than this is no plan.
const MAX_FALLBACKS: usize = 8;

/// What a request says about its model.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The model that was named.
    pub model: Option<&'a str>,
    /// The models that were named to take over.
    pub fallback: &'a [String],
    /// The preset, which may pin its model.
    pub preset: &'a str,
    /// Whether a dearer model may take over.
    pub dearer: Dearer,
    /// Whether whoever asks serves a model of its own.
    pub host: HostModels,
}

/// Whether the host of the parent agent serves its models (N5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostModels {
    /// There is no host, or it serves none.
    #[default]
    Absent,
    /// It does.
    Served,
}

/// Whether a person allowed a dearer model to take over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dearer {
    /// Nobody did.
    #[default]
    Refuse,
    /// A person did.
    Allow,
}

/// A model that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// One that answers in this process: scout, or a script.
    InProcess(ModelName),
    /// The host's.
    Host(ModelName),
    /// A provider's.
    Provider(Box<Endpoint>),
}

impl Choice {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &ModelName {
        match self {
            Self::InProcess(name) | Self::Host(name) => name,
            Self::Provider(endpoint) => &endpoint.name,
        }
    }

    fn price(&self) -> Option<Price> {
        match self {
            Self::InProcess(_) => Some(Price::FREE),
            Self::Host(_) => None,
            Self::Provider(endpoint) => endpoint.price,
        }
    }
}

/// Chooses the model and those that take over, in their order: what a preset pins, what was named, the
/// host's own, what is configured, what runs on this machine (N4). None is ever guessed beyond that, and a dearer
/// one takes over only where a person allowed it (D6).
///
/// `local` looks for a model on this machine: the first that says it can call tools.
///
/// # Errors
/// The refusal: `no_model`, `no_host_model`, `model_pinned`, `model_name`, `fallback_dearer`, `fallback_invalid`, and
/// those of [`Known::endpoint`].
pub fn choose(
    wanted: &Wanted<'_>,
    known: &Known<'_>,
    local: &dyn Fn(&Endpoint) -> Option<String>,
) -> Result<Vec<Choice>, Refusal> {
    let pinned = known.config.pin(wanted.preset);
    if let Some(pin) = pinned {
        let other = wanted.model.filter(|model| *model != pin);
        let other = other.or(wanted.fallback.first().map(String::as_str));
        if let Some(other) = other {
            return Err(Refusal::new(
                "model_pinned",
                "model",
                format!(
                    "the preset `{}` is pinned to `{}`, so `{}` can't answer",
                    escape(wanted.preset),
                    escape(pin),
                    escape(other)
                ),
                "leave the model out, or change the pin under [presets] in config.toml",
            ));
        }
    }
    let configured = known.config.model.as_deref();
    let first = match (pinned.or(wanted.model), wanted.host, configured) {
        (Some(name), _, _) | (None, HostModels::Absent, Some(name)) => {
            one(name, known, wanted.host)?
        }
        (None, HostModels::Served, _) => Choice::Host(ModelName::Host(None)),
        (None, HostModels::Absent, None) => on_this_machine(known, local)?,
    };
    let is_configured = !matches!(first, Choice::Host(_));
    let mut chosen = vec![first];
    // A pin is one model; whoever names a model names those that take over.
    let fallback = match (pinned, wanted.model) {
        (Some(_), _) => &[],
        (None, _) if !wanted.fallback.is_empty() => wanted.fallback,
        (None, Some(_)) => &[],
        // Those that are configured stand behind the one that is.
        (None, None) if is_configured => known.config.fallback.as_slice(),
        (None, None) => &[],
    };
    if fallback.len() > MAX_FALLBACKS {
        return Err(Refusal::new(
            "fallback_invalid",
            "fallback",
            format!("{} models are to take over", fallback.len()),
            format!("name at most {MAX_FALLBACKS}"),
        ));
    }
    for name in fallback {
        let next = one(name, known, wanted.host)?;
        if let Choice::InProcess(_) = next {
            return Err(Refusal::new(
                "fallback_invalid",
                "fallback",
                format!(
                    "`{}` is no language model and never stands in for one",
                    escape(name)
                ),
                "name models of providers to take over",
            ));
        }
        if let (Some(before), Dearer::Refuse) = (chosen.last(), wanted.dearer) {
            not_dearer(before, &next)?;
        }
        chosen.push(next);
    }
    Ok(chosen)
}

fn one(name: &str, known: &Known<'_>, host: HostModels) -> Result<Choice, Refusal> {
    let parsed: ModelName = name.parse().map_err(|error| {
        Refusal::new(
            "model_name",
            "model",
            format!("{error}"),
            "write `scout`, `script:FILE`, `host` or `provider:model`",
        )
    })?;
    match &parsed {
        ModelName::Scout | ModelName::Script(_) => Ok(Choice::InProcess(parsed)),
        ModelName::Host(_) => match host {
            HostModels::Served => Ok(Choice::Host(parsed)),
            HostModels::Absent => Err(no_host_model(name)),
        },
        ModelName::Provider { provider, model } => {
            let endpoint = known.endpoint(provider, model)?;
            Ok(Choice::Provider(Box::new(endpoint)))
        }
    }
}

fn no_host_model(name: &str) -> Refusal {
    Refusal::new(
        "no_host_model",
        "model",
        format!(
            "`{}` is a model of the host, and no host that asks here serves one",
            escape(name)
        ),
        "name a model of a provider, or ask from a host that declares `sampling` with `tools`",
    )
}

fn on_this_machine(
    known: &Known<'_>,
    local: &dyn Fn(&Endpoint) -> Option<String>,
) -> Result<Choice, Refusal> {
    let endpoint = known.endpoint("ollama", "any")?;
    let found = if endpoint.base.is_loopback() {
        local(&endpoint)
    } else {
        None
    };
    match found {
        Some(model) => {
            let endpoint = known.endpoint("ollama", &model)?;
            Ok(Choice::Provider(Box::new(endpoint)))
        }
        None => Err(Refusal::new(
            "no_model",
            "model",
            "no model was named, none is configured, and no Ollama with a model that can call tools \
             runs on this machine",
            "store a key with `deputize auth set anthropic` and name a model with `--model \
             anthropic:MODEL`, or write `model = \"provider:model\"` into config.toml, or start \
             Ollama; for read-only questions `--model scout` answers by code search, without a \
             language model",
        )),
    }
}

/// Holds a model that takes over against the one before it. What nobody knows can't be shown not to be
/// dearer.
fn not_dearer(before: &Choice, next: &Choice) -> Result<(), Refusal> {
    let shown = |price: Option<Price>| {
        price.map_or("of unknown price".to_owned(), |price| price.to_string())
    };
    let dearer = match (before.price(), next.price()) {
        (Some(before), Some(next)) => next.is_dearer_than(before),
        (None, None) => false,
        _ => true,
    };
    if !dearer {
        return Ok(());
    }
    Err(Refusal::new(
        "fallback_dearer",
        "fallback",
        format!(
            "`{}` ({}) would take over from `{}` ({})",
            escape(&next.name().to_string()),
            shown(next.price()),
            escape(&before.name().to_string()),
            shown(before.price())
        ),
        "put cheaper models behind, give their prices in prices.toml, or allow it with `--allow \
         dearer-model`",
    ))
}
