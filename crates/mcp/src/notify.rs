//! What happens in the runs, told to the client: as log notifications, and as progress of a call.
#![expect(
    deprecated,
    reason = "the protocol's logging is what hosts of today have for this"
)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use deputize_runs::{Event, Live, LiveEvent, RunId};
use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

/// The logger's name.
const LOGGER: &str = "deputize.run";

/// A run's status goes out no more often than this: a person reads it.
const STATUS: Duration = Duration::from_millis(250);

/// Whether an event is the next status of its run too soon.
#[derive(Default)]
struct Pace(BTreeMap<RunId, Instant>);

impl Pace {
    fn is_too_soon(&mut self, event: &LiveEvent) -> bool {
        match event.event {
            Event::Status(_) => {
                let now = Instant::now();
                let last = self.0.get(&event.run);
                let soon = last.is_some_and(|last| now.duration_since(*last) < STATUS);
                if !soon {
                    self.0.insert(event.run.clone(), now);
                }
                soon
            }
            Event::Ended { .. } => {
                self.0.remove(&event.run);
                false
            }
            _ => false,
        }
    }
}

/// Tells a client of everything that happens, until it is gone. What a slow one misses is only seen
/// less smoothly: the results hold all of it.
pub(crate) async fn log(live: Live, peer: Peer<RoleServer>, level: watch::Receiver<LoggingLevel>) {
    let mut events = live.watch();
    let mut pace = Pace::default();
    loop {
        let event = match events.recv().await {
            Ok(event) => event,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let is = match event.event {
            Event::Status(_) => LoggingLevel::Debug,
            _ => LoggingLevel::Info,
        };
        if rank(is) < rank(*level.borrow()) || pace.is_too_soon(&event) {
            continue;
        }
        let data = serde_json::to_value(&event).unwrap_or_default();
        let mut param = LoggingMessageNotificationParam::new(is, data);
        param.logger = Some(LOGGER.to_owned());
        if peer.notify_logging_message(param).await.is_err() {
            return;
        }
    }
}

/// Tells a call's progress while its runs go on. Never ends by itself.
pub(crate) async fn progress(
    live: &Live,
    peer: &Peer<RoleServer>,
    token: Option<ProgressToken>,
    runs: &(dyn Fn(&RunId) -> bool + Sync),
) {
    let Some(token) = token else {
        return std::future::pending().await;
    };
    let mut events = live.watch();
    let mut pace = Pace::default();
    let mut step = 0.0;
    loop {
        let event = match events.recv().await {
            Ok(event) => event,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return std::future::pending().await,
        };
        let message = match &event.event {
            Event::Status(now) => now.to_string(),
            Event::Call {
                tool,
                preview,
                verdict,
                ..
            } => format!("{tool} {preview}: {verdict}"),
            Event::Notice { message, .. } => message.clone(),
            Event::Started { .. } | Event::Boundary { .. } | Event::Ended { .. } => continue,
        };
        if !runs(&event.run) || pace.is_too_soon(&event) {
            continue;
        }
        step += 1.0;
        let mut param = ProgressNotificationParam::new(token.clone(), step);
        param.message = Some(message);
        if peer.notify_progress(param).await.is_err() {
            return std::future::pending().await;
        }
    }
}

fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
