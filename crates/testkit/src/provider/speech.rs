//! Turns as providers send them.

use serde_json::{Value, json};

use super::Reply;

/// Which provider is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions.
    OpenaiChat,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Gemini.
    Gemini,
    /// Ollama.
    Ollama,
}

/// A turn.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// Pieces of its text.
    pub text: Vec<String>,
    /// Calls: name, and arguments in pieces.
    pub calls: Vec<(String, Vec<String>)>,
    /// The namespace that the called tools were offered in, where the provider has namespaces.
    pub namespace: Option<String>,
    /// Something that only the model itself understands: a signature, or encrypted thoughts.
    pub signature: Option<String>,
    /// Input tokens that no cache served, input tokens from the cache, output tokens.
    pub tokens: (u64, u64, u64),
    /// Whether the limit of output tokens ended it.
    pub cut_short: bool,
}

impl Said {
    /// A turn of words.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self {
            text: vec![text.to_owned()],
            tokens: (100, 0, 10),
            ..Self::default()
        }
    }

    /// A turn that calls one tool.
    #[must_use]
    pub fn call(name: &str, arguments: &Value) -> Self {
        Self {
            calls: vec![(name.to_owned(), vec![arguments.to_string()])],
            tokens: (100, 0, 10),
            ..Self::default()
        }
    }

    /// With calls of tools that were offered in a namespace: OpenAI's responses have them, others don't.
    #[must_use]
    pub fn of(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// With something that only the model understands.
    #[must_use]
    pub fn signed(mut self, signature: &str) -> Self {
        self.signature = Some(signature.to_owned());
        self
    }

    /// With this use of tokens.
    #[must_use]
    pub fn using(mut self, input: u64, cached: u64, output: u64) -> Self {
        self.tokens = (input, cached, output);
        self
    }

    /// With its text and arguments in pieces of one character.
    #[must_use]
    pub fn in_tokens(mut self) -> Self {
        let cut = |pieces: &[String]| -> Vec<String> {
            pieces.concat().chars().map(String::from).collect()
        };
        self.text = cut(&self.text);
        for (_, arguments) in &mut self.calls {
            *arguments = cut(arguments);
        }
        self
    }
}

impl Speech {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::Gemini,
        Self::Ollama,
    ];

    /// A turn as a reply. `serial` makes the ids of its calls.
    #[must_use]
    pub fn turn(self, serial: usize, said: &Said) -> Reply {
        let events: Vec<Value> = match self {
            Self::Anthropic => anthropic(serial, said),
            Self::OpenaiChat => chat(serial, said),
            Self::OpenaiResponses => responses(serial, said),
            Self::Gemini => gemini(said),
            Self::Ollama => ollama(said),
        };
        let mut lines: Vec<String> = events.iter().map(Value::to_string).collect();
        match self {
            Self::Ollama => {
                Reply::stream(lines.iter().map(|line| format!("{line}\n").into_bytes()))
            }
            Self::OpenaiChat => {
                lines.push("[DONE]".to_owned());
                Reply::events(lines.iter().map(String::as_str))
            }
            Self::Anthropic | Self::OpenaiResponses => Reply::stream(events.iter().map(|event| {
                let kind = event["type"].as_str().unwrap_or_default();
                format!("event: {kind}\ndata: {event}\n\n").into_bytes()
            })),
            Self::Gemini => Reply::events(lines.iter().map(String::as_str)),
        }
    }
}

