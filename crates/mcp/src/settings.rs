//! What a person sets, on the command line that starts the server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deputize_authority::{Consent, Dimension};
use deputize_runs::{Child, ChildRequest, Look, RunError, SecondOpinion};

use crate::proof::HostSecret;

/// What a server needs to begin.
pub struct Settings {
    /// The person's environment.
    pub look: Look,
    /// What the person allowed for every run.
    pub allow: Vec<Consent>,
    /// A file of rules that the person named.
    pub rules: Option<PathBuf>,
    /// Limits that replace the presets'.
    pub budget: Vec<(Dimension, u64)>,
    /// The host that will prove its answers; without one, any client may answer, once.
    pub host: Option<HostIdentity>,
    /// How long things may take.
    pub limits: Limits,
    /// What only the program can give.
    pub outside: Arc<dyn Outside>,
    /// The other parser, for the gate of the host's own calls.
    pub second: SecondOpinion,
}

/// A host that has a secret.
pub struct HostIdentity {
    /// Its name.
    pub name: String,
    /// What its answers are proved by.
    pub secret: HostSecret,
}

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// After this a call answers with a handle: hosts give up calls after a minute, or sooner.
    pub handle: Duration,
    /// The longest that `subagent_status` waits.
    pub wait: Duration,
    /// How long a question stays open.
    pub question: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handle: Duration::from_secs(40),
            wait: Duration::from_secs(45),
            question: Duration::from_mins(5),
        }
    }
}

/// What only the program that serves can give: the edge of a model.
pub trait Outside: Send + Sync {
    /// Plans a child. It blocks: facts are looked up, and a model on this machine may be.
    ///
    /// # Errors
    /// The refusal of the request.
    fn plan(&self, look: &Look, request: ChildRequest) -> Result<Child, RunError>;
}
