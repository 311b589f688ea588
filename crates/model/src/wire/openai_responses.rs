//! OpenAI's responses. Nothing is stored with the provider: what a model thought comes back encrypted
//! and is sent again.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::draft::{Draft, Fault, Over};
use super::openai_chat::arguments;
use super::spelling::plain;
use super::{Wire, encode, unsendable};
use crate::{Message, ModelError, Part, Stop, ToolSpec, ToolUse, TurnRequest};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<Item>,
    stream: bool,
    store: bool,
    max_output_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item {
    Typed(Value),
    Raw(Box<RawValue>),
}

/// The fewest output tokens that the provider takes.
const LEAST_OUTPUT: u64 = 16;

pub(super) fn body(
    model: &str,
    source: &str,
    request: &TurnRequest,
) -> Result<Vec<u8>, ModelError> {
    let mut input = Vec::new();
    for message in &request.messages {
        add(&mut input, message, source)?;
    }
    let body = Body {
        model,
        instructions: &request.system,
        input,
        stream: true,
        store: false,
        max_output_tokens: request.max_output_tokens.max(LEAST_OUTPUT),
        include: if thinks(model) {
            vec!["reasoning.encrypted_content"]
        } else {
            Vec::new()
        },
        tools: request.tools.iter().map(tool).collect(),
    };
    encode(Wire::OpenaiResponses, &body)
}

/// Models from before reasoning refuse to be asked for it.
fn thinks(model: &str) -> bool {
    const OLD: [&str; 3] = ["gpt-3", "gpt-4", "chatgpt-4"];
    !OLD.iter().any(|old| model.starts_with(old))
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function", "name": tool.name, "description": tool.description,
        "parameters": tool.parameters, "strict": false
    })
}

fn add(input: &mut Vec<Item>, message: &Message, source: &str) -> Result<(), ModelError> {
    match message {
        Message::User(text) => input.push(said("user", "input_text", text)),
        Message::ToolResult { id, content, .. } => input.push(Item::Typed(json!({
            "type": "function_call_output", "call_id": plain(id), "output": content
        }))),
        Message::Assistant {
            text,
            calls,
            opaque,
        } => {
            let own = opaque.as_ref().and_then(|opaque| opaque.for_source(source));
            match own {
                Some(parts) => {
                    for part in parts {
                        input.extend(item(part, calls)?);
                    }
                }
                None => {
                    input.extend(spoken(text));
                    input.extend(calls.iter().map(call));
                }
            }
        }
    }
    Ok(())
}

fn item(part: &Part, calls: &[ToolUse]) -> Result<Option<Item>, ModelError> {
    Ok(match part {
        Part::Text(text) => spoken(text),
        Part::Call(index) => calls.get(*index).map(call),
        Part::Raw(json) => match (is_reasoning(json), RawValue::from_string(json.clone())) {
            (true, Ok(raw)) => Some(Item::Raw(raw)),
            _ => return Err(unsendable(Wire::OpenaiResponses)),
        },
    })
}

fn spoken(text: &str) -> Option<Item> {
    (!text.is_empty()).then(|| said("assistant", "output_text", text))
}

fn said(role: &str, kind: &str, text: &str) -> Item {
    Item::Typed(json!({
        "type": "message", "role": role, "content": [{ "type": kind, "text": text }]
    }))
}

fn call(call: &ToolUse) -> Item {
    Item::Typed(json!({
        "type": "function_call", "call_id": plain(&call.id), "name": plain(&call.name),
        "arguments": arguments(call)
    }))
}

/// Whether a block is reasoning that can be sent back: encrypted, with no field that nobody knows.
fn is_reasoning(json: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "the form is checked, the text is used")]
    struct Reasoning {
        r#type: Kind,
        encrypted_content: String,
        #[serde(default)]
        id: Option<String>,
        #[serde(default)]
        summary: Option<Vec<Thought>>,
        #[serde(default)]
        content: Option<Vec<Thought>>,
        #[serde(default)]
        status: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Reasoning,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "the form is checked, the text is used")]
    struct Thought {
        r#type: String,
        text: String,
    }
    serde_json::from_str::<Reasoning>(json).is_ok()
}

