//! Grant and facts in, plan or refusal out.

use std::path::PathBuf;

use deputize_authority::{Grant, Level, Promise, Refusal, Root};

use super::promises::{needed, promises};
use super::view::{home, view};
use super::{
    Access, AccessMode, BoundaryPlan, CopyPlace, Cover, CoveredRoot, Identity, Limits, Protect,
    Scan, Sealed, Source, Tcp, runs_commands, works_on_copy,
};
use crate::host::{HostFacts, NamespaceRefusal, SystemPath};

/// The id that programs see inside when a spare identity is used.
const INSIDE_ID: u32 = 1000;

/// Processes and threads of a command: enough for a build on a large machine, too few for a flood.
const PIDS: u64 = 480;
/// Largest file: below 1 GiB, so that a runaway writer stops before it hurts.
const FILE_BYTES: u64 = 1_000_000_000;
/// Open descriptors.
const OPEN_FILES: u64 = 16_384;
/// Memory of a command when the machine has more: a linker's need, not a machine's worth.
const MEMORY_BYTES: u64 = 8 << 30;

/// Compiles the plan of a boundary of `level` for `grant`. `copy` says where the copy lies that the
/// grant has its writes go to; a grant that writes to the folder itself, or not at all, has none.
///
/// # Errors
/// `boundary_unavailable` when the kernel lacks what the level is made of, `boundary_too_weak` when
/// the level doesn't hold a promise that the grant needs; both with the fix for this machine.
pub fn compile(
    grant: &Grant,
    host: &HostFacts,
    level: Level,
    copy: &CopyPlace,
) -> Result<BoundaryPlan, Refusal> {
    require_kernel(host)?;
    let promises = promises(grant, host, level);
    for promise in needed(grant) {
        let state = promises.iter().find(|state| state.promise == promise);
        if state.is_none_or(|state| state.mechanism.is_none()) {
            return Err(too_weak(grant, host, level, promise));
        }
    }
    let runs_commands = runs_commands(grant);
    let workspace = grant.workspace();
    let mounts = if level == Level::Full {
        view(grant, host, copy)
    } else {
        Vec::new()
    };
    Ok(BoundaryPlan {
        grant: grant.digest(),
        level,
        identity: identity(host),
        workspace: Sealed {
            path: workspace.path().to_owned(),
            device: workspace.device,
            inode: workspace.inode,
        },
        seals: Vec::new(),
        access: access(grant, host, level, &mounts),
        view: mounts,
        cover: Cover {
            scan: if runs_commands && level == Level::Full {
                Scan::Whole
            } else {
                Scan::Skip
            },
            readable_secrets: grant.bounds().secrets.clone(),
            roots: covered(grant, copy),
            hooks: hooks(host),
        },
        limits: Limits {
            pids: PIDS,
            file_bytes: FILE_BYTES,
            memory_bytes: MEMORY_BYTES.min(host.memory / 2),
            open_files: OPEN_FILES,
        },
        environment: if runs_commands {
            environment(grant, host, level)
        } else {
            Vec::new()
        },
        home: home(host),
        promises,
    })
}

/// Every granted root; protected paths are pinned in those that are writable.
/// Where git looks for hooks in every work tree, by the person's configuration.
fn hooks(host: &HostFacts) -> Vec<PathBuf> {
    let named = host.git_names.iter();
    let named = named.filter(|(key, _)| key == "hookspath");
    named.map(|(_, path)| path.into()).collect()
}

fn covered(grant: &Grant, copy: &CopyPlace) -> Vec<CoveredRoot> {
    let bounds = grant.bounds();
    // What nobody sees before a person applies it.
    let is_private = |root: &Root| match copy {
        CopyPlace::Unfilled { tree } => tree == root.path(),
        _ => works_on_copy(grant) && *root == grant.workspace().root,
    };
    let inner = bounds
        .write
        .items()
        .filter(|root| !bounds.read.items().any(|read| read == *root));
    bounds
        .read
        .items()
        .chain(inner)
        .map(|root| CoveredRoot {
            path: root.path().to_owned(),
            protect: if !bounds.write.permits(root) {
                Protect::NotNeeded
            } else if is_private(root) {
                Protect::PinInCopy
            } else {
                Protect::Pin
            },
        })
        .collect()
}

