//! The last steps before bytes of a model are touched, in the only order that works.
//!
//! [`Prepared`] can still open what it needs; [`Confined`] can't undo anything; a command leaves
//! `Confined` by exec. There is no way back and no way past a stage.

mod calls;
mod filter;
mod landlock;
mod limits;

use rustix::thread::CapabilitySet;

use crate::error::{At as _, BoundaryError, Step};
use crate::plan::{BoundaryPlan, Limits};
use deputize_authority::Level;

pub(crate) use filter::{FilterSet, Kind};
pub(crate) use landlock::Rules;

/// A process that has everything open that it will need, and is not confined yet.
pub(crate) struct Prepared<'a> {
    filters: &'a FilterSet,
    rules: Rules,
    limits: Option<Limits>,
    level: Level,
}

/// A process that the kernel now confines.
pub(crate) struct Confined(());

impl<'a> Prepared<'a> {
    /// For a command.
    pub(crate) fn command(plan: &BoundaryPlan, filters: &'a FilterSet, rules: Rules) -> Self {
        Self {
            filters,
            rules,
            limits: Some(plan.limits),
            level: plan.level,
        }
    }

    /// For the worker, which runs nothing: its filter is its limit.
    pub(crate) fn worker(plan: &BoundaryPlan, filters: &'a FilterSet, rules: Rules) -> Self {
        Self {
            filters,
            rules,
            limits: None,
            level: plan.level,
        }
    }

    /// Confines this process: limits, capabilities, Landlock, and the filter last.
    pub(crate) fn confine(self) -> Result<Confined, BoundaryError> {
        if let Some(limits) = &self.limits {
            limits::apply(limits, self.level)?;
        }
        drop_capabilities()?;
        rustix::thread::set_no_new_privs(true).at(Step::Capabilities, "no_new_privs")?;
        self.rules.enforce()?;
        self.filters.load()?;
        Ok(Confined(()))
    }
}

impl Confined {
    /// Where a confined process may go on: proof that it is confined, for those who ask for it.
    pub(crate) fn proceed<T>(&self, with: impl FnOnce() -> T) -> T {
        with()
    }
}

/// Drops every capability from every set, the bounding set included.
fn drop_capabilities() -> Result<(), BoundaryError> {
    let step = Step::Capabilities;
    rustix::thread::clear_ambient_capability_set().at(step, "ambient set")?;
    for bit in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // Without CAP_SETPCAP (no user namespace) the set stays; it gives nothing to a process
            // without capabilities under no_new_privs. Or: the first number that the kernel doesn't
            // know, which ends the list.
            Err(rustix::io::Errno::PERM | rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(BoundaryError::step(step, error, "bounding set")),
        }
    }
    let none = rustix::thread::CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).at(step, "all sets")
}
