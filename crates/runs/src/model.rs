//! From what a request says about its model to a client.
//!
//! The person's own configuration, prices and shell are read here; files of a project never are.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deputize_authority::{Refusal, escape};
use deputize_egress::{Launch, Relayed, model_on_this_machine};
use deputize_model::{
    Chain, Choice, Config, Dearer, Edge, HostModels, Known, MAX_CONFIG_BYTES, ModelClient,
    ModelHost, Prices, ServedModel, Wanted, choose, open,
};

use crate::Look;

/// What a request says about its model.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// The model by name.
    pub name: Option<String>,
    /// The models that take over, in order.
    pub fallback: Vec<String>,
    /// Whether a dearer one may.
    pub dearer: Dearer,
    /// The host that asks, where it serves models of its own (N5).
    pub host: Option<Arc<dyn ModelHost>>,
}

/// What a person's own files say about models.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// The configuration.
    pub config: Config,
    /// The prices.
    pub prices: Prices,
}

impl ModelSettings {
    /// Reads them; what isn't there says nothing.
    ///
    /// # Errors
    /// `config_invalid` and `prices_invalid`, with the file and the place in it.
    pub fn read(look: &Look) -> Result<Self, Refusal> {
        let Some(folder) = look.configuration() else {
            return Ok(Self {
                config: Config::default(),
                prices: shipped(None, Path::new("prices.toml"))?,
            });
        };
        let path = folder.join("config.toml");
        let invalid = |why: String| {
            Refusal::new(
                "config_invalid",
                "config",
                format!("`{}`: {why}", escape(&path.to_string_lossy())),
                "correct the file; `docs/configuration.md` lists its keys",
            )
        };
        let config = match text(&path).map_err(invalid)? {
            Some(text) => Config::parse(&text).map_err(|error| invalid(error.to_string()))?,
            None => Config::default(),
        };
        let path = folder.join("prices.toml");
        let own = text(&path).map_err(|why| bad_prices(&path, &why))?;
        let prices = shipped(own.as_deref(), &path)?;
        Ok(Self { config, prices })
    }
}

fn shipped(own: Option<&str>, path: &Path) -> Result<Prices, Refusal> {
    Prices::with(own).map_err(|error| bad_prices(path, &error.to_string()))
}

fn bad_prices(path: &Path, why: &str) -> Refusal {
    Refusal::new(
        "prices_invalid",
        "prices",
        format!("`{}`: {why}", escape(&path.to_string_lossy())),
        "correct the file, or remove it to go by the prices that ship",
    )
}

/// A file's text; `None` where there is no file.
fn text(path: &PathBuf) -> Result<Option<String>, String> {
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| error.to_string())?,
    };
    let mut text = String::new();
    let most = u64::try_from(MAX_CONFIG_BYTES).unwrap_or(u64::MAX);
    file.take(most.saturating_add(1))
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    Ok(Some(text))
}

impl ModelSettings {
    /// What is known about providers, with the variables of the person's shell.
    pub fn with<'a>(&'a self, variable: &'a dyn Fn(&str) -> Option<String>) -> Known<'a> {
        Known {
            config: &self.config,
            prices: &self.prices,
            variable,
        }
    }
}

/// Gives the client of a request: one model, or several in an order.
///
/// # Errors
/// The refusals of [`choose`], of the files, and of a script.
pub(crate) fn client(
    look: &Look,
    wanted: &ModelRequest,
    preset: &str,
    edge: &dyn Edge,
) -> Result<Box<dyn ModelClient>, Refusal> {
    let settings = ModelSettings::read(look)?;
    let variable = |name: &str| look.variable(name);
    let known = settings.with(&variable);
    let host = wanted.host.clone();
    let wanted = Wanted {
        model: wanted.name.as_deref(),
        fallback: &wanted.fallback,
        preset,
        dearer: wanted.dearer,
        host: match &host {
            Some(_) => HostModels::Served,
            None => HostModels::Absent,
        },
    };
    let chosen = choose(&wanted, &known, &model_on_this_machine)?;
    let mut clients = Vec::new();
    for choice in chosen {
        clients.push(match (choice, &host) {
            (Choice::Host(name), Some(host)) => Box::new(ServedModel::new(name, Arc::clone(host))),
            // One that can't be chosen is refused by its name.
            (Choice::InProcess(name) | Choice::Host(name), _) => open(&name, edge)?,
            (Choice::Provider(endpoint), _) => Box::new(Relayed::new(*endpoint, launch(look))),
        });
    }
    let first = clients.remove(0);
    Ok(if clients.is_empty() {
        first
    } else {
        Box::new(Chain::new(first, clients))
    })
}

/// A relay is this program, started again.
fn launch(look: &Look) -> Launch {
    Launch {
        program: PathBuf::from("/proc/self/exe"),
        environment: look.environment().to_vec(),
        store: look.configuration(),
    }
}
