//! A small HTTP/1.1 server that plays responses in their order, or as each request wants them.

use std::collections::VecDeque;
use std::fmt;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::patience::PATIENCE;

/// A provider that answers requests with replies, one each.
#[derive(Debug)]
pub struct Provider {
    port: u16,
    shared: Arc<Shared>,
    /// The certificate that it shows, in PEM, where it is encrypted.
    certificate: Option<String>,
}

struct Shared {
    /// Replies to requests that contain a text, whenever they come.
    asides: Mutex<Vec<(String, Reply)>>,
    reply: Box<dyn Fn(&Asked) -> Reply + Send + Sync>,
    asked: Mutex<Vec<Asked>>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Method and path, such as `POST /v1/messages`.
    pub line: String,
    /// Headers, in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as it came.
    pub body: String,
    /// When all of it was there.
    pub came: Instant,
    /// When all of its reply was out; `None` while there is more to come.
    pub answered: Option<Instant>,
}

/// A response.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    chunks: Vec<Vec<u8>>,
    then: Then,
}

/// What comes after a response's chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Then {
    /// Its end.
    End,
    /// The connection breaks.
    Break,
    /// Nothing, until the other side goes.
    Silence,
    /// The same, and no head before it.
    Mute,
    /// The last chunk again and again, until the other side goes or this many bytes are out.
    Flood(u64),
}

impl Provider {
    /// Starts one that plays these replies. Beyond the last it answers 599.
    ///
    /// # Panics
    /// When no port can be had.
    #[must_use]
    pub fn playing(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::start(in_order(replies.into_iter().collect()), None, serve)
    }

    /// Starts one that answers each request as that one wants it: for several that ask at a time.
    ///
    /// # Panics
    /// When no port can be had.
    #[must_use]
    pub fn answering(reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(reply, None, serve)
    }

    /// One that plays these replies, encrypted, with a certificate of its own for `localhost`.
    ///
    /// # Panics
    /// When no port or no certificate can be had.
    #[must_use]
    pub fn playing_encrypted(replies: impl IntoIterator<Item = Reply>) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], PrivateKeyDer::from(key))
            .unwrap();
        let config = Arc::new(config);
        Self::start(
            in_order(replies.into_iter().collect()),
            Some(made.cert.pem()),
            move |stream, shared| {
                let connection = ServerConnection::new(Arc::clone(&config));
                let connection = connection.map_err(std::io::Error::other)?;
                serve(StreamOwned::new(connection, stream), shared)
            },
        )
    }

    fn start(
        reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
        certificate: Option<String>,
        serve: impl Fn(TcpStream, &Shared) -> std::io::Result<()> + Clone + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            asides: Mutex::default(),
            reply: Box::new(reply),
            asked: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        // It ends with the test's process; a listener without connections does nothing.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, serve) = (Arc::clone(&serving), serve.clone());
                thread::spawn(move || {
                    let ready = stream
                        .set_read_timeout(Some(PATIENCE))
                        .and_then(|()| stream.set_nodelay(true));
                    // A broken connection is the other side's business.
                    let _ = ready.and_then(|()| serve(stream, &shared));
                });
            }
        });
        Self {
            port,
            shared,
            certificate,
        }
    }

    /// Answers each request that contains `part` with this reply, and takes none of the others for it: a host
    /// asks for a title beside its turns, and nobody knows when.
    ///
    /// # Panics
    /// When a test's thread that served has panicked.
    #[must_use]
    pub fn aside(self, part: &str, reply: Reply) -> Self {
        let mut asides = self.shared.asides.lock().unwrap();
        asides.push((part.to_owned(), reply));
        drop(asides);
        self
    }

    /// The certificate that it shows, in PEM.
    #[must_use]
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Its base URL.
    #[must_use]
    pub fn url(&self) -> String {
        match self.certificate {
            None => format!("http://127.0.0.1:{}", self.port),
            Some(_) => format!("https://localhost:{}", self.port),
        }
    }

    /// What it was asked so far, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked().clone()
    }

    /// Bodies of what it was asked, as JSON; null where there was none.
    ///
    /// # Panics
    /// When one is none.
    #[must_use]
    #[track_caller]
    pub fn bodies(&self) -> Vec<Value> {
        let parse = |asked: &Asked| match asked.body.as_str() {
            "" => Value::Null,
            body => serde_json::from_str(body).unwrap(),
        };
        self.asked().iter().map(parse).collect()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shared = f.debug_struct("Shared");
        shared.field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl Shared {
    fn aside(&self, asked: &Asked) -> Option<Reply> {
        let asides = self.asides.lock();
        let asides = asides.unwrap_or_else(PoisonError::into_inner);
        let aside = asides.iter().find(|(part, _)| asked.body.contains(part));
        aside.map(|(_, reply)| reply.clone())
    }

    fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }
}

