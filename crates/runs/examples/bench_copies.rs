//! Measures copies: what a look at one costs by the size of its folder, and an apply beside a plain
//! copy of as many files.

mod measuring;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use deputize_workspace::{ApplyRequest, BaseFolder, Conflicts, CopyKind, Layers, WorkingCopy};
use measuring::{Failure, Side};

/// Files that come with an apply.
const APPLIED: usize = 10_000;

/// Files in one folder.
const IN_FOLDER: usize = 100;

/// Rounds of what takes a second each.
const MOST_ROUNDS: usize = 5;

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let rounds = rounds.min(MOST_ROUNDS);
    let mut sides = Vec::new();
    for (kind, files, name, beside) in [
        (
            CopyKind::Overlay,
            1_000,
            "look: overlay of 1,000 files",
            None,
        ),
        (
            CopyKind::Overlay,
            100_000,
            "look: overlay of 100,000 files",
            Some("look: overlay of 1,000 files"),
        ),
        (
            CopyKind::Mirror,
            10_000,
            "look: mirror of 10,000 files",
            None,
        ),
    ] {
        sides.push(Side {
            name: name.to_owned(),
            samples: look(kind, files, rounds)?,
            unit: "ms",
            beside,
        });
    }
    sides.push(Side {
        name: "cp -a of 10,000 files".to_owned(),
        samples: plain_copies(rounds)?,
        unit: "ms",
        beside: None,
    });
    sides.push(Side {
        name: "apply of 10,000 files, undoable".to_owned(),
        samples: applies(rounds)?,
        unit: "ms",
        beside: Some("cp -a of 10,000 files"),
    });
    Ok(sides)
}

/// Times of a manifest of one change, read anew each time.
fn look(kind: CopyKind, files: usize, rounds: usize) -> Result<Vec<f64>, Failure> {
    let scene = Scene::lay(kind, files)?;
    fs::write(scene.top()?.join("new"), "new\n")?;
    let mut samples = Vec::new();
    for round in 0..=rounds {
        let begun = Instant::now();
        let manifest = WorkingCopy::open(&scene.run)?.changes()?;
        if manifest.changes.len() != 1 {
            return Err("the manifest isn't that of one change".into());
        }
        if round > 0 {
            samples.push(millis(begun));
        }
    }
    Ok(samples)
}

fn applies(rounds: usize) -> Result<Vec<f64>, Failure> {
    let scene = Scene::lay(CopyKind::Overlay, 1)?;
    lay_files(&scene.top()?.join("many"), APPLIED)?;
    let mut samples = Vec::new();
    for round in 0..=rounds {
        let begun = Instant::now();
        let mut copy = WorkingCopy::open(&scene.run)?;
        let plan = copy.plan_apply(&ApplyRequest::default())?;
        copy.carry_out(&plan, Conflicts::Refuse)?;
        if round > 0 {
            samples.push(millis(begun));
        }
        let plan = copy.plan_undo()?;
        copy.carry_out(&plan, Conflicts::Refuse)?;
    }
    Ok(samples)
}

fn plain_copies(rounds: usize) -> Result<Vec<f64>, Failure> {
    let folder = tempfile::tempdir()?;
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    lay_files(&from, APPLIED)?;
    let mut samples = Vec::new();
    for round in 0..=rounds {
        let begun = Instant::now();
        let status = Command::new("cp").arg("-a").arg(&from).arg(&to).status()?;
        if !status.success() {
            return Err("cp failed".into());
        }
        if round > 0 {
            samples.push(millis(begun));
        }
        fs::remove_dir_all(&to)?;
    }
    Ok(samples)
}

struct Scene {
    _folder: tempfile::TempDir,
    run: PathBuf,
}

impl Scene {
    fn lay(kind: CopyKind, files: usize) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let (path, run) = (folder.path().join("base"), folder.path().join("run"));
        lay_files(&path, files)?;
        fs::create_dir(&run)?;
        let meta = fs::metadata(&path)?;
        let base = BaseFolder {
            path,
            device: meta.dev(),
            inode: meta.ino(),
            named: Vec::new(),
        };
        WorkingCopy::create(&run, base, kind)?;
        Ok(Self {
            _folder: folder,
            run,
        })
    }

    /// Where a child's writes go.
    fn top(&self) -> Result<PathBuf, Failure> {
        Ok(match WorkingCopy::open(&self.run)?.layers() {
            Layers::Overlay { upper, .. } => upper,
            Layers::Mirror { tree } | Layers::Clone { tree, .. } => tree,
        })
    }
}

fn lay_files(root: &Path, files: usize) -> Result<(), Failure> {
    for index in 0..files {
        let folder = root.join(format!("folder{}", index / IN_FOLDER));
        if index % IN_FOLDER == 0 {
            fs::create_dir_all(&folder)?;
        }
        let text = format!("line of file {index}\n").repeat(40);
        fs::write(folder.join(format!("file{index}")), text)?;
    }
    Ok(())
}

fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}
