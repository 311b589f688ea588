//! Every cell comes from the gate itself.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use deputize_authority::{
    Bounds, Grant, Level, Mode, Preset, Promise, Root, Set, Tool, Workspace, WorkspaceMode,
};
use deputize_gate::{
    Call, Contained, Context, Fact, GitLook, GitOutput, Kind as FactKind, Outcome, PathFact,
    ProgramFact, Query, Stance, Standing, Verdict, decide, explain_line, explain_path, queries,
};
use deputize_shell::{Opinion, Role, User, first_opinion};

use super::kinds::{KINDS, Kind, Sample};

/// What Landlock and seccomp alone hold for commands.
const LESSER: [Promise; 4] = [
    Promise::Write,
    Promise::Read,
    Promise::Network,
    Promise::Devices,
];

/// What a verdict depends on beside the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) boundary: Level,
    pub(crate) workspace: WorkspaceMode,
}

/// From the strongest boundary to none, each from the copy to the folder itself.
pub(crate) fn columns() -> Vec<Column> {
    let pairs = Level::ALL.into_iter().flat_map(|boundary| {
        WorkspaceMode::ALL.into_iter().map(move |workspace| Column {
            boundary,
            workspace,
        })
    });
    pairs.collect()
}

/// What the gate says to a call: its word, or `contained`.
pub(crate) fn cell(kind: &Kind, mode: Mode, column: Column) -> String {
    let verdict = judged(kind.call, mode, column);
    match &verdict {
        Verdict::Allow(allowed) if allowed.contained == Contained::Yes => "contained",
        other => other.word(),
    }
    .to_owned()
}

fn judged(sample: Sample, mode: Mode, column: Column) -> Verdict {
    let grant = grant(column.workspace);
    let held: &[Promise] = match column.boundary {
        Level::Full => &Promise::ALL,
        Level::LandlockSeccomp => &LESSER,
        Level::None => &[],
    };
    let context = Context {
        grant: &grant,
        mode,
        home: Some(Path::new("/home/u")),
        boundary: column.boundary,
        held,
        approved: &[],
        agreed: &[],
        rules: &[],
    };
    let call = call(sample);
    let facts: Vec<Fact> = queries(&call, &context).into_iter().map(fact).collect();
    decide(call, &facts, &context)
}

/// All tools, so that mode, boundary and workspace decide.
fn grant(mode: WorkspaceMode) -> Grant {
    let root = || Root::new(PathBuf::from("/w"));
    let roots = || Set::only(root());
    let bounds = Bounds {
        read: roots(),
        write: roots(),
        tools: Set::only(Tool::ALL),
        ..Preset::General.bounds()
    };
    let Some(root) = root() else {
        unreachable!("it is absolute and plain")
    };
    let workspace = Workspace {
        root,
        device: 1,
        inode: 2,
        mode,
    };
    Grant::of_principal(Preset::General, workspace, bounds)
}

fn call(sample: Sample) -> Call {
    match sample {
        Sample::Read(path) => Call::Read {
            path: path.to_owned(),
            offset: None,
            limit: None,
        },
        Sample::Write(path) => Call::Write {
            path: path.to_owned(),
            content: String::new(),
        },
        Sample::GitLog => Call::Git(GitLook::Log {
            rev: None,
            paths: Vec::new(),
            limit: None,
            output: GitOutput::Summary,
        }),
        Sample::Bash(command) => Call::Bash {
            command: command.to_owned(),
            timeout_seconds: None,
        },
    }
}

/// The world in which everything is there that a call could want.
fn fact(query: Query) -> Fact {
    match query {
        Query::Path { path } => Fact::Path(PathFact {
            asked: path.clone(),
            outcome: Outcome::Resolved,
            canonical: Some(path.clone()),
            rest: PathBuf::new(),
            kind: match path == Path::new("/w") {
                true => FactKind::Folder,
                false => FactKind::File,
            },
            device: 1,
            inode: 2,
            links: 1,
            size: 1,
        }),
        Query::Program { name, .. } => Fact::Program(ProgramFact {
            canonical: Some(Path::new("/usr/bin").join(&name)),
            asked: name,
            device: 1,
            inode: 3,
        }),
    }
}

/// What an agent of another host is told, which nothing confines: word and rule.
pub(crate) fn unconfined(sample: Sample) -> (String, String) {
    let standing = Standing::new(&["/w"], "/w", "/home/u", User::Ordinary);
    let explanation = match sample {
        Sample::Read(path) => explain_path(path, Role::Read, Tool::Read, &standing),
        Sample::Write(path) => explain_path(path, Role::Write, Tool::Write, &standing),
        // Another host has no such tool; its agent types the command.
        Sample::GitLog => explain_line("git log", &standing, Stance::Unconfined, agreeing),
        Sample::Bash(line) => explain_line(line, &standing, Stance::Unconfined, agreeing),
    };
    (explanation.verdict.to_owned(), explanation.rule.to_owned())
}

/// The lines of this table are read alike by both parsers.
fn agreeing(line: &str) -> Option<Opinion> {
    first_opinion(line).map(|names| Opinion {
        error: false,
        names,
    })
}

/// The whole page.
pub(crate) fn page() -> String {
    let mut page = String::from(HEAD);
    for mode in Mode::ALL {
        // Writing to a String can't fail.
        let _ = write!(page, "\n## In the mode `{}`\n\n", mode.name());
        let _ = writeln!(
            page,
            "| the call | full: copy | worktree | direct | lesser: copy | worktree | direct | none: copy | worktree | direct |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        );
        for kind in KINDS {
            let cells: Vec<String> = columns()
                .into_iter()
                .map(|column| cell(kind, mode, column))
                .collect();
            let _ = writeln!(page, "| {} | {} |", kind.name, cells.join(" | "));
        }
    }
    page.push_str(UNCONFINED);
    for kind in KINDS {
        let (word, rule) = unconfined(kind.call);
        let _ = writeln!(
            page,
            "| {} | {} | {word} | `{rule}` |",
            kind.name,
            shown(kind.call)
        );
    }
    page
}

fn shown(sample: Sample) -> String {
    match sample {
        Sample::Read(path) => format!("read `{path}`"),
        Sample::Write(path) => format!("write `{path}`"),
        Sample::GitLog => "git log".to_owned(),
        Sample::Bash(line) => format!("`{}`", line.replace('|', "\\|")),
    }
}

const HEAD: &str = "\
# Verdicts

<!-- Generated by `cargo xtask gen` from the gate itself: each cell is what it answers to the call. -->

What the gate says, by what the call does, the mode, the level of the boundary and where changes go. `deputize explain` names
the mode, boundary and workspace that it judged by, and takes `--mode`.

- **contained**: allowed whatever it does, since it can't leave the boundary and a copy takes it (G11).
- **ask**: the principal is asked, unless a person approved such effects for the run. **deny**: no answer helps.
- *full* is namespaces, Landlock and seccomp; *lesser* Landlock and seccomp alone; *none* nothing. A run whose preset needs a
  promise that its boundary doesn't hold isn't started: the gate denies its calls all the same.
- The grant of this table has every tool, the workspace as its only root, no host, and nobody approved anything.
";

const UNCONFINED: &str = "
## By the reading alone

What an agent of another host is told by `deputize gate`, which nothing confines, and what `deputize explain` says to a command
line without `--preset` and `--mode`. In a boundary the reading counts where a line isn't contained: what it denies is denied.
The calls are those that stand for the kinds
above.

| what it does | the call | says | rule |
| --- | --- | --- | --- |
";