impl Reply {
    /// A stream of these chunks.
    #[must_use]
    pub fn stream(chunks: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            chunks: chunks.into_iter().collect(),
            then: Then::End,
        }
    }

    /// Server-sent events with this data each, one a chunk.
    #[must_use]
    pub fn events<'a>(events: impl IntoIterator<Item = &'a str>) -> Self {
        let event = |data| format!("data: {data}\n\n").into_bytes();
        Self::stream(events.into_iter().map(event))
    }

    /// A status with a JSON body.
    #[must_use]
    pub fn status(status: u16, body: &Value) -> Self {
        Self {
            status,
            ..Self::stream([body.to_string().into_bytes()])
        }
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Only the first chunks; then the connection breaks.
    #[must_use]
    pub fn broken_after(mut self, chunks: usize) -> Self {
        self.chunks.truncate(chunks);
        self.then = Then::Break;
        self
    }

    /// Only the first chunks; then it ends as if that were all.
    #[must_use]
    pub fn ended_after(mut self, chunks: usize) -> Self {
        self.chunks.truncate(chunks);
        self
    }

    /// Only the first chunks; then nothing more comes.
    #[must_use]
    pub fn silent_after(mut self, chunks: usize) -> Self {
        self.chunks.truncate(chunks);
        self.then = Then::Silence;
        self
    }

    /// Nothing at all, not even a head.
    #[must_use]
    pub fn mute() -> Self {
        Self {
            then: Then::Mute,
            ..Self::stream([])
        }
    }

    /// Only the first chunks, and the last of them until `bytes` are out.
    #[must_use]
    pub fn flooding_after(mut self, chunks: usize, bytes: u64) -> Self {
        self.chunks.truncate(chunks);
        self.then = Then::Flood(bytes);
        self
    }

    /// The same bytes, `size` a chunk.
    #[must_use]
    pub fn in_chunks_of(mut self, size: usize) -> Self {
        let all = self.chunks.concat();
        self.chunks = all.chunks(size).map(<[u8]>::to_vec).collect();
        self
    }

    /// Its body, whole.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.chunks.concat()
    }
}

/// One after the other.
fn in_order(replies: VecDeque<Reply>) -> impl Fn(&Asked) -> Reply {
    let replies = Mutex::new(replies);
    move |_| {
        let next = replies.lock().ok().and_then(|mut left| left.pop_front());
        let nothing = || Reply::status(599, &Value::String("nothing more was laid out".to_owned()));
        next.unwrap_or_else(nothing)
    }
}

fn serve(stream: impl Read + Write, shared: &Shared) -> std::io::Result<()> {
    let mut from = BufReader::new(stream);
    while let Some(asked) = request(&mut from)? {
        let aside = shared.aside(&asked);
        let reply = aside.unwrap_or_else(|| (shared.reply)(&asked));
        let mut all = shared.asked();
        let number = all.len();
        all.push(asked);
        drop(all);
        let more = answer(from.get_mut(), &reply)?;
        if let Some(asked) = shared.asked().get_mut(number) {
            asked.answered = Some(Instant::now());
        }
        if !more {
            break;
        }
    }
    Ok(())
}

fn request(from: &mut BufReader<impl Read>) -> std::io::Result<Option<Asked>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let line = lines.remove(0);
    let headers: Vec<(String, String)> = lines
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    from.read_exact(&mut body)?;
    Ok(Some(Asked {
        line: line.trim_end_matches(" HTTP/1.1").to_owned(),
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
        came: Instant::now(),
        answered: None,
    }))
}

/// Sends a reply; `false` when nothing can follow on this connection.
fn answer(out: &mut (impl Read + Write), reply: &Reply) -> std::io::Result<bool> {
    if reply.then == Then::Mute {
        // Returns when the other side closes, or its patience ends.
        let _ = out.read(&mut [0]);
        return Ok(false);
    }
    let mut head = format!(
        "HTTP/1.1 {} Played\r\ntransfer-encoding: chunked\r\n",
        reply.status
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    out.write_all(head.as_bytes())?;
    let mut send = |chunk: &[u8]| -> std::io::Result<()> {
        out.write_all(format!("{:x}\r\n", chunk.len()).as_bytes())?;
        out.write_all(chunk)?;
        out.write_all(b"\r\n")?;
        out.flush()
    };
    for chunk in reply.chunks.iter().filter(|chunk| !chunk.is_empty()) {
        send(chunk)?;
    }
    match reply.then {
        Then::End => {
            out.write_all(b"0\r\n\r\n")?;
            Ok(true)
        }
        Then::Break => Ok(false),
        Then::Silence | Then::Mute => {
            // As above.
            let mut byte = [0];
            let _ = out.read(&mut byte);
            Ok(false)
        }
        Then::Flood(bytes) => {
            let chunk = reply.chunks.last().cloned().unwrap_or_default();
            let mut sent = 0;
            while sent < bytes && !chunk.is_empty() {
                send(&chunk)?;
                sent += chunk.len() as u64;
            }
            out.write_all(b"0\r\n\r\n")?;
            Ok(true)
        }
    }
}
