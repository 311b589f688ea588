//! Preflight (S2): request in, grant or refusal out, before any process starts.
//!
//! A pure function of the request, the facts about the outside ([`Surroundings`]) and the parent's
//! grant. Whoever calls it has looked the facts up; nothing is looked up here, so the same request
//! can be tried a thousand times in a test, or shown by `--dry-run`, without an effect.
//!
//! What needs a person's yes comes out as questions ([`Granted::asks`], S3); who answers them isn't
//! decided here ([`crate::settle`]). Definitions and trust will be further inputs of the same function.

mod ask;
mod folder;
mod mode;
mod request;

use std::path::PathBuf;

use crate::preset::command_env;
use crate::{
    Ask, Bounds, EnvName, Grant, Layer, Preset, Refusal, Root, Set, Tool, Workspace, WorkspaceMode,
    escape,
};

pub use ask::{ModelPrice, dearer_model};
pub use folder::{FolderFact, Found, Reserved};
pub use request::{ExecRequest, Prompt, RunRequest};

/// Longest prompt, in bytes: far above any task description, far below what a model's context holds.
pub const PROMPT_BYTES: usize = 256 << 10;

/// Longest check, in bytes: a command line, not a script.
pub const CHECK_BYTES: usize = 4 << 10;

/// Most further roots of one request; a person reads each of them on the card.
pub const ROOTS: usize = 32;

/// Most published ports of one request.
pub const PORTS: usize = 16;

/// Facts about the outside, looked up before.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The caller's own folder, canonical.
    pub caller: PathBuf,
    /// The folder that the request names, or the caller's.
    pub workdir: FolderFact,
    /// The home folder, canonical.
    pub home: Option<PathBuf>,
    /// Folders that no child works in.
    pub reserved: Vec<Reserved>,
    /// What the person's configuration permits any child.
    pub global: Bounds,
    /// The grant of the parent agent; `None` when a person asks.
    pub parent: Option<Grant>,
}

/// What preflight grants for a child.
#[derive(Debug, Clone)]
pub struct Granted {
    /// All that the child may do.
    pub grant: Grant,
    /// The task.
    pub prompt: Prompt,
    /// What needs a person's yes before anything starts, in the card's order.
    pub asks: Vec<Ask>,
    /// The command that must pass before the run is `ok`.
    pub check: Option<String>,
    /// Things that a person should know though they are no obstacle.
    pub notes: Vec<String>,
}

/// Decides about a child.
///
/// # Errors
/// A [`Refusal`] with the field, the reason and the fix.
pub fn child(request: &RunRequest, around: &Surroundings) -> Result<Granted, Refusal> {
    let prompt = Prompt::new(&request.prompt)?;
    let preset: Preset = request
        .preset
        .parse()
        .map_err(|_| unknown_preset(&request.preset))?;
    if preset == Preset::FullParentTools && around.parent.is_none() {
        return Err(Refusal::new(
            "parent_missing",
            "preset",
            format!("`{preset}` means the tools of a parent agent, and a person asks"),
            "use `--preset general`",
        ));
    }
    refuse_absent(request)?;
    let (mode, mode_note) = mode::of(request.workspace.as_deref(), preset)?;
    let workspace = folder::workspace(around, mode)?;
    let notes = folder::note(around, &workspace)
        .into_iter()
        .chain(mode_note)
        .collect();
    let mut read = vec![workspace.root.clone()];
    for fact in at_most(&request.read, ROOTS, "read")? {
        read.push(folder::root(fact, "read", &workspace, around)?);
    }
    let ports = at_most(&request.ports, PORTS, "port")?;
    if ports.contains(&0) {
        return Err(Refusal::new(
            "port_invalid",
            "port",
            "there is no port 0",
            "name the port that the program inside listens on",
        ));
    }
    let own = Bounds {
        read: Set::only(read),
        write: Set::only([workspace.root.clone()]),
        ports: Set::only(ports.iter().copied()),
        ..Bounds::ANY
    };
    let mut mechanics = preset.bounds();
    // A preset adds none of its own; those that a person typed are what it may have.
    mechanics.ports = own.ports.clone();
    for (dimension, limit) in &request.budget {
        mechanics.budget = mechanics.budget.with(*dimension, Some(*limit));
    }
    let grant = begin(preset, workspace, around)?
        .attenuate(Layer::Preset, &mechanics)
        .attenuate(Layer::Request, &own);
    require_tools(&grant)?;
    if let Some(command) = &request.check {
        request::check(command)?;
        require_commands(&grant, "check", "no check can be run for it")?;
    }
    if !request.ports.is_empty() {
        require_commands(&grant, "port", "nothing of it listens on a port")?;
    }
    Ok(Granted {
        asks: ask::of(&grant),
        grant,
        prompt,
        check: request.check.clone(),
        notes,
    })
}

