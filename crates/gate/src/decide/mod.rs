//! The gate's own reasoning: from call, facts and grant to a verdict.

mod admit;
mod exec;
mod judge;
mod paths;

use std::path::{Path, PathBuf};

use deputize_authority::{Grant, Level, Promise};

pub use admit::admit;

use crate::{Call, Fact, Query, Verdict, resolve};
pub(crate) use judge::{Judge, Stop, denied};

/// What a verdict depends on beside the call and the facts.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// All that the child may do.
    pub grant: &'a Grant,
    /// The home folder that `~` means; `None` when there is none.
    pub home: Option<&'a Path>,
    /// The strength of the boundary around the call.
    pub boundary: Level,
    /// The promises that the boundary holds.
    pub held: &'a [Promise],
}

impl Context<'_> {
    pub(crate) fn resolve(&self, written: &str) -> Result<PathBuf, crate::PathError> {
        resolve(written, self.grant.workspace().path(), self.home)
    }
}

/// What must be looked up before [`decide`] can judge the call; answers go back in this order.
///
/// Nothing is asked about a path that is denied whatever is there, so a denied call reveals nothing
/// about the world outside the grant.
#[must_use]
pub fn queries(call: &Call, context: &Context<'_>) -> Vec<Query> {
    let judge = Judge::new(context);
    if judge.granted(call.tool()).is_err() || call.check().is_err() {
        return Vec::new();
    }
    match call {
        Call::Exec(launch) => exec::queries(launch, context),
        _ => call
            .path()
            .and_then(|written| judge.lexical(written).ok())
            .map(|path| Query::Path { path })
            .into_iter()
            .collect(),
    }
}

/// Judges a call by the facts.
#[must_use]
pub fn decide(call: Call, facts: &[Fact], context: &Context<'_>) -> Verdict {
    let mut judge = Judge::new(context);
    judge.verdict(call, facts)
}
