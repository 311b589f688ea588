//! What goes to a model and what comes back.

use serde::{Deserialize, Serialize};

use crate::{Allowance, Opaque, Price, Usage, UsageSource};

/// Everything that a model needs for one turn. It is self-contained: clients keep no conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRequest {
    /// Standing instructions.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Tools that may be asked for. Empty makes a tool-less turn: the model must answer with what it
    /// has.
    pub tools: Vec<ToolSpec>,
    /// The most tokens that the turn may have.
    pub max_output_tokens: u64,
    /// What the run has left for it: a turn that passes it is cut short.
    #[serde(default)]
    pub allowance: Allowance,
}

/// How a tool is described to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name to call it by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: serde_json::Value,
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// What the principal says, or the runtime in its own name.
    User(String),
    /// A past turn of the model.
    Assistant {
        /// Its text.
        text: String,
        /// The calls that it asked for.
        calls: Vec<ToolUse>,
        /// What only the model that said it understands ([`Turn::opaque`]).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// What came of one of those calls.
    ToolResult {
        /// Id of the call ([`ToolUse::id`]).
        id: String,
        /// What the tool said. Foreign text.
        content: String,
        /// Whether the call did what it should.
        outcome: ToolOutcome,
    },
}

/// How a call ended, as far as a model is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It ran and answered.
    Answered,
    /// It was refused and did not run; the content says what to do instead.
    Refused,
    /// It ran, or was about to, and failed.
    Failed,
}

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// Names the call within its conversation.
    pub id: String,
    /// The tool. Foreign text: nothing says that such a tool exists.
    pub name: String,
    /// The arguments, unchecked.
    pub arguments: serde_json::Value,
}

/// One turn of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Text; empty where the model only asks for calls.
    pub text: String,
    /// Calls, in order.
    pub calls: Vec<ToolUse>,
    /// What the turn used.
    pub usage: Usage,
    /// How that is known.
    #[serde(default)]
    pub usage_source: UsageSource,
    /// What it cost, in millionths of a dollar, where whoever answered says so itself: no price is
    /// known then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The model that answered, in its own words; it can be another than was asked (D6).
    pub model: String,
    /// Why the turn ended.
    pub stop: Stop,
    /// What the model gets back word for word, and nobody else sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
    /// What its tokens cost, where the client that answered has a price of its own (D6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model has said what it had to say.
    Finished,
    /// It waits for the results of its calls.
    ToolCalls,
    /// It reached the limit of output tokens: the turn is cut short.
    Length,
}
