//! Drives a child to its end while its events are shown and its signals are heard.

use std::pin::Pin;

use deputize_agent::CancelReason;
use deputize_boundary::PinnedProgram;
use deputize_model::Sleeper;
use deputize_runs::{Boundaries, Child, Finished, RunError, Spawner, Word};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::status::{self, Style};

/// Everything that runs beside the main thread.
pub(crate) fn drive(
    child: Child,
    spawner: Spawner,
    program: PinnedProgram,
    style: Style,
) -> Result<Finished, RunError> {
    runtime()?.block_on(async {
        let (tell, events) = mpsc::unbounded_channel();
        let (say, words) = mpsc::unbounded_channel();
        let watching = tokio::spawn(stop_on_signals(say));
        let showing = tokio::spawn(status::show(events, style));
        let boundaries = Boundaries::new(spawner, program);
        let finished = child.run(boundaries, tell, words).await;
        watching.abort();
        // The channel is closed: the face clears its line and ends. It can't fail.
        let _ = showing.await;
        finished
    })
}

/// The runtime of everything that waits.
pub(crate) fn runtime() -> Result<Runtime, RunError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|source| RunError::State {
            doing: "start the runtime of",
            path: "deputize".into(),
            source,
        })
}

/// The signals that end a program.
pub(crate) struct EndSignals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
}

impl EndSignals {
    /// Listens from now on; only in a runtime.
    pub(crate) fn listen() -> Self {
        let listen = |kind| signal(kind).ok();
        Self {
            interrupt: listen(SignalKind::interrupt()),
            terminate: listen(SignalKind::terminate()),
            hang_up: listen(SignalKind::hangup()),
        }
    }

    /// Waits for the next one, and says who ends the program by it.
    pub(crate) async fn next(&mut self) -> CancelReason {
        tokio::select! {
            () = heard(&mut self.interrupt) => CancelReason::Person,
            () = heard(&mut self.terminate) => CancelReason::HostEnds,
            () = heard(&mut self.hang_up) => CancelReason::HostEnds,
        }
    }
}

/// Turns the signals that end a program into words to the run, so that it ends with a result.
async fn stop_on_signals(say: mpsc::UnboundedSender<Word>) {
    let mut signals = EndSignals::listen();
    loop {
        let reason = signals.next().await;
        if say.send(Word::Cancel(reason)).is_err() {
            return;
        }
    }
}

async fn heard(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Waits by the clock.
pub(crate) struct RealTime;

impl Sleeper for RealTime {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(std::time::Duration::from_millis(millis)))
    }
}