/// Decides about one command that a person typed.
///
/// # Errors
/// A [`Refusal`] with the field, the reason and the fix.
pub fn exec(request: &ExecRequest, around: &Surroundings) -> Result<Grant, Refusal> {
    if request
        .argv
        .first()
        .is_none_or(|program| program.is_empty())
    {
        return Err(Refusal::new(
            "command_missing",
            "command",
            "there is no command to run",
            "put it after `--`, as in `deputize exec -- ls -la`",
        ));
    }
    let workspace = folder::workspace(around, WorkspaceMode::Direct)?;
    let mut read = vec![workspace.root.clone()];
    let mut write = Vec::new();
    for fact in &request.read {
        read.push(folder::root(fact, "--read", &workspace, around)?);
    }
    for fact in &request.write {
        let root = folder::root(fact, "--write", &workspace, around)?;
        read.push(root.clone());
        write.push(root);
    }
    let named = request.env.iter().map(|name| EnvName(name.clone()));
    let own = Bounds {
        read: Set::only(read),
        write: Set::only(write),
        env: Set::only(command_env().chain(named)),
        secrets: Set::only(request.secrets.iter().cloned()),
        ports: Set::only(request.ports.iter().copied()),
        ..Bounds::ANY
    };
    Ok(begin(Preset::Exec, workspace, around)?
        .attenuate(Layer::Preset, &Preset::Exec.bounds())
        .attenuate(Layer::Request, &own))
}

/// Where the chain begins: the person's authority, or the parent's grant one generation on.
fn begin(preset: Preset, workspace: Workspace, around: &Surroundings) -> Result<Grant, Refusal> {
    let start = Grant::of_principal(preset, workspace, Bounds::ANY);
    let Some(parent) = &around.parent else {
        return Ok(start.attenuate(Layer::Global, &around.global));
    };
    let Some(depth) = parent.bounds().depth.checked_sub(1) else {
        return Err(Refusal::new(
            "nesting_not_granted",
            "depth",
            "this child may not have children of its own",
            "ask the person to grant a depth of at least 1",
        ));
    };
    let inherited = Bounds {
        depth,
        ..parent.bounds().clone()
    };
    if !inherited.read.permits(&start.workspace().root) {
        return Err(Refusal::new(
            "workdir_outside_parent",
            "workdir",
            "the folder is outside what the parent itself may read",
            "choose a folder inside the parent's workspace",
        ));
    }
    Ok(start
        .attenuate(Layer::Global, &around.global)
        .attenuate(Layer::Parent, &inherited))
}

fn require_tools(grant: &Grant) -> Result<(), Refusal> {
    if !grant.bounds().tools.is_none() {
        return Ok(());
    }
    Err(Refusal::new(
        "nothing_granted",
        "preset",
        "no tool is left after every layer has had its say",
        "run with --dry-run to see which layer took them away",
    ))
}

/// Some things make sense only for a child that may run commands.
fn require_commands(grant: &Grant, field: &str, so: &str) -> Result<(), Refusal> {
    if grant.bounds().tools.permits(&Tool::Bash) {
        return Ok(());
    }
    Err(Refusal::new(
        "commands_not_granted",
        field,
        format!(
            "a child of the preset `{}` runs no commands, so {so}",
            grant.preset()
        ),
        format!("use `--preset general`, or leave --{field} out"),
    ))
}

fn at_most<'a, T>(items: &'a [T], most: usize, field: &str) -> Result<&'a [T], Refusal> {
    if items.len() <= most {
        return Ok(items);
    }
    Err(Refusal::new(
        "too_many",
        field,
        format!("{} are more than {most}", items.len()),
        "name fewer",
    ))
}

fn refuse_absent(request: &RunRequest) -> Result<(), Refusal> {
    if request.agent.is_some() {
        return Err(Refusal::new(
            "not_available",
            "agent",
            "agent definitions are not available in this version",
            "leave --agent out",
        ));
    }
    match request.context.as_deref() {
        None | Some("independent") => Ok(()),
        Some(other) => Err(Refusal::new(
            "not_available",
            "context",
            format!(
                "the context `{}` is not available in this version",
                escape(other)
            ),
            "use `--context independent`, or leave it out",
        )),
    }
}

fn unknown_preset(name: &str) -> Refusal {
    let known: Vec<&str> = Preset::FOR_CHILDREN.into_iter().map(Preset::name).collect();
    Refusal::new(
        "unknown_preset",
        "preset",
        format!("no preset is named `{}`", escape(name)),
        format!("use {}", known.join(" or ")),
    )
}

/// The canonical path of a folder that was found, as a root.
fn root_of(path: &std::path::Path) -> Result<Root, Refusal> {
    Root::new(path).ok_or_else(|| {
        Refusal::new(
            "workdir_invalid",
            "workdir",
            "the path is not absolute",
            "give an absolute path",
        )
    })
}

#[cfg(test)]
mod tests;
