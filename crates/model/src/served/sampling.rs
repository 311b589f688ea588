//! A turn as a request for sampling of the protocol (`sampling/createMessage`), and back.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::wire::limits;
use crate::{
    Message, ModelError, ModelName, Opaque, Part, Stop, ToolOutcome, ToolUse, Turn, TurnRequest,
    Usage, UsageSource,
};

/// The key under `_meta` of what a turn used.
const USAGE: &str = "deputize/usage";

/// The key under `_meta` of the message as the host keeps it.
const MESSAGE: &str = "deputize/message";

/// Bytes of the name that a model gives itself.
const MODEL_BYTES: usize = 256;

/// A request, with what its input may come to.
pub(super) struct Asked {
    pub(super) params: Value,
    /// Tokens, from the text.
    pub(super) input_estimate: u64,
}

/// Everything of a turn as the parameters of a request.
pub(super) fn request(name: &ModelName, request: &TurnRequest) -> Asked {
    let source = name.to_string();
    let mut params = json!({
        "messages": messages(&source, &request.messages),
        "systemPrompt": request.system,
        "maxTokens": u32::try_from(request.max_output_tokens).unwrap_or(u32::MAX),
    });
    if let ModelName::Host(Some(model)) = name {
        params["modelPreferences"] = json!({ "hints": [{ "name": model }] });
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.parameters,
            })
        });
        params["tools"] = tools.collect();
        params["toolChoice"] = json!({ "mode": "auto" });
    }
    let bytes = params.to_string().len() as u64;
    Asked {
        params,
        input_estimate: bytes.div_ceil(limits::BYTES_PER_TOKEN),
    }
}

/// The conversation. Results of one turn's calls are one message, which holds nothing else.
fn messages(source: &str, conversation: &[Message]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    for message in conversation {
        if let Message::ToolResult {
            id,
            content,
            outcome,
        } = message
        {
            results.push(json!({
                "type": "tool_result",
                "toolUseId": id,
                "content": [text(content)],
                "isError": *outcome != ToolOutcome::Answered,
            }));
            continue;
        }
        if !results.is_empty() {
            out.push(json!({ "role": "user", "content": std::mem::take(&mut results) }));
        }
        match message {
            Message::User(said) => out.push(json!({ "role": "user", "content": [text(said)] })),
            Message::Assistant {
                text: said,
                calls,
                opaque,
            } => out.extend(assistant(source, said, calls, opaque.as_ref())),
            Message::ToolResult { .. } => {}
        }
    }
    if !results.is_empty() {
        out.push(json!({ "role": "user", "content": results }));
    }
    out
}

/// A past turn, with the host's own message where it gave one.
fn assistant(
    source: &str,
    said: &str,
    calls: &[ToolUse],
    opaque: Option<&Opaque>,
) -> Option<Value> {
    let mut content = Vec::new();
    if !said.is_empty() {
        content.push(text(said));
    }
    for call in calls {
        // What was no object was refused with its reason; a request can hold objects alone.
        let input = match &call.arguments {
            Value::Object(arguments) => arguments.clone(),
            _ => Map::new(),
        };
        content.push(json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": input,
        }));
    }
    let own = opaque.and_then(|opaque| opaque.for_source(source));
    let own = own.and_then(|parts| match parts {
        [Part::Raw(json)] => serde_json::from_str::<Value>(json).ok(),
        _ => None,
    });
    if content.is_empty() && own.is_none() {
        return None;
    }
    let mut message = json!({ "role": "assistant", "content": content });
    if let Some(own) = own {
        message["_meta"] = json!({ MESSAGE: own });
    }
    Some(message)
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// What a host answered.
pub(super) struct Answer<'a>(pub(super) &'a Value);

