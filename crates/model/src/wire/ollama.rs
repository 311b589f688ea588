//! Ollama's chat: one JSON object a line.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::draft::{Draft, Fault, Over};
use super::openai_chat::tools;
use super::spelling::plain;
use super::{Wire, encode, unsendable};
use crate::{Message, ModelError, Part, Stop, ToolUse, TurnRequest};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Said<'a>>,
    stream: bool,
    options: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
}

impl<'a> Said<'a> {
    fn new(role: &'static str, content: &'a str) -> Self {
        Self {
            role,
            content,
            thinking: None,
            tool_calls: Vec::new(),
            tool_name: None,
        }
    }
}

pub(super) fn body(
    model: &str,
    source: &str,
    request: &TurnRequest,
) -> Result<Vec<u8>, ModelError> {
    let mut messages = Vec::new();
    let mut names: Vec<(&str, &str)> = Vec::new();
    if !request.system.is_empty() {
        messages.push(Said::new("system", &request.system));
    }
    for message in &request.messages {
        messages.push(match message {
            Message::User(text) => Said::new("user", text),
            Message::ToolResult { id, content, .. } => Said {
                tool_name: names
                    .iter()
                    .rev()
                    .find(|(known, _)| known == id)
                    .map(|(_, name)| plain(name)),
                ..Said::new("tool", content)
            },
            Message::Assistant {
                text,
                calls,
                opaque,
            } => {
                names.extend(calls.iter().map(|call| (&*call.id, &*call.name)));
                let own = opaque.as_ref().and_then(|opaque| opaque.for_source(source));
                Said {
                    thinking: thinking(own.unwrap_or_default())?,
                    tool_calls: calls.iter().map(call).collect(),
                    ..Said::new("assistant", text)
                }
            }
        });
    }
    let body = Body {
        model,
        messages,
        stream: true,
        options: json!({ "num_predict": request.max_output_tokens }),
        tools: tools(&request.tools),
    };
    encode(Wire::Ollama, &body)
}

fn call(call: &ToolUse) -> Value {
    let arguments = match &call.arguments {
        Value::Object(arguments) => json!(arguments),
        _ => json!({}),
    };
    json!({ "function": { "name": plain(&call.name), "arguments": arguments } })
}

fn thinking(parts: &[Part]) -> Result<Option<Box<RawValue>>, ModelError> {
    let raw = parts.iter().find_map(|part| match part {
        Part::Raw(json) => Some(json),
        Part::Text(_) | Part::Call(_) => None,
    });
    let Some(json) = raw else {
        return Ok(None);
    };
    let text: Result<String, _> = serde_json::from_str(json);
    match (text, RawValue::from_string(json.clone())) {
        (Ok(_), Ok(raw)) => Ok(Some(raw)),
        _ => Err(unsendable(Wire::Ollama)),
    }
}

/// Thoughts so far.
#[derive(Debug, Default)]
pub(super) struct Stream {
    thinking: String,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    message: Option<Given>,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: Option<u64>,
    #[serde(default)]
    eval_count: Option<u64>,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    content: String,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl Stream {
    pub(super) fn take(&mut self, draft: &mut Draft, event: &str) -> Result<(), Fault> {
        let chunk: Chunk = serde_json::from_str(event)
            .map_err(|error| Fault::Malformed(format!("a line can't be read: {error}")))?;
        if let Some(error) = chunk.error {
            return Err(Fault::Failed(error));
        }
        if let Some(model) = chunk.model {
            draft.model = model;
        }
        if let Some(given) = chunk.message {
            self.given(draft, given)?;
        }
        if chunk.done {
            let reported = &mut draft.reported;
            reported.input = chunk.prompt_eval_count.or(reported.input);
            reported.output = chunk.eval_count;
            reported.last = chunk.eval_count.is_some();
            let thinking = std::mem::take(&mut self.thinking);
            if !thinking.is_empty() {
                draft.add_raw(Value::String(thinking).to_string())?;
            }
            draft.stop = Some(match chunk.done_reason.as_deref() {
                Some("length") => Stop::Length,
                _ => Stop::Finished,
            });
            draft.over = Over::Said;
        }
        Ok(())
    }

    fn given(&mut self, draft: &mut Draft, given: Given) -> Result<(), Fault> {
        if let Some(thinking) = given.thinking {
            draft.count(thinking.len());
            self.thinking.push_str(&thinking);
        }
        draft.add_text(&given.content)?;
        for call in given.tool_calls.unwrap_or_default() {
            let index = draft.begin_call("", &call.function.name)?;
            let arguments = match call.function.arguments {
                Value::Null => String::new(),
                Value::String(text) => text,
                other => other.to_string(),
            };
            draft.add_arguments(index, &arguments)?;
        }
        Ok(())
    }
}
