//! A `/dev` with nothing in it but what programs take for granted.

use std::os::fd::AsFd as _;
use std::path::Path;

use rustix::mount::MountFlags;

use crate::error::{At as _, BoundaryError, Step};
use crate::root::{attach, below, clone_tree, make_folder, tmpfs};
use crate::sys::{self, Depth, MountChange};

/// Devices that give nothing away and take nothing.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Puts it up at `target`; the host's device nodes are bound one by one.
pub(crate) fn put(target: &Path) -> Result<(), BoundaryError> {
    make_folder(target)?;
    tmpfs(target, 1 << 20, 0o755)?;
    for name in DEVICES {
        let source = below("/old", Path::new("/dev")).join(name);
        let tree = clone_tree(&source).on(Step::Mounts, &source)?;
        let flags = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;
        sys::set_mount(tree.as_fd(), &MountChange::Set(flags), Depth::Tree)
            .on(Step::Mounts, &source)?;
        attach(&tree, &target.join(name))?;
    }
    for (name, to) in LINKS {
        let link = target.join(name);
        rustix::fs::symlink(to, &link).on(Step::Mounts, &link)?;
    }
    let terminals = target.join("pts");
    make_folder(&terminals)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    rustix::mount::mount(
        "devpts",
        &terminals,
        "devpts",
        flags,
        Some(c"newinstance,ptmxmode=0666,mode=620"),
    )
    .on(Step::Mounts, &terminals)?;
    let shared = target.join("shm");
    make_folder(&shared)?;
    tmpfs(&shared, 256 << 20, 0o1777)
}