fn anthropic(serial: usize, said: &Said) -> Vec<Value> {
    let (input, cached, output) = said.tokens;
    let mut events = vec![
        json!({ "type": "message_start", "message": {
            "id": format!("msg_{serial}"), "type": "message", "role": "assistant",
            "model": "claude-played", "content": [], "stop_reason": null,
            "usage": { "input_tokens": input, "cache_read_input_tokens": cached,
                       "cache_creation_input_tokens": 0, "output_tokens": 1 }
        }}),
        json!({ "type": "ping" }),
    ];
    let mut index = 0;
    let mut block = |begun: Value, deltas: Vec<Value>| {
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": begun }));
        for delta in deltas {
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
        index += 1;
    };
    if let Some(signature) = &said.signature {
        let thought =
            json!({ "type": "thinking_delta", "thinking": "I think \u{201c}so\u{201d}\n" });
        let signed = json!({ "type": "signature_delta", "signature": signature });
        let begun = json!({ "type": "thinking", "thinking": "", "signature": "" });
        block(begun, vec![thought, signed]);
        block(
            json!({ "type": "redacted_thinking", "data": format!("r-{signature}") }),
            vec![],
        );
    }
    if !said.text.is_empty() {
        let deltas = said.text.iter();
        let deltas = deltas.map(|text| json!({ "type": "text_delta", "text": text }));
        block(json!({ "type": "text", "text": "" }), deltas.collect());
    }
    for (number, (name, arguments)) in said.calls.iter().enumerate() {
        let id = format!("toolu_{serial}_{number}");
        let begun = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
        let deltas = arguments.iter();
        let deltas = deltas.map(|json| json!({ "type": "input_json_delta", "partial_json": json }));
        block(begun, deltas.collect());
    }
    let reason = match (said.cut_short, said.calls.is_empty()) {
        (true, _) => "max_tokens",
        (false, true) => "end_turn",
        (false, false) => "tool_use",
    };
    events.push(json!({
        "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
        "usage": { "output_tokens": output }
    }));
    events.push(json!({ "type": "message_stop" }));
    events
}

fn chat(serial: usize, said: &Said) -> Vec<Value> {
    let (input, cached, output) = said.tokens;
    let chunk = |delta: Value, reason: Value| {
        json!({
            "id": format!("chatcmpl-{serial}"), "object": "chat.completion.chunk",
            "model": "gpt-played",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }]
        })
    };
    let mut events = vec![chunk(
        json!({ "role": "assistant", "content": "" }),
        Value::Null,
    )];
    if let Some(signature) = &said.signature {
        events.push(chunk(
            json!({ "reasoning_content": signature }),
            Value::Null,
        ));
    }
    for text in &said.text {
        events.push(chunk(json!({ "content": text }), Value::Null));
    }
    for (index, (name, arguments)) in said.calls.iter().enumerate() {
        let id = format!("call_{serial}_{index}");
        let begun = json!({ "index": index, "id": id, "type": "function",
                            "function": { "name": name, "arguments": "" } });
        events.push(chunk(json!({ "tool_calls": [begun] }), Value::Null));
        for piece in arguments {
            let more = json!({ "index": index, "function": { "arguments": piece } });
            events.push(chunk(json!({ "tool_calls": [more] }), Value::Null));
        }
    }
    let reason = match (said.cut_short, said.calls.is_empty()) {
        (true, _) => "length",
        (false, true) => "stop",
        (false, false) => "tool_calls",
    };
    events.push(chunk(json!({}), json!(reason)));
    events.push(json!({
        "id": "x", "object": "chat.completion.chunk", "model": "gpt-played", "choices": [],
        "usage": { "prompt_tokens": input + cached, "completion_tokens": output,
                   "prompt_tokens_details": { "cached_tokens": cached } }
    }));
    events
}

