//! Makes a mirror.
//!
//! For a child to work in, ignored folders are copied too: builds need them. What can't be part of a copy (FIFOs, sockets,
//! devices, unreadable files) is left out, and said.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use deputize_authority::Refusal;
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid, chownat, fchmod, futimens, mkdirat,
    openat, symlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::index::{Copied, Writer};
use crate::CopyError;
use crate::beneath::{Anchor, below, names, target};
use crate::duplicate::{Duplicated, duplicate};
use crate::entry::{Seen, What, look};
use crate::error::Doing as _;
use crate::ignores::Rules;
use crate::limits::{DEPTH, MIRROR_BYTES, MIRROR_ENTRIES};
use crate::rel_path::RelPath;

/// What a mirror came to.
#[derive(Debug, Default)]
pub(crate) struct Made {
    pub(crate) entries: usize,
    pub(crate) shared: usize,
    pub(crate) written: u64,
    /// Entries that aren't in the copy, with the reason; the first of them.
    pub(crate) left_out: Vec<(RelPath, &'static str)>,
    pub(crate) left_out_count: usize,
}

/// Left-out entries that are named; the others are counted.
const NAMED: usize = 50;

/// What becomes of folders that the person's ignore rules name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ignored {
    Copied,
    LeftOut,
}

/// Copies a folder into an empty one, and writes down what was copied.
pub(crate) fn make(
    base: &Anchor,
    tree: &Path,
    index: &Path,
    ignored: Ignored,
) -> Result<Made, CopyError> {
    let copy = Anchor::open(tree).doing("open the copy", tree)?;
    let mut work = Work {
        index: Writer::create(index)?,
        made: Made::default(),
        names_owners: geteuid().is_root(),
        rules: match ignored {
            Ignored::Copied => None,
            Ignored::LeftOut => Some(base),
        },
    };
    let from = base
        .listing(&RelPath::top())
        .doing("open the workspace", Path::new("."))?;
    let rules = work.inside(&Rules::default(), &RelPath::top());
    work.contents(&from, copy.handle(), &RelPath::top(), &rules, 0)?;
    work.index.finish(mark(tree)?)?;
    Ok(work.made)
}

/// The time of the copy's own file system, after its last entry was written.
pub(super) fn mark(tree: &Path) -> Result<i64, CopyError> {
    let mark = tree.with_file_name("made");
    File::create(&mark).doing("mark the copy", &mark)?;
    let folder = Anchor::open(tree.parent().unwrap_or(tree)).doing("open the copy", tree)?;
    let seen = look(folder.handle(), mark.file_name().unwrap_or_default());
    Ok(seen
        .doing("mark the copy", &mark)?
        .map_or(0, |seen| seen.ctime))
}

struct Work<'a> {
    index: Writer,
    made: Made,
    /// Root copies for a person whose files they stay.
    names_owners: bool,
    /// The folder whose ignore rules leave folders out, where they do.
    rules: Option<&'a Anchor>,
}

