//! Builds the file system view of a plan and enters it. Runs as init, with capabilities in its own
//! user namespace only.
//!
//! Everything is built on a private tmpfs: `/old` is the host's root as long as sources are needed,
//! `/new` becomes the root, and then the host's root is detached for good.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};

use crate::error::{At as _, BoundaryError, Step};
use crate::placeholders::Record;
use crate::plan::{AccessMode, BoundaryPlan, CopyPlace, Mount, ORIGIN_OBJECTS, Sealed, Source};
use crate::sys::{self, Depth, MountChange};

/// Where the private tmpfs is put up; only our mount namespace sees it.
const BASES: [&str; 4] = ["/tmp", "/mnt", "/run", "/usr"];
const OLD: &str = "/old";
const NEW: &str = "/new";
/// Uppers of overlays, and lowers with mapped owners.
const LAYERS: &str = "/layers";
/// What a layer holds: what was written, and the overlay's own working folder.
const UPPER: &str = "upper";
const WORK: &str = "work";

/// Mounts that had to be made before the user namespace: one place per mount of the view.
pub(crate) type Handed = Vec<Trees>;

/// The host's side of one mount, detached.
#[derive(Default)]
pub(crate) struct Trees {
    /// What lies at the same path.
    pub(crate) host: Option<OwnedFd>,
    /// Where the workspace's copy lies.
    pub(crate) copy: Option<OwnedFd>,
    /// The objects that a clone borrows.
    pub(crate) objects: Option<OwnedFd>,
}

/// The folder of the host that a copy is kept in.
pub(crate) fn place_of_copy(what: &Source) -> Option<&Path> {
    match what {
        Source::Copy(CopyPlace::Overlay { layers }) => Some(layers),
        Source::Copy(CopyPlace::Mirror { tree } | CopyPlace::Clone { tree, .. }) => Some(tree),
        _ => None,
    }
}

/// The folder of the host that a copy borrows objects from.
pub(crate) fn place_of_objects(what: &Source) -> Option<&Path> {
    match what {
        Source::Copy(CopyPlace::Clone { objects, .. }) => Some(&objects.path),
        _ => None,
    }
}

/// Builds the view and enters it; the working folder is the workspace afterwards.
pub(crate) fn enter(
    plan: &BoundaryPlan,
    mut handed: Handed,
    record: &mut Record,
) -> Result<(), BoundaryError> {
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .at(Step::Mounts, "private propagation")?;
    // While the host's paths mean what they say, links included.
    handed.resize_with(plan.view.len(), Trees::default);
    for (trees, mount) in handed.iter_mut().zip(&plan.view) {
        let from_host = matches!(
            mount.what,
            Source::Host { .. } | Source::Overlay | Source::Copy(_)
        );
        if from_host && trees.host.is_none() {
            trees.host = source(plan, mount)?;
        }
        if let (None, Some(place)) = (&trees.copy, place_of_copy(&mount.what)) {
            trees.copy = Some(clone_tree(place).on(Step::Copy, place)?);
        }
        if let (None, Some(place)) = (&trees.objects, place_of_objects(&mount.what)) {
            trees.objects = Some(clone_tree(place).on(Step::Copy, place)?);
        }
    }
    move_to_base()?;
    for ((index, mount), trees) in plan.view.iter().enumerate().zip(handed) {
        put(plan, index, mount, trees)?;
    }
    crate::cover::cover(plan, Path::new(NEW), record)?;
    seal_root()?;
    become_root()?;
    rustix::process::chdir(&plan.workspace.path).on(Step::PivotRoot, &plan.workspace.path)
}

/// The host's side of a mount. A toolchain that vanished since it was detected is not there: that
/// fails by itself.
fn source(plan: &BoundaryPlan, mount: &Mount) -> Result<Option<OwnedFd>, BoundaryError> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    match rustix::mount::open_tree(CWD, &mount.at, flags) {
        Ok(tree) => Ok(Some(tree)),
        Err(rustix::io::Errno::NOENT) if mount.at != plan.workspace.path => Ok(None),
        Err(error) => Err(BoundaryError::step(Step::View, error, mount.at.display())),
    }
}

fn move_to_base() -> Result<(), BoundaryError> {
    let base = BASES
        .iter()
        .find(|base| Path::new(base).is_dir())
        .copied()
        .unwrap_or("/");
    // The first mount of all: where it is refused, mounts are refused to us.
    tmpfs(Path::new(base), 16 << 20, 0o755).map_err(|error| match error {
        BoundaryError::Step { errno, detail, .. } => BoundaryError::Step {
            step: Step::Mounts,
            errno,
            detail,
        },
        other => other,
    })?;
    let old = format!("{base}{OLD}");
    make_folder(Path::new(&old))?;
    rustix::process::pivot_root(base, &old).at(Step::Mounts, base)?;
    rustix::process::chdir("/").at(Step::PivotRoot, "/")?;
    make_folder(Path::new(LAYERS))?;
    make_folder(Path::new(NEW))?;
    tmpfs(Path::new(NEW), 16 << 20, 0o755)
}

