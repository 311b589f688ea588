//! Covers what a command must not see or change inside the granted roots: secrets, and paths that
//! configure what later runs outside.
//!
//! One walk finds both. A cover is a mount, so that neither a rename nor a new name gets around it;
//! a protected path that doesn't exist yet gets a placeholder to mount on, which the supervisor
//! removes afterwards.

use std::collections::BTreeSet;
use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::path::{Component, Path, PathBuf};

use deputize_authority::{PROTECTED, SecretRules, Shape};
use rustix::fs::{Mode, OFlags};

use crate::error::{At as _, BoundaryError, Step};
use crate::git_config;
use crate::placeholders::{NEUTRAL_COMMONDIR, Record};
use crate::plan::{BoundaryPlan, Protect, Scan};
use crate::root::{attach, below, clone_tree, make_file, make_folder};
use crate::sys::{self, Depth, MountChange};

/// Most entries that are walked. More than that can't be covered with certainty in reasonable time,
/// and a boundary that doesn't know its secrets doesn't start.
const MOST_ENTRIES: usize = 2_000_000;

/// An empty file and an empty folder that nobody can read, to mount over secrets.
const BLANKS: &str = "/layers/blank";

/// Covers the roots of a plan below the new root.
pub(crate) fn cover(
    plan: &BoundaryPlan,
    new_root: &Path,
    record: &mut Record,
) -> Result<(), BoundaryError> {
    if plan.cover.scan == Scan::Skip {
        return Ok(());
    }
    let rules = SecretRules::allowing(plan.cover.readable_secrets.clone());
    let blanks = Blanks::make()?;
    for root in &plan.cover.roots {
        let place = below(&new_root.to_string_lossy(), &root.path);
        let mut maker = Maker {
            record,
            new_root,
            root: &place,
        };
        if rules.denied(&root.path).is_some() {
            blanks.over(&place)?;
            continue;
        }
        let found = walk(&place, &rules)?;
        for secret in &found.secrets {
            blanks.over(secret)?;
        }
        if root.protect == Protect::Pin && place.is_dir() {
            pin_ways(&place, &found.repositories)?;
            for repository in &found.repositories {
                pin_repository(repository, &mut maker)?;
            }
            pin_rows(&place, &mut maker)?;
        }
    }
    Ok(())
}

struct Found {
    secrets: Vec<PathBuf>,
    /// `.git` folders and files.
    repositories: Vec<PathBuf>,
}

/// What a folder holds that is a repository without a work tree: a bare one, a submodule's.
const REPOSITORY: [&str; 3] = ["HEAD", "objects", "refs"];

fn walk(workspace: &Path, rules: &SecretRules) -> Result<Found, BoundaryError> {
    let mut found = Found {
        secrets: Vec::new(),
        repositories: Vec::new(),
    };
    let mut folders = vec![workspace.to_owned()];
    let mut entries = 0;
    while let Some(folder) = folders.pop() {
        let listing = match std::fs::read_dir(&folder) {
            Ok(listing) => listing,
            // A root that is a file, or a folder that the command can't read either.
            Err(error) if matches!(error.kind(), NotADirectory | PermissionDenied | NotFound) => {
                continue;
            }
            // Too deep for a path, say: what is in it can't be known, and must be.
            Err(error) => return Err(BoundaryError::step(Step::Cover, error, folder.display())),
        };
        for entry in listing.flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                return Err(BoundaryError::Step {
                    step: Step::Cover,
                    errno: None,
                    detail: format!(
                        "a folder has more than {MOST_ENTRIES} entries to search for secrets"
                    ),
                });
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let relative = path.strip_prefix(workspace).unwrap_or(&path);
            let is_secret = rules.denied(relative).is_some();
            if entry.file_name() == ".git" {
                // Submodules keep their repositories in there.
                folders.push(path.join("modules"));
                found.repositories.push(path);
            } else if is_secret && kind.is_symlink() {
                // Read through the link it would be the same secret under another name.
                found
                    .secrets
                    .extend(leads_to(&path).filter(|real| real.starts_with(workspace)));
            } else if is_secret {
                found.secrets.push(path);
            } else if kind.is_dir() {
                folders.push(path);
            }
        }
        if REPOSITORY.iter().all(|name| folder.join(name).exists()) {
            found.repositories.push(folder);
        }
    }
    Ok(found)
}

struct Blanks {
    file: PathBuf,
    folder: PathBuf,
}

impl Blanks {
    fn make() -> Result<Self, BoundaryError> {
        let (file, folder) = (
            Path::new(BLANKS).join("file"),
            Path::new(BLANKS).join("folder"),
        );
        make_folder(&folder)?;
        make_file(&file)?;
        for path in [&file, &folder] {
            rustix::fs::chmod(path, Mode::empty()).on(Step::Cover, path)?;
        }
        Ok(Self { file, folder })
    }

    fn over(&self, secret: &Path) -> Result<(), BoundaryError> {
        // One that has gone since it was found may be somewhere else by now: that is no start.
        let meta = std::fs::symlink_metadata(secret).on(Step::Cover, secret)?;
        let blank = if meta.is_dir() {
            &self.folder
        } else {
            &self.file
        };
        pin(blank, secret)
    }
}

/// Mounts `source` read-only over `target`.
fn pin(source: &Path, target: &Path) -> Result<(), BoundaryError> {
    let tree = clone_tree(source).on(Step::Cover, source)?;
    let flags = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    sys::set_mount(tree.as_fd(), &MountChange::Set(flags), Depth::Tree).on(Step::Cover, target)?;
    attach(&tree, target)
}

