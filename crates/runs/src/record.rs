//! From the values of the other rooms to the words of ledger and receipt.

use deputize_agent::{Change, ChangeKind, Spent};
use deputize_authority::{Approval, Bounds, Budget, Dimension, Grant, Set, Untrusted};
use deputize_boundary::plan::{Enforcer as By, PromiseState};
use deputize_boundary::{Attempt, BoundaryPlan, SelfTest};
use deputize_ledger::{
    Approved, BoundaryStarted, ChangesObserved, Enforced, Enforcement, Enforcer, GrantRecorded,
    Granted, Limit, Narrowing, Probe, ProbeOutcome, Tokens, Used,
};
use deputize_workspace::{Disposition, Manifest, What};
use serde::Serialize;
use serde_json::Value;

/// Where the trust in a definition comes from when there is none: the preset's mechanics are ours.
pub(crate) const TRUST_BUILT_IN: &str = "built-in";

/// The grant for the ledger.
pub(crate) fn grant(grant: &Grant) -> GrantRecorded {
    GrantRecorded {
        digest: grant.digest().to_string(),
        trail: narrowed(grant),
        bounds: serde_json::to_value(grant.bounds()).unwrap_or(Value::Null),
    }
}

/// A person's yes for the ledger.
pub(crate) fn approved(approval: &Approval) -> Approved {
    Approved {
        effects: approval.effects.iter().map(ToString::to_string).collect(),
        by: approval.by.to_string(),
        scope: word(&approval.scope),
    }
}

/// Changes that a result lists; all of them are in the copy.
const LISTED: usize = 500;

/// What a copy holds, for result and ledger.
pub(crate) struct ObservedChanges {
    /// The first of them.
    pub(crate) listed: Vec<Change>,
    /// How many there are.
    pub(crate) count: usize,
    pub(crate) record: ChangesObserved,
}

/// The changes of a copy that anybody has to decide about.
pub(crate) fn changes(manifest: &Manifest) -> ObservedChanges {
    let count = |wanted: fn(&Disposition) -> bool| {
        let found = manifest.changes.iter();
        let found = found.filter(|change| wanted(&change.disposition)).count();
        u64::try_from(found).unwrap_or(u64::MAX)
    };
    // In the order of paths what lies in a folder follows it.
    let following = manifest.changes.iter().skip(1).map(Some).chain([None]);
    let shown: Vec<&deputize_workspace::Change> = manifest
        .changes
        .iter()
        .zip(following)
        .filter(|(change, next)| change.disposition != Disposition::Skip && !is_way(change, *next))
        .map(|(change, _)| change)
        .collect();
    ObservedChanges {
        count: shown.len(),
        listed: shown.into_iter().take(LISTED).map(change).collect(),
        record: ChangesObserved {
            manifest: manifest.digest.clone(),
            applies: count(|what| *what == Disposition::Apply),
            held: count(|what| matches!(what, Disposition::Hold(_))),
            refused: count(|what| matches!(what, Disposition::Refuse(_))),
        },
    }
}

/// Whether a new folder is told by what lies in it.
fn is_way(change: &deputize_workspace::Change, next: Option<&deputize_workspace::Change>) -> bool {
    let new = change.new.as_ref();
    let folder = new.is_some_and(|new| new.what == What::Folder);
    let created = change.kind == deputize_workspace::ChangeKind::Created;
    let holds = |other: &deputize_workspace::Change| {
        other.path.lies_in(&change.path) && other.disposition == change.disposition
    };
    folder && created && next.is_some_and(holds)
}

fn change(change: &deputize_workspace::Change) -> Change {
    Change {
        path: Untrusted::new(change.path.text()),
        kind: match change.kind {
            deputize_workspace::ChangeKind::Created => ChangeKind::Created,
            deputize_workspace::ChangeKind::Modified => ChangeKind::Modified,
            deputize_workspace::ChangeKind::Deleted => ChangeKind::Deleted,
        },
        kept_back: match &change.disposition {
            Disposition::Apply | Disposition::Skip => None,
            Disposition::Hold(why) => Some(format!("held back: {why}")),
            Disposition::Refuse(why) => Some(format!("never applied: {why}")),
        },
    }
}

/// The boundary for the ledger.
pub(crate) fn boundary(plan: &BoundaryPlan, self_test: Option<&SelfTest>) -> BoundaryStarted {
    let Enforced {
        level,
        promises,
        self_test,
    } = enforced(plan, self_test);
    BoundaryStarted {
        level,
        promises,
        self_test,
    }
}