fn put(
    plan: &BoundaryPlan,
    index: usize,
    mount: &Mount,
    trees: Trees,
) -> Result<(), BoundaryError> {
    let target = below(NEW, &mount.at);
    match &mount.what {
        Source::Link(to) => {
            make_parents(&target)?;
            rustix::fs::symlink(to, &target).on(Step::View, &target)
        }
        Source::Memory { bytes } => {
            make_folder(&target)?;
            let shared = mount.at.ends_with("tmp");
            tmpfs(&target, *bytes, if shared { 0o1777 } else { 0o700 })
        }
        Source::Host { access, .. } => put_host(plan, mount, *access, &target, trees.host),
        Source::Overlay => put_overlay(index, mount, &target, trees.host),
        Source::Copy(place) => put_copy(plan, place, &target, trees),
        Source::Proc => {
            make_folder(&target)?;
            fresh_proc(&target)
        }
        Source::Dev => crate::devices::put(&target),
    }
}

fn put_host(
    plan: &BoundaryPlan,
    mount: &Mount,
    access: AccessMode,
    target: &Path,
    handed: Option<OwnedFd>,
) -> Result<(), BoundaryError> {
    let Some(tree) = handed else { return Ok(()) };
    let seals = plan.seals.iter().chain([&plan.workspace]);
    for seal in seals.filter(|seal| seal.path == mount.at) {
        check_identity(seal, &tree)?;
    }
    let mut flags = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    if access == AccessMode::ReadOnly {
        flags |= libc::MOUNT_ATTR_RDONLY;
    }
    sys::set_mount(tree.as_fd(), &MountChange::Set(flags), Depth::Tree)
        .on(Step::View, &mount.at)?;
    attach(&tree, target)
}

/// What the grant was made for, and not something else that took its place.
fn check_identity(seal: &Sealed, tree: &OwnedFd) -> Result<(), BoundaryError> {
    let stat = rustix::fs::fstat(tree).on(Step::View, &seal.path)?;
    if (stat.st_dev, stat.st_ino) == (seal.device, seal.inode) {
        return Ok(());
    }
    Err(BoundaryError::Step {
        step: Step::View,
        errno: None,
        detail: format!(
            "{} is not what was granted: it was replaced",
            seal.path.display()
        ),
    })
}

/// A read-only lower with writes in memory; where no overlay can be had, read-only.
fn put_overlay(
    index: usize,
    mount: &Mount,
    target: &Path,
    handed: Option<OwnedFd>,
) -> Result<(), BoundaryError> {
    let Some(tree) = handed else { return Ok(()) };
    let lower = PathBuf::from(format!("{LAYERS}/{index}-lower"));
    make_folder(&lower)?;
    attach(&tree, &lower)?;
    let layer = PathBuf::from(format!("{LAYERS}/{index}"));
    make_folder(&layer)?;
    // Sized: what builds write into caches is memory.
    tmpfs(&layer, 1 << 30, 0o700)?;
    for name in [UPPER, WORK] {
        make_folder(&layer.join(name))?;
    }
    make_folder(target)?;
    if mount_overlay(&lower, &layer, target).is_ok() {
        return Ok(());
    }
    let tree = clone_tree(&lower).on(Step::View, &mount.at)?;
    let flags = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    sys::set_mount(tree.as_fd(), &MountChange::Set(flags), Depth::Tree)
        .on(Step::View, &mount.at)?;
    attach(&tree, target)
}

/// Mounts an overlay of a lower folder and a layer, both at paths of ours, which need no escaping.
fn mount_overlay(lower: &Path, layer: &Path, target: &Path) -> rustix::io::Result<()> {
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr",
        lower.display(),
        layer.join(UPPER).display(),
        layer.join(WORK).display()
    );
    let options = std::ffi::CString::new(options).map_err(|_| rustix::io::Errno::INVAL)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount(
        "overlay",
        target,
        "overlay",
        flags,
        Some(options.as_c_str()),
    )
}

