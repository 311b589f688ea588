//! Google's Gemini.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::draft::{Draft, Fault};
use super::spelling::{is_given, plain};
use super::{Wire, encode, unsendable};
use crate::{Message, ModelError, Part, Stop, ToolOutcome, ToolUse, TurnRequest};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    contents: Vec<Said>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    generation_config: Value,
}

#[derive(Serialize)]
struct Said {
    role: &'static str,
    parts: Vec<Piece>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Piece {
    Typed(Value),
    Raw(Box<RawValue>),
}

/// What the provider takes in place of a signature over a call that another model made.
const UNSIGNED: &str = "skip_thought_signature_validator";

pub(super) fn body(
    model: &str,
    source: &str,
    request: &TurnRequest,
) -> Result<Vec<u8>, ModelError> {
    let mut contents: Vec<Said> = Vec::new();
    let mut names = HashMap::new();
    for message in &request.messages {
        let (role, parts) = match message {
            Message::User(text) => ("user", text_piece(text).into_iter().collect()),
            Message::ToolResult {
                id,
                content,
                outcome,
            } => ("user", vec![result(id, &names, content, *outcome)]),
            Message::Assistant {
                text,
                calls,
                opaque,
            } => {
                names.extend(calls.iter().map(|call| (&*call.id, &*call.name)));
                let own = opaque.as_ref().and_then(|opaque| opaque.for_source(source));
                ("model", spoken(model, text, calls, own)?)
            }
        };
        match contents.last_mut() {
            Some(last) if last.role == role => last.parts.extend(parts),
            _ if parts.is_empty() => {}
            _ => contents.push(Said { role, parts }),
        }
    }
    let declared: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name, "description": tool.description,
                "parametersJsonSchema": tool.parameters
            })
        })
        .collect();
    let body = Body {
        contents,
        system_instruction: (!request.system.is_empty())
            .then(|| json!({ "parts": [{ "text": request.system }] })),
        tools: if declared.is_empty() {
            Vec::new()
        } else {
            vec![json!({ "functionDeclarations": declared })]
        },
        generation_config: json!({ "maxOutputTokens": request.max_output_tokens }),
    };
    encode(Wire::Gemini, &body)
}

fn spoken(
    model: &str,
    text: &str,
    calls: &[ToolUse],
    own: Option<&[Part]>,
) -> Result<Vec<Piece>, ModelError> {
    let Some(parts) = own else {
        let calls = calls.iter().enumerate();
        let calls = calls.map(|(index, call)| {
            // This generation checks the first call of each turn.
            let checked = index == 0 && model.starts_with("gemini-3");
            call_piece(call, checked.then_some(UNSIGNED))
        });
        return Ok(text_piece(text).into_iter().chain(calls).collect());
    };
    let mut pieces = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => pieces.extend(text_piece(text)),
            Part::Call(index) => {
                pieces.extend(calls.get(*index).map(|call| call_piece(call, None)));
            }
            Part::Raw(json) => {
                let known: Result<Signed, _> = serde_json::from_str(json);
                match (known, RawValue::from_string(json.clone())) {
                    (Ok(_), Ok(raw)) => pieces.push(Piece::Raw(raw)),
                    _ => return Err(unsendable(Wire::Gemini)),
                }
            }
        }
    }
    Ok(pieces)
}

fn text_piece(text: &str) -> Option<Piece> {
    (!text.is_empty()).then(|| Piece::Typed(json!({ "text": text })))
}

fn call_piece(call: &ToolUse, signature: Option<&str>) -> Piece {
    let arguments = match &call.arguments {
        Value::Object(arguments) => json!(arguments),
        _ => json!({}),
    };
    let mut piece = json!({ "functionCall": { "name": plain(&call.name), "args": arguments } });
    if is_given(&call.id) {
        piece["functionCall"]["id"] = json!(call.id);
    }
    if let Some(signature) = signature {
        piece["thoughtSignature"] = json!(signature);
    }
    Piece::Typed(piece)
}

fn result(id: &str, names: &HashMap<&str, &str>, content: &str, outcome: ToolOutcome) -> Piece {
    let name = names.get(id).copied().unwrap_or_default();
    let key = match outcome {
        ToolOutcome::Answered => "output",
        ToolOutcome::Refused | ToolOutcome::Failed => "error",
    };
    let mut response = json!({ "functionResponse": {
        "name": plain(name), "response": { key: content }
    }});
    if is_given(id) {
        response["functionResponse"]["id"] = json!(id);
    }
    Piece::Typed(response)
}

