//! The relay itself: one process, one key, one endpoint, one model.

use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream as BlockingStream;
use std::process::ExitCode;
use std::time::Instant;

use deputize_authority::Refusal;
use deputize_model::wire::Decoder;
use deputize_model::wire::limits::BYTES_PER_TOKEN;
use deputize_model::{Endpoint, ModelError, Turn, TurnRequest, Usage};
use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::{Bytes, Incoming};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::time::timeout;

use crate::confine::{Held, confine, hide};
use crate::frame;
use crate::http::{HttpError, Line, Sent, beginning, said};
use crate::key::{NoKey, Secret, find};
use crate::limits::{ASK_BYTES, ERROR_BYTES, IDLE, REST, SIGN_OF_LIFE, START, TOLD_BYTES};
use crate::protocol::{Ask, KeyPlace, Pinned, Standing, Told};
use crate::retry::{Answered, Next, busy, next, unreachable};
use crate::store::{KeyStore, StoreError};

/// The part of `deputize __relay`: serves the process behind standard input until it is gone. Must be
/// called before any thread exists.
pub fn relay_main() -> ExitCode {
    // Where even this fails there is nobody to tell.
    let Ok(descriptor) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::FAILURE;
    };
    let mut stream = BlockingStream::from(descriptor);
    let prepared = hide()
        .map_err(refused)
        .and_then(|()| pinned(&mut stream))
        .and_then(prepare);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let (Ok(runtime), Ok(())) = (runtime, stream.set_nonblocking(true)) else {
        return ExitCode::FAILURE;
    };
    let served = runtime.block_on(async {
        let stream = UnixStream::from_std(stream)?;
        let (mut from, to) = stream.into_split();
        let (told, relay, key) = match prepared {
            Ok((relay, key, standing)) => (Told::Ready(standing), Some(relay), key),
            Err(refusal) => (Told::Refused(refusal), None, None),
        };
        let mut tell = Tell { to, key };
        tell.say(&told).await?;
        let Some(mut relay) = relay else {
            return Ok(());
        };
        loop {
            let ask: Ask = match frame::read(&mut from, ASK_BYTES).await {
                Ok(ask) => ask,
                Err(frame::FrameError::Closed) => return Ok(()),
                Err(error) => return Err(error),
            };
            let mut byte = [0];
            tokio::select! {
                told = relay.serve(&ask.request, &mut tell) => tell.say(&told?).await?,
                // Whoever asked is gone, or breaks the order of things: the turn is abandoned.
                _ = from.read(&mut byte) => return Ok(()),
            }
        }
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Says things to the supervisor, without the key in any of them.
struct Tell {
    to: OwnedWriteHalf,
    key: Option<Secret>,
}

impl Tell {
    async fn say(&mut self, told: &Told) -> Result<(), frame::FrameError> {
        let json = match frame::encode(told, TOLD_BYTES) {
            Err(frame::FrameError::TooLarge(bytes)) => {
                let reason = format!("a turn of {bytes} bytes is too large to be passed on");
                let failed = Told::Failed(ModelError::Malformed { reason });
                frame::encode(&failed, TOLD_BYTES)?
            }
            other => other?,
        };
        // A key has no character that JSON writes otherwise, so it would stand here as it is.
        let clean = match &self.key {
            Some(key) => without(json, key.expose()),
            None => json,
        };
        frame::write(&mut self.to, &clean).await
    }
}

/// JSON without a key in it.
fn without(json: Vec<u8>, key: &str) -> Vec<u8> {
    match String::from_utf8(json) {
        Ok(text) if text.contains(key) => text.replace(key, "[redacted]").into_bytes(),
        Ok(text) => text.into_bytes(),
        // JSON of ours is always text.
        Err(error) => error.into_bytes(),
    }
}

/// Reads what this relay is pinned to.
fn pinned(stream: &mut BlockingStream) -> Result<Pinned, Refusal> {
    let broken =
        |what: &dyn std::fmt::Display| refused(format!("the first frame is broken: {what}"));
    stream
        .set_read_timeout(Some(START))
        .map_err(|error| broken(&error))?;
    let mut length = [0; 4];
    stream
        .read_exact(&mut length)
        .map_err(|error| broken(&error))?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > ASK_BYTES {
        return Err(broken(&"it is too large"));
    }
    let mut bytes = vec![0; length];
    stream
        .read_exact(&mut bytes)
        .map_err(|error| broken(&error))?;
    serde_json::from_slice(&bytes).map_err(|error| broken(&error))
}

type Prepared = (Relay, Option<Secret>, Standing);

/// Reads key and trust roots, and then gives up everything else.
fn prepare(pinned: Pinned) -> Result<Prepared, Refusal> {
    let Pinned { endpoint, store } = pinned;
    let store = store.map(KeyStore::below);
    let found = find(&endpoint.key, store.as_ref()).map_err(|error| no_key(&endpoint, &error))?;
    let (key, place) = match found {
        Some((key, place)) => (Some(key), Some(place)),
        None => (None, None),
    };
    let line = Line::new(endpoint.base.clone()).map_err(|why| {
        Refusal::new(
            "relay_tls",
            "model",
            format!("`{}` can't be reached safely: {why}", endpoint.base),
            "install the system's certificates (`ca-certificates`), or name them in SSL_CERT_FILE",
        )
    })?;
    let held = confine(&endpoint.base).map_err(refused)?;
    let standing = standing(place, held);
    let relay = Relay {
        endpoint,
        key: key.clone(),
        line,
    };
    Ok((relay, key, standing))
}

fn standing(key: Option<KeyPlace>, held: Held) -> Standing {
    Standing {
        key,
        held: held.held,
        lacking: held.lacking,
    }
}

fn refused(why: String) -> Refusal {
    Refusal::new(
        "relay_failed",
        "model",
        format!("the relay to the model's provider can't start: {why}"),
        "run it again; if it stays, report it with what `deputize doctor` says",
    )
}

fn no_key(endpoint: &Endpoint, error: &NoKey) -> Refusal {
    let account = &endpoint.key.account;
    let variables = endpoint.key.variables.join(" or ");
    let code = match error {
        NoKey::Missing(_) => "key_missing",
        NoKey::Bad { .. } => "key_invalid",
        NoKey::Store(_) => "key_store",
    };
    let fix = if variables.is_empty() {
        format!("store one with `deputize auth set {account}`")
    } else {
        format!("store one with `deputize auth set {account}`, or set {variables} in your shell")
    };
    let fix = match error {
        NoKey::Store(StoreError::Keyring { .. }) => {
            format!("unlock the keyring, or store the key anew with `deputize auth set {account}`")
        }
        NoKey::Store(_) => "remove the file, or give it to yourself alone (`chmod 600`)".to_owned(),
        _ => fix,
    };
    Refusal::new(code, "model", error.to_string(), fix)
}

struct Relay {
    endpoint: Endpoint,
    key: Option<Secret>,
    line: Line,
}

impl Relay {
    /// Answers one request; errors are those of the supervisor's end alone.
    async fn serve(
        &mut self,
        request: &TurnRequest,
        tell: &mut Tell,
    ) -> Result<Told, frame::FrameError> {
        let source = self.endpoint.name.to_string();
        let body = match self
            .endpoint
            .wire
            .body(&self.endpoint.model, &source, request)
        {
            Ok(body) => Bytes::from(body),
            Err(error) => return Ok(Told::Failed(error)),
        };
        let estimate = (body.len() as u64).div_ceil(BYTES_PER_TOKEN);
        let serial = request.messages.len();
        let mut tries = 1;
        loop {
            let next = match self.send(body.clone()).await {
                Ok(response) if response.status() == 200 => {
                    let decoder = Decoder::new(self.endpoint.wire, &source, serial, estimate);
                    let body = response.into_body();
                    match self.read(body, decoder, request, tell).await? {
                        Ok(turn) => return Ok(Told::Turn(Box::new(turn))),
                        // Some say that they are busy in a stream that begins well.
                        Err(ModelError::Unavailable { reason }) => busy(reason, tries),
                        Err(error) => return Ok(Told::Failed(error)),
                    }
                }
                Ok(response) => self.judge(response, tries).await,
                Err(HttpError::NotConnected(why)) => unreachable(&why, tries),
                Err(HttpError::NoResponse(reason) | HttpError::Silent(reason)) => {
                    Next::Over(ModelError::Unavailable { reason })
                }
            };
            match next {
                Next::Over(error) => return Ok(Told::Failed(error)),
                Next::Again(wait) => {
                    let told = format!(
                        "{} is busy or out of reach: the request is sent again in {:.1} s",
                        self.endpoint.name,
                        wait.as_secs_f64()
                    );
                    tell.say(&Told::Retrying(told)).await?;
                    tokio::time::sleep(wait).await;
                    tries += 1;
                }
            }
        }
    }

    async fn send(&mut self, body: Bytes) -> Result<hyper::Response<Incoming>, HttpError> {
        let wire = self.endpoint.wire;
        let path = wire.path(&self.endpoint.model).ok_or_else(|| {
            HttpError::NotConnected("the model's name can't stand in a path".to_owned())
        })?;
        let header = wire.key_header();
        let value = self
            .key
            .as_ref()
            .map(|key| zeroize::Zeroizing::new(format!("{}{}", header.prefix, key.expose())));
        let mut headers = wire.headers().to_vec();
        headers.extend(value.as_ref().map(|value| (header.name, value.as_str())));
        let sent = Sent {
            method: Method::POST,
            path: &path,
            headers: &headers,
            body,
        };
        self.line.send(&sent).await
    }

    async fn judge(&self, response: hyper::Response<Incoming>, tries: u32) -> Next {
        let status = response.status().as_u16();
        let header = response.headers().get("retry-after").cloned();
        let body = timeout(IDLE, beginning(response.into_body(), ERROR_BYTES))
            .await
            .unwrap_or_default();
        let answered = Answered {
            status,
            retry_after: header.as_ref().and_then(|value| value.to_str().ok()),
            body: &body,
            tries,
        };
        next(&answered, &self.endpoint.key)
    }

    /// Reads a stream to its end, or until it passes what the run has left.
    async fn read(
        &self,
        mut body: Incoming,
        mut decoder: Decoder,
        request: &TurnRequest,
        tell: &mut Tell,
    ) -> Result<Result<Turn, ModelError>, frame::FrameError> {
        tell.say(&Told::Streaming).await?;
        let mut told = Instant::now();
        while !decoder.is_over() {
            let frame = match timeout(IDLE, body.frame()).await {
                Ok(None) => break,
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => return Ok(Err(cut(said(&error), decoder.usage()))),
                Err(_) => {
                    let reason = format!("nothing came for {} s", IDLE.as_secs());
                    return Ok(Err(cut(reason, decoder.usage())));
                }
            };
            let Ok(bytes) = frame.into_data() else {
                continue;
            };
            if let Err(error) = decoder.push(&bytes) {
                return Ok(Err(error));
            }
            let usage = decoder.usage();
            if request.allowance.is_passed_by(usage, self.endpoint.price) && !decoder.is_over() {
                // Dropping the body closes the connection: the provider stops.
                return Ok(Err(ModelError::OverBudget {
                    usage,
                    text: decoder.text().to_owned(),
                }));
            }
            if told.elapsed() >= SIGN_OF_LIFE {
                tell.say(&Told::Streaming).await?;
                told = Instant::now();
            }
        }
        if decoder.is_over() {
            // What ends the response leaves the connection free for the next turn.
            let rest = async { while let Some(Ok(_)) = body.frame().await {} };
            let _ = timeout(REST, rest).await;
        }
        Ok(decoder.finish().map(|mut turn| {
            turn.price = self.endpoint.price;
            turn
        }))
    }
}

fn cut(reason: String, usage: Usage) -> ModelError {
    ModelError::Cut { reason, usage }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N3, A3: whatever a relay says, its key isn't in it.
    #[test]
    fn a_key_is_taken_out_of_every_frame() {
        let told = Told::Failed(ModelError::Refused {
            reason: "Incorrect key sk-canary+/=, see sk-canary+/=".to_owned(),
        });
        let json = frame::encode(&told, TOLD_BYTES).unwrap();
        let clean = String::from_utf8(without(json, "sk-canary+/=")).unwrap();
        assert!(!clean.contains("canary"), "{clean}");
        assert_eq!(clean.matches("[redacted]").count(), 2);
        assert!(serde_json::from_str::<Told>(&clean).is_ok());
    }
}
