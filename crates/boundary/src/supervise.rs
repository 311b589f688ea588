//! The supervisor's side: starts a boundary, opens workers, runs commands, and ends it all.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use deputize_authority::{Grant, Level};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    DumpableBehavior, Signal, WaitId, WaitIdOptions, WaitOptions, pidfd_send_signal, waitid,
    waitpid,
};

use crate::command::{CommandEnd, CommandReport, CommandSpec, END};
use crate::dial::Dialer;
use crate::error::{BoundaryError, Step};
use crate::frame::{self, Frame, Kind};
use crate::launch::{self, Launch, Purpose};
use crate::placeholders::Placeholders;
use crate::plan::BoundaryPlan;
use crate::selftest::{SelfTest, Targets};
use crate::sys;
use crate::worker::{self, Hello};

/// How long a start may take before it counts as failed: a walk of a huge workspace included.
const START: Duration = Duration::from_secs(60);
/// How long a worker may take to start: it opens the roots, which may lie on a slow file system.
const WORKER: Duration = Duration::from_secs(20);
/// How soon a second interrupt means that the first one didn't help. A person who interrupts what an
/// interactive program does, now and then, doesn't want to end it.
const AGAIN: Duration = Duration::from_secs(2);
/// How long init may take to end what it can't leave to the kernel.
const GRACE: Duration = Duration::from_secs(5);

/// Our own program, opened once: what is started inside is what was started outside, even when the
/// file was replaced in between.
#[derive(Debug)]
pub struct PinnedProgram(OwnedFd);

impl PinnedProgram {
    /// Opens the running program.
    ///
    /// # Errors
    /// When `/proc` doesn't show it.
    pub fn open() -> Result<Self, BoundaryError> {
        File::open("/proc/self/exe")
            .map(|file| Self(file.into()))
            .map_err(BoundaryError::Pin)
    }
}

/// Takes a descriptor that this process was started with, by its number. It is closed with the value,
/// and is no standard stream.
///
/// It must be called before the program opens anything, so that the number is still what the parent
/// meant.
///
/// # Errors
/// When nothing is open under that number.
pub fn take_inherited(number: u16) -> io::Result<OwnedFd> {
    if number < 3 {
        return Err(io::Error::other("it is a standard stream"));
    }
    sys::inherited(number.into())
}

/// Makes the supervisor's memory unreadable for other processes of the user.
///
/// # Errors
/// When the kernel refuses.
pub fn harden_supervisor() -> Result<(), BoundaryError> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| {
        BoundaryError::Supervisor {
            doing: "make the supervisor non-dumpable",
            source: error.into(),
        }
    })
}

/// A running boundary.
#[derive(Debug)]
pub struct Boundary {
    level: Level,
    control: OwnedFd,
    init: OwnedFd,
    /// Init sees this end close when we are gone.
    _liveness: OwnedFd,
    next_command: u32,
    purpose: Purpose,
    /// Whether init was killed because its one command was to be.
    killed: bool,
    stopped: bool,
}

/// What a boundary is started with, beside its plan.
#[derive(Debug, Clone, Copy)]
pub struct Outside<'a> {
    /// What it will be used for.
    pub purpose: Purpose,
    /// A file outside that the self-test must not be able to read or write.
    pub canary: Option<&'a Path>,
    /// A loopback port outside, where somebody listens, that it must not be able to reach.
    pub port: Option<u16>,
    /// The record that a plan needs that pins protected paths.
    pub placeholders: Option<&'a Placeholders>,
}

/// A command that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command(u32);

/// What ended a wait for a command.
#[derive(Debug)]
pub enum Woken {
    /// It ended, and nothing of it is left.
    Ended(CommandEnd, Option<SelfTest>),
    /// Something else that was waited for may be there.
    Others,
    /// The deadline has come.
    Deadline,
}

/// The signals that a person sends to a program: interrupt, quit, hang-up, terminate. While this
/// lives they no longer end the program that took them.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Takes them for this process, which must be single-threaded still.
    ///
    /// # Errors
    /// When the kernel has no descriptor left.
    pub fn take() -> Result<Self, BoundaryError> {
        sys::signals(&[libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM])
            .map(Self)
            .map_err(|source| BoundaryError::Supervisor {
                doing: "take signals",
                source,
            })
    }
}

/// Proof that nothing of a boundary is left.
#[derive(Debug)]
pub struct Stopped(());

