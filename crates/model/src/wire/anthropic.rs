//! Anthropic's messages.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::draft::{Draft, Fault, Over};
use super::spelling::plain;
use super::{Wire, encode, unsendable};
use crate::{Message, ModelError, Part, Stop, ToolOutcome, ToolUse, TurnRequest};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    system: Value,
    messages: Vec<Said>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

#[derive(Serialize)]
struct Said {
    role: &'static str,
    content: Vec<Block>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block {
    Typed(Value),
    Raw(Box<RawValue>),
}

pub(super) fn body(
    model: &str,
    source: &str,
    request: &TurnRequest,
) -> Result<Vec<u8>, ModelError> {
    let mut messages: Vec<Said> = Vec::new();
    for message in &request.messages {
        let (role, content) = said(message, source)?;
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ if content.is_empty() => {}
            _ => messages.push(Said { role, content }),
        }
    }
    // The conversation up to here is read again in the next turn.
    if let Some(Block::Typed(last)) = messages.last_mut().and_then(|said| said.content.last_mut()) {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
    let (tools, tool_choice) = tools(request);
    let system = if request.system.is_empty() {
        json!([])
    } else {
        json!([{ "type": "text", "text": request.system, "cache_control": { "type": "ephemeral" } }])
    };
    let body = Body {
        model,
        max_tokens: request.max_output_tokens,
        stream: true,
        system,
        messages,
        tools,
        tool_choice,
    };
    encode(Wire::Anthropic, &body)
}

/// The tools that may be called. A turn without any still has to name those of earlier turns, which
/// can't be called then.
fn tools(request: &TurnRequest) -> (Vec<Value>, Option<Value>) {
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "name": tool.name, "description": tool.description, "input_schema": tool.parameters
            })
        });
        return (tools.collect(), None);
    }
    let earlier: BTreeSet<String> = request
        .messages
        .iter()
        .flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            _ => &[],
        })
        .map(|call| plain(&call.name))
        .collect();
    if earlier.is_empty() {
        return (Vec::new(), None);
    }
    let tools = earlier
        .into_iter()
        .map(|name| json!({ "name": name, "input_schema": { "type": "object" } }));
    (tools.collect(), Some(json!({ "type": "none" })))
}

fn said(message: &Message, source: &str) -> Result<(&'static str, Vec<Block>), ModelError> {
    Ok(match message {
        Message::User(text) => ("user", text_block(text).into_iter().collect()),
        Message::ToolResult {
            id,
            content,
            outcome,
        } => {
            let result = json!({
                "type": "tool_result", "tool_use_id": plain(id), "content": content,
                "is_error": *outcome != ToolOutcome::Answered,
            });
            ("user", vec![Block::Typed(result)])
        }
        Message::Assistant {
            text,
            calls,
            opaque,
        } => {
            let own = opaque.as_ref().and_then(|opaque| opaque.for_source(source));
            let content = match own {
                Some(parts) => parts
                    .iter()
                    .filter_map(|part| block(part, calls).transpose())
                    .collect::<Result<_, _>>()?,
                None => text_block(text)
                    .into_iter()
                    .chain(calls.iter().map(call_block))
                    .collect(),
            };
            ("assistant", content)
        }
    })
}

fn block(part: &Part, calls: &[ToolUse]) -> Result<Option<Block>, ModelError> {
    Ok(match part {
        Part::Text(text) => text_block(text),
        Part::Call(index) => calls.get(*index).map(call_block),
        Part::Raw(json) => {
            let thought: Result<Thought, _> = serde_json::from_str(json);
            let raw = RawValue::from_string(json.clone());
            match (thought, raw) {
                (Ok(_), Ok(raw)) => Some(Block::Raw(raw)),
                _ => return Err(unsendable(Wire::Anthropic)),
            }
        }
    })
}

fn text_block(text: &str) -> Option<Block> {
    let block = || Block::Typed(json!({ "type": "text", "text": text }));
    // An empty or blank text is refused.
    (!text.trim().is_empty()).then(block)
}

fn call_block(call: &ToolUse) -> Block {
    // Only an object is taken; what was asked in another form was refused, and the result says so.
    let input = match &call.arguments {
        Value::Object(arguments) => json!(arguments),
        _ => json!({}),
    };
    Block::Typed(json!({
        "type": "tool_use", "id": plain(&call.id), "name": plain(&call.name), "input": input
    }))
}

/// The blocks that go back as they came, and nothing else.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[expect(dead_code, reason = "the form is checked, the text is used")]
enum Thought {
    Thinking { thinking: String, signature: String },
    RedactedThinking { data: String },
}

/// The block that is under way.
#[derive(Debug, Default)]
pub(super) struct Stream {
    open: Open,
}

#[derive(Debug, Default)]
enum Open {
    #[default]
    Nothing,
    Text,
    Call(usize),
    Thinking {
        thinking: String,
        signature: String,
    },
}

