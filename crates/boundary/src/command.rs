//! One command: a mini-init that is pid 1 of a nested namespace, and the program below it.
//!
//! The program isn't pid 1 itself, because the kernel lets a pid 1 ignore TERM. The mini-init takes
//! signals for the whole command, samples its memory, reports the end, and takes everything that is
//! left with it when it exits.

use std::ffi::{CString, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use deputize_authority::Level;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Signal};
use serde::{Deserialize, Serialize};

use crate::confine::{Confined, FilterSet, Prepared, Rules};
use crate::error::{At as _, BoundaryError, Step};
use crate::launch::{self, Launch};
use crate::plan::{CopyPlace, Sealed, Source};
use crate::root;
use crate::selftest::SelfTest;
use crate::sys::{self, Block, Forked, Nested, Parentage};

/// What is run: exactly these bytes, there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// The program and its arguments, byte for byte.
    argv: Vec<Vec<u8>>,
    /// The working folder, by path and identity.
    cwd: Sealed,
    /// The program's file by identity; `None` when there was none, and then none is started.
    program: Option<Sealed>,
    /// Variables beside those of the plan, which they override.
    environment: Vec<(String, String)>,
    /// Bytes of memory at which the command is ended; `None` takes the plan's limit.
    memory_bytes: Option<u64>,
}

impl CommandSpec {
    /// Describes a command. `program` is the file that was judged: another one in its place is not
    /// started.
    #[must_use]
    pub fn new(
        argv: &[OsString],
        cwd: Sealed,
        program: Option<Sealed>,
        environment: Vec<(String, String)>,
    ) -> Self {
        let argv = argv
            .iter()
            .map(|argument| argument.as_bytes().to_vec())
            .collect();
        Self {
            argv,
            cwd,
            program,
            environment,
            memory_bytes: None,
        }
    }

    /// Sets the memory at which the command is ended, in bytes.
    #[must_use]
    pub fn memory(mut self, bytes: Option<u64>) -> Self {
        self.memory_bytes = bytes;
        self
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// It exited with this status.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It held more memory than its limit, so many bytes when that was seen, and was ended.
    OutOfMemory(u64),
    /// Somebody outside replaced a file that was covered for it, which uncovers it; it was ended.
    Uncovered,
    /// There is no such program in the boundary.
    NotFound,
    /// The program couldn't be executed, for this error number.
    NotExecutable(i32),
    /// The confinement failed at a step; the program was not started.
    NotStarted {
        /// Which step, if it is known.
        step: Option<Step>,
        /// What exactly.
        detail: String,
    },
}

/// What the mini-init tells, through init, when the command is over.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CommandReport {
    pub(crate) end: CommandEnd,
    pub(crate) self_test: Option<SelfTest>,
}

/// What a mini-init works with.
pub(crate) struct Stage<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) rules: Rules,
    pub(crate) filters: &'a FilterSet,
    /// The sealed [`CommandSpec`].
    pub(crate) spec: OwnedFd,
    pub(crate) streams: [OwnedFd; 3],
}

/// Where a mini-init lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In namespaces of its own, below init.
    Nested,
    /// It is init itself, for a boundary of one command.
    Init,
}

/// Characters of a failure that a report carries: at most four bytes each, a frame has room for them.
const DETAIL_CHARS: usize = 200;

/// How often memory is sampled.
const SAMPLE: Duration = Duration::from_millis(250);

/// Signals that a mini-init passes on to its command.
const FORWARDED: [i32; 7] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGCONT,
];

/// Ends a command for good, and hunts what it leaves. Between supervisor and mini-init only.
pub(crate) const END: i32 = libc::SIGPWR;

/// Runs a command to its end and returns the report as bytes for the supervisor. The process is
/// confined afterwards and can do nothing but pass them on and exit.
pub(crate) fn run(stage: Stage<'_>, place: Place) -> Vec<u8> {
    let report = live(stage, place).unwrap_or_else(|error| {
        let (step, detail) = match error {
            BoundaryError::Step { step, detail, .. } => (Some(step), detail),
            other => (None, other.to_string()),
        };
        // The report must fit a frame.
        let detail = detail.chars().take(DETAIL_CHARS).collect();
        let end = CommandEnd::NotStarted { step, detail };
        CommandReport {
            end,
            self_test: None,
        }
    });
    serde_json::to_vec(&report).unwrap_or_default()
}

