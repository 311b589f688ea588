//! The streams: the SDK's transport, with two things between.
//!
//! An answer to a question of a host with a secret passes only with its proof; a wrong one is dropped
//! here, before the SDK could take it for the answer, so that the question stays open. And the end of
//! the input is told at once, so that the runs end while the SDK still waits for answers.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use rmcp::model::{
    ClientJsonRpcMessage, JsonRpcMessage, RequestId, RequestMetaObject, ServerJsonRpcMessage,
    ServerRequest,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use crate::proof::HostSecret;

/// The key under `_meta` that names a question.
pub(crate) const QUESTION: &str = "deputize/question";

/// The questions that are open, and what proves an answer.
pub(crate) struct Desk {
    secret: Option<HostSecret>,
    open: Mutex<HashMap<String, Open>>,
    forged: Box<dyn Fn(&str) + Send + Sync>,
}

struct Open {
    /// The question's own id.
    question: String,
    /// The run that it is about.
    run: String,
    /// Answers without a right proof.
    dropped: usize,
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) answer: String,
    pub(crate) scope: String,
}

impl Desk {
    /// `forged` hears of each answer without a right proof, by the run that the question is about.
    pub(crate) fn new(
        secret: Option<HostSecret>,
        forged: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            secret,
            open: Mutex::default(),
            forged: Box::new(forged),
        }
    }

    pub(crate) fn needs_proof(&self) -> bool {
        self.secret.is_some()
    }

    /// What an answer's content says; `None` where the proof that it needs is wrong or missing.
    pub(crate) fn read(&self, question: &str, content: &Value) -> Option<Said> {
        let text = |name: &str| {
            content
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (answer, scope) = (text("answer"), text("scope"));
        if let Some(secret) = &self.secret
            && !secret.proves(text("proof"), question, answer, scope)
        {
            return None;
        }
        Some(Said {
            answer: answer.to_owned(),
            scope: scope.to_owned(),
        })
    }

    /// A question goes out.
    fn opened(&self, request: &RequestId, question: &str, run: &str) {
        if self.needs_proof() {
            let open = Open {
                question: question.to_owned(),
                run: run.to_owned(),
                dropped: 0,
            };
            self.lock().insert(request.to_string(), open);
        }
    }

    /// A question isn't waited for any more. Gives the number of answers that were dropped.
    pub(crate) fn close(&self, question: &str) -> usize {
        let mut dropped = 0;
        self.lock().retain(|_, open| {
            let is_it = open.question == question;
            if is_it {
                dropped += open.dropped;
            }
            !is_it
        });
        dropped
    }

    /// Whether something that came in for a question is to be dropped.
    fn is_forged(&self, request: &RequestId, content: Option<&Value>) -> bool {
        // The SDK takes `"7"` for `7` too.
        let run = {
            let mut questions = self.lock();
            let Some(open) = questions.get_mut(&request.to_string()) else {
                return false;
            };
            if content.is_some_and(|content| self.read(&open.question, content).is_some()) {
                return false;
            }
            open.dropped += 1;
            open.run.clone()
        };
        (self.forged)(&run);
        true
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The SDK's transport, watched.
pub(crate) struct Watched<T> {
    inner: T,
    desk: Arc<Desk>,
}

impl<T> Watched<T> {
    pub(crate) fn new(inner: T, desk: Arc<Desk>) -> Self {
        Self { inner, desk }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Watched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &item
            && let ServerRequest::ElicitRequest(elicit) = &request.request
        {
            // The SDK moves `_meta` about before it sends; what is sent counts.
            let sent = serde_json::to_value(&elicit.params).unwrap_or_default();
            let moved = elicit.extensions.get::<RequestMetaObject>();
            let question = match moved.and_then(|meta| meta.0.0.get(QUESTION)) {
                Some(question) => question,
                None => &sent["_meta"][QUESTION],
            };
            let text = |name: &str| question[name].as_str().unwrap_or_default();
            self.desk.opened(&request.id, text("id"), text("run"));
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.inner.receive().await?;
            let forged = match &message {
                JsonRpcMessage::Response(response) => {
                    let result = serde_json::to_value(&response.result).unwrap_or_default();
                    let accepted = result["action"] == "accept";
                    let content = accepted.then(|| &result["content"]);
                    self.desk.is_forged(&response.id, content)
                }
                JsonRpcMessage::Error(error) => error
                    .id
                    .as_ref()
                    .is_some_and(|id| self.desk.is_forged(id, None)),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => false,
            };
            if !forged {
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// An input that tells its end.
pub(crate) struct TellsEnd<R> {
    inner: R,
    ended: watch::Sender<bool>,
}

impl<R> TellsEnd<R> {
    pub(crate) fn new(inner: R, ended: watch::Sender<bool>) -> Self {
        Self { inner, ended }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for TellsEnd<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        let over = match &polled {
            Poll::Ready(Ok(())) => buffer.filled().len() == before && buffer.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if over {
            // Nobody may be listening any more.
            let _ = self.ended.send(true);
        }
        polled
    }
}
