//! The supervisor's end of a relay: a model client like any other.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as BlockingStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use deputize_authority::Refusal;
use deputize_model::{
    Endpoint, ModelClient, ModelError, ModelLabel, ModelName, Price, ReadyFuture, Turn, TurnFuture,
    TurnRequest, Watch,
};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::frame::{self, FrameError};
use crate::limits::{ASK_BYTES, START, TOLD_BYTES};
use crate::protocol::{Ask, Pinned, Standing, Told};

/// Variables that a relay gets beside those that may hold its key: where its files lie, and whom it
/// trusts.
const PASSED_ON: [&str; 9] = [
    "HOME",
    "PATH",
    "LANG",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "RES_OPTIONS",
];

/// How a relay is started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program, which must have `__relay`.
    pub program: PathBuf,
    /// The person's environment. What a relay needs of it is passed on unread.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder where keys are stored.
    pub store: Option<PathBuf>,
}

/// A model of a provider, behind a relay that is started when it is needed.
pub struct Relayed {
    endpoint: Endpoint,
    launch: Launch,
    /// `None` before the first turn, while one is under way, and after one that was abandoned: the
    /// relay ends with the connection, and the next turn starts another.
    link: Mutex<Option<Link>>,
}

/// A running relay. Dropping it ends it.
struct Link {
    stream: UnixStream,
    process: Child,
}

impl Drop for Link {
    fn drop(&mut self) {
        // It ends by itself when the stream closes; this leaves no zombie behind.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Relayed {
    /// A model, behind a relay that isn't started yet.
    #[must_use]
    pub fn new(endpoint: Endpoint, launch: Launch) -> Self {
        Self {
            endpoint,
            launch,
            link: Mutex::new(None),
        }
    }

    async fn start(&self) -> Result<(Link, Standing), Refusal> {
        let mut link = self.spawn().map_err(|error| failed(&error))?;
        let pinned = Pinned {
            endpoint: self.endpoint.clone(),
            store: self.launch.store.clone(),
        };
        let hello = async {
            let json = frame::encode(&pinned, ASK_BYTES)?;
            frame::write(&mut link.stream, &json).await?;
            frame::read::<Told>(&mut link.stream, TOLD_BYTES).await
        };
        match timeout(START, hello).await {
            Ok(Ok(Told::Ready(standing))) => Ok((link, standing)),
            Ok(Ok(Told::Refused(refusal))) => Err(refusal),
            Ok(Ok(_)) => Err(failed(&"it says something else than hello")),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(failed(&"it doesn't answer")),
        }
    }

    fn spawn(&self) -> std::io::Result<Link> {
        let (ours, theirs) = BlockingStream::pair()?;
        ours.set_nonblocking(true)?;
        let key = self.endpoint.key.variables.iter().map(String::as_str);
        let passed: Vec<&str> = PASSED_ON.into_iter().chain(key).collect();
        let environment = self
            .launch
            .environment
            .iter()
            .filter(|(name, _)| passed.iter().any(|passed| name == passed));
        let process = Command::new(&self.launch.program)
            .arg0("deputize")
            .arg("__relay")
            .env_clear()
            .envs(environment.map(|(name, value)| (name, value)))
            .current_dir("/")
            // An interrupt from the terminal is the run's to answer; the relay ends with it.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let stream = UnixStream::from_std(ours)?;
        Ok(Link { stream, process })
    }

    async fn ask(
        &self,
        link: &mut Link,
        json: &[u8],
        watch: &dyn Watch,
    ) -> Result<Result<Turn, ModelError>, FrameError> {
        frame::write(&mut link.stream, json).await?;
        loop {
            match frame::read(&mut link.stream, TOLD_BYTES).await? {
                Told::Streaming => watch.streaming(),
                Told::Retrying(told) => watch.notice("model_retry", told),
                Told::Turn(turn) => return Ok(Ok(*turn)),
                Told::Failed(error) => return Ok(Err(error)),
                Told::Ready(_) | Told::Refused(_) => return Err(FrameError::Closed),
            }
        }
    }
}

fn failed(why: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(
        "relay_failed",
        "model",
        format!("the relay to the model's provider can't start: {why}"),
        "run it again; if it stays, report it with what `deputize doctor` says",
    )
}

impl ModelClient for Relayed {
    fn name(&self) -> &ModelName {
        &self.endpoint.name
    }

    fn label(&self) -> ModelLabel {
        ModelLabel::LanguageModel
    }

    fn price(&self) -> Option<Price> {
        self.endpoint.price
    }

    fn ready<'a>(&'a self, watch: &'a dyn Watch) -> ReadyFuture<'a> {
        Box::pin(async move {
            let mut link = self.link.lock().await;
            if link.is_none() {
                let (started, standing) = self.start().await?;
                watch.notice("relay", standing_of(&self.endpoint, &standing));
                *link = Some(started);
            }
            Ok(())
        })
    }

    fn turn<'a>(&'a self, request: &'a TurnRequest, watch: &'a dyn Watch) -> TurnFuture<'a> {
        Box::pin(async move {
            let unavailable = |reason: String| ModelError::Unavailable { reason };
            let ask = Ask {
                request: request.clone(),
            };
            let json = frame::encode(&ask, ASK_BYTES).map_err(|error| ModelError::Refused {
                reason: format!("the conversation can't be sent: {error}"),
            })?;
            let mut kept = self.link.lock().await;
            // Taken out while it is in use: a turn that is dropped takes the relay with it.
            let mut link = match kept.take() {
                Some(link) => link,
                None => match self.start().await {
                    Ok((link, _)) => link,
                    Err(refusal) => {
                        return Err(unavailable(format!("{}; {}", refusal.reason, refusal.fix)));
                    }
                },
            };
            match self.ask(&mut link, &json, watch).await {
                Ok(answered) => {
                    *kept = Some(link);
                    answered
                }
                Err(error) => Err(unavailable(format!("the relay is lost: {error}"))),
            }
        })
    }
}

/// How a relay stands, for the record.
fn standing_of(endpoint: &Endpoint, standing: &Standing) -> String {
    let key = match &standing.key {
        Some(place) => format!("key from {place}"),
        None => "no key".to_owned(),
    };
    let mut told = format!("relay to {} at {}: {key}", endpoint.name, endpoint.base);
    for held in &standing.held {
        told = format!("{told}; {held}");
    }
    for lacking in &standing.lacking {
        told = format!("{told}; NOT held by this kernel: {lacking}");
    }
    told
}
