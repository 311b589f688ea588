//! The gate's own reasoning: from call, facts and grant to a verdict.

mod admin;
mod admit;
mod bash;
mod exec;
mod git;
mod judge;
mod paths;
pub(crate) mod stance;
mod start;
mod write;

use std::path::{Path, PathBuf};

use deputize_authority::{CallRule, Consent, Grant, Level, Mode, Promise};

pub use admit::admit;

use crate::{Agreed, Call, Fact, Query, Verdict, resolve};
pub(crate) use admin::is_plainly_ours;
pub(crate) use judge::{Judge, Stop, denied, told};

/// What a verdict depends on beside the call and the facts.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// All that the child may do.
    pub grant: &'a Grant,
    /// How much is asked: a child's mode is its grant's.
    pub mode: Mode,
    /// The home folder that `~` means; `None` when there is none.
    pub home: Option<&'a Path>,
    /// The strength of the boundary around the call.
    pub boundary: Level,
    /// The promises that the boundary holds.
    pub held: &'a [Promise],
    /// What a person approved for the whole run.
    pub approved: &'a [Consent],
    /// Calls that a person was asked about and said yes to, each as it was shown.
    pub agreed: &'a [Agreed],
    /// The person's own rules about calls.
    pub rules: &'a [CallRule],
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
        Call::Bash { .. } => bash::queries(context),
        Call::Git(look) => git::queries(&judge, look),
        Call::Write { path, .. } | Call::Edit { path, .. } => {
            one(write::lexical(&judge, path).ok())
        }
        Call::Read { .. }
        | Call::Ls { .. }
        | Call::Find { .. }
        | Call::Grep { .. }
        | Call::Rank { .. } => one(call.path().and_then(|path| judge.lexical(path).ok())),
    }
}

fn one(path: Option<PathBuf>) -> Vec<Query> {
    path.map(|path| Query::Path { path }).into_iter().collect()
}

/// Judges a call by the facts.
#[must_use]
pub fn decide(call: Call, facts: &[Fact], context: &Context<'_>) -> Verdict {
    let mut judge = Judge::new(context);
    judge.verdict(call, facts)
}
