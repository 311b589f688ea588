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

/// A folder on an overlay, as the root file system of most containers is. Dropping it unmounts it.
#[derive(Debug)]
pub struct OverlayDisk {
    /// Holds the layers.
    _folder: TempDir,
    mounted: std::path::PathBuf,
}

impl OverlayDisk {
    /// Mounts one; only root can, for others there is `None`.
    ///
    /// # Panics
    /// When root may not mount either.
    #[must_use]
    pub fn mount() -> Option<Self> {
        if !is_root() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["lower", "upper", "work", "merged"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let at = folder.path().display();
        let options = format!("lowerdir={at}/lower,upperdir={at}/upper,workdir={at}/work");
        let options = std::ffi::CString::new(options).unwrap();
        let mounted = folder.path().join("merged");
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        mount("overlay", &mounted, "overlay", flags, options.as_c_str()).unwrap();
        Some(Self {
            _folder: folder,
            mounted,
        })
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.mounted
    }
}

impl Drop for OverlayDisk {
    fn drop(&mut self) {
        // As above.
        let _ = unmount(&self.mounted, UnmountFlags::DETACH);
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A test that failed may still hold a file open: the mount then goes when that closes.
        let _ = unmount(self.folder.path(), UnmountFlags::DETACH);
    }
}
