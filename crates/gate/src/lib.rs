//! The one gate that every tool call of every child meets (G1).
//!
//! A call passes in two steps. [`admit`] turns a tool name and its arguments into a typed [`Call`],
//! or a denial. [`queries`] then says what must be looked up; somebody below a directory handle (the
//! worker) answers with [`Fact`]s, and [`decide`] gives the [`Verdict`] from call, facts and grant.
//! Only an allowed call yields a [`Sealed`] value, and only a sealed call runs.
//!
//! # Invariants
//! - Pure and synchronous: no file, clock, environment or network is touched here.
//! - What is unknown is denied: a tool, an argument, a missing or foreign fact (G1, G7).
//! - Narrowing the grant, the boundary level or the held promises never turns a denial into an
//!   allowance; a property test holds this.
//! - The worker opens exactly the path that was judged, and refuses when another inode is there.
//!
//! # Trust
//! Arguments come from a model and are hostile; facts come from our own worker, and are still
//! checked against the path that was asked about.

mod agreed;
mod arguments;
mod call;
mod decide;
mod edits;
mod effect;
mod exact;
mod explain;
mod fact;
mod git;
mod heard;
mod hook;
mod launch;
mod limits;
mod lint;
mod parse;
mod reached;
mod resolve;
mod rule;
mod rulebook;
mod sealed;
mod shell;
mod spec;
mod start;
mod unconfined;
mod verdict;

pub use agreed::Agreed;
pub use arguments::CallError;
pub use call::{Call, Case, GrepOptions, GrepOutput, Occurrences, Replacement, Syntax};
pub use decide::{Context, admit, decide, queries};
pub use effect::{Change, Class, Effect, Reach};
pub use explain::{Explanation, Judged, Step, StepOutcome, explain};
pub use fact::{Fact, Kind, Outcome, PathFact, ProgramFact, Query};
pub use git::{GitLook, GitOutput, Side};
pub use hook::{Decision, HookAnswer, HookError, Host, OnAsk, Seat, hook};
pub use launch::{DEFAULT_SEARCH, Launch};
pub use limits::Limits;
pub use lint::{Oddity, PersonExample, oddities, person_examples};
pub use resolve::{PathError, resolve};
pub use rule::{RULES, Rule, RuleRef};
pub use rulebook::{Expected, Failed, examples, failing};
pub use sealed::{
    Bound, BoundLaunch, BoundPath, Fresh, GitMeans, Identity, Means, ReceiveError, Sealed,
};
pub use shell::{Found, Reading, ShellEffect, Spoken, Understood};
pub use spec::{ToolSpec, spec};
pub use start::Start;
pub use unconfined::{SecondOpinion, Stance, Standing, explain_line, explain_path};
pub use verdict::{Allowed, Asked, Contained, Denied, Verdict};
