//! One HTTP connection to one endpoint. Nothing is followed, nothing is guessed.

use std::net::SocketAddr;
use std::sync::Arc;

use deputize_model::{BaseUrl, Plain, Scheme};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::limits::{CONNECT, FIRST_BYTE, HEAD_BYTES, HEADERS};

/// Addresses of a name that are tried.
const ADDRESSES: usize = 4;

/// Why there was no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HttpError {
    /// No connection came about, so nothing was sent.
    #[error("{0}")]
    NotConnected(String),
    /// The request was sent, and the connection ended, or nothing sensible came back.
    #[error("{0}")]
    NoResponse(String),
    /// The request was sent, and nothing came back in time.
    #[error("{0}")]
    Silent(String),
}

/// An endpoint, and the connection to it while it lives.
pub(crate) struct Line {
    base: BaseUrl,
    tls: Option<Arc<ClientConfig>>,
    open: Option<SendRequest<Full<Bytes>>>,
}

/// What is sent.
pub(crate) struct Sent<'a> {
    pub(crate) method: Method,
    /// Below the base.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: Bytes,
}

impl Line {
    /// For an endpoint; reads the trust roots where it is encrypted.
    pub(crate) fn new(base: BaseUrl) -> Result<Self, String> {
        let tls = match base.scheme {
            Scheme::Https => Some(trusting_the_system()?),
            Scheme::Http(_) => None,
        };
        Ok(Self {
            base,
            tls,
            open: None,
        })
    }

    /// Sends a request, and returns the head of its response. The body may still be coming.
    pub(crate) async fn send(&mut self, sent: &Sent<'_>) -> Result<Response<Incoming>, HttpError> {
        if let Some(mut kept) = self.open.take()
            && kept.ready().await.is_ok()
        {
            // One that the provider closes just then answers nothing, and a new one is made.
            match self.exchange(&mut kept, sent).await {
                Err(HttpError::NoResponse(_)) => {}
                answered => {
                    self.open = Some(kept);
                    return answered;
                }
            }
        }
        let mut fresh = timeout(CONNECT, self.connect())
            .await
            .unwrap_or_else(|_| Err("the connection takes too long".to_owned()))
            .map_err(HttpError::NotConnected)?;
        let answered = self.exchange(&mut fresh, sent).await?;
        self.open = Some(fresh);
        Ok(answered)
    }

    async fn exchange(
        &self,
        on: &mut SendRequest<Full<Bytes>>,
        sent: &Sent<'_>,
    ) -> Result<Response<Incoming>, HttpError> {
        let request = self.request(sent).map_err(HttpError::NotConnected)?;
        timeout(FIRST_BYTE, on.send_request(request))
            .await
            .map_err(|_| HttpError::Silent("the first byte takes too long".to_owned()))?
            .map_err(|error| HttpError::NoResponse(said(&error)))
    }

    fn request(&self, sent: &Sent<'_>) -> Result<Request<Full<Bytes>>, String> {
        let mut request = Request::builder()
            .method(&sent.method)
            .uri(format!("{}{}", self.base.prefix, sent.path))
            .header("host", self.base.authority())
            .header(
                "user-agent",
                concat!("deputize/", env!("CARGO_PKG_VERSION")),
            )
            .header("content-type", "application/json");
        for (name, value) in sent.headers {
            request = request.header(*name, *value);
        }
        request
            .body(Full::new(sent.body.clone()))
            .map_err(|_| "the request can't be put into HTTP".to_owned())
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let stream = self.stream().await?;
        // What is sent is small and waited for. A kernel that can't is a slower one.
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => shake_hands(stream).await,
            Some(tls) => {
                let name = ServerName::try_from(self.base.host.clone())
                    .map_err(|error| format!("the host has no name for TLS: {error}"))?;
                let stream = TlsConnector::from(Arc::clone(tls))
                    .connect(name, stream)
                    .await
                    .map_err(|error| format!("TLS: {error}"))?;
                shake_hands(stream).await
            }
        }
    }

    async fn stream(&self) -> Result<TcpStream, String> {
        let place = (self.base.host.as_str(), self.base.port);
        let found = tokio::net::lookup_host(place)
            .await
            .map_err(|error| format!("`{}` has no address: {error}", self.base.host))?;
        let here_only = self.base.scheme == Scheme::Http(Plain::Loopback);
        let usable = |address: &SocketAddr| !here_only || address.ip().is_loopback();
        let mut last = format!("`{}` has no address that may be used", self.base.host);
        for address in found.filter(usable).take(ADDRESSES) {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = format!("{address}: {error}"),
            }
        }
        Err(last)
    }
}

async fn shake_hands(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<SendRequest<Full<Bytes>>, String> {
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| said(&error))?;
    tokio::spawn(async move {
        // A connection that breaks shows in the request that uses it.
        let _ = connection.await;
    });
    Ok(sender)
}

/// Reads a body to its end, up to `limit` bytes; what comes beyond is left.
pub(crate) async fn beginning(body: Incoming, limit: usize) -> Vec<u8> {
    let mut limited = Limited::new(body, limit);
    let mut read = Vec::new();
    while let Some(Ok(frame)) = limited.frame().await {
        if let Ok(bytes) = frame.into_data() {
            read.extend_from_slice(&bytes);
        }
    }
    read
}

/// TLS that trusts whom the system trusts, or SSL_CERT_FILE and SSL_CERT_DIR name.
fn trusting_the_system() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err("no trust root for TLS is installed".to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS can't be set up: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// An error of the library with its causes.
pub(crate) fn said(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