fn live(stage: Stage<'_>, place: Place) -> Result<CommandReport, BoundaryError> {
    let plan = &stage.launch.plan;
    if place == Place::Nested {
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .at(Step::DeathSignal, "not dumpable")?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .at(Step::DeathSignal, "mini-init")?;
    }
    let rules = match (plan.level, place) {
        (Level::Full, Place::Nested) => {
            root::fresh_proc(Path::new("/proc"))?;
            stage.rules.with_proc(&plan.access)?
        }
        (_, Place::Init) => stage.rules,
        (_, Place::Nested) => {
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
                .at(Step::Namespaces, "subreaper")?;
            stage.rules
        }
    };
    let spec: CommandSpec = launch::unseal(stage.spec)?;
    enter_folder(&spec.cwd)?;
    let argv = c_strings(&spec.argv)?;
    let environment = environment(plan, &spec);
    let program = match program(&spec, plan)? {
        Ok(program) => program,
        Err(end) => {
            return Ok(CommandReport {
                end,
                self_test: None,
            });
        }
    };
    let signals = sys::signals(&[&FORWARDED[..], &[libc::SIGCHLD, END]].concat())
        .at(Step::Descriptors, "signals")?;
    let watch = Watch::open(plan, spec.memory_bytes.unwrap_or(plan.limits.memory_bytes))?;
    let confined = Prepared::command(plan, stage.filters, rules).confine()?;
    let self_test = stage.launch.targets.prove(&confined)?;
    let (failed, fail) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(Step::Descriptors, "pipe")?;
    let child = match sys::fork(Parentage::Own, Nested::None).at(Step::Fork, "program")? {
        Forked::Child => start(
            &confined,
            &program,
            &argv,
            &environment,
            stage.streams,
            &fail,
        ),
        Forked::Parent { pid, .. } => pid,
    };
    drop(fail);
    drop(stage.streams);
    let end = match exec_failure(&failed) {
        Some(libc::ENOENT) => CommandEnd::NotFound,
        Some(errno) => CommandEnd::NotExecutable(errno),
        None => watch.until_end(child, &signals),
    };
    Ok(CommandReport {
        end,
        self_test: Some(self_test),
    })
}

/// The program's side of the fork: becomes it, or tells why not.
fn start(
    _proof: &Confined,
    program: &CString,
    argv: &[CString],
    environment: &[CString],
    streams: [OwnedFd; 3],
    fail: &OwnedFd,
) -> ! {
    let outcome = (|| {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        rustix::process::setsid()?;
        sys::reset_signals();
        sys::arrange_streams(streams)
    })();
    let error = match outcome {
        Ok(()) => sys::exec(program, argv, environment),
        Err(error) => error,
    };
    tell(fail, &error);
    sys::exit(127)
}

fn tell(fail: &OwnedFd, error: &std::io::Error) {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    // Nobody is left to tell if this fails; the exit status says 127 all the same.
    let _ = rustix::io::write(fail, &errno.to_le_bytes());
}

fn exec_failure(failed: &OwnedFd) -> Option<i32> {
    let mut errno = [0u8; 4];
    match rustix::io::read(failed, &mut errno) {
        Ok(4) => Some(i32::from_le_bytes(errno)),
        _ => None,
    }
}

/// Enters the working folder and checks that it is the one that was sealed.
fn enter_folder(cwd: &Sealed) -> Result<(), BoundaryError> {
    use rustix::fs::{Mode, OFlags};
    let step = Step::Program;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(&cwd.path, flags, Mode::empty()).on(step, &cwd.path)?;
    let stat = rustix::fs::fstat(&folder).on(step, &cwd.path)?;
    if (stat.st_dev, stat.st_ino) != (cwd.device, cwd.inode) {
        let detail = format!("{} is not the folder that was approved", cwd.path.display());
        return Err(BoundaryError::Step {
            step,
            errno: None,
            detail,
        });
    }
    rustix::process::fchdir(&folder).on(step, &cwd.path)
}

