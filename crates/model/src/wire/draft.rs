//! A turn in the making.

use serde_json::Value;

use super::limits::{
    ARGUMENT_BYTES, BYTES_PER_TOKEN, CALLS, ID_BYTES, NAME_BYTES, PARTS, TEXT_BYTES,
};
use crate::{ModelError, Opaque, Part, Stop, ToolUse, Turn, Usage, UsageSource};

/// What has come of a turn.
#[derive(Debug)]
pub(super) struct Draft {
    text: String,
    calls: Vec<CallDraft>,
    parts: Vec<Part>,
    /// What the provider reported so far.
    pub(super) reported: Reported,
    /// An estimate of the input, until the provider reports.
    input_estimate: u64,
    /// Bytes of output that came, thoughts included.
    streamed: u64,
    /// The model that answers, in its own words.
    pub(super) model: String,
    /// Why it ended, once it has said so.
    pub(super) stop: Option<Stop>,
    /// Whether the end of the stream was seen.
    pub(super) over: Over,
    /// Differs from turn to turn of a conversation.
    pub(super) serial: usize,
}

/// Whether the provider has said that this is all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// It hasn't.
    NotYet,
    /// It has.
    Said,
}

/// Tokens as a provider reports them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reported {
    pub(super) input: Option<u64>,
    pub(super) cached: u64,
    pub(super) cache_write: u64,
    pub(super) output: Option<u64>,
    /// Whether the output is all of it.
    pub(super) last: bool,
}

#[derive(Debug)]
struct CallDraft {
    id: String,
    name: String,
    arguments: String,
}

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// It can't be understood.
    Malformed(String),
    /// The provider says in the middle that it can't go on.
    Failed(String),
    /// The model won't.
    Declined(String),
}

impl Fault {
    pub(super) fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed(what.into())
    }
}

impl Draft {
    pub(super) fn new(serial: usize, input_estimate: u64) -> Self {
        Self {
            text: String::new(),
            calls: Vec::new(),
            parts: Vec::new(),
            reported: Reported::default(),
            input_estimate,
            streamed: 0,
            model: String::new(),
            stop: None,
            over: Over::NotYet,
            serial,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.streamed == 0
    }

    /// Adds text that anybody may read.
    pub(super) fn add_text(&mut self, text: &str) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        self.show_text(text)?;
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ => self.part(Part::Text(text.to_owned()))?,
        }
        Ok(())
    }

    /// Adds text that goes back as a part of a raw block.
    pub(super) fn show_text(&mut self, text: &str) -> Result<(), Fault> {
        self.count(text.len());
        if self.text.len() + text.len() > TEXT_BYTES {
            let fault = format!("the turn's text is longer than {TEXT_BYTES} bytes");
            return Err(Fault::Malformed(fault));
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Begins a call; returns its index.
    pub(super) fn begin_call(&mut self, id: &str, name: &str) -> Result<usize, Fault> {
        let index = self.show_call(id, name)?;
        self.part(Part::Call(index))?;
        Ok(index)
    }

    /// Begins a call that goes back as a part of a raw block.
    pub(super) fn show_call(&mut self, id: &str, name: &str) -> Result<usize, Fault> {
        let index = self.calls.len();
        if index == CALLS {
            return Err(Fault::Malformed(format!("more than {CALLS} calls")));
        }
        let id = if id.is_empty() {
            super::spelling::own_id(self.serial, index)
        } else {
            id.to_owned()
        };
        self.calls.push(CallDraft {
            id,
            name: String::new(),
            arguments: String::new(),
        });
        self.add_name(index, name)?;
        if self.calls[index].id.len() > ID_BYTES {
            return Err(Fault::malformed("a call's id is too long"));
        }
        Ok(index)
    }

    pub(super) fn add_name(&mut self, index: usize, name: &str) -> Result<(), Fault> {
        self.count(name.len());
        let call = self.call(index)?;
        if call.name.len() + name.len() > NAME_BYTES {
            return Err(Fault::malformed("a tool's name is too long"));
        }
        call.name.push_str(name);
        Ok(())
    }

    /// Adds to a call's arguments.
    pub(super) fn add_arguments(&mut self, index: usize, arguments: &str) -> Result<(), Fault> {
        self.count(arguments.len());
        let call = self.call(index)?;
        if call.arguments.len() + arguments.len() > ARGUMENT_BYTES {
            return Err(Fault::malformed("a call's arguments are too long"));
        }
        call.arguments.push_str(arguments);
        Ok(())
    }

    fn call(&mut self, index: usize) -> Result<&mut CallDraft, Fault> {
        self.calls
            .get_mut(index)
            .ok_or_else(|| Fault::malformed("a part of a call that hasn't begun"))
    }

    /// Keeps a block of the provider as it is.
    pub(super) fn add_raw(&mut self, json: String) -> Result<(), Fault> {
        self.part(Part::Raw(json))
    }

    fn part(&mut self, part: Part) -> Result<(), Fault> {
        if self.parts.len() == PARTS {
            return Err(Fault::Malformed(format!("more than {PARTS} parts")));
        }
        self.parts.push(part);
        Ok(())
    }

    /// Counts output that isn't kept here.
    pub(super) fn count(&mut self, bytes: usize) {
        self.streamed = self.streamed.saturating_add(bytes as u64);
    }

    /// What was used so far: reported where it is, estimated where it isn't.
    pub(super) fn usage(&self) -> Usage {
        let reported = self.reported;
        let estimate = self.streamed.div_ceil(BYTES_PER_TOKEN);
        let output = match reported.output {
            Some(output) if reported.last => output,
            Some(output) => output.max(estimate),
            None => estimate,
        };
        Usage {
            input_tokens: reported.input.unwrap_or(self.input_estimate),
            cached_input_tokens: reported.cached,
            output_tokens: output,
            cache_write_tokens: reported.cache_write,
        }
    }

    /// The whole turn.
    pub(super) fn finish(self, source: &str) -> Result<Turn, ModelError> {
        let usage = self.usage();
        let cut = |reason: &str| ModelError::Cut {
            reason: reason.to_owned(),
            usage,
        };
        let (Over::Said, Some(stop)) = (self.over, self.stop) else {
            return Err(cut("the stream ended before the answer did"));
        };
        let calls: Vec<ToolUse> = self.calls.into_iter().map(CallDraft::finish).collect();
        // Some say "finished" with calls in hand; what counts is that there are some. Calls of a turn
        // that was cut short may be cut short themselves.
        let (calls, stop) = match stop {
            Stop::Length => (Vec::new(), Stop::Length),
            _ if !calls.is_empty() => (calls, Stop::ToolCalls),
            _ => (calls, Stop::Finished),
        };
        let opaque = match stop {
            Stop::Length => None,
            _ => Opaque::new(source, self.parts),
        };
        Ok(Turn {
            text: self.text,
            calls,
            usage,
            model: self.model,
            stop,
            opaque,
            usage_source: UsageSource::Reported,
            cost_micros: None,
            price: None,
        })
    }
}

impl CallDraft {
    fn finish(self) -> ToolUse {
        let trimmed = self.arguments.trim();
        let arguments = if trimmed.is_empty() {
            Value::Object(serde_json::Map::new())
        } else {
            // What is no JSON reaches the gate as the text that it is, and is refused with the reason.
            serde_json::from_str(trimmed).unwrap_or(Value::String(self.arguments))
        };
        ToolUse {
            id: self.id,
            name: self.name,
            arguments,
        }
    }
}
