//! What this machine is, as values that [`crate::plan::compile`] can reason about.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{BoundaryError, Step};
use crate::git_names;
use crate::sys;
use crate::toolchain::{self, Toolchain};

/// Why namespaces can't be had, as far as the settings of this machine tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamespaceRefusal {
    /// Ubuntu's AppArmor denies them to unconfined programs.
    AppArmor,
    /// `user.max_user_namespaces` is zero.
    LimitIsZero,
    /// `kernel.unprivileged_userns_clone` is zero (Debian's switch).
    Unprivileged,
    /// The file system of a folder can't map owners, which the kernel's root needs.
    Owners,
    /// Refused without a setting that explains it: a container's seccomp filter, as a rule.
    Container,
}

impl NamespaceRefusal {
    /// What a person can do about it on this machine.
    #[must_use]
    pub fn fix(&self) -> &'static str {
        match self {
            Self::AppArmor => {
                "allow user namespaces for deputize with an AppArmor profile (docs/apparmor.md has \
                 it), or set kernel.apparmor_restrict_unprivileged_userns=0"
            }
            Self::LimitIsZero => "set user.max_user_namespaces to a number above 0 with sysctl",
            Self::Unprivileged => "set kernel.unprivileged_userns_clone=1 with sysctl",
            Self::Owners => {
                "run it as an ordinary user, or put the folder on a file system that can map owners \
                 (ext4, xfs, btrfs, tmpfs)"
            }
            Self::Container => {
                "start the container with a seccomp profile that allows unshare and mount, \
                 for Docker: --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
            }
        }
    }
}

/// Facts about the kernel and the user, gathered once before a plan is compiled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Effective user id.
    pub uid: u32,
    /// Effective group id.
    pub gid: u32,
    /// Whether our uid is the kernel's uid 0, so that a spare identity is needed.
    pub kernel_root: bool,
    /// The spare uid and gid to use then: mapped here, and nobody's.
    pub spare_id: u32,
    /// Landlock ABI; 0 without Landlock.
    pub landlock_abi: u32,
    /// Whether seccomp filters can be loaded.
    pub seccomp: bool,
    /// Why namespaces are refused; `None` as long as nothing says so.
    pub namespaces_refused: Option<NamespaceRefusal>,
    /// The user's home folder, canonical.
    pub home: Option<PathBuf>,
    /// System folders to show read-only, those that exist, with links kept as links.
    pub system: Vec<SystemPath>,
    /// Detected toolchains.
    pub toolchains: Vec<Toolchain>,
    /// The PATH entries that exist, canonical, in order.
    pub path: Vec<PathBuf>,
    /// What the person's own configuration of git names in every work tree, relative to its top: the
    /// setting in lower case, and the name.
    pub git_names: Vec<(String, String)>,
    /// TERM, LANG and kin that are passed on, by name and value.
    pub environment: Vec<(String, String)>,
    /// Total memory in bytes.
    pub memory: u64,
    /// Whether a cgroup v2 subtree is delegated to us with memory and pids controllers.
    pub cgroup_delegated: bool,
}

/// A system folder, as it is to appear inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemPath {
    /// Shown read-only at the same place.
    Folder(PathBuf),
    /// A link at the first path to the second.
    Link(PathBuf, PathBuf),
}

/// System folders that programs need. Not `/var`, `/run`, `/sys`, `/root`, `/home`, `/srv`, `/mnt`.
const SYSTEM: [&str; 10] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
];

/// Variables of the person's shell that are passed on when they are set.
const PASSED_ON: [&str; 5] = ["LANG", "LC_ALL", "TERM", "COLORTERM", "TZ"];

impl HostFacts {
    /// Looks at this machine. `variable` reads the person's environment.
    ///
    /// Namespaces are not tried here: a start that is refused says so itself, and [`crate::examine`]
    /// tries everything.
    #[must_use]
    pub fn gather(variable: impl Fn(&str) -> Option<String>) -> Self {
        let uid = rustix::process::geteuid().as_raw();
        let gid = rustix::process::getegid().as_raw();
        let maps = IdMap::read("/proc/self/uid_map");
        let home = variable("HOME")
            .and_then(|home| fs::canonicalize(home).ok())
            // A name that isn't text can't be in a plan; such a home is simply not there inside.
            .filter(|home| home.is_dir() && home.to_str().is_some())
            // A private home there would hide the system from the command.
            .filter(|home| {
                !SYSTEM
                    .iter()
                    .any(|system| Path::new(system).starts_with(home) || home.starts_with(system))
            });
        let path: Vec<PathBuf> = variable("PATH")
            .unwrap_or_default()
            .split(':')
            .filter(|entry| entry.starts_with('/'))
            .filter_map(|entry| fs::canonicalize(entry).ok())
            .filter(|entry| entry.to_str().is_some())
            .fold(Vec::new(), |mut seen, entry| {
                if !seen.contains(&entry) {
                    seen.push(entry);
                }
                seen
            });
        let toolchains = toolchain::detect(home.as_deref(), &path, &variable, &is_shown);
        Self {
            uid,
            gid,
            kernel_root: uid == 0 && maps.outside(0) == Some(0),
            spare_id: maps.spare(),
            landlock_abi: sys::landlock_abi(),
            seccomp: sys::seccomp_available(),
            namespaces_refused: namespace_settings(uid == 0),
            system: SYSTEM
                .iter()
                .filter_map(|path| system_path(Path::new(path)))
                .collect(),
            toolchains,
            git_names: git_names::gather(home.as_deref(), &variable),
            home,
            path,
            environment: PASSED_ON
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), variable(name)?)))
                .collect(),
            memory: memory_total(),
            cgroup_delegated: cgroup_delegated(),
        }
    }
}