impl Answer<'_> {
    /// The turn that it is.
    pub(super) fn turn(&self, name: &ModelName, input_estimate: u64) -> Result<Turn, ModelError> {
        let Self(answer) = self;
        if answer["role"] != "assistant" {
            return Err(malformed("it has not the role `assistant`"));
        }
        let one;
        let blocks = match &answer["content"] {
            Value::Array(blocks) => blocks.as_slice(),
            block @ Value::Object(_) => {
                one = [block.clone()];
                &one[..]
            }
            _ => return Err(malformed("it has no content")),
        };
        let mut said = String::new();
        let mut calls = Vec::new();
        for block in blocks {
            match block["type"].as_str() {
                Some("text") => said.push_str(string(block, "text", limits::TEXT_BYTES)?),
                Some("tool_use") => calls.push(call(block)?),
                _ => return Err(malformed("it has a block that is neither text nor a call")),
            }
            if said.len() > limits::TEXT_BYTES || calls.len() > limits::CALLS {
                return Err(malformed("it is too long"));
            }
        }
        let mut ids = BTreeSet::new();
        if !calls.iter().all(|call| ids.insert(call.id.as_str())) {
            return Err(malformed("two of its calls have one id"));
        }
        let mut turn = Turn {
            text: said,
            calls,
            usage: Usage::NONE,
            usage_source: UsageSource::Reported,
            cost_micros: None,
            model: string(answer, "model", MODEL_BYTES)?.to_owned(),
            stop: Stop::Finished,
            opaque: None,
            price: None,
        };
        self.used(&mut turn, input_estimate);
        // Calls of a turn that was cut short may be cut short themselves.
        if answer["stopReason"] == "maxTokens" {
            turn.calls.clear();
            turn.stop = Stop::Length;
            return Ok(turn);
        }
        if !turn.calls.is_empty() {
            turn.stop = Stop::ToolCalls;
        }
        let own = &answer["_meta"][MESSAGE];
        if !own.is_null() {
            let parts = vec![Part::Raw(own.to_string())];
            turn.opaque = Opaque::new(&name.to_string(), parts);
        }
        Ok(turn)
    }

    /// What the turn used: as the host says, or else estimated from the text.
    fn used(&self, turn: &mut Turn, input_estimate: u64) {
        let reported = &self.0["_meta"][USAGE];
        let number = |name: &str| match &reported[name] {
            Value::Null => Some(0),
            number => number.as_u64(),
        };
        let parts = (number("input"), number("cachedInput"), number("output"));
        if let (Value::Object(_), (Some(input), Some(cached), Some(output))) = (reported, parts) {
            turn.usage = Usage {
                input_tokens: input,
                cached_input_tokens: cached,
                output_tokens: output,
                ..Usage::NONE
            };
            turn.cost_micros = reported["costMicros"].as_u64();
            return;
        }
        let calls = turn.calls.iter();
        let calls: usize = calls
            .map(|call| call.name.len() + call.arguments.to_string().len())
            .sum();
        let bytes = (turn.text.len() + calls) as u64;
        turn.usage_source = UsageSource::Estimated;
        turn.usage = Usage {
            input_tokens: input_estimate,
            output_tokens: bytes.div_ceil(limits::BYTES_PER_TOKEN),
            ..Usage::NONE
        };
    }
}

fn call(block: &Value) -> Result<ToolUse, ModelError> {
    let arguments = match &block["input"] {
        Value::Null => Value::Object(Map::new()),
        // What is no object reaches the gate as it is, and is refused with the reason.
        input => input.clone(),
    };
    if arguments.to_string().len() > limits::ARGUMENT_BYTES {
        return Err(malformed("a call's arguments are too long"));
    }
    Ok(ToolUse {
        id: string(block, "id", limits::ID_BYTES)?.to_owned(),
        name: string(block, "name", limits::NAME_BYTES)?.to_owned(),
        arguments,
    })
}

fn string<'a>(of: &'a Value, name: &str, most: usize) -> Result<&'a str, ModelError> {
    match of[name].as_str() {
        Some(text) if text.len() <= most => Ok(text),
        Some(_) => Err(malformed(&format!("its `{name}` is too long"))),
        None => Err(malformed(&format!("a part of it has no `{name}`"))),
    }
}

