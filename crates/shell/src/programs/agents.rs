//! Other coding agents: what takes their questions or their limits away.

use super::Handler;
use crate::effect::{Effect, Role, What};
use crate::machine::{Call, Machine, State};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Taint};

use deputize_authority::ProtectedKind;

/// Options with which an agent asks about nothing.
const UNASKED: &[&str] = &[
    "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-allow-all",
    "--yolo",
    "--trust-all-tools",
    "--allow-all-tools",
    "--yes-always",
    "--approval-mode=yolo",
    "--permission-mode=bypassPermissions",
    "--sandbox=danger-full-access",
];

/// Values of settings and options that do the same.
const SETTINGS: &[&str] = &[
    "bypassPermissions",
    "skipDangerousModePermissionPrompt",
    "dangerously-skip-permissions",
    "danger-full-access",
    "dangerously-bypass-approvals-and-sandbox",
    "enableAllProjectMcpServers",
    "chat.tools.autoApprove",
    "chat.tools.global.autoApprove",
    "disableAllHooks",
];

pub(super) fn handler(name: &str) -> Option<Handler> {
    let is_agent = matches!(
        name,
        "claude"
            | "codex"
            | "gemini"
            | "cursor-agent"
            | "amp"
            | "copilot"
            | "opencode"
            | "aider"
            | "qwen"
            | "goose"
            | "crush"
            | "q"
            | "kiro-cli"
    );
    is_agent.then_some(agent as Handler)
}

/// What an agent does isn't known; one that asks about nothing does it with the user's authority.
fn agent(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.act(&rules::opaque::PROGRAM);
    let words: Vec<String> = call.args.iter().map(Field::shown).collect();
    let set = words
        .windows(2)
        .any(|pair| UNASKED.contains(&format!("{}={}", pair[0], pair[1]).as_str()));
    if set || words.iter().any(|word| UNASKED.contains(&word.as_str())) {
        machine.act(&rules::privilege::UNASKED);
    }
    super::suspect_tail(machine, call.args, state);
    Out::Unknown(Taint::NONE)
}

/// Whether a line writes to an agent's configuration, and names a value there that ends its questions.
pub(crate) fn unleashes(line: &str, effects: &[Effect]) -> bool {
    let writes = effects.iter().any(|effect| {
        matches!(
            &effect.what,
            What::Path { role: Role::Write, target } if target.place == Place::Protected(ProtectedKind::Agent)
        )
    });
    writes && SETTINGS.iter().any(|setting| line.contains(setting))
}
