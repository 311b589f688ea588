//! A private clone of the workspace's repository, for a child of the mode `worktree` (C2).
//!
//! Git makes it, and a repository can name programs for git to run. So git runs in a boundary of its
//! own before the child's stands: the folder is read-only there, nothing but the empty clone is
//! writable, and there is no network.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deputize_authority::{Bounds, Grant, Layer, Preset, Refusal, Root, Set, WorkspaceMode, escape};
use deputize_boundary::plan::{CopyPlace, ORIGIN_OBJECTS, Sealed};
use deputize_boundary::{CommandEnd, CommandSpec, HostFacts};
use deputize_workspace::{EmptyClone, WorkingCopy, cloneable};
use tokio::sync::oneshot;

use super::ground::{base_of, blocking, unmappable, writes_to_copy};
use super::hosted::{Boundaries, Wanted};
use super::toolbox::lost;
use crate::RunError;
use crate::boundary::Site;
use crate::capture::{Captured, Cut};
use crate::error::Doing as _;

/// How long a clone may take: objects aren't copied, so it is the checkout of a very large tree.
const CLONE_TIME: Duration = Duration::from_secs(300);
/// Characters of what git said that a refusal shows: its last lines, which say why.
const SAID: usize = 600;
/// How the script says that there is nothing to check out.
const NO_COMMIT: i32 = 3;
/// How a shell says that there is no such program.
const NO_PROGRAM: i32 = 127;

/// The script that is run. It is a constant: paths are its arguments.
const SCRIPT: &str = include_str!("clone.sh");
const SHELL: &str = "/bin/sh";

/// Refuses, by a look at the folder alone, what can't be cloned.
pub(super) fn check(grant: &Grant, host: &HostFacts) -> Result<(), RunError> {
    if grant.workspace().mode != WorkspaceMode::Worktree || !writes_to_copy(grant) {
        return Ok(());
    }
    Ok(cloneable(&base_of(grant, host))?)
}

/// Makes the clone of a run, and writes down what it held at its start.
///
/// Where nobody waits for it any more, git is ended and what it left is removed; whoever asks for
/// [`Wanted::cloning`] waits until that is so.
pub(super) async fn make(
    boundaries: &Boundaries,
    wanted: &Wanted,
) -> Result<WorkingCopy, RunError> {
    let turn = Arc::clone(&wanted.cloning).lock_owned().await;
    let (mut tell, told) = oneshot::channel();
    let (boundaries, wanted) = (boundaries.clone(), wanted.clone());
    tokio::spawn(async move {
        let _turn = turn;
        let made = begin(&boundaries, &wanted, &mut tell).await;
        if let Err(Ok(mut copy)) = tell.send(made) {
            // Nobody has seen it. What stays of it goes with the next sweep.
            let _ = blocking(move || copy.remove()).await;
        }
    });
    told.await.map_err(|_| RunError::Ending)?
}

/// Who waits for a clone: closed once nobody does.
type Waiting = oneshot::Sender<Result<WorkingCopy, RunError>>;

async fn begin(
    boundaries: &Boundaries,
    wanted: &Wanted,
    waiting: &mut Waiting,
) -> Result<WorkingCopy, RunError> {
    let (run, base) = (wanted.run.clone(), base_of(&wanted.grant, &wanted.host));
    let empty = blocking(move || EmptyClone::create(&run, base)).await?;
    match fill(boundaries, wanted, empty.tree(), waiting).await {
        Ok(()) => blocking(move || empty.index()).await,
        Err(error) => {
            blocking(move || empty.remove()).await?;
            Err(error)
        }
    }
}

/// Has git fill the empty folder, in a boundary that ends before this returns.
async fn fill(
    boundaries: &Boundaries,
    wanted: &Wanted,
    tree: PathBuf,
    waiting: &mut Waiting,
) -> Result<(), RunError> {
    let spec = command(&wanted.grant, &tree)?;
    let disk = wanted.run.clone();
    let wanted = Wanted {
        grant: grant(&wanted.grant, &tree)?,
        host: HostFacts {
            toolchains: Vec::new(),
            ..wanted.host.clone()
        },
        site: Site {
            copy: CopyPlace::Unfilled { tree },
            ..wanted.site.clone()
        },
        ..wanted.clone()
    };
    let hosted = boundaries.get(wanted).await.map_err(unmappable)?;
    let ran = tokio::select! {
        ran = hosted.command(spec, CLONE_TIME, Some(disk)) => Some(ran),
        () = waiting.closed() => None,
    };
    if let Some(hosted) = Arc::into_inner(hosted) {
        hosted.stop().await?;
    }
    let ran = ran.ok_or(RunError::Ending)?;
    judge(&ran.map_err(|error| lost(&error))?)
}

