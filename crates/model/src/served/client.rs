//! The host's model as a client of the loop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use deputize_authority::escape;

use super::sampling::{self, Answer};
use super::{HostFault, ModelHost};
use crate::{
    ModelClient, ModelError, ModelLabel, ModelName, Price, TurnFuture, TurnRequest, UsageSource,
    Watch,
};

/// Characters of what a host says about a fault.
const REASON: usize = 400;

/// A model that the host of the parent agent serves. One client serves one run.
pub struct ServedModel {
    name: ModelName,
    host: Arc<dyn ModelHost>,
    /// Whether it was told that tokens are estimated.
    told: AtomicBool,
    /// The model that answered last, as the host names it.
    last: Mutex<Option<String>>,
}

impl ServedModel {
    /// The model that was chosen under this name, served by this host.
    #[must_use]
    pub fn new(name: ModelName, host: Arc<dyn ModelHost>) -> Self {
        Self {
            name,
            host,
            told: AtomicBool::new(false),
            last: Mutex::default(),
        }
    }

    /// Tells where another model answers than was asked for, or than answered before (D6): a name is only
    /// a hint to a host, and a person may choose another model there in the middle of a run.
    fn hear_model(&self, model: &str, watch: &dyn Watch) {
        let last = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            last.replace(model.to_owned())
        };
        let wanted = match (&last, &self.name) {
            (Some(last), _) if last != model => last.as_str(),
            (None, ModelName::Host(Some(wanted))) if !model.contains(wanted.as_str()) => wanted,
            _ => return,
        };
        let (model, wanted) = (escape(model), escape(wanted));
        watch.notice(
            "model_substituted",
            format!("the host answers with `{model}` in place of `{wanted}`"),
        );
    }
}

impl ModelClient for ServedModel {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn label(&self) -> ModelLabel {
        ModelLabel::Host
    }

    fn price(&self) -> Option<Price> {
        None
    }

    fn turn<'a>(&'a self, request: &'a TurnRequest, watch: &'a dyn Watch) -> TurnFuture<'a> {
        Box::pin(async move {
            let asked = sampling::request(&self.name, request);
            let estimate = asked.input_estimate;
            let alive = || watch.streaming();
            let answer = self.host.sample(asked.params, &alive).await;
            let answer = answer.map_err(fault)?;
            let turn = Answer(&answer).turn(&self.name, estimate)?;
            self.hear_model(&turn.model, watch);
            if turn.usage_source == UsageSource::Estimated
                && !self.told.swap(true, Ordering::Relaxed)
            {
                watch.notice(
                    "usage_estimated",
                    "the host reports no usage: tokens are estimated from the text".to_owned(),
                );
            }
            Ok(turn)
        })
    }
}

fn fault(fault: HostFault) -> ModelError {
    match fault {
        HostFault::Refused { code, message } => {
            let message: String = message.chars().take(REASON).collect();
            ModelError::Refused {
                reason: format!("the host said: {message} ({code})"),
            }
        }
        HostFault::Silent(seconds) => ModelError::Unavailable {
            reason: format!("the host gave no sign of life for {seconds} seconds"),
        },
        HostFault::Gone => ModelError::Unavailable {
            reason: "the host is gone".to_owned(),
        },
    }
}
