//! What a repository makes git run, and where git finds it.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use deputize_authority::{PROTECTED, Shape, git_config};
use rustix::fs::{Mode, OFlags};

use super::links::named;
use super::{Maker, keep, pin, pin_row, pin_ways};
use crate::error::{At as _, BoundaryError, Step};
use crate::root::{attach, clone_tree};

/// Keeps a repository's configuration as it is. Commits, branches and checkouts go on working.
pub(super) fn pin_repository(git: &Path, maker: &mut Maker<'_>) -> Result<(), BoundaryError> {
    let Ok(meta) = std::fs::symlink_metadata(git) else {
        return Ok(());
    };
    // A link, or a file that points elsewhere: neither is replaced, and what it points to is
    // outside or found by itself.
    if !meta.is_dir() {
        return pin(git, git);
    }
    // A folder is pinned on itself so that it can't be renamed away and made anew, but stays writable.
    let tree = clone_tree(git).on(Step::Cover, git)?;
    attach(&tree, git)?;
    let mut inside_link = false;
    for row in PROTECTED.iter().filter(|row| row.path.starts_with(".git/")) {
        let path = git.join(row.path.trim_start_matches(".git/"));
        inside_link |= std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
        // The repositories in it are found one by one; new submodules can still be added.
        if row.path == ".git/modules" && path.is_dir() {
            continue;
        }
        if row.path == ".git/worktrees" && path.is_dir() {
            pin_worktrees(&path, maker)?;
            continue;
        }
        pin_row(&path, row.shape, maker)?;
    }
    pin_configured(git, maker)?;
    // What is beside it configures agents and editors for whoever works there.
    for row in PROTECTED
        .iter()
        .filter(|row| !row.path.starts_with(".git/"))
    {
        let beside = git.with_file_name(row.path);
        if git.ends_with(".git") && std::fs::symlink_metadata(&beside).is_ok() {
            pin_row(&beside, row.shape, maker)?;
        }
    }
    // Hooks or configuration behind a link could be changed at the link or at its target.
    if inside_link { pin(git, git) } else { Ok(()) }
}

/// Keeps where each linked work tree finds its repository and its configuration. Work in it goes on.
fn pin_worktrees(folder: &Path, maker: &mut Maker<'_>) -> Result<(), BoundaryError> {
    let mut kept = Vec::new();
    for entry in std::fs::read_dir(folder).on(Step::Cover, folder)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            kept.extend(
                ["config.worktree", "commondir", "gitdir"].map(|name| entry.path().join(name)),
            );
        }
    }
    pin_ways(maker.root, &kept)?;
    kept.iter()
        .try_for_each(|path| pin_row(path, Shape::File, maker))
}

/// Keeps what a repository's configuration makes git run or read: hooks in the work tree, included
/// configuration, and what that names in turn. Only what lies below the root.
fn pin_configured(git: &Path, maker: &mut Maker<'_>) -> Result<(), BoundaryError> {
    let mut files = vec![git.join("config"), git.join("config.worktree")];
    let mut known = BTreeSet::new();
    let mut kept = BTreeSet::new();
    let mut tops = BTreeSet::from([git.parent().unwrap_or(git).to_owned()]);
    while let Some(file) = files.pop() {
        if !known.insert(file.clone()) {
            continue;
        }
        let Some(text) = configuration(&file)? else {
            continue;
        };
        let trees = git_config::values(&text, "worktree");
        let mut bases: Vec<PathBuf> = trees
            .iter()
            .map(|tree| named(Path::new(tree), git))
            .collect();
        tops.extend(bases.iter().cloned());
        bases.extend([git.parent().unwrap_or(git).to_owned(), git.to_owned()]);
        for hooks in git_config::values(&text, "hooksPath") {
            kept.extend(
                bases
                    .iter()
                    .filter_map(|base| place(&named(Path::new(&hooks), base))),
            );
        }
        for included in git_config::values(&text, "path") {
            let base = file.parent().unwrap_or(git);
            let included = place(&named(Path::new(&included), base));
            kept.extend(included.clone());
            files.extend(included);
        }
    }
    for hooks in maker.hooks {
        kept.extend(tops.iter().filter_map(|top| place(&named(hooks, top))));
    }
    // What husky puts into `_` runs what is beside it.
    let beside: Vec<_> = kept
        .iter()
        .filter(|path| path.ends_with("_"))
        .filter_map(|path| path.parent().map(Path::to_owned))
        .collect();
    kept.extend(beside);
    let kept: Vec<PathBuf> = kept
        .into_iter()
        .filter(|path| path.starts_with(maker.root) && path != maker.root)
        .collect();
    let is_there = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok();
    if maker.plants() {
        // A folder of hooks that isn't there yet is one that a command could fill.
        for path in kept.iter().filter(|path| !is_there(path)) {
            maker.make_with_parents(path)?;
        }
    }
    // What is made in a copy is held back when that is applied.
    let kept: Vec<PathBuf> = kept.into_iter().filter(is_there).collect();
    keep(maker.root, &kept)
}

/// A configuration's text; `None` where there is no such file.
fn configuration(path: &Path) -> Result<Option<String>, BoundaryError> {
    /// More than any configuration that a person wrote has.
    const CONFIG_BYTES: u64 = 1 << 20;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()).map(std::fs::File::from) else {
        return Ok(None);
    };
    let meta = file.metadata().on(Step::Cover, path)?;
    if !meta.is_file() {
        return Ok(None);
    }
    if meta.len() > CONFIG_BYTES {
        return Err(BoundaryError::Step {
            step: Step::Cover,
            errno: None,
            detail: format!("{} is too large to be looked at", path.display()),
        });
    }
    let mut bytes = Vec::new();
    file.take(CONFIG_BYTES)
        .read_to_end(&mut bytes)
        .on(Step::Cover, path)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The real place, as far as it exists; names that don't exist yet follow as they are.
fn place(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = std::fs::canonicalize(path) {
        return Some(real);
    }
    match path.components().next_back()? {
        Component::Normal(name) => Some(place(path.parent()?)?.join(name)),
        // Where the way isn't there yet, `..` leads back from it.
        Component::ParentDir => Some(place(path.parent()?)?.parent()?.to_owned()),
        _ => place(path.parent()?),
    }
}
