//! The system call filters: what a command may not do, and the little that the worker may.
//!
//! Each group of calls has its reason. A refused call fails with an error that programs know how to
//! take; only a foreign call table (32-bit calls on a 64-bit kernel) ends the process.

use std::collections::BTreeMap;

use deputize_authority::Level;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use super::calls::{
    CLONE_NEWTIME, CREATING, FOREIGN, MAKES_FILES, METADATA, MODES, NAMESPACE_FLAGS, OTHERS,
    REFUSED, SET_ID_BITS, SETTING_FLAGS, SUBVOLUMES, TYPING,
};
use crate::error::{BoundaryError, Step};
use crate::sys;

/// Whose filter it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A command: everything but what the groups below refuse.
    Command,
    /// The worker: nothing but what file tools need that look.
    Worker,
    /// The same, and what file tools need that write.
    WritingWorker,
}

/// Compiled filters, loaded one on top of the other.
pub(crate) struct FilterSet(Vec<BpfProgram>);

impl FilterSet {
    /// Compiles the filters of this kind for this level.
    pub(crate) fn compile(kind: Kind, level: Level) -> Result<Self, BoundaryError> {
        let groups = match kind {
            Kind::Command => command_groups(level),
            Kind::Worker => vec![worker_group(&[])],
            // The list of what is allowed comes last: no further filter can be loaded under it.
            Kind::WritingWorker => {
                vec![Group::refuse(set_id(), libc::EPERM), worker_group(WRITING)]
            }
        };
        groups
            .into_iter()
            .map(Group::compile)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Loads them into this process; it needs no_new_privs.
    pub(crate) fn load(&self) -> Result<(), BoundaryError> {
        sys::refuse_unknown_calls()
            .map_err(|error| BoundaryError::step(Step::Seccomp, error, "unknown calls"))?;
        for program in &self.0 {
            seccompiler::apply_filter(program).map_err(|error| failed(&error))?;
        }
        Ok(())
    }
}

fn failed(error: &impl std::fmt::Display) -> BoundaryError {
    BoundaryError::Step {
        step: Step::Seccomp,
        errno: None,
        detail: error.to_string(),
    }
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that share an answer.
struct Group {
    rules: Rules,
    matched: SeccompAction,
    otherwise: SeccompAction,
}

impl Group {
    fn refuse(rules: Rules, errno: i32) -> Self {
        let matched = SeccompAction::Errno(errno.unsigned_abs());
        Self {
            rules,
            matched,
            otherwise: SeccompAction::Allow,
        }
    }

    fn compile(self) -> Result<BpfProgram, BoundaryError> {
        let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| failed(&error))?;
        SeccompFilter::new(self.rules, self.otherwise, self.matched, arch)
            .and_then(TryInto::try_into)
            .map_err(|error| failed(&error))
    }
}

/// Refuses to set the bits of [`SET_ID_BITS`], however a file comes to a mode.
fn set_id() -> Rules {
    let mut rules = Rules::new();
    for (call, mode) in MODES {
        let refused = SET_ID_BITS
            .iter()
            .filter_map(|bit| rule(&[(*mode, Len::Dword, Op::MaskedEq(*bit), *bit)]));
        rules.entry(number(*call)).or_default().extend(refused);
    }
    for (call, flags, mode) in CREATING {
        for makes in MAKES_FILES {
            let refused = SET_ID_BITS.iter().filter_map(|bit| {
                rule(&[
                    (*flags, Len::Dword, Op::MaskedEq(makes), makes),
                    (*mode, Len::Dword, Op::MaskedEq(*bit), *bit),
                ])
            });
            rules.entry(number(*call)).or_default().extend(refused);
        }
    }
    rules
}

fn command_groups(level: Level) -> Vec<Group> {
    let mut refused: Rules = REFUSED
        .iter()
        .flat_map(|(_reason, calls)| calls.iter())
        .map(|call| (number(*call), Vec::new()))
        .collect();
    let bits = |call: libc::c_long, argument: u8, flags: &[libc::c_int]| {
        let rules = flags.iter().filter_map(|flag| {
            let flag = u64::from(flag.unsigned_abs());
            rule(&[(argument, Len::Qword, Op::MaskedEq(flag), flag)])
        });
        (number(call), rules.collect::<Vec<_>>())
    };
    refused.extend([
        bits(libc::SYS_clone, 0, &NAMESPACE_FLAGS),
        bits(
            libc::SYS_unshare,
            0,
            &[&NAMESPACE_FLAGS[..], &[CLONE_NEWTIME]].concat(),
        ),
        (
            number(libc::SYS_ioctl),
            TYPING
                .iter()
                .chain(&SUBVOLUMES)
                .filter_map(|request| rule(&[(1, Len::Dword, Op::Eq, *request)]))
                .collect(),
        ),
    ]);
    if level != Level::Full {
        let flags = SETTING_FLAGS.iter();
        let requests = flags.filter_map(|request| rule(&[(1, Len::Dword, Op::Eq, *request)]));
        refused
            .entry(number(libc::SYS_ioctl))
            .or_default()
            .extend(requests);
        refused.extend(METADATA.iter().map(|call| (number(*call), Vec::new())));
        refused.extend(FOREIGN.iter().map(|call| (number(*call), Vec::new())));
        for (call, who) in OTHERS {
            let another = rule(&[(*who, Len::Dword, Op::Ne, 0)]);
            refused.entry(number(*call)).or_default().extend(another);
        }
    }
    // "Not implemented" makes programs use the older call, which the filter can look into.
    let absent: Rules = [
        libc::SYS_clone3,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        // Its mode is behind a pointer, which a filter can't follow.
        libc::SYS_openat2,
    ]
    .map(|call| (number(call), Vec::new()))
    .into();
    vec![
        Group::refuse(refused, libc::EPERM),
        Group::refuse(set_id(), libc::EPERM),
        Group::refuse(absent, libc::ENOSYS),
        Group::refuse(sockets(level), libc::EAFNOSUPPORT),
    ]
}

/// Socket families. In a network namespace of its own a command may use the internet families (they
/// reach the private loopback) and read routes; without one there is no socket but a pair.
fn sockets(level: Level) -> Rules {
    const SOCK_TYPE_MASK: u64 = 0xf;
    let family = |wanted: libc::c_int| u64::from(wanted.unsigned_abs());
    let [inet, inet6, netlink, unix] = [
        libc::AF_INET,
        libc::AF_INET6,
        libc::AF_NETLINK,
        libc::AF_UNIX,
    ]
    .map(family);
    let raw = family(libc::SOCK_RAW);
    let socket = if level == Level::Full {
        [
            rule(&[
                (0, Len::Dword, Op::Ne, inet),
                (0, Len::Dword, Op::Ne, inet6),
                (0, Len::Dword, Op::Ne, netlink),
            ]),
            // NETLINK_ROUTE is protocol 0.
            rule(&[(0, Len::Dword, Op::Eq, netlink), (2, Len::Dword, Op::Ne, 0)]),
            rule(&[
                (0, Len::Dword, Op::Ne, netlink),
                (1, Len::Dword, Op::MaskedEq(SOCK_TYPE_MASK), raw),
            ]),
        ]
        .into_iter()
        .flatten()
        .collect()
    } else {
        Vec::new()
    };
    let pair = rule(&[(0, Len::Dword, Op::Ne, unix)]).into_iter().collect();
    [
        (number(libc::SYS_socket), socket),
        (number(libc::SYS_socketpair), pair),
    ]
    .into()
}

/// What a file tool needs to replace a file as a whole, or to give up in the middle.
const WRITING: &[libc::c_long] = &[
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_linkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_ftruncate,
    libc::SYS_pwrite64,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_fchmod,
    libc::SYS_umask,
];

/// What the worker may do: open below its folders, read, look, answer, hold memory, use threads; and
/// `more`.
fn worker_group(more: &[libc::c_long]) -> Group {
    const ALLOWED: &[libc::c_long] = &[
        // Its socket and its folders.
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_pread64,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_close,
        libc::SYS_close_range,
        libc::SYS_lseek,
        libc::SYS_fstat,
        libc::SYS_newfstatat,
        libc::SYS_statx,
        libc::SYS_getdents64,
        libc::SYS_readlinkat,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_fcntl,
        libc::SYS_dup,
        libc::SYS_fstatfs,
        libc::SYS_statfs,
        libc::SYS_getcwd,
        libc::SYS_fadvise64,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_stat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lstat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_access,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_readlink,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll,
        libc::SYS_ppoll,
        // Memory.
        libc::SYS_brk,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        // The search walker's threads.
        libc::SYS_futex,
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_sigaltstack,
        libc::SYS_gettid,
        libc::SYS_getpid,
        libc::SYS_membarrier,
        libc::SYS_set_tid_address,
        // Time, randomness, signals, the end.
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_gettimeofday,
        libc::SYS_getrandom,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigreturn,
        libc::SYS_restart_syscall,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_getrusage,
        libc::SYS_sysinfo,
        libc::SYS_tgkill,
        libc::SYS_uname,
    ];
    let mut rules: Rules = ALLOWED
        .iter()
        .chain(more)
        .map(|call| (number(*call), Vec::new()))
        .collect();
    // Threads, never processes: clone with CLONE_THREAD. clone3 hides its flags and stays refused;
    // the C library then falls back to clone.
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    rules.insert(
        number(libc::SYS_clone),
        rule(&[(0, Len::Qword, Op::MaskedEq(thread), thread)])
            .into_iter()
            .collect(),
    );
    // Its own limits, which the C library's threads ask for; nobody else's.
    rules.insert(
        number(libc::SYS_prlimit64),
        rule(&[(0, Len::Dword, Op::Eq, 0)]).into_iter().collect(),
    );
    Group {
        rules,
        matched: SeccompAction::Allow,
        // "Not implemented" rather than "not permitted": the C library then tries older calls.
        otherwise: SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
    }
}

#[expect(
    clippy::useless_conversion,
    reason = "c_long is 64 bits wide on the architectures that have filters, not on all others"
)]
fn number(call: libc::c_long) -> i64 {
    i64::from(call)
}

/// A rule of conditions that must all hold. The library refuses only argument numbers above 5.
fn rule(conditions: &[(u8, Len, Op, u64)]) -> Option<SeccompRule> {
    let conditions = conditions
        .iter()
        .map(|(argument, length, operator, value)| {
            SeccompCondition::new(*argument, length.clone(), operator.clone(), *value)
        })
        .collect::<Result<Vec<_>, _>>()
        .ok()?;
    SeccompRule::new(conditions).ok()
}
