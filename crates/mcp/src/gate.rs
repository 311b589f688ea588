//! The gate for a host's own calls (G3): the request `deputize/gate`.

use std::path::PathBuf;

use deputize_authority::Mode;
use deputize_runs::{Look, OwnSeat, OwnVerdict, SecondOpinion, judge_own_call};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The method's name.
pub(crate) const METHOD: &str = "deputize/gate";

/// A call of the host's own agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    tool: String,
    input: Map<String, Value>,
    cwd: PathBuf,
    mode: Mode,
    /// What other extensions of the protocol add.
    #[serde(default, rename = "_meta")]
    _meta: Option<Value>,
}

/// Judges a call.
///
/// # Errors
/// Why it isn't one; the host blocks it then.
pub(crate) fn judge(
    params: Option<&Value>,
    look: &Look,
    second: SecondOpinion,
) -> Result<OwnVerdict, String> {
    let params = params.cloned().unwrap_or_default();
    let asked: Asked = serde_json::from_value(params).map_err(|error| error.to_string())?;
    if !asked.cwd.is_absolute() {
        return Err("`cwd` is absolute".to_owned());
    }
    let seat = OwnSeat {
        root: asked.cwd.clone(),
        cwd: asked.cwd,
        home: look.home.clone().unwrap_or_else(|| "/".into()),
        mode: asked.mode,
        second,
        // A file that is at fault holds every call up: a denial in it must not pass as nothing.
        rules: look
            .rules(None)
            .map_err(|error| error.refusal().to_string())?
            .calls()
            .to_vec(),
    };
    Ok(judge_own_call(&asked.tool, &asked.input, &seat))
}
