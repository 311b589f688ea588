//! The file system that processes inside see.

use std::path::{Path, PathBuf};

use deputize_authority::{Grant, Root};

use super::{AccessMode, CopyPlace, Mount, Owner, Source, runs_commands, works_on_copy};
use crate::host::{HostFacts, SystemPath};

/// Size of the private `/tmp`, in bytes: room for a build, too little to starve the machine.
const TMP_BYTES: u64 = 1 << 30;
/// Size of the private home, in bytes.
const HOME_BYTES: u64 = 512 << 20;

/// Size of the private folder that stands for one that a toolchain was moved to, in bytes: locks and
/// notes, no builds.
const MOVED_BYTES: u64 = 64 << 20;

/// HOME inside: the person's own path, empty and private; without one, a folder in `/tmp`.
pub(super) fn home(host: &HostFacts) -> PathBuf {
    host.home
        .clone()
        .unwrap_or_else(|| PathBuf::from("/tmp/home"))
}

/// The mounts, parents before children.
///
/// A grant that runs no command sees its roots and nothing else: the worker brings all it needs.
pub(super) fn view(grant: &Grant, host: &HostFacts, copy: &CopyPlace) -> Vec<Mount> {
    let owner = if host.kernel_root {
        Owner::Mapped
    } else {
        Owner::Kept
    };
    let mut mounts = if runs_commands(grant) {
        for_programs(grant, host, owner)
    } else {
        Vec::new()
    };
    for root in grant.bounds().read.items() {
        let access = if grant.bounds().write.permits(root) {
            AccessMode::ReadWrite
        } else {
            AccessMode::ReadOnly
        };
        mounts.push(Mount {
            at: root.path().to_owned(),
            what: Source::Host { access, owner },
        });
    }
    for root in grant.bounds().write.items() {
        let what = match copy {
            CopyPlace::Unfilled { tree } if tree == root.path() => Source::Copy(copy.clone()),
            _ => Source::Host {
                access: AccessMode::ReadWrite,
                owner,
            },
        };
        mounts.push(Mount {
            at: root.path().to_owned(),
            what,
        });
    }
    if works_on_copy(grant) {
        // An empty folder is no copy: such a boundary isn't started.
        let copy = match copy {
            CopyPlace::Unfilled { .. } => CopyPlace::Planned,
            made => made.clone(),
        };
        mounts.push(Mount {
            at: grant.workspace().path().to_owned(),
            what: Source::Copy(copy),
        });
    }
    let mut view = arrange(mounts, host);
    if runs_commands(grant) {
        view.push(Mount {
            at: "/proc".into(),
            what: Source::Proc,
        });
        view.push(Mount {
            at: "/dev".into(),
            what: Source::Dev,
        });
    }
    view
}

/// What programs take for granted: system folders, room to write, toolchains.
fn for_programs(grant: &Grant, host: &HostFacts, owner: Owner) -> Vec<Mount> {
    let read_only = |owner| Source::Host {
        access: AccessMode::ReadOnly,
        owner,
    };
    let mut mounts = Vec::new();
    for system in &host.system {
        mounts.push(match system {
            SystemPath::Folder(at) => Mount {
                at: at.clone(),
                what: read_only(Owner::Kept),
            },
            SystemPath::Link(at, target) => Mount {
                at: at.clone(),
                what: Source::Link(target.clone()),
            },
        });
    }
    for (at, bytes) in [
        ("/tmp".into(), TMP_BYTES),
        ("/var/tmp".into(), TMP_BYTES),
        (home(host), HOME_BYTES),
    ] {
        mounts.push(Mount {
            at,
            what: Source::Memory { bytes },
        });
    }
    for toolchain in &host.toolchains {
        // One that lies in what was granted is there already, and belongs to it.
        let granted =
            |at: &Path| Root::new(at).is_some_and(|root| grant.bounds().read.permits(&root));
        let moved_to = toolchain.moved_to.iter().filter(|at| !granted(at));
        mounts.extend(moved_to.map(|at| Mount {
            at: at.clone(),
            what: Source::Memory { bytes: MOVED_BYTES },
        }));
        for root in &toolchain.roots {
            mounts.push(Mount {
                at: root.clone(),
                what: read_only(owner),
            });
        }
        for cache in &toolchain.caches {
            mounts.push(Mount {
                at: cache.clone(),
                what: Source::Overlay,
            });
        }
    }
    mounts
}

/// Orders mounts and drops those that say nothing new.
fn arrange(mut mounts: Vec<Mount>, host: &HostFacts) -> Vec<Mount> {
    // Stable: of two mounts at one place the later one (what was granted) stays.
    mounts.sort_by_key(|mount| mount.at.components().count());
    let mut kept: Vec<Mount> = Vec::new();
    for mount in mounts {
        kept.retain(|earlier| earlier.at != mount.at);
        if !is_shown_already(&mount, &kept, host) {
            kept.push(mount);
        }
    }
    kept
}

/// Whether the nearest mount above shows the same thing with the same access.
fn is_shown_already(mount: &Mount, above: &[Mount], host: &HostFacts) -> bool {
    let nearest = above
        .iter()
        .filter(|candidate| mount.at.starts_with(&candidate.at))
        .max_by_key(|candidate| candidate.at.components().count());
    let Some(nearest) = nearest else {
        return is_system_link(&mount.at, host);
    };
    nearest.what == mount.what && matches!(mount.what, Source::Host { .. })
}

/// Whether the path goes through one of the system links (`/bin/x` where `/bin` is a link).
fn is_system_link(path: &Path, host: &HostFacts) -> bool {
    host.system.iter().any(|system| match system {
        SystemPath::Link(at, _) => path.starts_with(at) && path != at,
        SystemPath::Folder(_) => false,
    })
}