/// Keeps the folders on the way to a repository where they are: one that was moved away could be made
/// anew, with another repository in it.
fn pin_ways(root: &Path, repositories: &[PathBuf]) -> Result<(), BoundaryError> {
    let ways: BTreeSet<&Path> = repositories
        .iter()
        .flat_map(|repository| repository.ancestors().skip(1))
        .filter(|way| *way != root && way.starts_with(root))
        .collect();
    // A set of paths is ordered: what holds a folder comes before it.
    for way in ways {
        attach(&clone_tree(way).on(Step::Cover, way)?, way)?;
    }
    Ok(())
}

/// Keeps a repository's configuration as it is. Commits, branches and checkouts go on working.
fn pin_repository(git: &Path, maker: &mut Maker<'_>) -> Result<(), BoundaryError> {
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
    while let Some(file) = files.pop() {
        if !known.insert(file.clone()) {
            continue;
        }
        let Some(text) = configuration(&file)? else {
            continue;
        };
        let trees = git_config::values(&text, "worktree");
        let mut bases: Vec<PathBuf> = trees.iter().map(|tree| named(tree, git)).collect();
        bases.extend([git.parent().unwrap_or(git).to_owned(), git.to_owned()]);
        for hooks in git_config::values(&text, "hooksPath") {
            kept.extend(bases.iter().filter_map(|base| place(&named(&hooks, base))));
        }
        for included in git_config::values(&text, "path") {
            let base = file.parent().unwrap_or(git);
            let included = place(&named(&included, base));
            kept.extend(included.clone());
            files.extend(included);
        }
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
    pin_ways(maker.root, &kept)?;
    for path in &kept {
        // A folder of hooks that isn't there yet is one that a command could fill.
        if std::fs::symlink_metadata(path).is_err() {
            maker.make(path, Shape::Folder)?;
        }
        pin(path, path)?;
    }
    Ok(())
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

/// A place that a configuration names, in the view that is being built.
fn named(value: &str, base: &Path) -> PathBuf {
    if value.starts_with('/') {
        below("/new", Path::new(value))
    } else {
        base.join(value)
    }
}

/// The real place, as far as it exists: of one that doesn't, its folder must.
fn place(path: &Path) -> Option<PathBuf> {
    let real = std::fs::canonicalize(path).ok();
    real.or_else(|| {
        let folder = std::fs::canonicalize(path.parent()?).ok()?;
        Some(folder.join(path.file_name()?))
    })
}

fn pin_rows(workspace: &Path, maker: &mut Maker<'_>) -> Result<(), BoundaryError> {
    // Where there is no repository, none is planted.
    let git = workspace.join(".git");
    if std::fs::symlink_metadata(&git).is_err() {
        pin_row(&git, Shape::Folder, maker)?;
    }
    for row in PROTECTED
        .iter()
        .filter(|row| !row.path.starts_with(".git/"))
    {
        // Always a folder: git doesn't see an empty one, so that none of them is ever committed.
        pin_row(&workspace.join(row.path), Shape::Folder, maker)?;
    }
    Ok(())
}

fn pin_row(path: &Path, shape: Shape, maker: &mut Maker<'_>) -> Result<(), BoundaryError> {
    match std::fs::symlink_metadata(path) {
        // The link itself is pinned as any name is; so is all that it leads through and to.
        Ok(meta) if meta.is_symlink() => {
            let steps = follow(path, maker.root)?;
            pin_ways(maker.root, &steps)?;
            for step in &steps {
                pin(step, step)?;
            }
        }
        Ok(meta) if meta.is_dir() => pin_links(path, maker.root)?,
        Ok(_) => {}
        Err(_) => maker.make(path, shape)?,
    }
    pin(path, path)
}

/// Keeps what the links in a protected folder lead to: a hook that is one runs what it leads to.
fn pin_links(folder: &Path, root: &Path) -> Result<(), BoundaryError> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // One that can't be read holds nothing that anybody could follow.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_symlink() => {
                    let steps = follow(&entry.path(), root)?;
                    pin_ways(root, &steps)?;
                    for step in &steps {
                        pin(step, step)?;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Where a link leads in the end. An absolute link means a place in the view.
fn leads_to(link: &Path) -> Option<PathBuf> {
    let target = std::fs::read_link(link).ok()?;
    let meant = if target.is_absolute() {
        below("/new", &target)
    } else {
        link.parent()?.join(target)
    };
    std::fs::canonicalize(meant).ok()
}

/// What a link leads through and to, as far as that lies below `root`; nothing where it leaves it.
///
/// # Errors
/// When something on the way can't be kept: it doesn't exist yet, or a folder of its path is a link.
/// Whoever may write there could make it anything.
fn follow(link: &Path, root: &Path) -> Result<Vec<PathBuf>, BoundaryError> {
    let mut steps = Vec::new();
    let mut path = link.to_owned();
    // As many as the kernel follows.
    for _ in 0..40 {
        let Ok(target) = std::fs::read_link(&path) else {
            return Ok(steps);
        };
        let meant = if target.is_absolute() {
            below("/new", &target)
        } else {
            path.parent().unwrap_or(root).join(target)
        };
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

/// Makes placeholders, each written down first under the name that it has on the host.
struct Maker<'a> {
    record: &'a mut Record,
    new_root: &'a Path,
    /// The granted root that is worked on.
    root: &'a Path,
}

impl Maker<'_> {
    fn make(&mut self, path: &Path, shape: Shape) -> Result<(), BoundaryError> {
        let on_host = Path::new("/").join(path.strip_prefix(self.new_root).unwrap_or(path));
        self.record.note(&on_host).on(Step::Cover, &on_host)?;
        match shape {
            Shape::Folder => make_folder(path),
            Shape::File if path.ends_with("commondir") => {
                std::fs::write(path, NEUTRAL_COMMONDIR).on(Step::Cover, path)
            }
            Shape::File => make_file(path),
        }
    }
}