/// What holds the grant, for the receipt.
pub(crate) fn enforced(plan: &BoundaryPlan, self_test: Option<&SelfTest>) -> Enforced {
    Enforced {
        level: plan.level.label().to_owned(),
        promises: plan.promises.iter().map(enforcement).collect(),
        self_test: self_test.map(probes).unwrap_or_default(),
    }
}

/// What there is when no call needed a boundary.
pub(crate) fn not_started() -> Enforced {
    Enforced {
        level: "not started: no tool ran".to_owned(),
        ..Enforced::default()
    }
}

fn enforcement(state: &PromiseState) -> Enforcement {
    let limit = state.limit.as_ref();
    match &state.mechanism {
        Some(mechanism) => Enforcement {
            promise: state.promise.name().to_owned(),
            by: match mechanism.by {
                By::Kernel => Enforcer::Kernel,
                By::Host => Enforcer::Host,
            },
            mechanism: match limit {
                Some(limit) => format!("{} ({limit})", mechanism.how),
                None => mechanism.how.clone(),
            },
        },
        None => Enforcement {
            promise: state.promise.name().to_owned(),
            by: Enforcer::Nobody,
            mechanism: limit.cloned().unwrap_or_default(),
        },
    }
}

fn probes(self_test: &SelfTest) -> Vec<Probe> {
    let outcome = |attempt: &Attempt| match attempt {
        Attempt::Refused(_) => ProbeOutcome::Stopped,
        Attempt::Succeeded => ProbeOutcome::WentThrough,
        Attempt::NotTried => ProbeOutcome::NotTried,
    };
    [
        ("write where nothing is granted", &self_test.write),
        ("read a file outside", &self_test.read),
        (
            "connect to a listening port of the host",
            &self_test.connect,
        ),
        ("signal the supervisor", &self_test.signal),
    ]
    .into_iter()
    .map(|(tried, attempt)| Probe {
        tried: tried.to_owned(),
        outcome: outcome(attempt),
    })
    .collect()
}

/// What was granted, for the receipt.
pub(crate) fn granted(grant: &Grant) -> Granted {
    let Bounds {
        read,
        write,
        tools,
        hosts,
        env,
        resources,
        budget,
        ..
    } = grant.bounds();
    Granted {
        digest: grant.digest().to_string(),
        tools: listed(tools, |tool| tool.name().to_owned()),
        read: listed(read, |root| root.path().display().to_string()),
        write: listed(write, |root| root.path().display().to_string()),
        hosts: listed(hosts, |host| host.0.clone()),
        env: listed(env, |name| name.0.clone()),
        resources: word(resources),
        trust: TRUST_BUILT_IN.to_owned(),
        budget: limits(budget),
        narrowed: narrowed(grant),
    }
}

/// The tools in effect, by name.
pub(crate) fn tools(grant: &Grant) -> Vec<String> {
    listed(&grant.bounds().tools, |tool| tool.name().to_owned())
}

fn listed<T: deputize_authority::Covers>(set: &Set<T>, name: impl Fn(&T) -> String) -> Vec<String> {
    match set {
        Set::Any => vec!["any".to_owned()],
        Set::Only(items) => items.iter().map(name).collect(),
    }
}

fn narrowed(grant: &Grant) -> Vec<Narrowing> {
    grant
        .trail()
        .iter()
        .map(|step| Narrowing {
            by: word(&step.by),
            axes: step.axes.iter().map(word).collect(),
        })
        .collect()
}

/// The limits that a budget sets.
pub(crate) fn limits(budget: &Budget) -> Vec<Limit> {
    Dimension::ALL
        .into_iter()
        .filter_map(|dimension| {
            let limit = budget.limit(dimension)?;
            Some(Limit {
                dimension: dimension.name().to_owned(),
                limit,
            })
        })
        .collect()
}

/// What was used, for the receipt.
pub(crate) fn used(spent: &Spent) -> Used {
    Used {
        turns: spent.turns,
        tool_calls: spent.tool_calls,
        commands: spent.commands,
        tokens: Tokens {
            input: spent.input_tokens,
            cached: spent.cached_input_tokens,
            output: spent.output_tokens,
        },
        cost_micros: spent.cost_micros,
        wall_ms: spent.wall_ms,
        refused: spent.refused_calls,
        changed_files: spent.changed_files,
        output_bytes: spent.output_bytes,
    }
}

/// The name that an enum of ours serialises as.
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        _ => String::new(),
    }
}
