//! From a name to a client, or to a refusal that says what to do.

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

/// Gives the model of that name.
///
/// Nothing is guessed: without a name there is no model, and what was named is given or refused
/// (D6).
///
/// # Errors
/// Refusals of the field `model` with the codes `no_model`, `model_name`, `model_not_available` and
/// `model_script`.
pub fn select(name: Option<&str>, edge: &dyn Edge) -> Result<Box<dyn ModelClient>, Refusal> {
    let Some(name) = name else {
        return Err(Refusal::new(
            "no_model",
            FIELD,
            "no model was named, and none is ever chosen for you",
            SCOUT_FIX,
        ));
    };
    let name: ModelName = name
        .parse()
        .map_err(|error| Refusal::new("model_name", FIELD, format!("{error}"), NAME_FIX))?;
    match &name {
        ModelName::Scout => Ok(Box::new(Scout::new())),
        ModelName::Script(file) => {
            let script = load(file, edge).map_err(|reason| {
                Refusal::new(
                    "model_script",
                    FIELD,
                    format!("the script `{}` can't be used: {reason}", escape(file)),
                    "name a readable script file of the documented form after `script:`",
                )
            })?;
            Ok(Box::new(ScriptedModel::new(name, script, edge.sleeper())))
        }
        ModelName::Provider { provider, .. } => Err(Refusal::new(
            "model_not_available",
            FIELD,
            format!(
                "models of providers, such as `{}`, are not in this version yet",
                escape(provider)
            ),
            SCOUT_FIX,
        )),
    }
}

const FIELD: &str = "model";

const SCOUT_FIX: &str = "use `--model scout` for read-only questions: it answers by code search, \
                         without a language model; providers are not in this version yet";

const NAME_FIX: &str = "write `scout`, `script:FILE` or `provider:model`";

fn load(file: &str, edge: &dyn Edge) -> Result<Script, String> {
    let bytes = edge.script(file, MAX_SCRIPT_BYTES)?;
    Script::parse(&bytes).map_err(|error| error.to_string())
}
