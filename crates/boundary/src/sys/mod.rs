//! The system calls that no library wraps safely. Each says why it is sound.
//!
//! Everything here runs in single-threaded processes (init, worker, mini-init), but for
//! [`spawn_pinned`], which may be called in a process with threads.
#![expect(
    unsafe_code,
    reason = "the one place for raw system calls; see each SAFETY"
)]

mod descriptors;
mod signals;

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::process::Pid;

pub(crate) use self::descriptors::{
    arrange_streams, close_all_but, close_from, inherited, silence_streams,
};
pub(crate) use self::signals::{
    Block, next_signal, reap, reset_signals, signal, signal_everyone, signals,
};

/// The two sides of a fork.
pub(crate) enum Forked {
    /// We are the child.
    Child,
    /// We are the parent; the child's pid as seen here, and a descriptor that can't be reused.
    Parent { pid: i32, pidfd: OwnedFd },
}

/// Whose child a fork is.
#[derive(Clone, Copy)]
pub(crate) enum Parentage {
    /// Ours.
    Own,
    /// Our parent's: the supervisor becomes the real parent of init.
    Grandparent,
}

/// The namespaces that a fork starts in.
#[derive(Clone, Copy)]
pub(crate) enum Nested {
    /// Those of the parent.
    None,
    /// A pid and a mount namespace of its own.
    PidAndMount,
}

