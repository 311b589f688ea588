//! Publishes ports of a boundary on the loopback outside (B10).
//!
//! The listener is bound before anything starts, so that a port that is taken is a refusal and not a
//! surprise; connections are made inside by the boundary's init, one for each that comes.

use std::io;
use std::net::{Ipv4Addr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use deputize_authority::Refusal;
use deputize_boundary::Dialer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};

/// Connections of all published ports together: what a browser with many tabs opens.
const MOST_CONNECTIONS: usize = 256;

/// Ports that are held outside and lead nowhere yet.
#[derive(Debug)]
pub struct HeldPorts(Vec<StdListener>);

/// Ports that lead inside, as long as this lives.
#[derive(Debug)]
pub struct PublishedPorts {
    /// Ends the thread when it is dropped.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HeldPorts {
    /// Takes the ports on 127.0.0.1.
    ///
    /// # Errors
    /// `port_not_free`, with the port; none is kept then.
    pub fn take(ports: impl IntoIterator<Item = u16>) -> Result<Self, Refusal> {
        ports
            .into_iter()
            .map(|port| {
                StdListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
                    Refusal::new(
                        "port_not_free",
                        "port",
                        format!("port {port} of this machine's loopback can't be taken: {error}"),
                        "end what listens there, or publish another port",
                    )
                })
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Leads them inside.
    ///
    /// # Errors
    /// When no thread or runtime can be had.
    pub fn lead(self, dialer: Dialer) -> io::Result<PublishedPorts> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("ports".to_owned())
            .spawn(move || {
                runtime.block_on(serve(self.0, Arc::new(dialer), stopped));
                // A connection that is being made inside isn't waited for.
                runtime.shutdown_background();
            })?;
        Ok(PublishedPorts {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for PublishedPorts {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It ends at once; a fault in it has been told on its own.
            let _ = thread.join();
        }
    }
}

async fn serve(held: Vec<StdListener>, dialer: Arc<Dialer>, stopped: oneshot::Receiver<()>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    for listener in held {
        let (dialer, room) = (Arc::clone(&dialer), Arc::clone(&room));
        tokio::spawn(accept(listener, dialer, room));
    }
    // Whichever way the other end goes: it is over.
    let _ = stopped.await;
}

/// Takes connections of one port, each by a task of its own, until the runtime ends.
async fn accept(listener: StdListener, dialer: Arc<Dialer>, room: Arc<Semaphore>) {
    let Ok(port) = listener.local_addr().map(|address| address.port()) else {
        return;
    };
    let listener = listener
        .set_nonblocking(true)
        .and_then(|()| TcpListener::from_std(listener));
    let Ok(listener) = listener else { return };
    while let Ok(place) = Arc::clone(&room).acquire_owned().await {
        match listener.accept().await {
            Ok((outside, _)) => {
                let dialer = Arc::clone(&dialer);
                tokio::spawn(async move {
                    // Where nobody listens inside, the connection is closed, as a port would do.
                    let _ = join(outside, dialer, port).await;
                    drop(place);
                });
            }
            // No descriptor left, or a connection that went away: others may come.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

async fn join(mut outside: TcpStream, dialer: Arc<Dialer>, port: u16) -> io::Result<()> {
    let dialled = tokio::task::spawn_blocking(move || dialer.dial(port));
    let inside = StdStream::from(dialled.await.map_err(io::Error::other)??);
    inside.set_nonblocking(true)?;
    let mut inside = TcpStream::from_std(inside)?;
    tokio::io::copy_bidirectional(&mut outside, &mut inside)
        .await
        .map(drop)
}
