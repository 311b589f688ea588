//! The program on a terminal of a given size: what it prints becomes a screen to read.

use std::num::NonZero;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::patience::{PATIENCE, POLL, until};

/// The size of a terminal, in characters. Neither is ever zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Width.
    pub columns: u16,
    /// Height.
    pub rows: u16,
}

/// A running command that believes a person sits before it. Dropping it kills the command.
pub struct Terminal {
    master: OwnedFd,
    child: Child,
    screen: vt100::Parser,
    raw: Vec<u8>,
}

impl Terminal {
    /// Starts a command in a session of its own, with a new terminal for all three streams.
    ///
    /// # Panics
    /// When there is no terminal to be had or the command can't be started.
    #[track_caller]
    #[must_use]
    pub fn start(mut command: Command, size: Size) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let slave = ioctl_tiocgptpeer(&master, flags).unwrap();
        tcsetwinsize(&master, size.winsize()).unwrap();
        fcntl_setfl(&master, OFlags::NONBLOCK).unwrap();
        command
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave);
        // Standard input is in place when the closure runs.
        let take_terminal = || {
            setsid()?;
            Ok(ioctl_tiocsctty(rustix::stdio::stdin())?)
        };
        // SAFETY: between fork and exec the closure makes two system calls and nothing else.
        #[expect(unsafe_code, reason = "a session is begun by the child itself")]
        unsafe {
            command.pre_exec(take_terminal);
        }
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("{:?} can't be started: {error}", command.get_program()),
        };
        Self {
            master,
            child,
            screen: vt100::Parser::new(count(size.rows), count(size.columns), 0),
            raw: Vec::new(),
        }
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Types these bytes, as a keyboard would.
    ///
    /// # Panics
    /// When the terminal doesn't take them.
    #[track_caller]
    pub fn press(&mut self, keys: &[u8]) {
        let written = rustix::io::write(&self.master, keys).unwrap();
        assert_eq!(written, keys.len(), "the terminal is full");
    }

    /// Ctrl-C.
    pub fn interrupt(&mut self) {
        self.press(b"\x03");
    }

    /// Closes the terminal, as a window that is closed would; the command goes on or not, as it likes.
    pub fn hang_up(&mut self) {
        let nowhere = std::fs::File::open("/dev/null").unwrap();
        self.master = nowhere.into();
    }

    /// Changes the size, as dragging the window's corner would.
    ///
    /// # Panics
    /// When the terminal refuses.
    pub fn resize(&mut self, size: Size) {
        tcsetwinsize(&self.master, size.winsize()).unwrap();
        let screen = self.screen.screen_mut();
        screen.set_size(count(size.rows), count(size.columns));
    }

    /// What stands on the screen now, line by line, without trailing blanks.
    #[must_use]
    pub fn screen(&mut self) -> String {
        self.read();
        self.screen.screen().contents()
    }

    /// Every byte that was printed so far.
    #[must_use]
    pub fn raw(&mut self) -> &[u8] {
        self.read();
        &self.raw
    }

    /// Waits until the screen contains `text`.
    ///
    /// # Panics
    /// When the command ends without it, or it doesn't come in time.
    #[track_caller]
    pub fn until_shown(&mut self, text: &str) -> &mut Self {
        let started = Instant::now();
        loop {
            let ended = self.child.try_wait().unwrap();
            let screen = self.screen();
            if screen.contains(text) {
                return self;
            }
            let goes_on = ended.is_none() && started.elapsed() < PATIENCE;
            assert!(goes_on, "it doesn't show {text:?} ({ended:?}):\n{screen}");
            thread::sleep(POLL);
        }
    }

    /// Waits for the end of the command; everything that it printed is read by then.
    ///
    /// # Panics
    /// When it doesn't end in time.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let status = until("the command on the terminal ends", || {
            self.read();
            self.child.try_wait().unwrap()
        });
        self.read();
        status
    }

    /// Reads what is there. A terminal that nobody holds any more answers EIO: that is its end.
    fn read(&mut self) {
        let mut buffer = [0; 4_096];
        loop {
            let mut ready = [PollFd::new(&self.master, PollFlags::IN)];
            let at_once = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            if poll(&mut ready, Some(&at_once)) == Ok(0) {
                return;
            }
            match rustix::io::read(self.master.as_fd(), &mut buffer[..]) {
                Ok(0) | Err(Errno::IO | Errno::AGAIN) => return,
                Ok(count) => {
                    self.screen.process(&buffer[..count]);
                    self.raw.extend_from_slice(&buffer[..count]);
                }
                Err(Errno::INTR) => {}
                Err(error) => panic!("the terminal can't be read: {error}"),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // After `wait` there is nothing to kill: the id isn't ours any more and std knows it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Size {
    fn winsize(self) -> Winsize {
        Winsize {
            ws_row: self.rows,
            ws_col: self.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        }
    }
}

fn count(characters: u16) -> NonZero<u16> {
    NonZero::new(characters).unwrap()
}
