//! One child, from request to result.
//!
//! [`Child::plan`] decides without any effect; [`Child::run`] makes it real. In between a face may
//! show what was planned and stop there (`--dry-run`).

mod cloning;
mod closing;
mod commands;
mod drive;
mod ground;
mod heard;
mod hosted;
mod opening;
mod questions;
mod telling;
mod toolbox;

use std::path::PathBuf;
use std::sync::Arc;

use deputize_agent::{CancelReason, RunResult, Schema};
use deputize_authority::preflight::{self, Granted, ModelPrice, RunRequest};
use deputize_authority::{
    Approval, Ask, Budget, Channel, Consent, Grant, Preset, Refusal, Rules, Settled, Untrusted,
    settle,
};
use deputize_boundary::{BoundaryPlan, HostFacts, Toolchain};
use deputize_model::{Dearer, Edge, ModelClient, Price};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::{Asker, Look, ModelRequest, RunError, RunId, Said, Store, choose_dry, model};

pub use hosted::Boundaries;

/// Who asks for a child.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Principal {
    /// A person.
    #[default]
    Person,
    /// An agent that lives in a host, or in a client of the protocol server.
    Agent {
        /// What the host calls itself.
        host: String,
    },
}

/// A request for a child, with what the edge adds to it.
#[derive(Debug, Clone, Default)]
pub struct ChildRequest {
    /// Who asks.
    pub principal: Principal,
    /// What is asked for.
    pub run: RunRequest,
    /// The folder, as typed; the caller's when absent.
    pub workdir: Option<PathBuf>,
    /// Further readable roots, as typed.
    pub read: Vec<PathBuf>,
    /// The model.
    pub model: ModelRequest,
    /// What the answer must look like: a JSON Schema.
    pub schema: Option<Value>,
    /// What the person typed that is allowed. Never filled from a model's parameters (S4).
    pub allow: Vec<Consent>,
    /// A file of rules that the person typed, beside the one in their configuration.
    pub rules: Option<PathBuf>,
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
    schema: Option<Schema>,
    settled: Settled,
    rules: Rules,
    asker: Option<Arc<dyn Asker>>,
}

/// What a dry run and a card show.
#[derive(Debug, Clone)]
pub struct Planned<'a> {
    /// Who asks.
    pub principal: &'a Principal,
    /// The grant.
    pub grant: &'a Grant,
    /// The boundary that is planned for it.
    pub boundary: &'a BoundaryPlan,
    /// The model by name.
    pub model: String,
    /// What kind of thing that is, where it is no language model.
    pub label: Option<&'static str>,
    /// What its tokens cost; `None` where nobody knows.
    pub price: Option<Price>,
    /// The task.
    pub prompt: &'a Untrusted,
    /// The command that must pass before the run is `ok`.
    pub check: Option<&'a str>,
    /// What the answer must look like.
    pub schema: Option<&'a Value>,
    /// The toolchains whose folders commands will see.
    pub toolchains: &'a [Toolchain],
    /// What needs a person's yes, and what came of it.
    pub settled: &'a Settled,
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
#[derive(Debug)]
pub enum Word {
    /// Stop.
    Cancel(CancelReason),
    /// Here is more.
    Extend(Budget),
    /// This is added to the task, to be heard at the next turn.
    Steer {
        /// What the principal says.
        text: String,
        /// Where to say what came of it.
        tell: oneshot::Sender<Said>,
    },
    /// This is to be shown and written down.
    Note {
        /// A stable code.
        code: &'static str,
        /// What it is, escaped.
        message: String,
    },
}

impl Child {
    /// Decides about a request. Pure but for the facts that are looked up.
    ///
    /// # Errors
    /// The refusal, with code, field, reason and fix.
    pub fn plan(look: &Look, mut request: ChildRequest, edge: &dyn Edge) -> Result<Self, RunError> {
        let around = look.surroundings(request.workdir.as_deref());
        request.run.read = request.read.iter().map(|path| look.folder(path)).collect();
        let granted = preflight::child(&request.run, &around)?;
        let host = look.host();
        cloning::check(&granted.grant, &host)?;
        let schema = request.schema.take().map(Schema::new).transpose()?;
        let rules = look.rules(request.rules.as_deref())?;
        if request.allow.contains(&Consent::DearerModel) {
            request.model.dearer = Dearer::Allow;
        }
        let preset = granted.grant.preset().name();
        let model: Arc<dyn ModelClient> =
            Arc::from(model::client(look, &request.model, preset, edge)?);
        let name = model.name().to_string();
        let price = ModelPrice {
            name: &name,
            output: model.price().map(|price| price.output),
        };
        // A person asks: there is no parent whose model could be cheaper.
        let mut asks = granted.asks.clone();
        asks.extend(preflight::dearer_model(price, None));
        let grant = &granted.grant;
        let settled = settle(
            asks,
            &request.allow,
            &rules,
            grant.preset(),
            grant.workspace().path(),
        );
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
            schema,
            settled,
            rules,
            asker: None,
        })
    }

    /// Its id; nothing has it yet before the child runs.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// What needs a person's yes, and what came of it.
    #[must_use]
    pub fn settled(&self) -> &Settled {
        &self.settled
    }

    /// Says who is asked about single calls while the child works. Without anybody such a call is
    /// refused.
    pub fn asks(&mut self, asker: Arc<dyn Asker>) {
        self.asker = Some(asker);
    }

    /// Takes a person's yes to everything that the card showed as open.
    pub fn accept(&mut self, by: &Channel) {
        self.settled.accept(by);
    }

    /// Takes what a person said before about the same questions.
    pub fn cover(&mut self, said: impl Fn(&Ask) -> Option<Channel>) {
        self.settled.cover(said);
    }

    /// Adds something to know, to be shown and written down when the child begins.
    pub fn note(&mut self, note: String) {
        self.granted.notes.push(note);
    }

    /// The refusal where the client of a protocol server can't show the question (S4).
    #[must_use]
    pub fn unaskable(&self) -> Refusal {
        let file = self.look.rules_file();
        let file = file.as_ref().map(|file| file.to_string_lossy());
        self.settled.unaskable(file.as_deref())
    }

    /// The refusal where that client was asked and gave no answer (S9).
    #[must_use]
    pub fn unanswered_by_client(&self) -> Refusal {
        let file = self.look.rules_file();
        let file = file.as_ref().map(|file| file.to_string_lossy());
        self.settled.unanswered_by_client(file.as_deref())
    }

    /// What a person agreed to, by channel.
    ///
    /// # Errors
    /// `denied_by_rule` or `confirmation_needed`: then the child doesn't start.
    pub fn approvals(&self) -> Result<Vec<Approval>, RunError> {
        let file = self.look.rules_file();
        let file = file.as_ref().map(|file| file.to_string_lossy());
        Ok(self.settled.approvals(file.as_deref())?)
    }

    /// What was decided.
    #[must_use]
    pub fn planned(&self) -> Planned<'_> {
        Planned {
            principal: &self.request.principal,
            grant: &self.granted.grant,
            boundary: &self.plan,
            model: self.model.name().to_string(),
            label: self.model.label().notice(),
            price: self.model.price(),
            prompt: self.granted.prompt.text(),
            check: self.granted.check.as_deref(),
            schema: self.schema.as_ref().map(Schema::value),
            toolchains: &self.host.toolchains,
            settled: &self.settled,
            notes: &self.granted.notes,
        }
    }

    fn preset(&self) -> Preset {
        self.granted.grant.preset()
    }
}
