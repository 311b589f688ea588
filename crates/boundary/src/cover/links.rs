//! Where links lead, in a view that is still being built below another name.

use std::path::{Component, Path, PathBuf};

use crate::error::{BoundaryError, Step};
use crate::root::below;

/// What a link or a configuration in `base` means by a path. An absolute one is a place in the view.
pub(super) fn named(target: &Path, base: &Path) -> PathBuf {
    if target.is_absolute() {
        below("/new", target)
    } else {
        base.join(target)
    }
}

/// Where a link leads in the end. An absolute link means a place in the view.
pub(super) fn leads_to(link: &Path) -> Option<PathBuf> {
    let target = std::fs::read_link(link).ok()?;
    std::fs::canonicalize(named(&target, link.parent()?)).ok()
}

/// What a link leads through and to, as far as that lies below `root`; nothing where it leaves it.
///
/// # Errors
/// When something on the way can't be kept: it doesn't exist yet, or a folder of its path is a link.
/// Whoever may write there could make it anything.
pub(super) fn follow(link: &Path, root: &Path) -> Result<Vec<PathBuf>, BoundaryError> {
    let mut steps = Vec::new();
    let mut path = link.to_owned();
    // As many as the kernel follows.
    for _ in 0..40 {
        let Ok(target) = std::fs::read_link(&path) else {
            return Ok(steps);
        };
        let meant = named(&target, path.parent().unwrap_or(root));
        let folder = meant
            .parent()
            .and_then(|folder| std::fs::canonicalize(folder).ok());
        let real = folder
            .zip(meant.file_name())
            .map(|(folder, name)| folder.join(name));
        let Some(real) = real.filter(|real| std::fs::symlink_metadata(real).is_ok()) else {
            // It leads out of the view, where nothing can be made; or to a place that isn't there.
            return if lexical(&meant).starts_with(root) {
                Err(loose(link))
            } else {
                Ok(steps)
            };
        };
        if !real.starts_with(root) {
            return Ok(steps);
        }
        if real != lexical(&meant) {
            return Err(loose(link));
        }
        steps.push(real.clone());
        path = real;
    }
    Err(loose(link))
}

fn loose(link: &Path) -> BoundaryError {
    BoundaryError::Step {
        step: Step::Cover,
        errno: None,
        detail: format!(
            "{} is a link that can't be kept as it is: let it lead straight to something that exists",
            Path::new("/")
                .join(link.strip_prefix("/new").unwrap_or(link))
                .display()
        ),
    }
}

/// Takes `..` out by name.
fn lexical(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, part| {
        if part == Component::ParentDir {
            whole.pop();
        } else {
            whole.push(part);
        }
        whole
    })
}
