//! One configuration file: read in bounds, replaced whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use deputize_authority::{Refusal, escape};

/// Some hosts keep their history in the same file.
const MAX_BYTES: u64 = 64 << 20;

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    /// Where it really lies: a person may keep it behind a link.
    pub(crate) real: PathBuf,
    /// What it says; `None` where there is none.
    pub(crate) text: Option<String>,
}

pub(crate) fn read(path: &Path) -> Result<Read, Refusal> {
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(unusable(path, "it is a link that leads nowhere"));
            }
            return Ok(Read {
                real: path.to_owned(),
                text: None,
            });
        }
        Err(error) => return Err(unusable(path, &error.to_string())),
    };
    let meta = fs::metadata(&real).map_err(|error| unusable(path, &error.to_string()))?;
    if !meta.is_file() {
        return Err(unusable(path, "it is no file"));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(unusable(path, "it belongs to somebody else"));
    }
    if meta.len() > MAX_BYTES {
        return Err(unusable(path, "it is larger than any configuration"));
    }
    let mut text = String::new();
    File::open(&real)
        .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
        .map_err(|error| unusable(path, &error.to_string()))?;
    Ok(Read {
        real,
        text: Some(text),
    })
}

/// Puts `text` in the place of what was read, or removes the file; refuses where it says something else
/// by now.
pub(crate) fn replace(seen: &Read, text: Option<&str>) -> Result<(), Refusal> {
    let now = read(&seen.real)?;
    if now.text != seen.text {
        return Err(Refusal::new(
            "host_config_changed",
            "host",
            format!("`{}` was changed meanwhile", shown(&seen.real)),
            "look at it again: run the command once more",
        ));
    }
    let done = match text {
        Some(text) => write(&seen.real, text),
        None => fs::remove_file(&seen.real),
    };
    done.map_err(|error| {
        Refusal::new(
            "host_config_not_written",
            "host",
            format!("`{}` could not be written: {error}", shown(&seen.real)),
            "free space or give yourself access, then run the command once more; it is as it was",
        )
    })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mode = fs::metadata(path).map_or(0o600, |meta| meta.mode() & 0o777);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.deputize-{}", std::process::id()));
    let written = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.set_permissions(fs::Permissions::from_mode(mode))?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The error that is reported is the one that caused this.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn unusable(path: &Path, why: &str) -> Refusal {
    Refusal::new(
        "host_config_unusable",
        "host",
        format!("`{}`: {}", shown(path), escape(why)),
        "make it a file of yours, or add the entry by hand: `--print` shows it",
    )
}

fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy())
}
