//! bubblewrap, set up to hide and to show what `deputize exec` hides and shows.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command;

/// What stands below the table.
pub(super) const NOTE: &str = "\
`plain` runs the command alone. `bubblewrap` gets every namespace, no capabilities, the system's \
folders and the\nrepository read-only, a /proc, /dev and /tmp of its own, nothing of home, and the \
repository's `.env` masked; it sets\nno Landlock rules and no system call filter, which `deputize \
exec` does. CPU counts every process of the tree, also those that nobody waited for.";

/// Folders of the system that the command sees. A link stays a link.
const SYSTEM: [&str; 8] = [
    "/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64",
];

/// Where bubblewrap is, if it is installed.
pub(super) fn bubblewrap() -> Option<PathBuf> {
    command::find("bwrap")
}

/// The arguments up to the command.
pub(super) fn arguments(repository: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    add(&[
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
    ]);
    for folder in SYSTEM {
        match fs::read_link(folder) {
            Ok(target) => add(&["--symlink", &target.to_string_lossy(), folder]),
            Err(_) => add(&["--ro-bind-try", folder, folder]),
        }
    }
    add(&["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    let inside = repository.to_string_lossy();
    add(&["--ro-bind", &inside, &inside, "--chdir", &inside]);
    add(&["--ro-bind", "/dev/null", &format!("{inside}/.env"), "--"]);
    arguments
}