/// What was said of the message that is under way.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Bytes of text of the current message.
    text: usize,
}

#[derive(Deserialize)]
struct Event<'a> {
    r#type: String,
    #[serde(default)]
    delta: Option<String>,
    #[serde(default, borrow)]
    item: Option<&'a RawValue>,
    #[serde(default)]
    response: Option<Response>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    error: Option<Failure>,
    #[serde(default)]
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    input_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Done {
    Message {
        #[serde(default)]
        content: Vec<Content>,
    },
    FunctionCall {
        call_id: String,
        name: String,
        #[serde(default)]
        arguments: String,
    },
    Reasoning {},
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
}

impl Stream {
    pub(super) fn take(&mut self, draft: &mut Draft, event: &str) -> Result<(), Fault> {
        // Some end with this; what counts is `response.completed`.
        if event.trim() == "[DONE]" {
            return Ok(());
        }
        let event: Event<'_> = serde_json::from_str(event)
            .map_err(|error| Fault::Malformed(format!("an event can't be read: {error}")))?;
        let delta = event.delta.unwrap_or_default();
        match event.r#type.as_str() {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.text += delta.len();
                draft.add_text(&delta)?;
            }
            // The whole comes with the item; until then it only counts.
            kind if kind.ends_with(".delta") => draft.count(delta.len()),
            "response.output_item.done" => {
                let item = event.item.map(RawValue::get).unwrap_or_default();
                self.item(draft, item)?;
            }
            "response.created" => heard(draft, event.response.as_ref()),
            "response.completed" => {
                heard(draft, event.response.as_ref());
                draft.stop = Some(Stop::Finished);
                draft.over = Over::Said;
            }
            "response.incomplete" => {
                heard(draft, event.response.as_ref());
                let details = event.response.and_then(|whole| whole.incomplete_details);
                let reason = details.and_then(|details| details.reason);
                if reason.as_deref() == Some("content_filter") {
                    let said = "the provider's content filter stopped the answer";
                    return Err(Fault::Declined(said.to_owned()));
                }
                draft.stop = Some(Stop::Length);
                draft.over = Over::Said;
            }
            "response.failed" | "error" => {
                heard(draft, event.response.as_ref());
                return Err(Fault::Failed(failure(event.response, event.message)));
            }
            _ => {}
        }
        Ok(())
    }

    fn item(&mut self, draft: &mut Draft, json: &str) -> Result<(), Fault> {
        let done: Done = serde_json::from_str(json)
            .map_err(|error| Fault::Malformed(format!("an item can't be read: {error}")))?;
        match done {
            Done::Message { content } => {
                // Its text came before, unless the provider sends none in parts.
                if self.text == 0 {
                    for part in content {
                        for text in [part.text, part.refusal].into_iter().flatten() {
                            draft.add_text(&text)?;
                        }
                    }
                }
                self.text = 0;
            }
            Done::FunctionCall {
                call_id,
                name,
                arguments,
            } => {
                let index = draft.begin_call(&call_id, &name)?;
                draft.add_arguments(index, &arguments)?;
            }
            Done::Reasoning {} if is_reasoning(json) => draft.add_raw(json.to_owned())?,
            Done::Reasoning {} | Done::Other => {}
        }
        Ok(())
    }
}

fn heard(draft: &mut Draft, response: Option<&Response>) {
    let Some(response) = response else {
        return;
    };
    if let Some(model) = &response.model {
        draft.model.clone_from(model);
    }
    if let Some(tokens) = &response.usage {
        let details = tokens.input_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens);
        let cached = cached.unwrap_or_default();
        let reported = &mut draft.reported;
        reported.input = Some(tokens.input_tokens.saturating_sub(cached));
        reported.cached = cached;
        reported.output = Some(tokens.output_tokens);
        reported.last = true;
    }
}

fn failure(response: Option<Response>, message: Option<String>) -> String {
    let error = response.and_then(|response| response.error);
    let (code, said) = error.map_or((None, None), |error| (error.code, error.message));
    let said = said.or(message).unwrap_or_else(|| "no reason".to_owned());
    match code {
        Some(code) => format!("{code}: {said}"),
        None => said,
    }
}
