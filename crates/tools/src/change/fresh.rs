//! The folders on the way to a new file.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, fstat, mkdirat, unlinkat};
use rustix::io::Errno;

use super::replace::failed;
use crate::beneath::{Beneath, Lost, Purpose, open};
use crate::output::ToolFailure;

/// A folder in which a file can be made, and the folders that were made to get there.
pub(super) struct Way<'p> {
    /// The handles from the deepest folder that was there, to the file's own.
    handles: Vec<OwnedFd>,
    made: Vec<(usize, OsString)>,
    pub(super) name: &'p OsStr,
}

impl<'p> Way<'p> {
    /// Makes the missing folders below a folder that the gate judged. None of them may be a symlink.
    pub(super) fn make(start: &Beneath<'_>, rest: &'p Path) -> Result<Self, ToolFailure> {
        let name = rest.file_name().ok_or(Lost::Changed)?;
        let handle = start.handle().try_clone()?;
        is_folder(&handle)?;
        let mut way = Self {
            handles: vec![handle],
            made: Vec::new(),
            name,
        };
        for part in rest.parent().into_iter().flat_map(Path::iter) {
            if let Err(failure) = way.step(part) {
                way.undo();
                return Err(failure);
            }
        }
        Ok(way)
    }

    fn step(&mut self, name: &OsStr) -> Result<(), ToolFailure> {
        let at = self.handles.len() - 1;
        match mkdirat(&self.handles[at], name, Mode::from_raw_mode(0o777)) {
            Ok(()) => self.made.push((at, name.to_owned())),
            // Somebody else made it meanwhile.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("a folder can't be made", errno)),
        }
        let next = open(&self.handles[at], Path::new(name), Purpose::Look).map_err(Lost::from)?;
        is_folder(&next)?;
        self.handles.push(next);
        Ok(())
    }

    /// The file's own folder.
    pub(super) fn folder(&self) -> &OwnedFd {
        &self.handles[self.handles.len() - 1]
    }

    /// Takes the folders away again that are still empty.
    pub(super) fn undo(&self) {
        for (at, name) in self.made.iter().rev() {
            let _ = unlinkat(&self.handles[*at], name, AtFlags::REMOVEDIR);
        }
    }
}

fn is_folder(handle: &OwnedFd) -> Result<(), ToolFailure> {
    let stat = fstat(handle).map_err(Lost::from)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Ok(()),
        FileType::Symlink => Err(Lost::Changed.into()),
        _ => Err(failed("a folder can't be made", Errno::NOTDIR)),
    }
}