/// What git may: read the workspace, write the empty folder.
fn grant(of: &Grant, tree: &Path) -> Result<Grant, RunError> {
    let tree = Root::new(tree).ok_or_else(|| {
        failed(
            "the run's folder has no absolute path".to_owned(),
            "set XDG_STATE_HOME to an absolute path",
        )
    })?;
    let workspace = of.workspace();
    let own = Bounds {
        read: Set::only([workspace.root.clone(), tree.clone()]),
        write: Set::only([tree]),
        hosts: Set::none(),
        ports: Set::none(),
        secrets: Set::none(),
        env: of.bounds().env.clone(),
        ..Bounds::ANY
    };
    let granted = Grant::of_principal(Preset::Exec, workspace.clone(), Bounds::ANY);
    Ok(granted
        .attenuate(Layer::Preset, &Preset::Exec.bounds())
        .attenuate(Layer::BuiltIn, &own))
}

fn command(grant: &Grant, tree: &Path) -> Result<CommandSpec, RunError> {
    let path = std::fs::canonicalize(SHELL).doing("find", SHELL.as_ref())?;
    let meta = path.metadata().doing("look at", &path)?;
    let program = Sealed {
        path,
        device: meta.dev(),
        inode: meta.ino(),
    };
    let workspace = grant.workspace();
    let place = Sealed {
        path: workspace.path().to_owned(),
        device: workspace.device,
        inode: workspace.inode,
    };
    let argv: [OsString; 7] = [
        SHELL.into(),
        "-c".into(),
        SCRIPT.into(),
        "sh".into(),
        workspace.path().into(),
        tree.into(),
        ORIGIN_OBJECTS.into(),
    ];
    Ok(CommandSpec::new(&argv, place, Some(program), variables()))
}

/// Nothing of the person's configuration counts, and no helper is asked.
fn variables() -> Vec<(String, String)> {
    [
        ("LC_ALL", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        // Private to the boundary; the script writes it.
        ("GIT_CONFIG_GLOBAL", "/tmp/clone-config"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TEMPLATE_DIR", ""),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", "file"),
        ("GIT_PROTOCOL_FROM_USER", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", "false"),
        ("SSH_ASKPASS", "false"),
        ("GIT_SSH_COMMAND", "false"),
        ("GIT_EDITOR", "false"),
        ("GIT_PAGER", "cat"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// What became of it.
fn judge(ran: &Captured) -> Result<(), RunError> {
    let other = "use `--workspace copy-on-write`, which needs no git";
    match (ran.cut, &ran.end) {
        (None, CommandEnd::Exited(0)) => Ok(()),
        (None, CommandEnd::Exited(NO_COMMIT)) => Err(RunError::Refused(Refusal::new(
            "worktree_needs_commit",
            "workspace",
            "the repository's HEAD is no commit yet, so there is nothing to check out",
            "commit first, or use `--workspace copy-on-write`",
        ))),
        (None, CommandEnd::Exited(NO_PROGRAM)) => Err(failed(
            "there is no git in the system's folders".to_owned(),
            "install git, or use `--workspace copy-on-write`",
        )),
        (None, CommandEnd::Exited(_)) => Err(failed(
            format!("git said: {}", said(&ran.output.text())),
            other,
        )),
        (Some(Cut::TimedOut), _) => Err(failed(
            format!("it took longer than {} s", CLONE_TIME.as_secs()),
            other,
        )),
        (Some(Cut::DiskFull), _) => Err(failed(
            "the disk that runs lie on was nearly full".to_owned(),
            "free space, or set XDG_STATE_HOME to a folder on a larger disk",
        )),
        (Some(Cut::Stopped), _) => Err(failed("it was stopped".to_owned(), other)),
        (None, end) => Err(failed(format!("git was ended: {end:?}"), other)),
    }
}

fn failed(why: String, fix: &str) -> RunError {
    RunError::Refused(Refusal::new(
        "worktree_failed",
        "workspace",
        format!("the repository couldn't be cloned: {why}"),
        fix,
    ))
}

/// The end of what git said, on one line and harmless.
fn said(text: &str) -> String {
    let text = text.trim();
    let from = text.char_indices().rev().nth(SAID - 1);
    let tail = from.map_or(text, |(at, _)| text.get(at..).unwrap_or(text));
    let lines: Vec<String> = tail.lines().map(escape).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C2: what git says of a hostile repository is bounded, and nothing for a terminal.
    #[test]
    fn what_git_says_is_bounded_and_harmless() {
        assert_eq!(
            said("fatal: a\nfatal: \u{1b}[2J b\n"),
            "fatal: a; fatal: \\u{1b}[2J b"
        );
        let long = format!("{}the end", "\u{e9}".repeat(5_000));
        let shown = said(&long);
        assert!(shown.ends_with("the end"));
        assert_eq!(shown.chars().count(), SAID);
    }
}
