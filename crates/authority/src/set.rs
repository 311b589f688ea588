//! One lattice for every axis that is a set of permissions.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// An item that can permit other items: a folder covers what lies in it, `*.a.org` covers `x.a.org`.
///
/// # Invariants
/// Covering is a partial order (reflexive, transitive, antisymmetric), and two items that don't
/// cover one another permit nothing in common. [`Set::meet`] relies on both.
pub trait Covers: Ord + Clone {
    /// Whether whatever `other` permits is permitted by `self` too.
    fn covers(&self, other: &Self) -> bool;
}

/// What an axis permits: anything, or only what the listed items cover.
///
/// `Only` of nothing is the bottom, `Any` the top. `Only` sets are kept free of items that another
/// item covers, so equal permissions compare equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Set<T: Ord> {
    /// Everything on this axis.
    Any,
    /// Only what these items cover.
    Only(BTreeSet<T>),
}

impl<T: Covers> Set<T> {
    /// Permits nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// Permits what the items cover.
    pub fn only(items: impl IntoIterator<Item = T>) -> Self {
        let all: BTreeSet<T> = items.into_iter().collect();
        let kept = all
            .iter()
            .filter(|item| !all.iter().any(|other| other != *item && other.covers(item)))
            .cloned()
            .collect();
        Self::Only(kept)
    }

    /// What both sides permit: the greatest lower bound.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let (left, right) = match (self, other) {
            (Self::Any, set) | (set, Self::Any) => return set.clone(),
            (Self::Only(left), Self::Only(right)) => (left, right),
        };
        let narrower = left.iter().flat_map(|a| {
            right.iter().filter_map(move |b| {
                if a.covers(b) {
                    Some(b.clone())
                } else if b.covers(a) {
                    Some(a.clone())
                } else {
                    None
                }
            })
        });
        Self::only(narrower)
    }

    /// Whether this set permits no more than `other` does.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Any) => true,
            (Self::Any, Self::Only(_)) => false,
            (Self::Only(items), Self::Only(_)) => items.iter().all(|item| other.permits(item)),
        }
    }

    /// Whether `item` is permitted.
    #[must_use]
    pub fn permits(&self, item: &T) -> bool {
        match self {
            Self::Any => true,
            Self::Only(items) => items.iter().any(|own| own.covers(item)),
        }
    }

    /// Whether nothing is permitted.
    #[must_use]
    pub fn is_none(&self) -> bool {
        matches!(self, Self::Only(items) if items.is_empty())
    }

    /// The listed items; none where everything is permitted.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        match self {
            Self::Any => None,
            Self::Only(items) => Some(items.iter()),
        }
        .into_iter()
        .flatten()
    }
}
