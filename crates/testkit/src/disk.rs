//! A disk that is soon full.

use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tempfile::TempDir;

use crate::is_root;

/// A small file system of its own. Dropping it unmounts it.
#[derive(Debug)]
pub struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// Mounts a file system that holds `kib` KiB; only root can, for others there is `None`.
    ///
    /// # Panics
    /// When root may not mount either.
    #[must_use]
    pub fn mount(kib: u32) -> Option<Self> {
        if !is_root() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let size = std::ffi::CString::new(format!("size={kib}k,mode=0755")).unwrap();
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        mount("tmpfs", folder.path(), "tmpfs", flags, size.as_c_str()).unwrap();
        Some(Self { folder })
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A test that failed may still hold a file open: the mount then goes when that closes.
        let _ = unmount(self.folder.path(), UnmountFlags::DETACH);
    }
}
