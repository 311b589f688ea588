//! A command that finds some of the kernel's mechanisms missing, as in a container or on an old
//! kernel. The filter stays on everything that the command starts.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// A mechanism that a caged command doesn't have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Namespaces and mounts are refused with EPERM, as a container's filter does.
    Namespaces,
    /// Landlock answers ENOSYS, as a kernel that was built without it does.
    Landlock,
    /// A further filter is refused with EINVAL, as a kernel that was built without seccomp does.
    Seccomp,
}

/// Flags of clone(2) that ask for a namespace. The time namespace isn't among them: its bit means
/// something else there, and unshare(2) and clone3(2) are refused whole.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Calls by which mounts are made, moved and removed, and namespaces entered.
const MOUNTS: [libc::c_long; 11] = [
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
];

/// Takes mechanisms away from a command that is about to be started.
///
/// # Panics
/// When the filter can't be put together; the command fails to start when it can't be set.
pub fn cage(command: &mut Command, missing: &[Missing]) {
    // Once filters are refused no other can be set: that one comes last.
    let mut missing = missing.to_vec();
    missing.sort_by_key(|one| *one == Missing::Seccomp);
    // All memory is had before the fork: the child only makes system calls.
    let programs: Vec<BpfProgram> = missing.iter().flat_map(|one| one.filters()).collect();
    let confine = move || {
        programs
            .iter()
            .try_for_each(|program| seccompiler::apply_filter(program))
            .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
    };
    // SAFETY: between fork and exec the closure sets filters that were compiled before: system
    // calls on memory that is there, no allocation, no lock.
    #[expect(unsafe_code, reason = "a filter is set by the child itself")]
    unsafe {
        command.pre_exec(confine);
    }
}

impl Missing {
    fn filters(self) -> Vec<BpfProgram> {
        let whole = |call: &libc::c_long| (*call, Vec::new());
        match self {
            Self::Namespaces => {
                let clone = NAMESPACES
                    .iter()
                    .map(|flag| argument(0, u64::try_from(*flag).unwrap()));
                let refused = MOUNTS.iter().map(whole);
                let refused = refused.chain([(libc::SYS_clone, clone.collect())]);
                vec![
                    filter(refused, libc::EPERM),
                    // The C library then falls back on clone, whose flags a filter can see.
                    filter([whole(&libc::SYS_clone3)], libc::ENOSYS),
                ]
            }
            Self::Landlock => {
                let calls = [
                    libc::SYS_landlock_create_ruleset,
                    libc::SYS_landlock_add_rule,
                    libc::SYS_landlock_restrict_self,
                ];
                vec![filter(calls.iter().map(whole), libc::ENOSYS)]
            }
            Self::Seccomp => {
                let option = u64::try_from(libc::PR_SET_SECCOMP).unwrap();
                let prctl = vec![exactly(0, option)];
                let refused = [whole(&libc::SYS_seccomp), (libc::SYS_prctl, prctl)];
                vec![filter(refused, libc::EINVAL)]
            }
        }
    }
}

fn filter(
    refused: impl IntoIterator<Item = (libc::c_long, Vec<SeccompRule>)>,
    errno: libc::c_int,
) -> BpfProgram {
    let refused: BTreeMap<i64, Vec<SeccompRule>> = refused.into_iter().collect();
    let errno = SeccompAction::Errno(u32::try_from(errno).unwrap());
    let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, errno, architecture);
    filter.unwrap().try_into().unwrap()
}

/// Matches when every bit of `mask` is set in an argument.
fn argument(index: u8, mask: u64) -> SeccompRule {
    rule(index, SeccompCmpOp::MaskedEq(mask), mask)
}

/// Matches when the argument has this value.
fn exactly(index: u8, value: u64) -> SeccompRule {
    rule(index, SeccompCmpOp::Eq, value)
}

fn rule(index: u8, compare: SeccompCmpOp, value: u64) -> SeccompRule {
    let condition = SeccompCondition::new(index, SeccompCmpArgLen::Dword, compare, value);
    SeccompRule::new(vec![condition.unwrap()]).unwrap()
}