fn malformed(reason: &str) -> ModelError {
    ModelError::Malformed {
        reason: format!("the host's answer: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Allowance, ToolSpec};

    fn asked(messages: Vec<Message>, tools: Vec<ToolSpec>) -> Value {
        let turn = TurnRequest {
            system: "Rules.".to_owned(),
            messages,
            tools,
            max_output_tokens: 64,
            allowance: Allowance::default(),
        };
        request(&ModelName::Host(Some("big".to_owned())), &turn).params
    }

    fn turn(answer: &Value) -> Result<Turn, ModelError> {
        Answer(answer).turn(&ModelName::Host(None), 100)
    }

    /// N5: a conversation as the protocol has it: results apart from what is said, and the host's own
    /// message at its place, for the host that said it alone.
    #[test]
    fn n5_a_conversation_is_a_request_for_sampling() {
        let own = json!({ "thinking": "…", "signature": "x+/=" });
        let said = |source: &str| Message::Assistant {
            text: String::new(),
            calls: vec![ToolUse {
                id: "1".to_owned(),
                name: "read".to_owned(),
                arguments: json!("no object"),
            }],
            opaque: Opaque::new(source, vec![Part::Raw(own.to_string())]),
        };
        let result = |id: &str, outcome| Message::ToolResult {
            id: id.to_owned(),
            content: "text".to_owned(),
            outcome,
        };
        let tool = ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({ "type": "object" }),
        };
        let messages = vec![
            Message::User("Go.".to_owned()),
            said("host:big"),
            result("1", ToolOutcome::Answered),
            result("2", ToolOutcome::Refused),
            Message::User("On.".to_owned()),
            said("host"),
        ];
        let params = asked(messages, vec![tool]);
        let use_of = json!([{ "type": "tool_use", "id": "1", "name": "read", "input": {} }]);
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        let told = |id: &str, failed| {
            json!({
                "type": "tool_result", "toolUseId": id, "content": text("text"), "isError": failed,
            })
        };
        assert_eq!(
            params,
            json!({
                "messages": [
                    { "role": "user", "content": text("Go.") },
                    { "role": "assistant", "content": use_of, "_meta": { MESSAGE: own } },
                    { "role": "user", "content": [told("1", false), told("2", true)] },
                    { "role": "user", "content": text("On.") },
                    { "role": "assistant", "content": use_of },
                ],
                "systemPrompt": "Rules.",
                "maxTokens": 64,
                "modelPreferences": { "hints": [{ "name": "big" }] },
                "tools": [{
                    "name": "read", "description": "Reads.", "inputSchema": { "type": "object" },
                }],
                "toolChoice": { "mode": "auto" },
            })
        );
        let last = asked(vec![Message::User("End.".to_owned())], Vec::new());
        assert!(last["tools"].is_null() && last["toolChoice"].is_null());
    }

    /// N5, N3: an answer is a turn, with what the host says that it used, or an estimate that is called
    /// one; bad arguments reach the gate as they are.
    #[test]
    fn n5_an_answer_is_a_turn_with_its_usage() {
        let mut answer = json!({
            "role": "assistant", "model": "m", "stopReason": "toolUse",
            "content": [
                { "type": "text", "text": "Look" }, { "type": "text", "text": "ing." },
                { "type": "tool_use", "id": "a", "name": "read", "input": "{" },
            ],
            "_meta": {
                USAGE: { "input": 5, "cachedInput": 7, "output": 3, "costMicros": 11 },
                MESSAGE: { "own": 1 },
            },
        });
        let read = turn(&answer).unwrap();
        assert_eq!(
            (read.text.as_str(), read.stop),
            ("Looking.", Stop::ToolCalls)
        );
        assert_eq!(read.calls[0].arguments, json!("{"));
        assert_eq!(read.usage.counted(), 8);
        assert_eq!(read.cost_micros, Some(11));
        assert!(read.opaque.unwrap().for_source("host").is_some());
        answer["_meta"][USAGE]["output"] = json!(-1);
        let read = turn(&answer).unwrap();
        assert_eq!(read.usage_source, UsageSource::Estimated);
        assert_eq!(read.usage.input_tokens, 100);
        assert!(read.usage.output_tokens >= 4);
        assert_eq!(read.cost_micros, None);
        answer["stopReason"] = json!("maxTokens");
        let read = turn(&answer).unwrap();
        assert_eq!((read.calls.len(), read.stop), (0, Stop::Length));
        let single = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "x" } });
        assert_eq!(turn(&single).unwrap().text, "x");
    }

    /// N5: what is no turn is an error that says why.
    #[test]
    fn n5_what_is_no_answer_is_malformed() {
        let with =
            |content: Value| json!({ "role": "assistant", "model": "m", "content": content });
        let call = json!({ "type": "tool_use", "id": "a", "name": "read", "input": {} });
        for answer in [
            json!(null),
            json!({}),
            json!({ "role": "user", "model": "m", "content": [] }),
            json!({ "role": "assistant", "content": [] }),
            json!({ "role": "assistant", "model": 7, "content": [] }),
            with(json!("text")),
            with(json!([7])),
            with(json!([{ "type": "image", "data": "", "mimeType": "image/png" }])),
            with(json!([{ "type": "text" }])),
            with(json!([{ "type": "tool_use", "name": "read", "input": {} }])),
            with(json!([{ "type": "tool_use", "id": "a", "input": {} }])),
            with(json!([call, call])),
            with(json!(vec![
                json!({ "type": "text", "text": "x".repeat(1 << 19) });
                3
            ])),
        ] {
            let error = turn(&answer).unwrap_err();
            assert_eq!(error.code(), "model_malformed", "{answer}");
        }
    }
}
