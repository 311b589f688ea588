//! A person's yes to one call (S9).

use deputize_authority::{Channel, Scope};
use deputize_shell::{Analysis, Class, Completeness, Role, What};

use crate::Call;

/// A call that a person was shown in full and said yes to.
///
/// # Invariants
/// - It covers exactly this call, argument for argument; one byte more is another call.
/// - It answers questions alone: what is denied stays denied (S5, G6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    call: Call,
    by: Channel,
    scope: Scope,
}

impl Agreed {
    /// Takes down a person's yes. It reaches no further than its channel does.
    #[must_use]
    pub fn new(call: Call, by: Channel, scope: Scope) -> Self {
        let scope = scope.min(by.scope());
        Self { call, by, scope }
    }

    /// How far it reaches: this one time, or as often as the run makes the same call.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Where it came from.
    #[must_use]
    pub fn by(&self) -> &Channel {
        &self.by
    }

    pub(crate) fn is_about(&self, call: &Call) -> bool {
        self.call == *call
    }
}

/// How far a yes to a call may reach, by what a command line would do; a line that runs code which it
/// doesn't hold (a script, a build, a program of the workspace) runs another the next time, for all that anybody
/// can tell (G8). So does one that wasn't understood.
pub(crate) fn longest_yes(analysis: Option<&Analysis>) -> Scope {
    let Some(analysis) = analysis else {
        return Scope::Run;
    };
    let is_unseen = |what: &What| match what {
        What::Act(rule) => matches!(rule.class, Class::Opaque | Class::Package),
        What::Path { role, .. } => *role == Role::Execute,
        What::Run { .. } | What::Network { .. } => false,
    };
    // A word that comes from a file or a program is another word the next time.
    let is_literal = analysis
        .steps
        .iter()
        .all(|step| step.literal.iter().all(|literal| *literal));
    let is_whole = is_literal && matches!(analysis.completeness, Completeness::Complete);
    let mut all = analysis.effects.iter();
    match is_whole && !all.any(|effect| is_unseen(&effect.what)) {
        true => Scope::Run,
        false => Scope::Once,
    }
}