/// Puts the workspace's copy where the workspace is. There is no lesser way: a copy that can't be had
/// is no boundary, and the supervisor makes one of another kind.
fn put_copy(
    plan: &BoundaryPlan,
    place: &CopyPlace,
    target: &Path,
    trees: Trees,
) -> Result<(), BoundaryError> {
    let missing = |detail: &str| BoundaryError::Step {
        step: Step::Copy,
        errno: None,
        detail: detail.to_owned(),
    };
    let harmless = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    let set = |tree: &OwnedFd, flags| {
        sys::set_mount(tree.as_fd(), &MountChange::Set(flags), Depth::Tree).on(Step::Copy, target)
    };
    if let CopyPlace::Unfilled { .. } = place {
        let tree = trees
            .host
            .ok_or_else(|| missing("the empty folder is gone"))?;
        set(&tree, harmless)?;
        return attach(&tree, target);
    }
    let host = trees.host.ok_or_else(|| missing("the workspace is gone"))?;
    let copy = trees.copy.ok_or_else(|| missing("no copy was made"))?;
    check_identity(&plan.workspace, &host)?;
    set(&copy, harmless)?;
    match place {
        CopyPlace::Planned | CopyPlace::Unfilled { .. } => Err(missing("no copy was made")),
        CopyPlace::Mirror { .. } => attach(&copy, target),
        CopyPlace::Clone {
            objects: sealed, ..
        } => {
            let objects = trees
                .objects
                .ok_or_else(|| missing("the repository's objects are gone"))?;
            check_identity(sealed, &objects)?;
            set(&objects, harmless | libc::MOUNT_ATTR_RDONLY)?;
            attach(&copy, target)?;
            let place = target.join(ORIGIN_OBJECTS);
            // What git made is no link: nothing of the host is mounted over.
            let is_folder = |path: &Path| {
                std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_dir())
            };
            if !place.parent().is_some_and(is_folder) || !is_folder(&place) {
                return Err(missing(
                    "the clone has no place for the repository's objects",
                ));
            }
            attach(&objects, &place)
        }
        CopyPlace::Overlay { .. } => {
            set(&host, harmless | libc::MOUNT_ATTR_RDONLY)?;
            let lower = PathBuf::from(format!("{LAYERS}/workspace"));
            let layer = PathBuf::from(format!("{LAYERS}/copy"));
            attach(&host, &lower)?;
            attach(&copy, &layer)?;
            make_folder(target)?;
            mount_overlay(&lower, &layer, target).on(Step::Copy, target)
        }
    }
}

/// Mounts a `/proc` of this pid namespace, with the kernel's settings read-only.
///
/// Whatever else in it could change the kernel belongs to the kernel's root, which nothing inside is.
pub(crate) fn fresh_proc(target: &Path) -> Result<(), BoundaryError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", target, "proc", flags, None::<&std::ffi::CStr>)
        .on(Step::Proc, target)?;
    let settings = target.join("sys");
    let tree = clone_tree(&settings).on(Step::Proc, &settings)?;
    let flags = libc::MOUNT_ATTR_RDONLY
        | libc::MOUNT_ATTR_NOSUID
        | libc::MOUNT_ATTR_NODEV
        | libc::MOUNT_ATTR_NOEXEC;
    sys::set_mount(tree.as_fd(), &MountChange::Set(flags), Depth::Tree)
        .on(Step::Proc, &settings)?;
    attach(&tree, &settings)
}

/// The root itself holds only mount points; nothing is written into it.
fn seal_root() -> Result<(), BoundaryError> {
    let root = rustix::fs::open(
        NEW,
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
        Mode::empty(),
    )
    .at(Step::View, NEW)?;
    let flags = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    sys::set_mount(root.as_fd(), &MountChange::Set(flags), Depth::One).at(Step::View, NEW)
}

fn become_root() -> Result<(), BoundaryError> {
    let step = Step::PivotRoot;
    rustix::process::chdir(NEW).at(step, NEW)?;
    rustix::process::pivot_root(".", ".").at(step, "final root")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).at(step, "detach the host's root")?;
    rustix::process::chdir("/").at(step, "/")
}

/// A detached copy of the mounts below a path.
pub(crate) fn clone_tree(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    rustix::mount::open_tree(CWD, path, flags)
}

/// Attaches a detached mount; the mount point is made as a folder or an empty file.
pub(crate) fn attach(tree: &OwnedFd, target: &Path) -> Result<(), BoundaryError> {
    let stat = rustix::fs::fstat(tree).on(Step::View, target)?;
    if rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory {
        make_folder(target)?;
    } else {
        make_file(target)?;
    }
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    rustix::mount::move_mount(tree, "", CWD, target, flags).on(Step::View, target)
}

/// A private folder in memory.
pub(crate) fn tmpfs(target: &Path, bytes: u64, mode: u32) -> Result<(), BoundaryError> {
    let options =
        std::ffi::CString::new(format!("size={bytes},mode={mode:o}")).on(Step::View, target)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", target, "tmpfs", flags, Some(options.as_c_str()))
        .on(Step::View, target)
}

pub(crate) fn make_folder(path: &Path) -> Result<(), BoundaryError> {
    if path.is_dir() {
        return Ok(());
    }
    make_parents(path)?;
    match rustix::fs::mkdir(path, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(BoundaryError::step(Step::View, error, path.display())),
    }
}

pub(crate) fn make_file(path: &Path) -> Result<(), BoundaryError> {
    if std::fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    make_parents(path)?;
    std::fs::File::create_new(path)
        .map(drop)
        .on(Step::View, path)
}

fn make_parents(path: &Path) -> Result<(), BoundaryError> {
    path.parent().map_or(Ok(()), make_folder)
}

/// `path` (absolute) below another root.
pub(crate) fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}