/// An event: the fields of every kind, of which each has its own.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(default)]
    message: Option<Start>,
    #[serde(default, borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(default, borrow)]
    delta: Option<&'a RawValue>,
    #[serde(default)]
    usage: Tokens,
    #[serde(default)]
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    model: String,
    #[serde(default)]
    usage: Tokens,
}

#[derive(Deserialize, Default)]
struct Tokens {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Begun {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {},
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the provider's names")]
enum Delta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Ending {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
}

impl Stream {
    pub(super) fn take(&mut self, draft: &mut Draft, event: &str) -> Result<(), Fault> {
        let event: Event<'_> = read(event)?;
        match event.r#type.as_ref() {
            "message_start" => {
                let message = event.message.ok_or_else(lacks)?;
                draft.model = message.model;
                report(draft, &message.usage);
            }
            "content_block_start" => {
                self.begin(draft, event.content_block.ok_or_else(lacks)?)?;
            }
            "content_block_delta" => {
                let delta = event.delta.ok_or_else(lacks)?;
                self.go_on(draft, read(delta.get())?)?;
            }
            "content_block_stop" => self.end(draft)?,
            "message_delta" => {
                let delta: Ending = read(event.delta.ok_or_else(lacks)?.get())?;
                if let Some(reason) = delta.stop_reason {
                    draft.stop = Some(stop(&reason)?);
                }
                report(draft, &event.usage);
                draft.reported.last = event.usage.output_tokens.is_some();
            }
            "message_stop" => {
                self.end(draft)?;
                draft.over = Over::Said;
            }
            "error" => {
                let error = event.error.ok_or_else(lacks)?;
                return Err(Fault::Failed(format!("{}: {}", error.kind, error.message)));
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, draft: &mut Draft, block: &RawValue) -> Result<(), Fault> {
        let begun: Begun = read(block.get())?;
        self.open = match begun {
            Begun::Text { text } => {
                draft.add_text(&text)?;
                Open::Text
            }
            Begun::ToolUse { id, name } => Open::Call(draft.begin_call(&id, &name)?),
            Begun::Thinking {
                thinking,
                signature,
            } => {
                draft.count(thinking.len());
                Open::Thinking {
                    thinking,
                    signature,
                }
            }
            // It comes whole.
            Begun::RedactedThinking {} => {
                draft.count(block.get().len());
                draft.add_raw(block.get().to_owned())?;
                Open::Nothing
            }
            Begun::Other => Open::Nothing,
        };
        Ok(())
    }

    fn go_on(&mut self, draft: &mut Draft, delta: Delta) -> Result<(), Fault> {
        match (&mut self.open, delta) {
            (Open::Text, Delta::TextDelta { text }) => draft.add_text(&text),
            (Open::Call(index), Delta::InputJsonDelta { partial_json }) => {
                draft.add_arguments(*index, &partial_json)
            }
            (Open::Thinking { thinking, .. }, Delta::ThinkingDelta { thinking: more }) => {
                draft.count(more.len());
                thinking.push_str(&more);
                Ok(())
            }
            (Open::Thinking { signature, .. }, Delta::SignatureDelta { signature: more }) => {
                signature.push_str(&more);
                Ok(())
            }
            // Parts of blocks that nobody asked for.
            (Open::Nothing, _) | (_, Delta::Other) => Ok(()),
            _ => Err(Fault::malformed("a part of another block than is open")),
        }
    }

    fn end(&mut self, draft: &mut Draft) -> Result<(), Fault> {
        match std::mem::take(&mut self.open) {
            // Without a signature the provider doesn't take it back.
            Open::Thinking {
                thinking,
                signature,
            } if !signature.is_empty() => {
                let block = json!({
                    "type": "thinking", "thinking": thinking, "signature": signature
                });
                draft.add_raw(block.to_string())
            }
            _ => Ok(()),
        }
    }
}

fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Fault> {
    serde_json::from_str(json)
        .map_err(|error| Fault::Malformed(format!("an event can't be read: {error}")))
}

fn lacks() -> Fault {
    Fault::malformed("an event lacks what it is about")
}

fn report(draft: &mut Draft, tokens: &Tokens) {
    let reported = &mut draft.reported;
    reported.input = tokens.input_tokens.or(reported.input);
    reported.cached = tokens.cache_read_input_tokens.unwrap_or(reported.cached);
    let written = tokens.cache_creation_input_tokens;
    reported.cache_write = written.unwrap_or(reported.cache_write);
    reported.output = tokens.output_tokens.or(reported.output);
}

fn stop(reason: &str) -> Result<Stop, Fault> {
    Ok(match reason {
        "tool_use" => Stop::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "refusal" => return Err(Fault::Declined("the model declines to answer".to_owned())),
        _ => Stop::Finished,
    })
}