impl Boundary {
    /// Starts a boundary. Must be called on a thread that outlives it: the kernel ends a child whose
    /// forking thread ends.
    ///
    /// # Errors
    /// The step that failed; nothing is left running then.
    pub fn start(
        program: &PinnedProgram,
        grant: &Grant,
        plan: &BoundaryPlan,
        outside: &Outside<'_>,
    ) -> Result<Self, BoundaryError> {
        let failed = |doing| {
            move |error: rustix::io::Errno| BoundaryError::Supervisor {
                doing,
                source: error.into(),
            }
        };
        if !plan.has_its_copy() {
            return Err(BoundaryError::Step {
                step: Step::Copy,
                errno: None,
                detail: "no copy of the workspace was made".to_owned(),
            });
        }
        let writable = grant.bounds().write.permits(&grant.workspace().root);
        let targets = Targets {
            canary: outside.canary.map(Path::to_owned),
            port: outside.port,
            supervisor: rustix::process::getpid().as_raw_nonzero().get(),
            read_only: (!writable).then(|| plan.workspace.path.clone()),
        };
        let (sealed_grant, _) = grant.seal();
        let grant = String::from_utf8(sealed_grant).map_err(|_| BoundaryError::Frame)?;
        let sealed = launch::seal(&Launch {
            grant,
            plan: plan.clone(),
            targets,
            purpose: outside.purpose,
        })?;
        let (control, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(failed("make a control socket"))?;
        let (liveness, alive) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(failed("make a liveness pipe"))?;
        let arguments: [&CStr; 2] = [c"deputize", c"__init"];
        let mut given = vec![theirs.as_fd(), sealed.as_fd(), liveness.as_fd()];
        given.extend(outside.placeholders.map(Placeholders::descriptor));
        let stage = sys::spawn_pinned(&program.0, &arguments, &given).map_err(|source| {
            BoundaryError::Supervisor {
                doing: "start __init",
                source,
            }
        })?;
        drop(theirs);
        drop(liveness);
        let born = await_frame(&control, START);
        // The first stage has ended, or fails to; it never outlives this.
        if born.is_err() {
            // It may be gone already.
            let _ = rustix::process::kill_process(stage, Signal::KILL);
        }
        waitpid(Some(stage), WaitOptions::empty()).map_err(failed("wait for the first stage"))?;
        let mut born = born?;
        let init = match born.kind {
            Kind::Born => born.fds.pop().ok_or(BoundaryError::Frame)?,
            Kind::Failed => return Err(step_of(&born)),
            _ => return Err(BoundaryError::Frame),
        };
        let level = plan.level;
        let mut boundary = Self {
            level,
            control,
            init,
            _liveness: alive,
            next_command: 1,
            purpose: outside.purpose,
            killed: false,
            stopped: false,
        };
        match await_frame(&boundary.control, START) {
            Ok(frame) if frame.kind == Kind::Ready => Ok(boundary),
            outcome => {
                boundary.end()?;
                Err(match outcome {
                    Ok(frame) if frame.kind == Kind::Failed => step_of(&frame),
                    Ok(_) => BoundaryError::Frame,
                    Err(error) => error,
                })
            }
        }
    }

    /// The level that this boundary was planned and built at.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Opens a worker and waits for its self-test. The socket carries frames: four bytes of length,
    /// little-endian, then JSON.
    ///
    /// # Errors
    /// The step of the confinement that failed.
    pub fn open_worker(&mut self) -> Result<(OwnedFd, SelfTest), BoundaryError> {
        const HELLO_BYTES: usize = 64 << 10;
        let supervisor = |doing| move |source| BoundaryError::Supervisor { doing, source };
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(|error| supervisor("make a worker socket")(error.into()))?;
        self.send(&Frame::new(Kind::OpenWorker, 0, 0), &[theirs.as_fd()])?;
        drop(theirs);
        // Its first frame is one small write: it is there at once, or never.
        let mut fds = [PollFd::new(&ours, PollFlags::IN)];
        let ready = poll(&mut fds, Some(&timespec(WORKER)));
        if !ready.is_ok_and(|count| count > 0) {
            let source = io::Error::from(io::ErrorKind::TimedOut);
            return Err(supervisor("wait for the worker to start")(source));
        }
        let hello = worker::read_frame(&ours, HELLO_BYTES)
            .map_err(supervisor("read the worker's first frame"))?
            .ok_or(BoundaryError::Ended)?;
        match serde_json::from_slice(&hello).map_err(|_| BoundaryError::Frame)? {
            Hello::Ready(outcome) => Ok((ours, outcome)),
            Hello::Failed {
                step,
                errno,
                detail,
            } => Err(BoundaryError::Step {
                step: step.unwrap_or(Step::Program),
                errno,
                detail,
            }),
        }
    }

    /// Starts a command with these standard streams.
    ///
    /// # Errors
    /// When the control socket fails. What happens inside is told by [`Boundary::await_end`].
    pub fn run(
        &mut self,
        spec: &CommandSpec,
        streams: [BorrowedFd<'_>; 3],
    ) -> Result<Command, BoundaryError> {
        let id = self.next_command;
        self.next_command += 1;
        let sealed = launch::seal(spec)?;
        let [stdin, stdout, stderr] = streams;
        self.send(
            &Frame::new(Kind::Run, id, 0),
            &[sealed.as_fd(), stdin, stdout, stderr],
        )?;
        Ok(Command(id))
    }

    /// Sends a signal to every process of a command.
    ///
    /// # Errors
    /// When the control socket fails.
    pub fn signal(&mut self, command: Command, number: i32) -> Result<(), BoundaryError> {
        if self.purpose == Purpose::Serve {
            return self.send(&Frame::new(Kind::Signal, command.0, i64::from(number)), &[]);
        }
        // Init is the command's mini-init here, and takes signals itself.
        // Without a pid namespace init is the one who finds what is left: it is told to end it all,
        // never killed first.
        let number = if number == libc::SIGKILL && self.level != Level::Full {
            END
        } else {
            number
        };
        let Some(signal) = Signal::from_named_raw(number) else {
            return Ok(());
        };
        self.killed |= signal == Signal::KILL;
        match pidfd_send_signal(&self.init, signal) {
            // It has ended in this moment; then its end is on the way.
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(BoundaryError::Supervisor {
                doing: "signal the command",
                source: error.into(),
            }),
        }
    }

    /// The socket that becomes readable when something ended.
    #[must_use]
    pub fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Waits until a command has ended and nothing of it is left.
    ///
    /// # Errors
    /// When the boundary ends first.
    pub fn await_end(
        &mut self,
        command: Command,
    ) -> Result<(CommandEnd, Option<SelfTest>), BoundaryError> {
        loop {
            if let Some(end) = self.next_end(command)? {
                return Ok(end);
            }
        }
    }

    /// Waits until a command has ended, one of `others` has something (or was hung up), or the deadline
    /// has come.
    ///
    /// # Errors
    /// When the boundary ends first.
    pub fn await_end_or(
        &mut self,
        command: Command,
        others: &[BorrowedFd<'_>],
        deadline: Instant,
    ) -> Result<Woken, BoundaryError> {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = vec![PollFd::new(&self.control, PollFlags::IN)];
        fds.extend(others.iter().map(|other| PollFd::new(other, PollFlags::IN)));
        // An interrupted poll is the same as one that found something: look.
        let ready = poll(&mut fds, Some(&timespec(left)));
        let ended = !fds[0].revents().is_empty();
        if ended && let Some((end, self_test)) = self.next_end(command)? {
            return Ok(Woken::Ended(end, self_test));
        }
        Ok(match ready {
            Ok(0) => Woken::Deadline,
            _ => Woken::Others,
        })
    }

    /// Opens a way to reach ports inside. It may be used while a command runs.
    ///
    /// # Errors
    /// When the control socket fails.
    pub fn open_dialer(&mut self) -> Result<Dialer, BoundaryError> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(|error| BoundaryError::Supervisor {
            doing: "make a socket for ports",
            source: error.into(),
        })?;
        self.send(&Frame::new(Kind::OpenDialer, 0, 0), &[theirs.as_fd()])?;
        Ok(Dialer::new(ours))
    }

    /// As [`Boundary::await_end`], passing the person's signals on to the command. A second interrupt
    /// within two seconds ends it for good, for those that ignore the first.
    ///
    /// # Errors
    /// When the boundary ends first.
    pub fn await_end_passing(
        &mut self,
        command: Command,
        signals: &Signals,
    ) -> Result<(CommandEnd, Option<SelfTest>), BoundaryError> {
        let mut interrupted: Option<Instant> = None;
        loop {
            let mut fds = [
                PollFd::new(&self.control, PollFlags::IN),
                PollFd::new(&signals.0, PollFlags::IN),
            ];
            // An interrupted poll is the same as one that found nothing: look again.
            let ready = poll(&mut fds, None).is_ok();
            let ended = ready && !fds[0].revents().is_empty();
            while let Some(number) = sys::next_signal(&signals.0) {
                let mut passed = number;
                if number == libc::SIGINT {
                    let again = interrupted.is_some_and(|first| first.elapsed() < AGAIN);
                    interrupted = Some(Instant::now());
                    passed = if again { libc::SIGKILL } else { number };
                }
                self.signal(command, passed)?;
            }
            if ended && let Some(end) = self.next_end(command)? {
                return Ok(end);
            }
        }
    }

    /// Takes a frame; the end of `command` if it is that.
    fn next_end(
        &self,
        command: Command,
    ) -> Result<Option<(CommandEnd, Option<SelfTest>)>, BoundaryError> {
        match frame::receive(&self.control)? {
            Some(frame) if frame.kind == Kind::Ended && frame.id == command.0 => {
                Ok(Some(end_of(&frame)))
            }
            Some(_) => Ok(None),
            None if self.killed => Ok(Some((CommandEnd::Signalled(libc::SIGKILL), None))),
            None => Err(BoundaryError::Ended),
        }
    }

    /// Ends everything inside. Returns only when nothing is left: the kernel reports init's end when
    /// its namespace is empty.
    ///
    /// # Errors
    /// When the kernel refuses to wait, which leaves the end unproven.
    pub fn stop(mut self) -> Result<Stopped, BoundaryError> {
        self.end()?;
        Ok(Stopped(()))
    }

    fn end(&mut self) -> Result<(), BoundaryError> {
        self.stopped = true;
        let failed = |error: rustix::io::Errno| BoundaryError::Supervisor {
            doing: "wait for the boundary's end",
            source: error.into(),
        };
        if self.level != Level::Full {
            // Init hunts its children itself; it gets time for that.
            let one = self.purpose == Purpose::OneCommand;
            let hunt = if one { Signal::POWER } else { Signal::TERM };
            let _ = pidfd_send_signal(&self.init, hunt);
            let mut fds = [PollFd::new(&self.init, PollFlags::IN)];
            let _ = poll(&mut fds, Some(&timespec(GRACE)));
        }
        // One that has ended already takes no signal.
        let _ = pidfd_send_signal(&self.init, Signal::KILL);
        loop {
            match waitid(WaitId::PidFd(self.init.as_fd()), WaitIdOptions::EXITED) {
                Err(rustix::io::Errno::INTR) => {}
                outcome => return outcome.map(drop).map_err(failed),
            }
        }
    }

    fn send(&self, frame: &Frame, fds: &[BorrowedFd<'_>]) -> Result<(), BoundaryError> {
        frame::send(&self.control, frame, fds).map_err(|source| BoundaryError::Supervisor {
            doing: "write to the control socket",
            source,
        })
    }
}

impl Drop for Boundary {
    fn drop(&mut self) {
        if !self.stopped {
            // Nobody is left to tell; the kernel ends init with us in any case.
            let _ = self.end();
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

fn await_frame(control: &OwnedFd, patience: Duration) -> Result<Frame, BoundaryError> {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(control, PollFlags::IN)];
        match poll(&mut fds, Some(&timespec(left))) {
            Ok(0) => {
                return Err(BoundaryError::Supervisor {
                    doing: "wait for the boundary to start",
                    source: io::Error::from(io::ErrorKind::TimedOut),
                });
            }
            Ok(_) => return frame::receive(control)?.ok_or(BoundaryError::Ended),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                return Err(BoundaryError::Supervisor {
                    doing: "wait for the boundary to start",
                    source: error.into(),
                });
            }
        }
    }
}

fn step_of(frame: &Frame) -> BoundaryError {
    let step = Step::from_wire(frame.value).unwrap_or(Step::ReadLaunch);
    let errno = i32::try_from(frame.id).ok().filter(|errno| *errno != 0);
    let detail = String::from_utf8_lossy(&frame.detail).into_owned();
    BoundaryError::Step {
        step,
        errno,
        detail,
    }
}

fn end_of(frame: &Frame) -> (CommandEnd, Option<SelfTest>) {
    match serde_json::from_slice::<CommandReport>(&frame.detail) {
        Ok(report) => (report.end, report.self_test),
        // Init couldn't start it, or its report isn't whole: our own failure, not the command's end.
        Err(_) if frame.value == -1 || !frame.detail.is_empty() => {
            let detail = String::from_utf8_lossy(&frame.detail).into_owned();
            (CommandEnd::NotStarted { step: None, detail }, None)
        }
        // The mini-init was ended before it could report: all of it by the same signal.
        Err(_) => {
            let status = i32::try_from(frame.value).unwrap_or(0);
            let number = if libc::WIFSIGNALED(status) {
                libc::WTERMSIG(status)
            } else {
                libc::SIGKILL
            };
            (CommandEnd::Signalled(number), None)
        }
    }
}