fn c_strings(bytes: &[Vec<u8>]) -> Result<Vec<CString>, BoundaryError> {
    bytes
        .iter()
        .map(|argument| CString::new(argument.clone()))
        .collect::<Result<_, _>>()
        .at(Step::Program, "an argument")
}

fn environment(plan: &crate::plan::BoundaryPlan, spec: &CommandSpec) -> Vec<CString> {
    let overridden = |name: &str| spec.environment.iter().any(|(own, _)| own == name);
    plan.environment
        .iter()
        .filter(|(name, _)| !overridden(name))
        .chain(&spec.environment)
        // A NUL can't be in an environment; a variable that has one isn't passed.
        .filter_map(|(name, value)| CString::new(format!("{name}={value}")).ok())
        .collect()
}

/// The path of the program: the name itself if it has a slash, else the first PATH entry that holds
/// it. What is there must be the file that was judged.
fn program(
    spec: &CommandSpec,
    plan: &crate::plan::BoundaryPlan,
) -> Result<Result<CString, CommandEnd>, BoundaryError> {
    let step = Step::Program;
    let failed = |detail: String| BoundaryError::Step {
        step,
        errno: None,
        detail,
    };
    let Some(name) = spec.argv.first().filter(|name| !name.is_empty()) else {
        return Err(failed("there is no program to run".to_owned()));
    };
    let name = PathBuf::from(OsString::from_vec(name.clone()));
    let candidates: Vec<PathBuf> = if name.as_os_str().as_bytes().contains(&b'/') {
        vec![name]
    } else {
        let path = spec
            .environment
            .iter()
            .chain(&plan.environment)
            .find(|(name, _)| name == "PATH");
        path.map_or("", |(_, value)| value.as_str())
            .split(':')
            .filter(|entry| entry.starts_with('/'))
            .map(|entry| Path::new(entry).join(&name))
            .collect()
    };
    let mut passed_over = CommandEnd::NotFound;
    for candidate in candidates {
        let Ok(stat) = rustix::fs::stat(&candidate) else {
            continue;
        };
        // An overlay has a device number of its own; its files keep the inodes of what lies below.
        let overlaid = plan
            .view
            .iter()
            .any(|mount| is_overlaid(&mount.what) && candidate.starts_with(&mount.at));
        let is_judged = spec.program.as_ref().is_some_and(|judged| {
            judged.inode == stat.st_ino && (overlaid || judged.device == stat.st_dev)
        });
        if is_judged {
            let path = candidate.into_os_string().into_vec();
            return CString::new(path).at(step, "name").map(Ok);
        }
        if spec.program.is_some() || is_executable(&stat) {
            let shown = candidate.display();
            return Err(failed(format!(
                "{shown} is not the program that was approved"
            )));
        }
        passed_over = CommandEnd::NotExecutable(libc::EACCES);
    }
    Ok(Err(passed_over))
}

/// Whether files there appear with another device number than they have on the host.
fn is_overlaid(what: &Source) -> bool {
    matches!(
        what,
        Source::Overlay | Source::Copy(CopyPlace::Overlay { .. })
    )
}

/// Whether the gate would have taken it for a program.
fn is_executable(stat: &rustix::fs::Stat) -> bool {
    let is_file = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
    is_file && stat.st_mode & 0o111 != 0
}

/// Watches a command until its program ends.
struct Watch {
    level: Level,
    memory_bytes: u64,
    /// Private folders in memory: what is in them is memory of the command's, too.
    in_memory: Vec<PathBuf>,
    /// Our children, for the hunt at a level without pid namespaces.
    children: Option<OwnedFd>,
    page_bytes: u64,
    /// The mounts of the view. No command changes them; a file that is replaced outside takes what is
    /// mounted over it along.
    mounts: Option<OwnedFd>,
}

