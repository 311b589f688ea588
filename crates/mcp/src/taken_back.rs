//! Requests to the client that are taken back where nobody waits for their answer any more.

use rmcp::model::{CancelledNotification, CancelledNotificationParam, RequestId};
use rmcp::service::{Peer, RoleServer};

/// A request that is waited for. Dropping it tells the client that the answer isn't needed.
pub(crate) struct TakenBack(Option<(Peer<RoleServer>, RequestId)>);

impl TakenBack {
    pub(crate) fn new(peer: &Peer<RoleServer>, request: &RequestId) -> Self {
        Self(Some((peer.clone(), request.clone())))
    }

    /// An answer came, or its time is over: there is nothing to take back.
    pub(crate) fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for TakenBack {
    fn drop(&mut self) {
        let Some((peer, id)) = self.0.take() else {
            return;
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let param =
            CancelledNotificationParam::new(Some(id), Some("not needed any more".to_owned()));
        let cancelled = CancelledNotification::new(param);
        runtime.spawn(async move {
            // A client that is gone has nothing to take away.
            let _ = peer.send_notification(cancelled.into()).await;
        });
    }
}
