//! The tool `ls`: what is in a folder.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use deputize_authority::SecretRules;
use deputize_gate::Kind;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, readlinkat, statat};
use rustix::io::Errno;

use crate::beneath::{Beneath, Lost, kind_of};
use crate::limits::{FOLDER_ENTRIES, LS_SHOWN};
use crate::output::{Draft, Room, ToolFailure, ToolOutput};
use crate::text::shown_name;

/// Lists a folder; of anything else, the one entry that it is.
pub(crate) fn ls(place: &Beneath<'_>, secrets: &SecretRules) -> Result<ToolOutput, ToolFailure> {
    let mut draft = Draft::new();
    if place.kind() != Kind::Folder {
        let name = shown_name(place.canonical().file_name().unwrap_or_default().as_ref());
        draft.line(&marked(&name, place.kind(), place.size()));
        return Ok(draft.finish());
    }
    let folder = place.folder()?;
    let (mut names, is_complete) = names(&folder).map_err(Lost::from)?;
    names.sort_unstable();
    let total = names.len();
    let mut shown = 0;
    for name in names.iter().take(LS_SHOWN) {
        let line = entry(&folder, name, place.canonical(), secrets);
        if draft.line(&line) == Room::Full {
            break;
        }
        shown += 1;
    }
    if total == 0 {
        draft.note("the folder is empty");
    }
    if shown < total {
        let least = if is_complete { "" } else { "at least " };
        draft.truncated = Some(format!(
            "the first {shown} of {least}{total} entries: use find with a pattern for the others"
        ));
    }
    Ok(draft.finish())
}

/// The names in a folder, and whether these are all of them.
fn names(folder: &OwnedFd) -> Result<(Vec<OsString>, bool), Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        if names.len() == FOLDER_ENTRIES {
            return Ok((names, false));
        }
        names.push(OsString::from_vec(name.to_bytes().to_vec()));
    }
    Ok((names, true))
}

fn entry(folder: &OwnedFd, name: &OsString, parent: &Path, secrets: &SecretRules) -> String {
    let shown = shown_name(name.as_ref());
    if secrets.denied(&parent.join(name)).is_some() {
        return format!("{shown}  (secret: not readable)");
    }
    let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return format!("{shown}  (gone or not readable)");
    };
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind == FileType::Symlink {
        let target = readlinkat(folder, name, Vec::new())
            .map(|target| OsString::from_vec(target.into_bytes()))
            .unwrap_or_default();
        return format!("{shown}@ -> {}", shown_name(target.as_ref()));
    }
    marked(
        &shown,
        kind_of(kind),
        u64::try_from(stat.st_size).unwrap_or(0),
    )
}

fn marked(name: &str, kind: Kind, size: u64) -> String {
    match kind {
        Kind::Folder => format!("{name}/"),
        Kind::File => format!("{name}  {size}"),
        kind => format!("{name}  ({})", kind.name()),
    }
}
