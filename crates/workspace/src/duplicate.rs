//! Copying one file's content: shared by the file system where it can, else byte for byte.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use rustix::fs::{SeekFrom as Place, ioctl_ficlone, seek};
use rustix::io::Errno;

/// How content came to its copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duplicated {
    /// The file system shares it until one of the two changes.
    Shared,
    /// So many bytes were written; holes stay holes.
    Written(u64),
}

/// Copies the content of a file into an empty one.
pub(crate) fn duplicate(from: &mut File, to: &mut File) -> io::Result<Duplicated> {
    if ioctl_ficlone(&*to, &*from).is_ok() {
        return Ok(Duplicated::Shared);
    }
    let length = from.metadata()?.len();
    let mut written = 0;
    let mut at = 0;
    while at < length {
        let Some((start, end)) = extent(from, at, length)? else {
            break;
        };
        from.seek(SeekFrom::Start(start))?;
        to.seek(SeekFrom::Start(start))?;
        let copied = io::copy(&mut from.by_ref().take(end - start), to)?;
        written += copied;
        if copied < end - start {
            // It became shorter meanwhile; whoever compares digests sees that.
            break;
        }
        at = end;
    }
    to.set_len(length)?;
    Ok(Duplicated::Written(written))
}

/// The next stretch of data from an offset on; all of the rest where holes can't be told.
fn extent(file: &File, at: u64, length: u64) -> io::Result<Option<(u64, u64)>> {
    match seek(file, Place::Data(at)) {
        Ok(start) => {
            let end = seek(file, Place::Hole(start)).unwrap_or(length);
            Ok(Some((start, end.min(length).max(start))))
        }
        Err(Errno::NXIO) => Ok(None),
        Err(Errno::INVAL | Errno::NOTSUP) => Ok(Some((at, length))),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn holes_stay_holes_and_data_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("from");
        let mut from = File::create(&path).unwrap();
        from.set_len(1 << 30).unwrap();
        from.seek(SeekFrom::Start(1 << 20)).unwrap();
        from.write_all(b"data").unwrap();
        let mut from = File::open(&path).unwrap();
        let copy = folder.path().join("to");
        let mut to = File::create(&copy).unwrap();
        duplicate(&mut from, &mut to).unwrap();
        let meta = std::fs::metadata(&copy).unwrap();
        assert_eq!(meta.len(), 1 << 30);
        assert!(meta.blocks() * 512 < 1 << 20, "{}", meta.blocks());
        let mut read = [0; 4];
        let mut to = File::open(&copy).unwrap();
        to.seek(SeekFrom::Start(1 << 20)).unwrap();
        to.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"data");
    }

    #[test]
    fn an_empty_file_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("from");
        File::create(&path).unwrap();
        let mut to = File::create(folder.path().join("to")).unwrap();
        duplicate(&mut File::open(&path).unwrap(), &mut to).unwrap();
        assert_eq!(to.metadata().unwrap().len(), 0);
    }
}
