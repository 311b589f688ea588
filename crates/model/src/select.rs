//! From a name to a client that needs no network.

use std::sync::Arc;

use deputize_authority::{Refusal, escape};

use crate::{MAX_SCRIPT_BYTES, ModelClient, ModelName, Scout, Script, ScriptedModel, Sleeper};

/// What a scripted model needs from outside. The other models need nothing.
pub trait Edge {
    /// Reads a script's file: at most `limit` bytes and one more, so that a longer file shows.
    ///
    /// # Errors
    /// The reason, as a lowercase fragment.
    fn script(&self, path: &str, limit: u64) -> Result<Vec<u8>, String>;

    /// The means to wait.
    fn sleeper(&self) -> Arc<dyn Sleeper>;
}

/// Gives a model that answers in this process: code search, or a script.
///
/// # Errors
/// `model_script`, when a script can't be used; `model_not_available` for a provider's model, which
/// needs a relay.
pub fn open(name: &ModelName, edge: &dyn Edge) -> Result<Box<dyn ModelClient>, Refusal> {
    match name {
        ModelName::Scout => Ok(Box::new(Scout::new())),
        ModelName::Script(file) => {
            let script = load(file, edge).map_err(|reason| {
                Refusal::new(
                    "model_script",
                    "model",
                    format!("the script `{}` can't be used: {reason}", escape(file)),
                    "name a readable script file of the documented form after `script:`",
                )
            })?;
            let name = name.clone();
            Ok(Box::new(ScriptedModel::new(name, script, edge.sleeper())))
        }
        ModelName::Host(_) | ModelName::Provider { .. } => Err(Refusal::new(
            "model_not_available",
            "model",
            format!(
                "`{}` doesn't answer in this process",
                escape(&name.to_string())
            ),
            "use it through a run: that speaks to the host, or starts the relay that holds its key",
        )),
    }
}

fn load(file: &str, edge: &dyn Edge) -> Result<Script, String> {
    let bytes = edge.script(file, MAX_SCRIPT_BYTES)?;
    Script::parse(&bytes).map_err(|error| error.to_string())
}
