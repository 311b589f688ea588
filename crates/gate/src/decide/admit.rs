//! The first door: is it a tool, is it granted, are these its arguments?

use deputize_authority::{Tool, Untrusted};
use serde_json::Value;

use super::{Context, Judge, Stop, denied};
use crate::{Call, CallError, Denied};

/// Takes a tool name and its arguments as a call, or says why not (G1, G7).
///
/// The name is checked against the grant before the arguments are looked at, so a model learns that
/// a tool isn't granted rather than how to call it.
///
/// # Errors
/// The denial, when the tool is unknown, not granted or not available, or the arguments aren't its.
pub fn admit(tool: &str, arguments: &Value, context: &Context<'_>) -> Result<Call, Box<Denied>> {
    let admitted = tool
        .parse::<Tool>()
        .map_err(|_| Stop::from(CallError::UnknownTool(Untrusted::new(tool))))
        .and_then(|tool| {
            Judge::new(context).granted(tool)?;
            Ok(Call::of(tool, arguments)?)
        });
    admitted.map_err(|stop| Box::new(denied(stop, Vec::new(), context)))
}
