//! A request for a child, from what was typed. Nothing is decided here.

use std::ffi::OsStr;
use std::io::{IsTerminal as _, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use deputize_agent::MAX_SCHEMA_BYTES;
use deputize_authority::preflight::{PROMPT_BYTES, RunRequest};
use deputize_authority::{Consent, Dimension, escape};
use deputize_runs::{ChildRequest, Look, ModelRequest, Principal, RunError};
use serde_json::Value;

use crate::args::Run;
use crate::failure::usage;

/// The most bytes of a schema's text: indented generously, it is still within what is taken.
const SCHEMA_TEXT: u64 = 8 * MAX_SCHEMA_BYTES as u64;

/// What this process finds around it.
pub(crate) fn look_around() -> Result<Look, RunError> {
    Look::around().map_err(|source| RunError::State {
        doing: "find the current folder",
        path: ".".into(),
        source,
    })
}

/// The request that was typed.
pub(crate) fn request(args: &Run) -> Result<ChildRequest, RunError> {
    let prompt = match &args.prompt {
        Some(prompt) if prompt != "-" => prompt.clone().into_vec(),
        _ => read_prompt()?,
    };
    let budget = limits(&args.budget)?;
    let allow = allowances(&args.allow)?;
    Ok(ChildRequest {
        principal: Principal::Person,
        run: RunRequest {
            prompt,
            preset: args.preset.clone(),
            agent: args.agent.clone(),
            context: args.context.clone(),
            workspace: args.workspace.clone(),
            check: args.check.clone(),
            ports: args.port.clone(),
            budget,
            ..RunRequest::default()
        },
        workdir: args.workdir.clone(),
        read: args.read.clone(),
        model: ModelRequest {
            name: args.model.clone(),
            fallback: args.fallback.clone(),
            ..ModelRequest::default()
        },
        schema: args.schema.as_deref().map(schema).transpose()?,
        allow,
        rules: args.rules.clone(),
    })
}

/// What the person typed that is allowed.
pub(crate) fn allowances(typed: &[String]) -> Result<Vec<Consent>, RunError> {
    typed.iter().map(|typed| allowance(typed)).collect()
}

/// The limits that the person typed.
pub(crate) fn limits(typed: &[String]) -> Result<Vec<(Dimension, u64)>, RunError> {
    typed.iter().map(|typed| limit(typed)).collect()
}

fn allowance(typed: &str) -> Result<Consent, RunError> {
    typed.parse().map_err(|error| {
        let names: Vec<&str> = Consent::ALL.into_iter().map(Consent::name).collect();
        usage(
            "allow",
            format!("{error}"),
            &format!("name one or more of {}", names.join(", ")),
        )
    })
}

/// A schema as JSON text, or from a file: what begins with `{` is no path that anybody means.
fn schema(typed: &OsStr) -> Result<Value, RunError> {
    let invalid = |reason: String| {
        usage(
            "schema",
            reason,
            "give a JSON Schema, or the path of a file that holds one",
        )
    };
    let shown = escape(&typed.to_string_lossy());
    let bytes = if typed.as_bytes().trim_ascii_start().starts_with(b"{") {
        typed.as_bytes().to_vec()
    } else {
        let mut bytes = Vec::new();
        std::fs::File::open(typed)
            .and_then(|file| file.take(SCHEMA_TEXT + 1).read_to_end(&mut bytes))
            .map_err(|error| invalid(format!("the schema `{shown}` can't be read: {error}")))?;
        bytes
    };
    if bytes.len() as u64 > SCHEMA_TEXT {
        return Err(invalid(format!(
            "the schema has more than {SCHEMA_TEXT} bytes"
        )));
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| invalid(format!("the schema is not JSON: {error}")))
}

/// Reads the prompt from standard input: one byte more than is allowed, so that too long shows.
fn read_prompt() -> Result<Vec<u8>, RunError> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(usage(
            "prompt",
            "there is no prompt".to_owned(),
            "say what to do, as in `deputize run \"Where are budget limits enforced?\"`",
        ));
    }
    let mut prompt = Vec::new();
    let most = u64::try_from(PROMPT_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    stdin
        .lock()
        .take(most)
        .read_to_end(&mut prompt)
        .map_err(|source| RunError::State {
            doing: "read the prompt from",
            path: "standard input".into(),
            source,
        })?;
    Ok(prompt)
}

fn limit(typed: &str) -> Result<(Dimension, u64), RunError> {
    let parsed = typed.split_once('=').and_then(|(name, number)| {
        Some((Dimension::named(name.trim())?, number.trim().parse().ok()?))
    });
    parsed.ok_or_else(|| {
        let names: Vec<&str> = Dimension::ALL.into_iter().map(Dimension::name).collect();
        usage(
            "budget",
            format!("`{}` is no limit", escape(typed)),
            &format!("write NAME=NUMBER with one of {}", names.join(", ")),
        )
    })
}