fn responses(serial: usize, said: &Said) -> Vec<Value> {
    let (input, cached, output) = said.tokens;
    let id = format!("resp_{serial}");
    let mut events = vec![json!({
        "type": "response.created",
        "response": { "id": id, "model": "gpt-played", "status": "in_progress" }
    })];
    let mut index = 0;
    if let Some(signature) = &said.signature {
        let item = json!({ "id": format!("rs_{serial}"), "type": "reasoning",
                           "summary": [{ "type": "summary_text", "text": "thinking \u{e9}" }],
                           "encrypted_content": signature });
        events.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
        );
        index += 1;
    }
    if !said.text.is_empty() {
        let begun = json!({ "id": "msg_1", "type": "message", "status": "in_progress",
                            "role": "assistant", "content": [] });
        events.push(
            json!({ "type": "response.output_item.added", "output_index": index, "item": begun }),
        );
        for text in &said.text {
            events.push(
                json!({ "type": "response.output_text.delta", "item_id": "msg_1",
                                "output_index": index, "content_index": 0, "delta": text }),
            );
        }
        let content =
            json!([{ "type": "output_text", "text": said.text.concat(), "annotations": [] }]);
        let item = json!({ "id": "msg_1", "type": "message", "status": "completed",
                           "role": "assistant", "content": content });
        events.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
        );
        index += 1;
    }
    for (number, (name, arguments)) in said.calls.iter().enumerate() {
        let mut item = json!({ "id": "fc_1", "type": "function_call", "status": "in_progress",
                               "call_id": format!("call_{serial}_{number}"), "name": name,
                               "arguments": "" });
        if let Some(namespace) = &said.namespace {
            item["namespace"] = json!(namespace);
        }
        events.push(
            json!({ "type": "response.output_item.added", "output_index": index, "item": item }),
        );
        for piece in arguments {
            events.push(json!({ "type": "response.function_call_arguments.delta",
                                "output_index": index, "item_id": "fc_1", "delta": piece }));
        }
        item["status"] = json!("completed");
        item["arguments"] = json!(arguments.concat());
        events.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
        );
        index += 1;
    }
    let usage = json!({ "input_tokens": input + cached, "output_tokens": output,
                        "total_tokens": input + cached + output,
                        "input_tokens_details": { "cached_tokens": cached },
                        "output_tokens_details": { "reasoning_tokens": 0 } });
    events.push(if said.cut_short {
        json!({ "type": "response.incomplete", "response": { "id": id,
            "model": "gpt-played", "status": "incomplete", "usage": usage,
            "incomplete_details": { "reason": "max_output_tokens" } } })
    } else {
        json!({ "type": "response.completed", "response": { "id": id,
            "model": "gpt-played", "status": "completed", "usage": usage } })
    });
    events
}

fn gemini(said: &Said) -> Vec<Value> {
    let (input, cached, output) = said.tokens;
    let chunk = |parts: Vec<Value>| {
        json!({
            "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }],
            "modelVersion": "gemini-played"
        })
    };
    let mut events: Vec<Value> = said
        .text
        .iter()
        .map(|text| chunk(vec![json!({ "text": text })]))
        .collect();
    for (index, (name, arguments)) in said.calls.iter().enumerate() {
        let arguments: Value = serde_json::from_str(&arguments.concat()).unwrap_or_default();
        let mut part = json!({ "functionCall": { "name": name, "args": arguments } });
        if let (0, Some(signature)) = (index, &said.signature) {
            part["thoughtSignature"] = json!(signature);
        }
        events.push(chunk(vec![part]));
    }
    let mut last = chunk(vec![json!({ "text": "" })]);
    last["candidates"][0]["finishReason"] =
        json!(if said.cut_short { "MAX_TOKENS" } else { "STOP" });
    last["usageMetadata"] = json!({
        "promptTokenCount": input + cached, "cachedContentTokenCount": cached,
        "candidatesTokenCount": output
    });
    events.push(last);
    events
}

fn ollama(said: &Said) -> Vec<Value> {
    let (input, _, output) = said.tokens;
    let line =
        |message: Value| json!({ "model": "llama-played", "message": message, "done": false });
    let mut events = Vec::new();
    if let Some(signature) = &said.signature {
        let thought = json!({ "role": "assistant", "content": "", "thinking": signature });
        events.push(line(thought));
    }
    for text in &said.text {
        events.push(line(json!({ "role": "assistant", "content": text })));
    }
    for (name, arguments) in &said.calls {
        let arguments: Value = serde_json::from_str(&arguments.concat()).unwrap_or_default();
        let call = json!({ "function": { "name": name, "arguments": arguments } });
        events.push(line(
            json!({ "role": "assistant", "content": "", "tool_calls": [call] }),
        ));
    }
    events.push(json!({
        "model": "llama-played", "message": { "role": "assistant", "content": "" }, "done": true,
        "done_reason": if said.cut_short { "length" } else { "stop" },
        "prompt_eval_count": input, "eval_count": output
    }));
    events
}
