//! Where a child's writes go (C2).

use crate::{Preset, Refusal, Tool, WorkspaceMode, escape};

/// The mode of a request, and what to say about one that changes nothing.
pub(super) fn of(
    named: Option<&str>,
    preset: Preset,
) -> Result<(WorkspaceMode, Option<String>), Refusal> {
    let asked = named.map(parse).transpose()?;
    if !writes(preset) {
        let note = asked.map(|mode| {
            format!(
                "`{preset}` writes nothing: the workspace mode `{}` changes nothing",
                mode.name()
            )
        });
        return Ok((WorkspaceMode::Direct, note));
    }
    match asked {
        Some(mode) => Ok((mode, None)),
        None => Ok((WorkspaceMode::CopyOnWrite, None)),
    }
}

fn writes(preset: Preset) -> bool {
    let tools = preset.bounds().tools;
    [Tool::Write, Tool::Edit, Tool::Bash]
        .iter()
        .any(|tool| tools.permits(tool))
}

/// `_` and `-` are equal.
fn parse(name: &str) -> Result<WorkspaceMode, Refusal> {
    let spelled = name.replace('_', "-");
    WorkspaceMode::ALL
        .into_iter()
        .find(|mode| mode.name() == spelled)
        .ok_or_else(|| {
            Refusal::new(
                "unknown_workspace_mode",
                "workspace",
                format!("no workspace mode is named `{}`", escape(name)),
                "use copy-on-write, worktree or direct",
            )
        })
}
