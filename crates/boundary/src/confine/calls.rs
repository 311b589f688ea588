//! The system calls that a command may not make, each with its reason. What is made of them is in
//! `filter`.

/// Calls that no build, test or shell needs, each group with its reason.
pub(super) const REFUSED: &[(&str, &[libc::c_long])] = &[
    (
        "they change what the file system view is made of",
        &[
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_chroot,
            libc::SYS_open_tree,
            libc::SYS_move_mount,
            libc::SYS_fsopen,
            libc::SYS_fsconfig,
            libc::SYS_fsmount,
            libc::SYS_fspick,
            libc::SYS_mount_setattr,
            libc::SYS_quotactl,
            libc::SYS_quotactl_fd,
            // open_tree_attr: newer than the C library's names.
            467,
            libc::SYS_swapon,
            libc::SYS_swapoff,
        ],
    ),
    ("it joins namespaces of others", &[libc::SYS_setns]),
    (
        "they open files by number, past every path rule",
        &[libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at],
    ),
    (
        "they reach into other processes without the tracing rules' full checks",
        &[
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_pidfd_getfd,
            libc::SYS_kcmp,
            libc::SYS_process_madvise,
        ],
    ),
    (
        "kernel keys belong to the user, not to the boundary",
        &[libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl],
    ),
    (
        "large attack surface that only tools for the kernel itself need",
        &[
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_kexec_load,
            libc::SYS_init_module,
            libc::SYS_finit_module,
            libc::SYS_delete_module,
            libc::SYS_fanotify_init,
            libc::SYS_lookup_dcookie,
        ],
    ),
    (
        "they administer the machine",
        &[
            libc::SYS_reboot,
            libc::SYS_syslog,
            libc::SYS_acct,
            libc::SYS_settimeofday,
            libc::SYS_clock_settime,
            libc::SYS_clock_adjtime,
            libc::SYS_adjtimex,
            libc::SYS_sethostname,
            libc::SYS_setdomainname,
            libc::SYS_vhangup,
        ],
    ),
];

/// Namespace flags of clone and unshare: a namespace of one's own brings capabilities in it.
pub(super) const NAMESPACE_FLAGS: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

pub(super) const CLONE_NEWTIME: libc::c_int = 0x80;

/// Terminal requests that type into somebody's terminal, or paste its selection.
pub(super) const TYPING: [u64; 2] = [libc::TIOCSTI, 0x541c];

/// Requests that set a file's flags: FS_IOC_SETFLAGS, its 32-bit form, and FS_IOC_FSSETXATTR.
pub(super) const SETTING_FLAGS: [u64; 3] = [0x4008_6602, 0x4004_6602, 0x401c_5820];

/// Changes of modes, owners, times and attributes, which Landlock doesn't govern.
pub(super) const METADATA: &[libc::c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // setxattrat, removexattrat, file_setattr: newer than the C library's names.
    463,
    466,
    469,
];

/// Setuid and setgid bits: set on a file of a writable folder they would be the owner's on the host,
/// where no mount option takes them away.
pub(super) const SET_ID_BITS: [u64; 2] = [0o4000, 0o2000];

/// Calls with a mode among their arguments: the call and which argument.
pub(super) const MODES: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mkdirat, 2),
    (libc::SYS_mknodat, 2),
];

/// The flags with which a file is made: `O_CREAT`, and the bit of `O_TMPFILE` that isn't
/// `O_DIRECTORY`'s.
pub(super) const MAKES_FILES: [u64; 2] = [0o100, 0o20_000_000];

/// Calls whose mode counts only where a file is made: the call, its flags, its mode.
pub(super) const CREATING: &[(libc::c_long, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// Btrfs requests that make, snapshot or remove subvolumes through a folder that is open for reading.
pub(super) const SUBVOLUMES: [u64; 6] = [
    0x5000_9401,
    0x5000_940e,
    0x5000_940f,
    0x5000_9417,
    0x5000_9418,
    0x5000_943f,
];

/// Calls that name another process by its number, and which argument does: without a pid namespace
/// only one's own process (0) may be named. Landlock scopes signals, not these.
pub(super) const OTHERS: &[(libc::c_long, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_migrate_pages, 0),
    (libc::SYS_move_pages, 0),
];

/// Without an ipc namespace these reach the user's other programs; watching tells what they do.
pub(super) const FOREIGN: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_inotify_add_watch,
    libc::SYS_process_mrelease,
    libc::SYS_get_robust_list,
];
