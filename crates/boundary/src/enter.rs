//! From a freshly started `__init` to pid 1 of new namespaces.
//!
//! The first stage makes the namespaces and forks init as a child of its own parent, so that the
//! supervisor itself waits for init and is told by the kernel when it ends. Then the stage is gone.

use std::fs;
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use deputize_authority::Level;
use rustix::process::{DumpableBehavior, Signal};
use rustix::thread::UnshareFlags;

use crate::error::{At as _, BoundaryError, Step};
use crate::frame::{self, Frame, Kind};
use crate::placeholders::Record;
use crate::plan::{BoundaryPlan, CopyPlace, Identity, Owner, Source};
use crate::root::{self, Handed, Trees};
use crate::sys::{self, Forked, MountChange, Nested, Parentage};

/// Becomes init, confined to the plan's view. Returns only in init.
pub(crate) fn become_init(
    plan: &BoundaryPlan,
    control: &OwnedFd,
    liveness: &OwnedFd,
    record: &mut Record,
) -> Result<(), BoundaryError> {
    // When memory runs out, what is inside goes first. Raising this needs no right; a kernel that
    // refuses all the same has its own order.
    let _ = fs::write("/proc/self/oom_score_adj", "500");
    let handed = match (plan.level, &plan.identity) {
        (Level::Full, Identity::Own { uid, gid }) => {
            sys::unshare(UnshareFlags::NEWUSER).at(Step::UserNamespace, "unshare")?;
            write_maps("self", (*uid, *uid), (*gid, *gid), Groups::Deny)?;
            Vec::new()
        }
        (Level::Full, Identity::Spare { kernel, inside }) => {
            let handed = map_owners(plan, *kernel)?;
            let namespace = hold_namespace(*inside, *inside, *kernel)?;
            sys::join_user_namespace(namespace.as_fd()).at(Step::UserNamespace, "join")?;
            sys::become_user(*inside, *inside).at(Step::Identity, inside)?;
            handed
        }
        (_, Identity::Spare { kernel, .. }) => {
            sys::become_user(*kernel, *kernel).at(Step::Identity, kernel)?;
            // Nothing maps the owner here: the folder must be one that others may enter.
            fs::read_dir(&plan.workspace.path)
                .map(drop)
                .on(Step::Workspace, &plan.workspace.path)?;
            Vec::new()
        }
        (_, Identity::Own { .. }) => Vec::new(),
    };
    if plan.level == Level::Full {
        let namespaces = UnshareFlags::NEWNS
            | UnshareFlags::NEWNET
            | UnshareFlags::NEWIPC
            | UnshareFlags::NEWUTS
            | UnshareFlags::NEWCGROUP;
        sys::unshare(namespaces).at(Step::Namespaces, "unshare")?;
        sys::unshare(UnshareFlags::NEWPID).at(Step::PidNamespace, "unshare")?;
    }
    fork_init(control)?;
    arm(liveness)?;
    if plan.level == Level::Full {
        root::enter(plan, handed, record)?;
        sys::loopback_up().at(Step::Loopback, "lo")?;
        // A name that says where one is; nothing depends on it.
        rustix::system::sethostname(b"deputy").at(Step::Namespaces, "host name")?;
    } else {
        // Without a pid namespace every orphan of a command comes to us, and we hunt it.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .at(Step::Namespaces, "subreaper")?;
    }
    Ok(())
}

/// Forks init and ends this stage; the supervisor gets init's pidfd.
///
/// Init says nothing before this stage has: the supervisor hears of its birth first.
fn fork_init(control: &OwnedFd) -> Result<(), BoundaryError> {
    let (spoken, speaking) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(Step::Fork, "pipe")?;
    match sys::fork(Parentage::Grandparent, Nested::None).at(Step::Fork, "init")? {
        Forked::Child => {
            drop(speaking);
            // Ends when the stage has exited, which is after it has spoken.
            rustix::io::read(&spoken, &mut [0u8; 1])
                .map(drop)
                .at(Step::Fork, "wait for the stage")
        }
        Forked::Parent { pid, pidfd } => {
            let born = Frame::new(Kind::Born, pid.unsigned_abs(), 0);
            let sent = frame::send(control, &born, &[pidfd.as_fd()]);
            sys::exit(i32::from(sent.is_err()));
        }
    }
}

/// Ties init's life to its supervisor's, and closes the gap before that took effect.
fn arm(liveness: &OwnedFd) -> Result<(), BoundaryError> {
    // Not dumpable: nobody inside can trace init or read its memory.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .at(Step::DeathSignal, "not dumpable")?;
    // After the change of identity, which clears it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .at(Step::DeathSignal, "prctl")?;
    if supervisor_is_gone(liveness) {
        sys::exit(1);
    }
    rustix::process::setsid()
        .map(drop)
        .at(Step::DeathSignal, "session")
}

