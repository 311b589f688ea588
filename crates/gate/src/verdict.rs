//! What the gate says about a call.

use deputize_authority::Scope;
use serde::Serialize;

use crate::{Call, Effect, RuleRef, Sealed};

/// The gate's answer. Its names are verbs: what to do with the call.
#[derive(Debug)]
pub enum Verdict {
    /// Run it.
    Allow(Allowed),
    /// Put it to the principal first.
    Ask(Asked),
    /// Don't run it.
    Deny(Denied),
}

/// A call that may run.
#[derive(Debug)]
pub struct Allowed {
    /// The rule that allows it.
    pub rule: RuleRef,
    /// Whether it is allowed because the boundary contains whatever it does (G11).
    pub contained: Contained,
    /// What it does.
    pub effects: Vec<Effect>,
    /// What a reader of the record should know beside the rule.
    pub notes: Vec<String>,
    /// The proof that the worker or the launcher asks for.
    pub sealed: Sealed<Call>,
}

/// A call that the principal must be asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The call, as it was understood.
    #[serde(skip)]
    pub call: Call,
    /// The rule that asks.
    pub rule: RuleRef,
    /// Why.
    pub reasons: Vec<String>,
    /// How far a yes may reach: no further than this one time, where the call runs code that it
    /// doesn't hold, since that may be another the next time (G8).
    pub scope: Scope,
    /// What it would do.
    pub effects: Vec<Effect>,
}

/// A call that may not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denied {
    /// The rule that denies it.
    pub rule: RuleRef,
    /// Why, in one sentence without a final stop.
    pub reason: String,
    /// What to do instead, in one sentence without a final stop.
    pub instead: String,
    /// All of it in the words for a model: rule, reason, and what to do instead.
    pub message: String,
    /// The roots that may be read.
    pub allowed_scope: Vec<String>,
    /// What it would have done, as far as it was analysed.
    pub effects: Vec<Effect>,
}

/// Whether a call is allowed because the boundary contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Contained {
    /// No: its effects are known and harmless.
    No,
    /// Yes: its effects aren't known, but can't leave the boundary.
    Yes,
}

impl Verdict {
    /// `allow`, `ask` or `deny`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Allow(_) => "allow",
            Self::Ask(_) => "ask",
            Self::Deny(_) => "deny",
        }
    }

    /// The rule that the verdict rests on.
    #[must_use]
    pub fn rule(&self) -> &RuleRef {
        match self {
            Self::Allow(allowed) => &allowed.rule,
            Self::Ask(asked) => &asked.rule,
            Self::Deny(denied) => &denied.rule,
        }
    }

    /// What the call does, as far as it was analysed.
    #[must_use]
    pub fn effects(&self) -> &[Effect] {
        match self {
            Self::Allow(allowed) => &allowed.effects,
            Self::Ask(asked) => &asked.effects,
            Self::Deny(denied) => &denied.effects,
        }
    }
}
