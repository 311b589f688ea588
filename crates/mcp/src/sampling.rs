//! Turns of the client's own model (N5): requests for sampling, and the signs of life on the way.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deputize_runs::{HostFault, ModelHost, Sampled};
use rmcp::model::{ClientResult, ProgressToken, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::taken_back::TakenBack;

/// How long a client may give no sign of life: a model that thinks says nothing for minutes.
const SILENCE: Duration = Duration::from_secs(180);

/// The client as a host of models, where it declares that it is one.
pub(crate) fn served(peer: &Peer<RoleServer>, signs: &Signs) -> Option<Arc<dyn ModelHost>> {
    let info = peer.peer_info()?;
    let declared = info.capabilities.sampling.as_ref()?;
    declared.tools.as_ref()?;
    Some(Arc::new(Client {
        peer: peer.clone(),
        signs: signs.clone(),
    }))
}

/// Where progress of the client's turns is heard.
#[derive(Clone, Default)]
pub(crate) struct Signs(Arc<Mutex<HashMap<ProgressToken, Arc<Notify>>>>);

impl Signs {
    /// Tells whoever waits for this turn that it goes on.
    pub(crate) fn hear(&self, token: &ProgressToken) {
        if let Some(heard) = self.lock().get(token) {
            heard.notify_one();
        }
    }

    fn listen(&self, token: ProgressToken) -> Listening<'_> {
        let heard = Arc::new(Notify::new());
        self.lock().insert(token.clone(), Arc::clone(&heard));
        Listening {
            signs: self,
            token,
            heard,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One turn that is listened to.
struct Listening<'a> {
    signs: &'a Signs,
    token: ProgressToken,
    heard: Arc<Notify>,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.signs.lock().remove(&self.token);
    }
}

struct Client {
    peer: Peer<RoleServer>,
    signs: Signs,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client")
    }
}

impl ModelHost for Client {
    fn sample<'a>(&'a self, params: Value, alive: &'a (dyn Fn() + Send + Sync)) -> Sampled<'a> {
        Box::pin(async move {
            let request = request(params).ok_or(HostFault::Gone)?;
            let options = PeerRequestOptions::with_timeout(SILENCE).reset_timeout_on_progress();
            let handle = self.peer.send_cancellable_request(request, options).await;
            let handle = handle.map_err(fault)?;
            let listening = self.signs.listen(handle.progress_token.clone());
            let taken_back = TakenBack::new(&self.peer, &handle.id);
            let mut answered = std::pin::pin!(handle.await_response());
            let answered = loop {
                tokio::select! {
                    answered = &mut answered => break answered,
                    () = listening.heard.notified() => alive(),
                }
            };
            taken_back.answered();
            result(answered.map_err(fault)?)
        })
    }
}

fn request(params: Value) -> Option<ServerRequest> {
    serde_json::from_value(json!({ "method": "sampling/createMessage", "params": params })).ok()
}

fn result(answer: ClientResult) -> Result<Value, HostFault> {
    // One that can't be written as JSON can't have come as such.
    serde_json::to_value(answer).map_err(|_| HostFault::Gone)
}

fn fault(error: ServiceError) -> HostFault {
    match error {
        ServiceError::McpError(error) => HostFault::Refused {
            code: error.code.0,
            message: error.message.into_owned(),
        },
        ServiceError::Timeout { timeout } => HostFault::Silent(timeout.as_secs()),
        _ => HostFault::Gone,
    }
}