/// Whether the other end of the liveness pipe is closed.
pub(crate) fn supervisor_is_gone(liveness: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(liveness, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Whether a namespace may change its groups.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Groups {
    /// An ordinary user must give that up to write a map.
    Deny,
    Keep,
}

fn write_maps(
    process: &str,
    uid: (u32, u32),
    gid: (u32, u32),
    groups: Groups,
) -> Result<(), BoundaryError> {
    let write = |name: &str, text: String| {
        let path = format!("/proc/{process}/{name}");
        fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .at(Step::IdMaps, path)
    };
    if groups == Groups::Deny {
        write("setgroups", "deny".to_owned())?;
    }
    write("uid_map", format!("{} {} 1", uid.0, uid.1))?;
    write("gid_map", format!("{} {} 1", gid.0, gid.1))
}

/// A user namespace that maps one id, held by its descriptor only.
///
/// A process has to enter it for a moment, because a namespace is made by entering it.
fn hold_namespace(uid_inside: u32, gid_inside: u32, kernel: u32) -> Result<OwnedFd, BoundaryError> {
    let step = Step::UserNamespace;
    let (entered, tell) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(step, "pipe")?;
    let (wait, release) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(step, "pipe")?;
    match sys::fork(Parentage::Own, Nested::None).at(Step::Fork, "namespace holder")? {
        Forked::Child => {
            drop(entered);
            drop(release);
            let outcome = sys::unshare(UnshareFlags::NEWUSER);
            let errno = outcome
                .err()
                .and_then(|error| error.raw_os_error())
                .unwrap_or(0);
            let told = rustix::io::write(&tell, &errno.to_le_bytes());
            // Returns at once when the parent closes its end, or dies.
            let waited = rustix::io::read(&wait, &mut [0u8; 1]);
            sys::exit(i32::from(told.is_err() || waited.is_err()));
        }
        Forked::Parent { pid, .. } => {
            drop(tell);
            drop(wait);
            let held = read_namespace(pid, &entered, uid_inside, gid_inside, kernel);
            drop(release);
            let reaped = sys::reap(sys::Block::Yes);
            let namespace = held?;
            reaped.at(step, "holder")?;
            Ok(namespace)
        }
    }
}

fn read_namespace(
    pid: i32,
    entered: &OwnedFd,
    uid_inside: u32,
    gid_inside: u32,
    kernel: u32,
) -> Result<OwnedFd, BoundaryError> {
    let step = Step::UserNamespace;
    let mut errno = [0u8; 4];
    let count = rustix::io::read(entered, &mut errno).at(step, "holder")?;
    let errno = i32::from_le_bytes(errno);
    if count != 4 || errno != 0 {
        return Err(BoundaryError::step(
            step,
            std::io::Error::from_raw_os_error(errno),
            "unshare",
        ));
    }
    let process = pid.to_string();
    write_maps(
        &process,
        (uid_inside, kernel),
        (gid_inside, kernel),
        Groups::Keep,
    )?;
    let path = format!("/proc/{pid}/ns/user");
    fs::File::open(&path).map(OwnedFd::from).at(step, path)
}

/// Clones, as the real root, every mount whose owner is to appear as the identity inside.
fn map_owners(plan: &BoundaryPlan, kernel: u32) -> Result<Handed, BoundaryError> {
    let mut namespaces: Vec<((u32, u32), OwnedFd)> = Vec::new();
    let mut handed = Vec::new();
    for mount in &plan.view {
        let mapped = matches!(
            mount.what,
            Source::Host {
                owner: Owner::Mapped,
                ..
            } | Source::Overlay
                | Source::Copy(_)
        );
        let mut trees = Trees::default();
        if mapped && mount.at.exists() {
            // First what says whether mounts can be made here at all.
            let step = match mount.what {
                Source::Copy(CopyPlace::Unfilled { .. }) => Step::Copy,
                _ => Step::IdmappedMount,
            };
            trees.host = Some(map_owner(&mount.at, step, kernel, &mut namespaces)?);
            let place = root::place_of_copy(&mount.what);
            trees.copy = place
                .map(|path| map_owner(path, Step::Copy, kernel, &mut namespaces))
                .transpose()?;
            let place = root::place_of_objects(&mount.what);
            trees.objects = place
                .map(|path| map_owner(path, Step::Copy, kernel, &mut namespaces))
                .transpose()?;
        }
        handed.push(trees);
    }
    Ok(handed)
}

/// Clones one, with its owner mapped; `step` is the one that fails where it can't be.
fn map_owner(
    path: &Path,
    step: Step,
    kernel: u32,
    namespaces: &mut Vec<((u32, u32), OwnedFd)>,
) -> Result<OwnedFd, BoundaryError> {
    let tree = root::clone_tree(path).on(step, path)?;
    let stat = rustix::fs::fstat(&tree).on(step, path)?;
    let owner = (stat.st_uid, stat.st_gid);
    if !namespaces.iter().any(|(known, _)| *known == owner) {
        namespaces.push((owner, hold_namespace(owner.0, owner.1, kernel)?));
    }
    let namespace = namespaces.iter().find(|(known, _)| *known == owner);
    if let Some((_, namespace)) = namespace {
        // All the mounts below, or, where one of them can't, this one alone with the rest kept.
        let change = MountChange::MapOwners(namespace.as_fd());
        sys::set_mount(tree.as_fd(), &change, sys::Depth::Tree)
            .or_else(|_| sys::set_mount(tree.as_fd(), &change, sys::Depth::One))
            .on(step, path)?;
    }
    Ok(tree)
}