/// The parts that go back as they came: a call, a text or an empty thought with a signature.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "the form is checked, the text is used")]
struct Signed {
    thought_signature: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(default)]
    function_call: Option<Call>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    args: Option<serde_json::Map<String, Value>>,
    #[serde(default)]
    id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(default, borrow)]
    candidates: Vec<Candidate<'a>>,
    #[serde(default)]
    usage_metadata: Option<Tokens>,
    #[serde(default)]
    model_version: Option<String>,
    #[serde(default)]
    prompt_feedback: Option<Feedback>,
    #[serde(default)]
    error: Option<Failure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default, borrow)]
    content: Option<Content<'a>>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(default, borrow)]
    parts: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(default)]
    thought_signature: Option<String>,
    #[serde(default)]
    function_call: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    #[serde(default)]
    prompt_token_count: Option<u64>,
    #[serde(default)]
    cached_content_token_count: Option<u64>,
    #[serde(default)]
    candidates_token_count: Option<u64>,
    #[serde(default)]
    thoughts_token_count: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    message: String,
}

pub(super) fn take(draft: &mut Draft, event: &str) -> Result<(), Fault> {
    let chunk: Chunk<'_> = serde_json::from_str(event)
        .map_err(|error| Fault::Malformed(format!("an event can't be read: {error}")))?;
    if let Some(error) = chunk.error {
        return Err(Fault::Failed(error.message));
    }
    let blocked = chunk.prompt_feedback.and_then(|said| said.block_reason);
    if let Some(reason) = blocked {
        return Err(Fault::Declined(format!("the request is blocked: {reason}")));
    }
    if let Some(model) = chunk.model_version {
        draft.model = model;
    }
    if let Some(candidate) = chunk.candidates.into_iter().next() {
        for part in candidate.content.into_iter().flat_map(|said| said.parts) {
            take_part(draft, part.get())?;
        }
        if let Some(reason) = candidate.finish_reason {
            draft.stop = Some(stop(&reason)?);
        }
    }
    if let Some(tokens) = chunk.usage_metadata {
        report(draft, &tokens);
    }
    Ok(())
}

fn take_part(draft: &mut Draft, json: &str) -> Result<(), Fault> {
    let given: Given = serde_json::from_str(json)
        .map_err(|error| Fault::Malformed(format!("a part can't be read: {error}")))?;
    let signed = given.thought_signature.is_some() && serde_json::from_str::<Signed>(json).is_ok();
    if let Some(call) = given.function_call {
        let call: Call = serde_json::from_value(call)
            .map_err(|error| Fault::Malformed(format!("a call can't be read: {error}")))?;
        let id = call.id.unwrap_or_default();
        let index = if signed {
            draft.show_call(&id, &call.name)?
        } else {
            draft.begin_call(&id, &call.name)?
        };
        if let Some(arguments) = call.args {
            draft.add_arguments(index, &Value::Object(arguments).to_string())?;
        }
    } else if let Some(text) = &given.text {
        match (given.thought.unwrap_or_default(), signed) {
            (true, _) => draft.count(text.len()),
            (false, true) => draft.show_text(text)?,
            (false, false) => draft.add_text(text)?,
        }
    }
    if signed {
        draft.add_raw(json.to_owned())?;
    }
    Ok(())
}

fn report(draft: &mut Draft, tokens: &Tokens) {
    let cached = tokens.cached_content_token_count.unwrap_or_default();
    let reported = &mut draft.reported;
    if let Some(prompt) = tokens.prompt_token_count {
        reported.input = Some(prompt.saturating_sub(cached));
        reported.cached = cached;
    }
    let output = [tokens.candidates_token_count, tokens.thoughts_token_count];
    if output.iter().any(Option::is_some) {
        let sum = output.into_iter().flatten().fold(0, u64::saturating_add);
        reported.output = Some(sum);
        reported.last = draft.stop.is_some();
    }
}

fn stop(reason: &str) -> Result<Stop, Fault> {
    Ok(match reason {
        "STOP" | "FINISH_REASON_UNSPECIFIED" => Stop::Finished,
        "MAX_TOKENS" => Stop::Length,
        "MALFORMED_FUNCTION_CALL" => return Err(Fault::malformed("the call is malformed")),
        other => return Err(Fault::Declined(format!("the answer is blocked: {other}"))),
    })
}
