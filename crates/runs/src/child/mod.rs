//! One child, from request to result.
//!
//! [`Child::plan`] decides without any effect; [`Child::run`] makes it real. In between a face may
//! show what was planned and stop there (`--dry-run`).

mod closing;
mod commands;
mod drive;
mod hosted;
mod opening;
mod toolbox;

use std::path::PathBuf;
use std::sync::Arc;

use deputize_agent::{CancelReason, RunResult};
use deputize_authority::preflight::{self, Granted, RunRequest};
use deputize_authority::{Budget, Grant, Preset};
use deputize_boundary::{BoundaryPlan, HostFacts};
use deputize_model::{Edge, ModelClient, select};

use crate::{Look, RunError, RunId, Store, choose_dry};

pub use hosted::Boundaries;

/// A request for a child, with what the edge adds to it.
#[derive(Debug, Clone, Default)]
pub struct ChildRequest {
    /// What is asked for.
    pub run: RunRequest,
    /// The folder, as typed; the caller's when absent.
    pub workdir: Option<PathBuf>,
    /// The model by name.
    pub model: Option<String>,
}

/// A child that may start.
pub struct Child {
    id: RunId,
    request: ChildRequest,
    granted: Granted,
    model: Arc<dyn ModelClient>,
    host: HostFacts,
    store: Store,
    look: Look,
    plan: BoundaryPlan,
}

/// What a dry run shows.
#[derive(Debug, Clone)]
pub struct Planned<'a> {
    /// The grant.
    pub grant: &'a Grant,
    /// The boundary that is planned for it.
    pub boundary: &'a BoundaryPlan,
    /// The model by name.
    pub model: String,
    /// What kind of thing that is, where it is no language model.
    pub label: Option<&'static str>,
    /// Things to know that are no obstacle.
    pub notes: &'a [String],
}

/// A run that ended.
#[derive(Debug)]
pub struct Finished {
    /// Its result.
    pub result: RunResult,
    /// Its folder.
    pub folder: PathBuf,
}

/// What a person, or a host, says to a run while it goes on.
#[derive(Debug, Clone)]
pub enum Word {
    /// Stop.
    Cancel(CancelReason),
    /// Here is more.
    Extend(Budget),
}

impl Child {
    /// Decides about a request. Pure but for the facts that are looked up.
    ///
    /// # Errors
    /// The refusal, with code, field, reason and fix.
    pub fn plan(look: &Look, request: ChildRequest, edge: &dyn Edge) -> Result<Self, RunError> {
        let around = look.surroundings(request.workdir.as_deref());
        let granted = preflight::child(&request.run, &around)?;
        let model = Arc::from(select(request.model.as_deref(), edge)?);
        let host = look.host();
        let plan = choose_dry(&granted.grant, &host)?;
        Ok(Self {
            id: RunId::new(),
            request,
            granted,
            model,
            host,
            store: Store::below(look.state()?),
            look: look.clone(),
            plan,
        })
    }

    /// What was decided.
    #[must_use]
    pub fn planned(&self) -> Planned<'_> {
        Planned {
            grant: &self.granted.grant,
            boundary: &self.plan,
            model: self.model.name().to_string(),
            label: self.model.label().notice(),
            notes: &self.granted.notes,
        }
    }

    fn preset(&self) -> Preset {
        self.granted.grant.preset()
    }
}