impl HostFacts {
    /// These facts after a start was refused with `error`, or without one where settings refuse it
    /// beforehand: with the reason, as far as it can be told.
    #[must_use]
    pub fn without_namespaces(mut self, error: Option<&BoundaryError>) -> Self {
        // Anything but EINVAL there is the same refusal that namespaces meet.
        let at_owners = matches!(
            error,
            Some(BoundaryError::Step {
                step: Step::IdmappedMount,
                errno: Some(libc::EINVAL),
                ..
            })
        );
        let reason = || {
            if at_owners {
                NamespaceRefusal::Owners
            } else {
                explain_refusal()
            }
        };
        self.namespaces_refused.get_or_insert_with(reason);
        self
    }
}

/// Whether a file or folder of a toolchain is there and may be shown: configuration that holds a token
/// is not.
fn is_shown(path: &Path) -> bool {
    let is_configuration = path.extension().is_some_and(|end| end == "toml");
    if !is_configuration {
        return path.exists();
    }
    fs::read_to_string(path).is_ok_and(|text| {
        let text = text.to_lowercase();
        !["token", "password", "secret"]
            .iter()
            .any(|word| text.contains(word))
    })
}

fn system_path(path: &Path) -> Option<SystemPath> {
    let meta = fs::symlink_metadata(path).ok()?;
    if meta.is_symlink() {
        Some(SystemPath::Link(path.to_owned(), fs::read_link(path).ok()?))
    } else if meta.is_dir() {
        Some(SystemPath::Folder(path.to_owned()))
    } else {
        None
    }
}

fn namespace_settings(root: bool) -> Option<NamespaceRefusal> {
    let setting = |path: &str| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    if setting("/proc/sys/user/max_user_namespaces").as_deref() == Some("0") {
        return Some(NamespaceRefusal::LimitIsZero);
    }
    if !root && setting("/proc/sys/kernel/unprivileged_userns_clone").as_deref() == Some("0") {
        return Some(NamespaceRefusal::Unprivileged);
    }
    None
}

/// Why a start that was tried got refused.
pub(crate) fn explain_refusal() -> NamespaceRefusal {
    let restricted = fs::read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    if restricted.is_ok_and(|text| text.trim() == "1") {
        return NamespaceRefusal::AppArmor;
    }
    namespace_settings(false).unwrap_or(NamespaceRefusal::Container)
}

/// Whether our own cgroup is one of version 2 that we may make children in, with the controllers
/// that limits need.
fn cgroup_delegated() -> bool {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::")) else {
        return false;
    };
    let folder = Path::new("/sys/fs/cgroup").join(path.trim_start_matches('/'));
    let controllers = fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
    let has = |name: &str| controllers.split_whitespace().any(|known| known == name);
    let writable = rustix::fs::access(folder.join("cgroup.procs"), rustix::fs::Access::WRITE_OK);
    has("memory") && has("pids") && writable.is_ok()
}

fn memory_total() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram.saturating_mul(u64::from(info.mem_unit))
}

/// A user namespace's id map: (inside, outside, count).
struct IdMap(Vec<(u32, u32, u32)>);

impl IdMap {
    fn read(path: &str) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        Self(
            text.lines()
                .filter_map(|line| {
                    let mut numbers = line.split_whitespace().map(str::parse);
                    match (numbers.next(), numbers.next(), numbers.next()) {
                        (Some(Ok(inside)), Some(Ok(outside)), Some(Ok(count))) => {
                            Some((inside, outside, count))
                        }
                        _ => None,
                    }
                })
                .collect(),
        )
    }

    fn outside(&self, id: u32) -> Option<u32> {
        self.0.iter().find_map(|&(inside, outside, count)| {
            let offset = id.checked_sub(inside)?;
            (offset < count).then(|| outside.wrapping_add(offset))
        })
    }

    /// An id that is mapped here and that no account or allocator is expected to use: far above the
    /// usual ranges, else the top of what a container has.
    fn spare(&self) -> u32 {
        const FAR: u32 = 2_000_000_077;
        if self.outside(FAR).is_some() {
            return FAR;
        }
        self.0
            .iter()
            .map(|&(inside, _, count)| inside.saturating_add(count.saturating_sub(1)))
            .filter(|&id| id != u32::MAX && id != 65_534)
            .max()
            .unwrap_or(65_533)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spare_id_is_one_that_is_mapped() {
        let everything = IdMap(vec![(0, 0, u32::MAX)]);
        assert_eq!(everything.spare(), 2_000_000_077);
        let container = IdMap(vec![(0, 100_000, 65_536)]);
        assert_eq!(container.spare(), 65_535);
        assert_eq!(container.outside(0), Some(100_000));
        assert_eq!(container.outside(70_000), None);
    }
}