/// Forks, with a pidfd. The caller must be single-threaded.
pub(crate) fn fork(parentage: Parentage, nested: Nested) -> io::Result<Forked> {
    let mut flags = libc::CLONE_PIDFD | libc::SIGCHLD;
    if matches!(parentage, Parentage::Grandparent) {
        flags |= libc::CLONE_PARENT;
    }
    if matches!(nested, Nested::PidAndMount) {
        flags |= libc::CLONE_NEWPID | libc::CLONE_NEWNS;
    }
    let mut pidfd: RawFd = -1;
    // JUSTIFICATION: fork(2) can set neither the parent nor namespaces nor return a pidfd, and the
    // libraries' clone wrappers run a callback on a new stack, which a fork of this size doesn't need.
    // SAFETY: without CLONE_VM and with a null stack clone behaves as fork: the child gets a copy of
    // the address space and returns here. The process is single-threaded, so no lock is held by a
    // thread that doesn't exist in the child. `pidfd` outlives the call.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone,
            libc::c_long::from(flags),
            0,
            &raw mut pidfd,
            0,
            0,
        )
    };
    match pid {
        0 => Ok(Forked::Child),
        pid if pid > 0 => {
            // SAFETY: the kernel has just stored a new descriptor that nothing else owns.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            let pid =
                i32::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            Ok(Forked::Parent { pid, pidfd })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once: no destructors, no exit handlers of a forked copy.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: _exit has no preconditions and doesn't return.
    unsafe { libc::_exit(code) }
}

/// Enters new namespaces.
pub(crate) fn unshare(flags: rustix::thread::UnshareFlags) -> io::Result<()> {
    // SAFETY: the hazard of unshare is CLONE_FILES with descriptors shared between threads; the
    // caller is single-threaded and passes namespace flags only.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(Into::into)
}

/// Joins the user namespace behind a descriptor.
pub(crate) fn join_user_namespace(namespace: BorrowedFd<'_>) -> io::Result<()> {
    rustix::thread::move_into_link_name_space(
        namespace,
        Some(rustix::thread::LinkNameSpaceType::User),
    )
    .map_err(Into::into)
}

#[repr(C)]
struct MountAttr {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

/// What [`set_mount`] changes.
pub(crate) enum MountChange<'a> {
    /// These `MOUNT_ATTR_*` flags are set.
    Set(u64),
    /// Owners are mapped as in this user namespace.
    MapOwners(BorrowedFd<'a>),
}

/// Whether a mount change reaches the mounts below.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// This mount only.
    One,
    /// Every mount below too.
    Tree,
}

/// Changes the attributes of the mount behind a descriptor.
pub(crate) fn set_mount(
    mount: BorrowedFd<'_>,
    change: &MountChange<'_>,
    depth: Depth,
) -> io::Result<()> {
    let mut attr = MountAttr {
        attr_set: 0,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    match change {
        MountChange::Set(flags) => attr.attr_set = *flags,
        MountChange::MapOwners(namespace) => {
            attr.attr_set = libc::MOUNT_ATTR_IDMAP;
            attr.userns_fd = u64::try_from(namespace.as_raw_fd())
                .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        }
    }
    let recursive = if depth == Depth::Tree {
        libc::AT_RECURSIVE
    } else {
        0
    };
    // SAFETY: `attr` is a mount_attr as the kernel defines it and its true size is passed; the path
    // is an empty C string, which AT_EMPTY_PATH makes mean the descriptor itself.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Sets every kind of user id of this process and drops its supplementary groups.
///
/// The C library's wrappers are avoided: they would signal threads that don't exist here.
pub(crate) fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    rustix::thread::set_thread_groups(&[])?;
    let gid = rustix::process::Gid::from_raw(gid);
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    let uid = rustix::process::Uid::from_raw(uid);
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

/// Brings the loopback interface of this network namespace up.
pub(crate) fn loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: an all-zero ifreq is a valid value of this plain C struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads an ifreq with a name and flags, which both are set.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The Landlock ABI of this kernel; 0 without Landlock.
pub(crate) fn landlock_abi() -> u32 {
    const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
    // SAFETY: with a null attribute, size 0 and the version flag the call only returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::null::<libc::c_void>(),
            0usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// Whether this kernel can load seccomp filters.
pub(crate) fn seccomp_available() -> bool {
    // SAFETY: a null filter is never loaded: the kernel answers EFAULT where filters exist and
    // EINVAL where they don't.
    let result = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            ptr::null::<libc::c_void>(),
        )
    };
    result == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// The last system call that was known when the filters were written: `file_setattr` of Linux 6.17.
/// From 424 on, numbers are the same on every architecture that has filters here.
const LAST_KNOWN_CALL: u32 = 469;

/// Loads a raw filter that refuses every call with a larger number than was known when the other
/// filters were written. That holds future calls off, and the x32 calls of x86-64, which would pass a
/// filter that compares 64-bit numbers. The filter library can't express it.
pub(crate) fn refuse_unknown_calls() -> io::Result<()> {
    const NUMBER: u32 = 0;
    let filter = [
        // Load the call's number; if it is greater than the last known, answer ENOSYS; else go on.
        libc::sock_filter {
            code: 0x20,
            jt: 0,
            jf: 0,
            k: NUMBER,
        },
        libc::sock_filter {
            code: 0x25,
            jt: 0,
            jf: 1,
            k: LAST_KNOWN_CALL,
        },
        libc::sock_filter {
            code: 0x06,
            jt: 0,
            jf: 0,
            k: libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs(),
        },
        libc::sock_filter {
            code: 0x06,
            jt: 0,
            jf: 0,
            k: libc::SECCOMP_RET_ALLOW,
        },
    ];
    let program = libc::sock_fprog {
        len: 4,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the program points to four instructions that outlive the call; the kernel copies and
    // checks them.
    let result = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Starts the program behind `program` with an empty environment and these descriptors as 3, 4, …;
/// standard input and output are `/dev/null`, standard error is kept.
///
/// posix_spawn, since a fork of a large process costs twenty times as much and since other threads
/// may hold locks.
pub(crate) fn spawn_pinned(
    program: &OwnedFd,
    arguments: &[&CStr],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<Pid> {
    // Copies far above the target numbers, so that no dup2 below overwrites one that is still needed.
    let program = rustix::io::fcntl_dupfd_cloexec(program, 100)?;
    let path = CString::new(format!("/proc/self/fd/{}", program.as_raw_fd()))?;
    let null = rustix::fs::open(
        "/dev/null",
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?;
    let high: Vec<OwnedFd> = descriptors
        .iter()
        .map(|fd| rustix::io::fcntl_dupfd_cloexec(fd, 100))
        .collect::<Result<_, _>>()?;
    let mut argv: Vec<*mut libc::c_char> =
        arguments.iter().map(|a| a.as_ptr().cast_mut()).collect();
    argv.push(ptr::null_mut());
    let environment: [*mut libc::c_char; 1] = [ptr::null_mut()];
    // SAFETY: an all-zero value is storage only; posix_spawn_file_actions_init fills it before use.
    let mut actions: libc::posix_spawn_file_actions_t = unsafe { std::mem::zeroed() };
    // SAFETY: `actions` is valid for writing.
    check(unsafe { libc::posix_spawn_file_actions_init(&raw mut actions) })?;
    let mut outcome = Ok(());
    for (from, to) in [(null.as_fd(), 0), (null.as_fd(), 1)]
        .into_iter()
        .chain(high.iter().map(AsFd::as_fd).zip(3..))
    {
        // SAFETY: `actions` was initialised above and both numbers are plain descriptors.
        let added = check(unsafe {
            libc::posix_spawn_file_actions_adddup2(&raw mut actions, from.as_raw_fd(), to)
        });
        outcome = outcome.and(added);
    }
    let mut pid = 0;
    if outcome.is_ok() {
        // SAFETY: path, argv and environment are null-terminated and outlive the call; `actions` is
        // initialised; a null attribute means the defaults.
        outcome = check(unsafe {
            libc::posix_spawn(
                &raw mut pid,
                path.as_ptr(),
                &raw const actions,
                ptr::null(),
                argv.as_ptr(),
                environment.as_ptr(),
            )
        });
    }
    // SAFETY: initialised above, not used afterwards.
    unsafe { libc::posix_spawn_file_actions_destroy(&raw mut actions) };
    outcome?;
    Pid::from_raw(pid).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

fn check(code: libc::c_int) -> io::Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(code))
    }
}

/// Replaces this process by a program; returns only when that failed.
pub(crate) fn exec(program: &CStr, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
        strings
            .iter()
            .map(|string| string.as_ptr())
            .chain([ptr::null()])
            .collect()
    };
    let argv = pointers(arguments);
    let envp = pointers(environment);
    // SAFETY: both arrays are null-terminated, point to C strings and outlive the call.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    io::Error::last_os_error()
}
