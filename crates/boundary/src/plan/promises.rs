//! Which promises a boundary of this level holds, and by what.

use deputize_authority::{Grant, Level, Promise};

use super::{Enforcer, Mechanism, PromiseState, runs_commands, works_on_copy};
use crate::host::HostFacts;

/// Every promise, held or not, for this grant at this level.
pub(super) fn promises(grant: &Grant, host: &HostFacts, level: Level) -> Vec<PromiseState> {
    Promise::ALL
        .into_iter()
        .map(|promise| state(promise, grant, host, level))
        .collect()
}

/// The promises that this grant needs before anything starts.
pub(super) fn needed(grant: &Grant) -> Vec<Promise> {
    let mut needed = grant.preset().needs().to_vec();
    if !grant.bounds().write.is_none() {
        needed.extend([
            Promise::ProtectedPaths,
            Promise::ProcessKill,
            Promise::Secrets,
        ]);
    }
    needed.sort();
    needed.dedup();
    needed
}

fn state(promise: Promise, grant: &Grant, host: &HostFacts, level: Level) -> PromiseState {
    let runs_commands = runs_commands(grant);
    let writes = !grant.bounds().write.is_none();
    let full = level == Level::Full;
    let bare = level == Level::LandlockSeccomp;
    if !full && !bare {
        return not(promise, "no boundary");
    }
    match promise {
        Promise::Write if full && works_on_copy(grant) => kernel(
            promise,
            "mount namespace with a copy of the workspace, Landlock",
        ),
        Promise::Write if full => kernel(promise, "mount namespace, Landlock"),
        Promise::Write if host.landlock_abi < 3 => {
            not(promise, "Landlock before ABI 3 doesn't govern truncation")
        }
        Promise::Write if writes => not(
            promise,
            "Landlock doesn't govern modes, owners and attributes of writable files",
        ),
        Promise::Write => kernel(
            promise,
            "Landlock; seccomp refuses changes of modes, owners and times",
        ),
        Promise::Read if full => kernel(promise, "mount namespace with an empty root, Landlock"),
        Promise::Read => PromiseState {
            limit: Some("names, sizes, times and link targets can still be seen".to_owned()),
            ..kernel(promise, "Landlock")
        },
        Promise::ProtectedPaths if !writes => {
            kernel(promise, "nothing in the workspace is writable")
        }
        Promise::ProtectedPaths if full && works_on_copy(grant) => PromiseState {
            limit: Some(
                "those that a command makes anew are held back when the copy is applied".to_owned(),
            ),
            ..kernel(promise, "read-only mounts in the copy")
        },
        Promise::ProtectedPaths if full => PromiseState {
            limit: Some(
                "a repository or a protected name that a command makes in a subfolder is not covered".to_owned(),
            ),
            ..kernel(promise, "read-only mounts")
        },
        Promise::ProtectedPaths => not(
            promise,
            "Landlock has no exceptions inside a writable folder",
        ),
        Promise::Network if full => kernel(
            promise,
            "network namespace with a private loopback, seccomp on socket families",
        ),
        Promise::Network => kernel(promise, "seccomp refuses every socket"),
        Promise::ProcessKill if full => {
            kernel(promise, "pid namespace; init dies with its supervisor")
        }
        Promise::ProcessKill if !runs_commands && host.landlock_abi >= 6 => kernel(
            promise,
            "the worker can't fork and dies with its supervisor; Landlock scopes signals",
        ),
        Promise::ProcessKill => not(
            promise,
            "without a pid namespace a subreaper hunts the command's processes; \
             they outlive it when it is killed together with its supervisor",
        ),
        Promise::Secrets if !runs_commands => PromiseState {
            promise,
            mechanism: Some(Mechanism {
                by: Enforcer::Host,
                how: "the file tools refuse them; nothing else runs".to_owned(),
            }),
            limit: None,
        },
        Promise::Secrets if full => PromiseState {
            limit: Some("those that the workspace held at the start, by name".to_owned()),
            ..kernel(promise, "covered by mounts; home is not there")
        },
        Promise::Secrets => not(
            promise,
            "Landlock has no exceptions inside a readable folder",
        ),
        Promise::Memory if full => not(
            promise,
            "no delegated cgroup: sampled four times a second, and ended above the limit",
        ),
        Promise::Memory => not(
            promise,
            "no delegated cgroup, and no view of the command's processes: not even watched",
        ),
        Promise::Pids if !runs_commands => {
            kernel(promise, "the worker's filter refuses new processes")
        }
        Promise::Pids if full => kernel(promise, "RLIMIT_NPROC in a user namespace of its own"),
        Promise::Pids => not(promise, "RLIMIT_NPROC counts all processes of the user"),
        Promise::Devices if full => kernel(promise, "private /dev"),
        Promise::Devices => kernel(promise, "Landlock lists the harmless ones"),
    }
}

fn kernel(promise: Promise, how: &str) -> PromiseState {
    let mechanism = Mechanism {
        by: Enforcer::Kernel,
        how: how.to_owned(),
    };
    PromiseState {
        promise,
        mechanism: Some(mechanism),
        limit: None,
    }
}

fn not(promise: Promise, why: &str) -> PromiseState {
    PromiseState {
        promise,
        mechanism: None,
        limit: Some(why.to_owned()),
    }
}