impl Watch {
    fn open(plan: &crate::plan::BoundaryPlan, memory_bytes: u64) -> Result<Self, BoundaryError> {
        let level = plan.level;
        let children = if level == Level::Full {
            None
        } else {
            let path = "/proc/thread-self/children";
            Some(
                std::fs::File::open(path)
                    .at(Step::Descriptors, path)?
                    .into(),
            )
        };
        let mounts = if level == Level::Full {
            let path = "/proc/self/mountinfo";
            Some(
                std::fs::File::open(path)
                    .at(Step::Descriptors, path)?
                    .into(),
            )
        } else {
            None
        };
        let page_bytes = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
        let in_memory = plan
            .view
            .iter()
            .filter(|mount| matches!(mount.what, Source::Memory { .. } | Source::Overlay))
            .map(|mount| mount.at.clone())
            .chain([PathBuf::from("/dev/shm")])
            .collect();
        Ok(Self {
            level,
            memory_bytes,
            in_memory,
            children,
            page_bytes,
            mounts,
        })
    }

    fn until_end(&self, program: i32, signals: &OwnedFd) -> CommandEnd {
        let mut exceeded = None;
        let mut uncovered = false;
        let mut sampled = Instant::now();
        loop {
            let mounts = self.mounts.as_ref().unwrap_or(signals);
            let mut fds = [
                PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(mounts.as_fd(), PollFlags::PRI),
            ];
            let wait = Timespec {
                tv_sec: 0,
                tv_nsec: 250_000_000,
            };
            // An interrupted or timed-out poll is the same as one that found something: look.
            let _ = poll(&mut fds, Some(&wait));
            if fds[1].revents().contains(PollFlags::PRI) && !uncovered {
                uncovered = true;
                self.pass_on(program, libc::SIGKILL);
            }
            while let Some(number) = sys::next_signal(signals) {
                match number {
                    libc::SIGCHLD => {}
                    END => self.pass_on(program, libc::SIGKILL),
                    _ => self.pass_on(program, number),
                }
            }
            while let Ok(Some((pid, status))) = sys::reap(Block::No) {
                if pid == program {
                    if let Some(children) = &self.children {
                        crate::hunt::listed(children);
                    }
                    return match exceeded {
                        Some(bytes) => CommandEnd::OutOfMemory(bytes),
                        None if uncovered => CommandEnd::Uncovered,
                        None => end_of(status),
                    };
                }
            }
            if sampled.elapsed() >= SAMPLE && exceeded.is_none() {
                sampled = Instant::now();
                exceeded = self.memory().filter(|bytes| *bytes > self.memory_bytes);
                if exceeded.is_some() {
                    self.pass_on(program, libc::SIGKILL);
                }
            }
        }
    }

    fn pass_on(&self, program: i32, number: i32) {
        if self.level == Level::Full {
            sys::signal_everyone(number);
        } else {
            // Its process group: everything else of the user would be hit by -1. That it has gone
            // already is no failure.
            let _ = sys::signal(-program, number);
        }
    }

    /// Private memory of every process here, the largest shared one, and what the private folders hold:
    /// what would be freed if the command ended. `None` where there is no `/proc` of our own to look at.
    fn memory(&self) -> Option<u64> {
        if self.level != Level::Full {
            return None;
        }
        let mut private = 0u64;
        let mut shared = 0u64;
        for entry in std::fs::read_dir("/proc").ok()?.flatten() {
            let name = entry.file_name();
            if !name.as_bytes().first().is_some_and(u8::is_ascii_digit) {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(entry.path().join("statm")) else {
                continue;
            };
            let mut pages = text
                .split_whitespace()
                .skip(1)
                .map_while(|word| word.parse::<u64>().ok());
            let (resident, common) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
            private = private.saturating_add(resident.saturating_sub(common));
            shared = shared.max(common);
        }
        let files = self.in_memory.iter().filter_map(|folder| {
            let stat = rustix::fs::statvfs(folder).ok()?;
            Some(
                stat.f_blocks
                    .saturating_sub(stat.f_bfree)
                    .saturating_mul(stat.f_frsize),
            )
        });
        let processes = private
            .saturating_add(shared)
            .saturating_mul(self.page_bytes);
        Some(files.fold(processes, u64::saturating_add))
    }
}

fn end_of(status: i32) -> CommandEnd {
    if libc::WIFSIGNALED(status) {
        CommandEnd::Signalled(libc::WTERMSIG(status))
    } else {
        CommandEnd::Exited(libc::WEXITSTATUS(status))
    }
}
