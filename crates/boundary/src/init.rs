//! Init: pid 1 of a boundary. It forks workers and mini-inits, reaps, and dies with its supervisor.
//!
//! # Trust
//! It keeps capabilities in its own user namespace, since nested namespaces and a `/proc` for each
//! command need them. So it reads nothing but the supervisor's fixed frames, and hands every other
//! byte on unread.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};

use deputize_authority::{Grant, Level};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::command::{self, Place, Stage};
use crate::confine::{self, FilterSet, Rules};
use crate::dial;
use crate::enter;
use crate::error::{At as _, BoundaryError, Step};
use crate::frame::{self, DETAIL_BYTES, Frame, Kind};
use crate::launch::{self, CONTROL_FD, LAUNCH_FD, LIVENESS_FD, Launch, Purpose, RECORD_FD};
use crate::placeholders::Record;
use crate::sys::{self, Block, Forked, Nested, Parentage};
use crate::worker::{self, WorkerEntry};

/// The `__init` role: what the program does when a supervisor starts it so. Doesn't return.
///
/// Call it first thing in `main`, before any thread exists.
pub fn init_main(entry: WorkerEntry) -> ! {
    // Whatever the person's shell left open stays outside.
    if sys::close_from(RECORD_FD + 1).is_err() {
        sys::exit(71);
    }
    let Ok(control) = sys::inherited(CONTROL_FD) else {
        sys::exit(71)
    };
    match Init::begin(&control, entry) {
        Ok(init) => init.serve(),
        Err(error) => {
            let (step, errno, detail) = match error {
                BoundaryError::Step {
                    step,
                    errno,
                    detail,
                } => (step, errno, detail),
                other => (Step::ReadLaunch, None, other.to_string()),
            };
            let mut frame =
                Frame::new(Kind::Failed, errno.unwrap_or(0).unsigned_abs(), step as i64);
            frame.detail = detail.into_bytes();
            let sent = frame::send(&control, &frame, &[]);
            sys::exit(if sent.is_ok() { 1 } else { 2 })
        }
    }
}

struct Init<'a> {
    control: &'a OwnedFd,
    liveness: OwnedFd,
    launch: Launch,
    grant: Grant,
    entry: WorkerEntry,
    signals: OwnedFd,
    for_commands: OnceCell<Template>,
    for_workers: OnceCell<Template>,
    children: BTreeMap<i32, Child>,
    /// Where the supervisor asks for connections to ports inside.
    dialers: Vec<OwnedFd>,
    /// Keeps the record of placeholders locked as long as init lives.
    _record: Record,
}

/// Rules and filters of one kind of child, made when the first one starts; each child enforces a
/// copy.
struct Template {
    rules: Rules,
    filters: FilterSet,
}

enum Child {
    Worker,
    Command { id: u32, report: OwnedFd },
}

impl<'a> Init<'a> {
    fn begin(control: &'a OwnedFd, entry: WorkerEntry) -> Result<Self, BoundaryError> {
        let inherit = |number| sys::inherited(number).at(Step::ReadLaunch, "descriptor");
        let (sealed, liveness) = (inherit(LAUNCH_FD)?, inherit(LIVENESS_FD)?);
        let launch: Launch = launch::unseal(sealed)?;
        // Proves that the plan belongs to the grant before anything is built from it.
        let grant = launch.unsealed_grant()?;
        let pins = launch.plan.cover.pins();
        let mut record = Record::new(if pins {
            Some(inherit(RECORD_FD)?)
        } else {
            None
        });
        enter::become_init(&launch.plan, control, &liveness, &mut record)?;
        let signals =
            sys::signals(&[libc::SIGCHLD, libc::SIGTERM]).at(Step::Descriptors, "signals")?;
        let ready = Frame::new(Kind::Ready, 0, 0);
        frame::send(control, &ready, &[]).at(Step::Descriptors, "control socket")?;
        Ok(Self {
            control,
            liveness,
            launch,
            grant,
            entry,
            signals,
            for_commands: OnceCell::new(),
            for_workers: OnceCell::new(),
            children: BTreeMap::new(),
            dialers: Vec::new(),
            _record: record,
        })
    }

    fn for_commands(&self) -> Result<&Template, BoundaryError> {
        let plan = &self.launch.plan;
        get_or_make(&self.for_commands, || {
            Ok(Template {
                rules: Rules::command(&plan.access)?,
                filters: FilterSet::compile(confine::Kind::Command, plan.level)?,
            })
        })
    }

    fn for_workers(&self) -> Result<&Template, BoundaryError> {
        let plan = &self.launch.plan;
        get_or_make(&self.for_workers, || {
            let bounds = self.grant.bounds();
            let kind = if bounds.write.is_none() {
                confine::Kind::Worker
            } else {
                confine::Kind::WritingWorker
            };
            Ok(Template {
                rules: Rules::worker(&plan.access, bounds)?,
                filters: FilterSet::compile(kind, plan.level)?,
            })
        })
    }

