//! Which folders a child may work in.

use std::path::{Component, Path, PathBuf};

use super::{Surroundings, root_of};
use crate::{PROTECTED, ProtectedKind, Refusal, Root, Shape, Workspace, WorkspaceMode, escape};

/// A folder that a request names, and what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderFact {
    /// The absolute path as asked, `.` and `..` resolved by name only.
    pub asked: PathBuf,
    /// What was found.
    pub found: Found,
}

impl FolderFact {
    /// What was found, by its path, device and inode: whoever shows it later shows that and no other.
    #[must_use]
    pub fn identity(&self) -> Option<(&Path, u64, u64)> {
        match &self.found {
            Found::Folder {
                canonical,
                device,
                inode,
            }
            | Found::Other {
                canonical,
                device,
                inode,
            } => Some((canonical, *device, *inode)),
            Found::Missing | Found::Unreadable(_) => None,
        }
    }
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A folder.
    Folder {
        /// Every link resolved.
        canonical: PathBuf,
        /// Its device.
        device: u64,
        /// Its inode.
        inode: u64,
    },
    /// Something that is no folder.
    Other {
        /// Every link resolved.
        canonical: PathBuf,
        /// Its device.
        device: u64,
        /// Its inode.
        inode: u64,
    },
    /// Nothing.
    Missing,
    /// It can't be looked at, for this reason.
    Unreadable(String),
}

/// A folder that no child works in, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserved {
    /// Canonical path.
    pub path: PathBuf,
    /// What it is, as in "Deputize's state folder".
    pub what: &'static str,
}

/// Folders that are the kernel's own, not on a disk.
const KERNEL_FOLDERS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The folder that the child will work in.
pub(super) fn workspace(around: &Surroundings, mode: WorkspaceMode) -> Result<Workspace, Refusal> {
    let fact = &around.workdir;
    let shown = shown(&fact.asked);
    match &fact.found {
        Found::Folder {
            canonical,
            device,
            inode,
        } => {
            if let Some(led_out) = led_out(fact, canonical, &[Base::real(&around.caller)]) {
                return Err(Refusal::new(
                    "workdir_link_out",
                    "workdir",
                    led_out,
                    NAME_TARGET,
                ));
            }
            let root = allowed(canonical, "workdir", around)?;
            Ok(Workspace {
                root,
                device: *device,
                inode: *inode,
                mode,
            })
        }
        Found::Other { .. } => Err(Refusal::new(
            "workdir_not_folder",
            "workdir",
            format!("`{shown}` is not a folder"),
            "name the folder that holds it",
        )),
        Found::Missing => Err(missing(&shown, "workdir")),
        Found::Unreadable(why) => Err(Refusal::new(
            "workdir_unreadable",
            "workdir",
            format!("`{shown}` can't be opened: {}", escape(why)),
            "give yourself access to it, or choose another folder",
        )),
    }
}

/// A further root that a person named. A link in the caller's folder or in the child's isn't followed
/// out of it: an earlier command in there may have put it.
pub(super) fn root(
    fact: &FolderFact,
    field: &str,
    workspace: &Workspace,
    around: &Surroundings,
) -> Result<Root, Refusal> {
    let shown = shown(&fact.asked);
    match &fact.found {
        Found::Folder { canonical, .. } | Found::Other { canonical, .. } => {
            let real = workspace.path();
            let bases = [
                Base::real(&around.caller),
                Base::real(real),
                Base {
                    named: &around.workdir.asked,
                    real,
                },
            ];
            if let Some(led_out) = led_out(fact, canonical, &bases) {
                return Err(Refusal::new("root_link_out", field, led_out, NAME_TARGET));
            }
            allowed(canonical, field, around)
        }
        Found::Missing => Err(missing(&shown, field)),
        Found::Unreadable(why) => Err(Refusal::new(
            "root_unreadable",
            field,
            format!("`{shown}` can't be opened: {}", escape(why)),
            "give yourself access to it, or leave it out",
        )),
    }
}