fn require_kernel(host: &HostFacts) -> Result<(), Refusal> {
    if host.landlock_abi == 0 {
        return Err(Refusal::new(
            "boundary_unavailable",
            "kernel",
            "this kernel has no Landlock",
            "use Linux 5.13 or newer, and add `landlock` to the kernel's lsm= list",
        ));
    }
    if !host.seccomp {
        return Err(Refusal::new(
            "boundary_unavailable",
            "kernel",
            "this kernel can't filter system calls",
            "use a kernel built with CONFIG_SECCOMP_FILTER",
        ));
    }
    Ok(())
}

fn too_weak(grant: &Grant, host: &HostFacts, level: Level, promise: Promise) -> Refusal {
    let refusal = host
        .namespaces_refused
        .clone()
        .unwrap_or(NamespaceRefusal::Container);
    let fix = if level == Level::Full {
        "run `deputize doctor` to see what this kernel can enforce"
    } else {
        refusal.fix()
    };
    Refusal::new(
        "boundary_too_weak",
        promise.name(),
        format!(
            "`{}` needs the promise `{promise}`, and a boundary of level {level} doesn't hold it here",
            grant.preset()
        ),
        fix,
    )
}

fn identity(host: &HostFacts) -> Identity {
    if host.kernel_root {
        Identity::Spare {
            kernel: host.spare_id,
            inside: INSIDE_ID,
        }
    } else {
        Identity::Own {
            uid: host.uid,
            gid: host.gid,
        }
    }
}

fn access(grant: &Grant, host: &HostFacts, level: Level, mounts: &[super::Mount]) -> Access {
    let mut read: Vec<PathBuf> = Vec::new();
    let mut write: Vec<PathBuf> = Vec::new();
    if level == Level::Full {
        for mount in mounts {
            match &mount.what {
                // A rule on a link would be one on its target, which has its own mount.
                Source::Link(_) => {}
                Source::Host {
                    access: AccessMode::ReadOnly,
                    ..
                } => read.push(mount.at.clone()),
                Source::Host {
                    access: AccessMode::ReadWrite,
                    ..
                }
                | Source::Memory { .. }
                | Source::Overlay
                | Source::Copy(_)
                | Source::Proc
                | Source::Dev => write.push(mount.at.clone()),
            }
        }
    } else {
        read.extend(host.system.iter().filter_map(|system| match system {
            SystemPath::Folder(path) => Some(path.clone()),
            SystemPath::Link(..) => None,
        }));
        read.extend(
            host.toolchains
                .iter()
                .flat_map(|toolchain| toolchain.roots.iter().chain(&toolchain.caches).cloned()),
        );
        read.extend(
            grant
                .bounds()
                .read
                .items()
                .map(|root| root.path().to_owned()),
        );
        write.extend(
            grant
                .bounds()
                .write
                .items()
                .map(|root| root.path().to_owned()),
        );
        write.extend(HARMLESS_DEVICES.iter().map(PathBuf::from));
    }
    Access {
        abi: host.landlock_abi,
        read,
        write,
        tcp: if level == Level::Full {
            Tcp::PrivateLoopback
        } else {
            Tcp::Refused
        },
    }
}

const HARMLESS_DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// The environment of a command: nothing is inherited, PATH and HOME are rebuilt (S10).
fn environment(grant: &Grant, host: &HostFacts, level: Level) -> Vec<(String, String)> {
    const SYSTEM_PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
    let shown = |entry: &PathBuf| {
        let in_system = host.system.iter().any(|system| match system {
            SystemPath::Folder(root) | SystemPath::Link(root, _) => entry.starts_with(root),
        });
        let in_toolchain = host
            .toolchains
            .iter()
            .any(|toolchain| toolchain.roots.iter().any(|root| entry.starts_with(root)));
        in_system || in_toolchain
    };
    let mut path: Vec<String> = host
        .path
        .iter()
        .filter(|entry| shown(entry))
        .map(|entry| entry.to_string_lossy().into_owned())
        .collect();
    for entry in SYSTEM_PATH {
        if !path.iter().any(|known| known == entry) {
            path.push(entry.to_owned());
        }
    }
    let home = if level == Level::Full {
        home(host)
    } else {
        PathBuf::from("/nonexistent")
    };
    let mut environment = vec![
        ("HOME".to_owned(), home.to_string_lossy().into_owned()),
        ("PATH".to_owned(), path.join(":")),
        ("TMPDIR".to_owned(), "/tmp".to_owned()),
    ];
    environment.extend(host.environment.iter().cloned());
    for toolchain in &host.toolchains {
        environment.extend(toolchain.environment.iter().cloned());
    }
    environment.retain(|(name, _)| {
        grant
            .bounds()
            .env
            .permits(&deputize_authority::EnvName(name.clone()))
    });
    environment
}