    fn serve(mut self) -> ! {
        if self.launch.purpose == Purpose::OneCommand {
            // While the gate is asked outside. What fails here fails again, and is told, when the
            // command is to run.
            let _ = self.for_commands();
        }
        loop {
            let mut fds = vec![
                PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.liveness.as_fd(), PollFlags::IN),
            ];
            let dialers = self.dialers.iter();
            fds.extend(dialers.map(|dialer| PollFd::new(dialer, PollFlags::IN)));
            let woken = poll(&mut fds, None).is_ok();
            let ready: Vec<bool> = fds
                .iter()
                .map(|fd| woken && !fd.revents().is_empty())
                .collect();
            let (asked, abandoned) = (ready[0], ready[2]);
            let mut dialing = ready.into_iter().skip(3);
            // One that the supervisor let go of is let go of here.
            self.dialers
                .retain(|dialer| !dialing.next().unwrap_or(false) || dial::answer(dialer));
            if abandoned {
                self.end();
            }
            while let Some(number) = sys::next_signal(&self.signals) {
                if number == libc::SIGTERM {
                    self.end();
                }
            }
            self.reap();
            if asked {
                match frame::receive(self.control) {
                    Ok(Some(frame)) => self.handle(frame),
                    Ok(None) | Err(_) => self.end(),
                }
            }
        }
    }

    fn handle(&mut self, frame: Frame) {
        let id = frame.id;
        let outcome = match frame.kind {
            Kind::OpenWorker => self.open_worker(frame),
            Kind::Run => self.run(frame),
            Kind::OpenDialer => {
                self.dialers.extend(frame.fds);
                Ok(())
            }
            Kind::Signal => {
                self.signal(id, frame.value);
                Ok(())
            }
            _ => Err(BoundaryError::Frame),
        };
        if let Err(error) = outcome {
            let mut ended = Frame::new(Kind::Ended, id, -1);
            ended.detail = error.to_string().into_bytes();
            self.tell(&ended);
        }
    }

    fn open_worker(&mut self, mut frame: Frame) -> Result<(), BoundaryError> {
        let socket = frame.fds.pop().ok_or(BoundaryError::Frame)?;
        let template = self.for_workers()?;
        let rules = template.rules.again()?;
        match sys::fork(Parentage::Own, Nested::None).at(Step::Fork, "worker")? {
            Forked::Child => {
                worker::live(&self.launch, rules, &template.filters, &socket, self.entry)
            }
            Forked::Parent { pid, .. } => {
                self.children.insert(pid, Child::Worker);
                Ok(())
            }
        }
    }

    fn run(&mut self, frame: Frame) -> Result<(), BoundaryError> {
        let id = frame.id;
        let fds: [OwnedFd; 4] = frame.fds.try_into().map_err(|_| BoundaryError::Frame)?;
        let [spec, stdin, stdout, stderr] = fds;
        let template = self.for_commands()?;
        let stage = Stage {
            launch: &self.launch,
            rules: template.rules.again()?,
            filters: &template.filters,
            spec,
            streams: [stdin, stdout, stderr],
        };
        if self.launch.purpose == Purpose::OneCommand {
            self.tell(&Frame::new(Kind::Started, id, 0));
            let report = command::run(stage, Place::Init);
            let mut ended = Frame::new(Kind::Ended, id, 0);
            ended.detail = report;
            self.tell(&ended);
            self.end();
        }
        let (report, report_to) = pipe_with(PipeFlags::CLOEXEC).at(Step::Descriptors, "pipe")?;
        let full = self.launch.plan.level == Level::Full;
        let nested = if full {
            Nested::PidAndMount
        } else {
            Nested::None
        };
        match sys::fork(Parentage::Own, nested).at(Step::Fork, "mini-init")? {
            Forked::Child => {
                let report = command::run(stage, Place::Nested);
                let told = rustix::io::write(&report_to, &report);
                // What is left of the command ends with us: we are its pid 1.
                sys::exit(i32::from(told.is_err()))
            }
            Forked::Parent { pid, .. } => {
                self.children.insert(pid, Child::Command { id, report });
                self.tell(&Frame::new(Kind::Started, id, 0));
                Ok(())
            }
        }
    }

    fn signal(&self, wanted: u32, number: i64) {
        let Ok(number) = i32::try_from(number) else {
            return;
        };
        for (pid, child) in &self.children {
            if matches!(child, Child::Command { id, .. } if *id == wanted) {
                // It may have ended in this moment; then its end is on the way.
                let _ = sys::signal(*pid, number);
            }
        }
    }

    /// Takes every child that has ended; orphans of commands have no entry and are simply gone.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = sys::reap(Block::No) {
            match self.children.remove(&pid) {
                Some(Child::Worker) => {
                    self.tell(&Frame::new(Kind::WorkerEnded, 0, i64::from(status)))
                }
                Some(Child::Command { id, report }) => {
                    let mut ended = Frame::new(Kind::Ended, id, i64::from(status));
                    let mut text = vec![0u8; DETAIL_BYTES];
                    let count = rustix::io::read(&report, &mut text).unwrap_or(0);
                    text.truncate(count);
                    ended.detail = text;
                    self.tell(&ended);
                }
                None => {}
            }
        }
    }

    fn tell(&self, frame: &Frame) {
        if frame::send(self.control, frame, &[]).is_err() {
            self.end();
        }
    }

    /// The end of everything inside. In a pid namespace the kernel sees to it when we exit; else the
    /// children are killed and waited for, until no orphan comes any more.
    fn end(&self) -> ! {
        if self.launch.plan.level != Level::Full {
            crate::hunt::children();
        }
        sys::exit(0)
    }
}

/// `OnceCell::get_or_try_init`, which isn't stable.
fn get_or_make<T>(
    cell: &OnceCell<T>,
    make: impl FnOnce() -> Result<T, BoundaryError>,
) -> Result<&T, BoundaryError> {
    if let Some(made) = cell.get() {
        return Ok(made);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}