/// What is worth saying about a folder that is fine.
pub(super) fn note(around: &Surroundings, workspace: &Workspace) -> Option<String> {
    (around.workdir.asked != workspace.path()).then(|| {
        format!(
            "the folder is a link: working in `{}`",
            shown(workspace.path())
        )
    })
}

fn missing(shown: &str, field: &str) -> Refusal {
    Refusal::new(
        "folder_missing",
        field,
        format!("there is no `{shown}`"),
        "check the path; nothing was created",
    )
}

const NAME_TARGET: &str = "name the target itself if you mean it";

/// A folder whose links aren't trusted: as it is named, and where it really is.
struct Base<'a> {
    named: &'a Path,
    real: &'a Path,
}

impl<'a> Base<'a> {
    fn real(path: &'a Path) -> Self {
        Self {
            named: path,
            real: path,
        }
    }
}

/// Where a link inside one of these folders leads out of it, in words. It isn't followed silently:
/// whoever put it there would choose what the child gets.
fn led_out(fact: &FolderFact, canonical: &Path, bases: &[Base<'_>]) -> Option<String> {
    let base = bases
        .iter()
        .find(|base| fact.asked.starts_with(base.named) && !canonical.starts_with(base.real))?;
    Some(format!(
        "`{}` is a link out of `{}`, to `{}`",
        shown(&fact.asked),
        shown(base.named),
        shown(canonical)
    ))
}

fn allowed(canonical: &Path, field: &str, around: &Surroundings) -> Result<Root, Refusal> {
    let shown = shown(canonical);
    if canonical == Path::new("/") {
        return Err(Refusal::new(
            "root_is_everything",
            field,
            "the folder is `/`, the whole machine",
            "choose the project's folder",
        ));
    }
    if around
        .home
        .as_ref()
        .is_some_and(|home| home.starts_with(canonical))
    {
        return Err(Refusal::new(
            "root_is_home",
            field,
            format!("`{shown}` is, or contains, your home folder with its keys and settings"),
            "choose the project's folder below it",
        ));
    }
    let reserved = around
        .reserved
        .iter()
        .find(|known| canonical.starts_with(&known.path) || known.path.starts_with(canonical));
    if let Some(reserved) = reserved {
        let how = if canonical.starts_with(&reserved.path) {
            "lies in"
        } else {
            "holds"
        };
        return Err(Refusal::new(
            "root_is_reserved",
            field,
            format!("`{shown}` {how} {}", reserved.what),
            "choose the project's folder",
        ));
    }
    if KERNEL_FOLDERS
        .iter()
        .any(|folder| canonical.starts_with(folder))
        && !canonical.starts_with("/dev/shm/")
    {
        return Err(Refusal::new(
            "root_is_kernel",
            field,
            format!("`{shown}` shows the kernel and its devices, not files"),
            "choose the project's folder",
        ));
    }
    if canonical.to_str().is_none() {
        return Err(Refusal::new(
            "root_not_utf8",
            field,
            format!("the name of `{shown}` is not UTF-8"),
            "rename it, for example with `convmv`",
        ));
    }
    if let Some(name) = canonical.components().find_map(agent_folder) {
        return Err(Refusal::new(
            "root_is_reserved",
            field,
            format!("`{shown}` lies in `{name}`, which configures coding agents"),
            "choose the project's folder",
        ));
    }
    root_of(canonical)
}

/// The name of a folder of coding agents, wherever it lies: what is in it configures agents. Names
/// are compared without case, as in the table.
fn agent_folder(part: Component<'_>) -> Option<&'static str> {
    PROTECTED
        .iter()
        .filter(|row| row.kind == ProtectedKind::Agent && row.shape == Shape::Folder)
        .map(|row| row.path)
        .find(|name| part.as_os_str().eq_ignore_ascii_case(name))
}

fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy())
}
