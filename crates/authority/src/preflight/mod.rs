//! Preflight (S2): request in, grant or refusal out, before any process starts.
//!
//! A pure function of the request, the facts about the outside ([`Surroundings`]) and the parent's
//! grant. Whoever calls it has looked the facts up; nothing is looked up here, so the same request
//! can be tried a thousand times in a test, or shown by `--dry-run`, without an effect.
//!
//! Definitions, trust and questions will be further inputs of the same function.

mod folder;
mod request;

use std::path::PathBuf;

use crate::{Bounds, EnvName, Grant, Layer, Preset, Refusal, Root, Set, Workspace, escape};

pub use folder::{FolderFact, Found, Reserved};
pub use request::{ExecRequest, Prompt, RunRequest};

/// Longest prompt, in bytes: far above any task description, far below what a model's context holds.
pub const PROMPT_BYTES: usize = 256 << 10;

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
    if !preset.is_available() {
        return Err(Refusal::new(
            "preset_not_available",
            "preset",
            format!("the preset `{preset}` is not available in this version"),
            "use `--preset read-only`; the presets that write and run commands come next",
        ));
    }
    refuse_absent(request)?;
    let workspace = folder::workspace(around)?;
    let mut notes = Vec::new();
    if let Some(note) = folder::note(around, &workspace) {
        notes.push(note);
    }
    let own = Bounds {
        read: Set::only([workspace.root.clone()]),
        ..Bounds::ANY
    };
    let mut mechanics = preset.bounds();
    for (dimension, limit) in &request.budget {
        mechanics.budget = mechanics.budget.with(*dimension, Some(*limit));
    }
    let grant = begin(preset, workspace, around)?
        .attenuate(Layer::Preset, &mechanics)
        .attenuate(Layer::Request, &own);
    require_tools(&grant)?;
    Ok(Granted {
        grant,
        prompt,
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
    let workspace = folder::workspace(around)?;
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
    let base = Preset::ReadOnly.bounds().env;
    let own = Bounds {
        read: Set::only(read),
        write: Set::only(write),
        env: Set::only(base.items().cloned().chain(named).chain(command_env())),
        secrets: Set::only(request.secrets.iter().cloned()),
        ports: Set::only(request.ports.iter().copied()),
        ..Bounds::ANY
    };
    Ok(begin(Preset::Exec, workspace, around)?
        .attenuate(Layer::Preset, &Preset::Exec.bounds())
        .attenuate(Layer::Request, &own))
}

/// Variables that a command that a person typed may see: about the terminal and the clock, and those
/// that say where a toolchain lies (B9).
fn command_env() -> impl Iterator<Item = EnvName> {
    ["COLORTERM", "TZ", "CARGO_HOME", "GOPATH", "RUSTUP_HOME"]
        .into_iter()
        .map(|name| EnvName(name.to_owned()))
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

fn refuse_absent(request: &RunRequest) -> Result<(), Refusal> {
    let absent = [
        ("agent", &request.agent, "agent definitions"),
        (
            "workspace",
            &request.workspace,
            "workspace modes (a read-only child needs none)",
        ),
    ];
    for (field, value, what) in absent {
        if value.is_some() {
            return Err(Refusal::new(
                "not_available",
                field,
                format!("{what} are not available in this version"),
                format!("leave --{field} out"),
            ));
        }
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
    let known: Vec<&str> = Preset::FOR_CHILDREN
        .into_iter()
        .filter(|preset| preset.is_available())
        .map(Preset::name)
        .collect();
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
