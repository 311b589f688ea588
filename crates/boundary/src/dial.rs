//! Reaching a port inside from outside (B10): init connects in its own network namespace and hands the
//! socket out. Nothing inside listens for it, and nothing inside can ask for anything.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use crate::frame::{self, Frame, Kind};

/// The supervisor's end.
#[derive(Debug)]
pub struct Dialer(Mutex<OwnedFd>);

impl Dialer {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self(Mutex::new(socket))
    }

    /// Connects to a port of the loopback inside. The socket doesn't block; whoever uses it waits
    /// until it can be written.
    ///
    /// # Errors
    /// When nobody listens there, or the boundary has ended.
    pub fn dial(&self, port: u16) -> io::Result<OwnedFd> {
        let ended = || io::Error::from(io::ErrorKind::BrokenPipe);
        let socket = self.0.lock().map_err(|_| ended())?;
        frame::send(&*socket, &Frame::new(Kind::Dial, 0, i64::from(port)), &[])?;
        let answer = frame::receive(&*socket).map_err(io::Error::other)?;
        let mut answer = answer.ok_or_else(ended)?;
        match (answer.kind, answer.fds.pop()) {
            (Kind::Dialed, Some(connected)) => Ok(connected),
            (Kind::Dialed, None) => Err(io::Error::from_raw_os_error(
                i32::try_from(answer.value).unwrap_or(libc::EIO),
            )),
            _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }
}

/// Init's end: answers one request. `false` when the supervisor is done with it.
pub(crate) fn answer(socket: &OwnedFd) -> bool {
    use std::os::fd::AsFd as _;
    let Ok(Some(asked)) = frame::receive(socket) else {
        return false;
    };
    let port = u16::try_from(asked.value).ok();
    let Some(port) = port.filter(|_| asked.kind == Kind::Dial) else {
        return false;
    };
    let sent = match connect_inside(port) {
        Ok(connected) => frame::send(
            socket,
            &Frame::new(Kind::Dialed, 0, 0),
            &[connected.as_fd()],
        ),
        Err(error) => {
            let errno = i64::from(error.raw_os_error());
            frame::send(socket, &Frame::new(Kind::Dialed, 0, errno), &[])
        }
    };
    sent.is_ok()
}

/// Both loopback addresses: some servers listen on one of them only.
fn connect_inside(port: u16) -> rustix::io::Result<OwnedFd> {
    let mut failed = rustix::io::Errno::CONNREFUSED;
    for (family, address) in [
        (
            AddressFamily::INET,
            SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        ),
        (
            AddressFamily::INET6,
            SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
        ),
    ] {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = match socket_with(family, SocketType::STREAM, flags, None) {
            Ok(socket) => socket,
            Err(error) => {
                failed = error;
                continue;
            }
        };
        match connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => return Ok(socket),
            // Where there is no IPv6, what the first address said is what counts.
            Err(rustix::io::Errno::ADDRNOTAVAIL) => {}
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
