//! From a look to the arguments and the environment of one program start.

use std::ffi::OsString;
use std::path::Path;

use super::{GitLook, GitOutput, Side};
use crate::{GitMeans, Limits};

/// The script between the sealed call and git. It is a constant: nothing of a call is in its text.
const NEUTRAL: &str = include_str!("neutral.sh");

/// Names of files at the end of this need no more than their own line each.
const SHORT: &str = "--format=%h %ad %an%d %s";

/// What is started for a look.
pub(crate) fn arguments(look: &GitLook, means: &GitMeans, workspace: &Path) -> Vec<OsString> {
    let GitMeans { git, paths, hidden } = means;
    let mut argv = words(&["sh", "-c", NEUTRAL, "sh"]);
    argv.push(git.canonical.clone().into());
    argv.push(workspace.into());
    argv.push(look.op().into());
    match look {
        GitLook::Status { .. } => {
            argv.extend(words(&[
                "--porcelain=v1",
                "--branch",
                "--untracked-files=normal",
                "--ignore-submodules=dirty",
            ]));
            argv.push("--".into());
            argv.extend(paths.iter().map(|path| literal(path)));
        }
        GitLook::Diff {
            rev,
            side,
            output,
            context,
            ..
        } => {
            argv.extend(plain_changes(*output));
            argv.extend(context.map(|lines| format!("--unified={lines}").into()));
            if *side == Side::Staged {
                argv.push("--cached".into());
            }
            revisions(&mut argv, rev.as_deref().map(commit));
            argv.extend(paths.iter().map(|path| literal(path)));
        }
        GitLook::Log {
            rev, limit, output, ..
        } => {
            let limit = limit.unwrap_or(Limits::COMMITS_SHOWN);
            argv.push(format!("--max-count={limit}").into());
            argv.extend(commits(*output));
            revisions(&mut argv, Some(rev.as_deref().unwrap_or("HEAD").into()));
            argv.extend(paths.iter().map(|path| literal(path)));
        }
        GitLook::Show {
            rev, path, output, ..
        } => {
            let rev = rev.as_deref().unwrap_or("HEAD");
            argv.extend(commits(*output));
            match (path, paths.as_slice()) {
                (Some(_), [path]) => {
                    let mut object = OsString::from(format!("{rev}:./"));
                    object.push(path);
                    argv.extend(words(&["--end-of-options"]));
                    argv.push(object);
                    argv.push("--".into());
                }
                _ => revisions(&mut argv, Some(commit(rev))),
            }
        }
        GitLook::Blame {
            rev, start, end, ..
        } => {
            argv.extend(words(&["--no-textconv", "--date=short"]));
            if start.is_some() || end.is_some() {
                let start = start.unwrap_or(1);
                let end = end.map_or_else(String::new, |end| end.to_string());
                argv.push("-L".into());
                argv.push(format!("{start},{end}").into());
            }
            // Never the working file: reading that one would put it through filters.
            argv.push(rev.as_deref().unwrap_or("HEAD").into());
            argv.push("--".into());
            argv.extend(paths.iter().map(|path| path.clone().into_os_string()));
        }
    }
    let left_out = |glob: &String| format!(":(exclude,icase,glob){glob}").into();
    argv.extend(hidden.iter().map(left_out));
    argv
}

/// A revision that means a commit: a file's content could be named by its hash, and nobody would have
/// judged its path. A range can mean nothing else.
fn commit(rev: &str) -> String {
    match rev.contains("..") {
        true => rev.to_owned(),
        false => format!("{rev}^{{commit}}"),
    }
}

/// The variables that the start needs set.
pub(crate) fn variables(workspace: &Path) -> Vec<(String, String)> {
    let ceiling = workspace
        .parent()
        .unwrap_or(workspace)
        .to_string_lossy()
        .into_owned();
    [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", ""),
        ("GIT_PROTOCOL_FROM_USER", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", "false"),
        ("SSH_ASKPASS", "false"),
        ("GIT_SSH_COMMAND", "false"),
        ("GIT_EDITOR", "false"),
        ("GIT_PAGER", "cat"),
        ("PAGER", "cat"),
        ("TERM", "dumb"),
        ("GIT_CEILING_DIRECTORIES", &ceiling),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

fn commits(output: GitOutput) -> Vec<OsString> {
    let mut options = words(&["--no-show-signature", "--date=iso"]);
    options.push(match output {
        GitOutput::Summary | GitOutput::Names => SHORT.into(),
        GitOutput::Stat | GitOutput::Patch => "--pretty=medium".into(),
    });
    options.extend(plain_changes(output));
    options
}

/// Changes as git itself tells them: no program of the repository's choice is asked.
fn plain_changes(output: GitOutput) -> Vec<OsString> {
    let mut options = words(&[
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--submodule=short",
        "--ignore-submodules=dirty",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ]);
    options.push(
        match output {
            GitOutput::Summary => "--no-patch",
            GitOutput::Names => "--name-status",
            GitOutput::Stat => "--stat",
            GitOutput::Patch => "--patch",
        }
        .into(),
    );
    options
}

/// A revision can't be taken for an option or a path, nor a path for a revision.
fn revisions(argv: &mut Vec<OsString>, rev: Option<String>) {
    if let Some(rev) = rev {
        argv.push("--end-of-options".into());
        argv.push(rev.into());
    }
    argv.push("--".into());
}

/// A path that means itself, whatever characters are in it.
fn literal(path: &Path) -> OsString {
    if path.as_os_str().is_empty() {
        return ".".into();
    }
    let mut spec = OsString::from(":(literal)");
    spec.push(path);
    spec
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(Into::into).collect()
}