impl Work<'_> {
    fn contents(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        place: &RelPath,
        rules: &Rules,
        depth: usize,
    ) -> Result<(), CopyError> {
        let listed = names(from).doing("list the folder", place.as_path())?;
        for name in &listed {
            let path = place.join(name);
            let seen = look(from, name).doing("look at", path.as_path())?;
            let Some(seen) = seen else { continue };
            self.made.entries += 1;
            if self.made.entries > MIRROR_ENTRIES {
                return Err(too_large(format!("more than {MIRROR_ENTRIES} entries")).into());
            }
            match seen.what {
                What::Folder if rules.ignore(&path, seen.what) => {
                    self.leave(path, seen, "ignored")?
                }
                What::Folder => self.folder(from, to, name, &path, seen, rules, depth)?,
                What::File => self.file(from, to, name, &path, seen)?,
                What::Link => self.link(from, to, name, &path, seen)?,
                What::Fifo | What::Socket | What::Device => {
                    let what = seen.what.name();
                    self.leave(path, seen, what)?;
                }
            }
        }
        Ok(())
    }

    /// The rules inside a folder; none where nothing is left out.
    fn inside(&self, rules: &Rules, folder: &RelPath) -> Rules {
        match self.rules {
            Some(base) => rules.inside(base, folder),
            None => Rules::default(),
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "what a folder knows of its entry"
    )]
    fn folder(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        name: &OsString,
        path: &RelPath,
        seen: Seen,
        rules: &Rules,
        depth: usize,
    ) -> Result<(), CopyError> {
        if depth >= DEPTH {
            return self.leave(path.clone(), seen, "too deep");
        }
        let inner = below(from, Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY);
        let Ok(inner) = inner else {
            return self.leave(path.clone(), seen, "unreadable folder");
        };
        mkdirat(to, name, Mode::RWXU).doing("copy the folder", path.as_path())?;
        let copy = below(to, Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY)
            .doing("copy the folder", path.as_path())?;
        let rules = self.inside(rules, path);
        self.contents(&inner, &copy, path, &rules, depth + 1)?;
        self.own(to, name, &seen, path)?;
        fchmod(&copy, Mode::from_raw_mode(seen.permissions()))
            .doing("copy the folder", path.as_path())?;
        self.note(to, name, path, seen)
    }

    fn file(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        name: &OsString,
        path: &RelPath,
        seen: Seen,
    ) -> Result<(), CopyError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let Ok(source) = below(from, Path::new(name), flags) else {
            return self.leave(path.clone(), seen, "unreadable file");
        };
        let mut source = File::from(source);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let copy = openat(to, name, flags, Mode::RUSR | Mode::WUSR)
            .doing("copy the file", path.as_path())?;
        let mut copy = File::from(copy);
        match duplicate(&mut source, &mut copy).doing("copy the file", path.as_path())? {
            Duplicated::Shared => self.made.shared += 1,
            Duplicated::Written(bytes) => self.made.written += bytes,
        }
        if self.made.written > MIRROR_BYTES {
            return Err(too_large(format!("more than {} GiB", MIRROR_BYTES >> 30)).into());
        }
        self.own(to, name, &seen, path)?;
        // Build tools go by these times.
        futimens(&copy, &modified(seen.mtime)).doing("copy the file", path.as_path())?;
        fchmod(&copy, Mode::from_raw_mode(seen.permissions()))
            .doing("copy the file", path.as_path())?;
        self.note(to, name, path, seen)
    }

    fn link(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        name: &OsString,
        path: &RelPath,
        seen: Seen,
    ) -> Result<(), CopyError> {
        let leads = target(from, name).doing("read the link", path.as_path())?;
        symlinkat(leads.as_slice(), to, name).doing("copy the link", path.as_path())?;
        self.own(to, name, &seen, path)?;
        self.note(to, name, path, seen)
    }

    fn own(
        &self,
        to: &OwnedFd,
        name: &OsString,
        seen: &Seen,
        path: &RelPath,
    ) -> Result<(), CopyError> {
        if !self.names_owners {
            return Ok(());
        }
        let (user, group) = (Uid::from_raw(seen.owner.0), Gid::from_raw(seen.owner.1));
        chownat(to, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
            .doing("give the copy to its owner", path.as_path())
    }

    fn note(
        &mut self,
        to: &OwnedFd,
        name: &OsString,
        path: &RelPath,
        base: Seen,
    ) -> Result<(), CopyError> {
        let copy = look(to, name).doing("look at the copy of", path.as_path())?;
        let Some(copy) = copy else {
            return Err(Errno::NOENT).doing("look at the copy of", path.as_path());
        };
        let (mode, copy) = (copy.mode, copy.stamp());
        let copied = Copied {
            base,
            copy,
            mode,
            digest: None,
        };
        self.index.entry(path, copied)
    }

    fn leave(&mut self, path: RelPath, seen: Seen, why: &'static str) -> Result<(), CopyError> {
        self.index.left(&path, seen)?;
        self.made.left_out_count += 1;
        if self.made.left_out.len() < NAMED {
            self.made.left_out.push((path, why));
        }
        Ok(())
    }
}

fn modified(nanoseconds: i64) -> Timestamps {
    let time = Timespec {
        tv_sec: nanoseconds.div_euclid(1_000_000_000),
        tv_nsec: nanoseconds.rem_euclid(1_000_000_000),
    };
    Timestamps {
        last_access: time,
        last_modification: time,
    }
}

pub(super) fn too_large(what: String) -> Refusal {
    Refusal::new(
        "workspace_too_large",
        "workspace",
        format!("a copy of the folder would have {what}"),
        "choose a smaller folder, or `--workspace copy-on-write` where `deputize doctor` shows it: an \
         overlay copies nothing",
    )
}
