//! Covers what a command must not see or change inside the granted roots: secrets, and paths that
//! configure what later runs outside.
//!
//! One walk finds both. A cover is a mount, so that neither a rename nor a new name gets around it;
//! a protected path that doesn't exist yet gets a placeholder to mount on, which the supervisor
//! removes afterwards.

mod git;
mod links;

use std::collections::BTreeSet;
use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use deputize_authority::{
    HOME_STARTUP, MACHINE_STARTUP, PROTECTED, ProtectedPath, SecretRules, Shape, protected_kind,
};
use rustix::fs::Mode;

use self::git::pin_repository;
use self::links::{follow, leads_to};
use crate::error::{At as _, BoundaryError, Step};
use crate::placeholders::{Ground, NEUTRAL_COMMONDIR, Record};
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
            hooks: &plan.cover.hooks,
            ground: if root.protect == Protect::PinInCopy {
                Ground::Copy
            } else {
                Ground::Folder
            },
        };
        if rules.denied(&root.path).is_some() {
            blanks.over(&place)?;
            continue;
        }
        let found = walk(&place, &rules)?;
        for secret in &found.secrets {
            blanks.over(secret)?;
        }
        if root.protect != Protect::NotNeeded && place.is_dir() {
            pin_ways(&place, &found.repositories)?;
            for repository in &found.repositories {
                pin_repository(repository, &mut maker)?;
            }
            pin_rows(&place, &mut maker)?;
            // What a command changes deeper down in a copy is held back when that is applied, and no
            // mount has to stand in the way of removing a folder.
            if maker.plants() {
                for path in &found.protected {
                    pin_row(path, Shape::File, &mut maker)?;
                }
            }
            pin_startup(&plan.home, &mut maker)?;
        }
    }
    Ok(())
}

struct Found {
    secrets: Vec<PathBuf>,
    /// `.git` folders and files.
    repositories: Vec<PathBuf>,
    /// Rows of the table that stand below the root's own entries.
    protected: Vec<PathBuf>,
}

/// Folders of what was fetched and built: nobody works there, and tools replace them as a whole.
const FETCHED: [&str; 4] = ["node_modules", "target", ".venv", "venv"];

/// What a folder holds that is a repository without a work tree: a bare one, a submodule's.
const REPOSITORY: [&str; 3] = ["HEAD", "objects", "refs"];

fn walk(workspace: &Path, rules: &SecretRules) -> Result<Found, BoundaryError> {
    let mut found = Found {
        secrets: Vec::new(),
        repositories: Vec::new(),
        protected: Vec::new(),
    };
    let is_fetched = |path: &Path| {
        path.iter()
            .any(|name| FETCHED.iter().any(|fetched| name == *fetched))
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
            let name = entry.file_name();
            if folder != workspace
                && protected_kind(Path::new(&name)).is_some()
                && !is_secret
                && !is_fetched(relative)
            {
                found.protected.push(path.clone());
            }
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

/// Keeps each of these as it is and where it is.
fn keep(root: &Path, paths: &[PathBuf]) -> Result<(), BoundaryError> {
    pin_ways(root, paths)?;
    paths.iter().try_for_each(|path| pin(path, path))
}

fn pin_rows(workspace: &Path, maker: &mut Maker<'_>) -> Result<(), BoundaryError> {
    let is_there = |path: &Path| std::fs::symlink_metadata(path).is_ok();
    // What is made in a copy reaches nobody before it is applied, and is held back then: no folder of
    // these names has to stand in the child's way.
    let plants = maker.plants();
    // Where there is no repository, none is planted.
    let git = workspace.join(".git");
    if plants && !is_there(&git) {
        pin_row(&git, Shape::Folder, maker)?;
    }
    for row in PROTECTED
        .iter()
        .filter(|row| !row.path.starts_with(".git/"))
    {
        let path = workspace.join(row.path);
        if plants || is_there(&path) {
            // Always a folder: git doesn't see an empty one, so that none of them is ever committed.
            pin_row(&path, Shape::Folder, maker)?;
        }
    }
    Ok(())
}

/// Keeps what a login or a service runs, where a root was granted around it.
fn pin_startup(home: &Path, maker: &mut Maker<'_>) -> Result<(), BoundaryError> {
    let new_root = maker.new_root.to_string_lossy().into_owned();
    let places = |base: &Path, rows: &'static [ProtectedPath]| {
        let base = below(&new_root, base);
        rows.iter().map(move |row| base.join(row.path))
    };
    let at_home = places(home, HOME_STARTUP);
    let of_machine = places(Path::new("/"), MACHINE_STARTUP);
    for path in at_home.chain(of_machine) {
        let is_there = std::fs::symlink_metadata(&path).is_ok();
        if path == maker.root || !path.starts_with(maker.root) || !(is_there || maker.plants()) {
            continue;
        }
        if let Some(folder) = path.parent() {
            maker.make_with_parents(folder)?;
        }
        pin_row(&path, Shape::Folder, maker)?;
    }
    Ok(())
}

fn pin_row(path: &Path, shape: Shape, maker: &mut Maker<'_>) -> Result<(), BoundaryError> {
    match std::fs::symlink_metadata(path) {
        // The link itself is pinned as any name is; so is all that it leads through and to.
        Ok(meta) if meta.is_symlink() => {
            keep(maker.root, &follow(path, maker.root)?)?;
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
                    keep(root, &follow(&entry.path(), root)?)?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Makes placeholders, each written down first under the name that it has on the host.
struct Maker<'a> {
    record: &'a mut Record,
    new_root: &'a Path,
    /// The granted root that is worked on.
    root: &'a Path,
    /// Where git looks for hooks in every work tree.
    hooks: &'a [PathBuf],
    ground: Ground,
}

impl Maker<'_> {
    /// Whether what doesn't exist yet gets a placeholder.
    fn plants(&self) -> bool {
        self.ground == Ground::Folder
    }

    /// Makes a folder, and the folders on the way to it.
    fn make_with_parents(&mut self, path: &Path) -> Result<(), BoundaryError> {
        let mut missing: Vec<&Path> = path
            .ancestors()
            .take_while(|part| std::fs::symlink_metadata(part).is_err())
            .collect();
        missing.reverse();
        missing
            .into_iter()
            .try_for_each(|part| self.make(part, Shape::Folder))
    }

    fn make(&mut self, path: &Path, shape: Shape) -> Result<(), BoundaryError> {
        if self.ground == Ground::Folder {
            let on_host = Path::new("/").join(path.strip_prefix(self.new_root).unwrap_or(path));
            self.record.note(&on_host).on(Step::Cover, &on_host)?;
        }
        match shape {
            Shape::Folder => make_folder(path),
            Shape::File if path.ends_with("commondir") => {
                std::fs::write(path, NEUTRAL_COMMONDIR).on(Step::Cover, path)
            }
            Shape::File => make_file(path),
        }
    }
}
