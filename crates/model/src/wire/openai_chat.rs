//! OpenAI's chat completions, as OpenAI and many others speak them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::draft::{Draft, Fault, Over};
use super::spelling::plain;
use super::{Wire, encode, unsendable};
use crate::{Message, ModelError, Part, Stop, ToolSpec, ToolUse, TurnRequest};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Said<'a>>,
    stream: bool,
    stream_options: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
}

impl<'a> Said<'a> {
    fn new(role: &'static str, content: &'a str) -> Self {
        Self {
            role,
            content,
            tool_calls: Vec::new(),
            reasoning_content: None,
            tool_call_id: None,
        }
    }
}

pub(super) fn body(
    model: &str,
    source: &str,
    request: &TurnRequest,
) -> Result<Vec<u8>, ModelError> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(Said::new("system", &request.system));
    }
    for message in &request.messages {
        messages.push(match message {
            Message::User(text) => Said::new("user", text),
            Message::ToolResult { id, content, .. } => Said {
                tool_call_id: Some(plain(id)),
                ..Said::new("tool", content)
            },
            Message::Assistant {
                text,
                calls,
                opaque,
            } => {
                let own = opaque.as_ref().and_then(|opaque| opaque.for_source(source));
                Said {
                    tool_calls: calls.iter().map(call).collect(),
                    reasoning_content: reasoning(own.unwrap_or_default())?,
                    ..Said::new("assistant", text)
                }
            }
        });
    }
    let most = request.max_output_tokens;
    let body = Body {
        model,
        messages,
        stream: true,
        stream_options: json!({ "include_usage": true }),
        max_tokens: (!counts_thoughts(model)).then_some(most),
        max_completion_tokens: counts_thoughts(model).then_some(most),
        tools: tools(&request.tools),
    };
    encode(Wire::OpenaiChat, &body)
}

/// OpenAI's reasoning models take the limit under another name, which other servers don't know.
fn counts_thoughts(model: &str) -> bool {
    const THINKING: [&str; 4] = ["o1", "o3", "o4", "gpt-5"];
    THINKING.iter().any(|name| model.starts_with(name))
}

pub(super) fn tools(tools: &[ToolSpec]) -> Vec<Value> {
    let function = |tool: &ToolSpec| {
        json!({ "type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.parameters
        }})
    };
    tools.iter().map(function).collect()
}

/// Arguments as the text that this wire takes.
pub(super) fn arguments(call: &ToolUse) -> String {
    match &call.arguments {
        // What was no JSON when it came.
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn call(call: &ToolUse) -> Value {
    json!({ "id": plain(&call.id), "type": "function", "function": {
        "name": plain(&call.name), "arguments": arguments(call)
    }})
}

/// The thoughts that this model wants back: one text, as it came.
fn reasoning(parts: &[Part]) -> Result<Option<Box<RawValue>>, ModelError> {
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
        _ => Err(unsendable(Wire::OpenaiChat)),
    }
}

/// Calls that are under way, and thoughts.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The provider's index of each call.
    indexes: Vec<u64>,
    reasoning: String,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

impl Stream {
    pub(super) fn take(&mut self, draft: &mut Draft, event: &str) -> Result<(), Fault> {
        if event.trim() == "[DONE]" {
            self.end(draft)?;
            // One that says so without a reason to stop was cut.
            if draft.stop.is_some() {
                draft.over = Over::Said;
            }
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_str(event)
            .map_err(|error| Fault::Malformed(format!("an event can't be read: {error}")))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            let said = error.get("message").and_then(Value::as_str);
            let said = said.map_or_else(|| error.to_string(), str::to_owned);
            return Err(Fault::Failed(said));
        }
        if let Some(model) = chunk.model
            && draft.model.is_empty()
        {
            draft.model = model;
        }
        if let Some(tokens) = chunk.usage {
            report(draft, &tokens);
        }
        // One answer was asked for.
        let Some(choice) = chunk.choices.into_iter().next() else {
            return Ok(());
        };
        if let Some(delta) = choice.delta {
            self.delta(draft, delta)?;
        }
        if let Some(reason) = choice.finish_reason {
            self.end(draft)?;
            draft.stop = Some(stop(&reason)?);
        }
        Ok(())
    }

    fn delta(&mut self, draft: &mut Draft, delta: Delta) -> Result<(), Fault> {
        if let Some(thought) = delta.reasoning_content {
            draft.count(thought.len());
            self.reasoning.push_str(&thought);
        }
        for text in [delta.content, delta.refusal].into_iter().flatten() {
            draft.add_text(&text)?;
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(draft, call)?;
        }
        Ok(())
    }

    fn call(&mut self, draft: &mut Draft, call: CallDelta) -> Result<(), Fault> {
        let FunctionDelta { name, arguments } = call.function.unwrap_or(FunctionDelta {
            name: None,
            arguments: None,
        });
        let name = name.unwrap_or_default();
        let known = match call.index {
            Some(index) => self.indexes.iter().position(|known| *known == index),
            // Without an index an id begins a call, and what has none goes on with the last one.
            None if call.id.is_some() => None,
            None => self.indexes.len().checked_sub(1),
        };
        let at = match known {
            Some(at) => {
                draft.add_name(at, &name)?;
                at
            }
            None => {
                let next = self.indexes.len() as u64;
                self.indexes.push(call.index.unwrap_or(next));
                draft.begin_call(&call.id.unwrap_or_default(), &name)?
            }
        };
        draft.add_arguments(at, &arguments.unwrap_or_default())
    }

    fn end(&mut self, draft: &mut Draft) -> Result<(), Fault> {
        let reasoning = std::mem::take(&mut self.reasoning);
        if reasoning.is_empty() {
            return Ok(());
        }
        draft.add_raw(Value::String(reasoning).to_string())
    }
}

fn report(draft: &mut Draft, tokens: &Tokens) {
    let details = tokens.prompt_tokens_details.as_ref();
    let cached = details.and_then(|details| details.cached_tokens);
    let cached = cached.unwrap_or_default();
    let reported = &mut draft.reported;
    if let Some(prompt) = tokens.prompt_tokens {
        reported.input = Some(prompt.saturating_sub(cached));
        reported.cached = cached;
    }
    reported.output = tokens.completion_tokens.or(reported.output);
    // Some report as they go; the last report is the one that holds.
    reported.last = draft.stop.is_some() && tokens.completion_tokens.is_some();
}

fn stop(reason: &str) -> Result<Stop, Fault> {
    Ok(match reason {
        "tool_calls" | "function_call" => Stop::ToolCalls,
        "length" => Stop::Length,
        "content_filter" => {
            let said = "the provider's content filter stopped the answer";
            return Err(Fault::Declined(said.to_owned()));
        }
        "error" => return Err(Fault::Failed("the provider says `error`".to_owned())),
        _ => Stop::Finished,
    })
}
