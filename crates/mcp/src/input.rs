//! What the tools take. The schemas that clients see are made from these types.
//!
//! No field of these allows, raises or trusts anything (S4): a model fills them in.
//!
//! What [`Task`] and [`Subagent`] have in common stands in both: a type that refuses unknown fields can't
//! take another's by `flatten`, and refusing them matters more here.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// One of several tasks.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    /// The task, self-contained: the child knows nothing of this conversation. In a `chain`,
    /// `{previous}` stands for what the child before it answered.
    pub(crate) prompt: String,
    /// The folder to work in; the child sees nothing outside it. The server's own when absent.
    #[serde(default)]
    pub(crate) workdir: Option<PathBuf>,
    /// Which mechanics apply: `read-only` looks at files, `read-only-git` also at the history,
    /// `general` (the default) works in a copy, with a shell.
    #[serde(default)]
    pub(crate) preset: Option<String>,
    /// Where writes go: `copy-on-write` (a copy, the default), `worktree` (a private clone) or
    /// `direct` (the folder itself; a person is asked).
    #[serde(default)]
    pub(crate) workspace: Option<String>,
    /// The model: `provider:model`, `host` for the host's own, or `scout` for code search without a
    /// model. Leave it out for the one that is set up.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// A JSON Schema that the answer must be valid by.
    #[serde(default)]
    pub(crate) schema: Option<Map<String, Value>>,
    /// A shell command that must pass before the run is ok; the runtime runs it, not the child.
    #[serde(default)]
    pub(crate) check: Option<String>,
    /// Ports on which commands of the child listen, to be reached at 127.0.0.1 outside.
    #[serde(default)]
    pub(crate) ports: Vec<u16>,
    /// Further folders or files that the child may read.
    #[serde(default)]
    pub(crate) read: Vec<PathBuf>,
    /// Start it though the same task goes on or has just succeeded.
    #[serde(default)]
    pub(crate) again: bool,
}

/// Hand a task to a child agent that holds a bounded grant: one task, several side by side, or several
/// one after the other.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subagent {
    /// The task, self-contained: the child knows nothing of this conversation.
    #[serde(default)]
    pub(crate) prompt: Option<String>,
    /// The folder to work in; the child sees nothing outside it. The server's own when absent.
    #[serde(default)]
    pub(crate) workdir: Option<PathBuf>,
    /// Which mechanics apply: `read-only` looks at files, `read-only-git` also at the history,
    /// `general` (the default) works in a copy, with a shell.
    #[serde(default)]
    pub(crate) preset: Option<String>,
    /// Where writes go: `copy-on-write` (a copy, the default), `worktree` (a private clone) or
    /// `direct` (the folder itself; a person is asked).
    #[serde(default)]
    pub(crate) workspace: Option<String>,
    /// The model: `provider:model`, `host` for the host's own, or `scout` for code search without a
    /// model. Leave it out for the one that is set up.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// A JSON Schema that the answer must be valid by.
    #[serde(default)]
    pub(crate) schema: Option<Map<String, Value>>,
    /// A shell command that must pass before the run is ok; the runtime runs it, not the child.
    #[serde(default)]
    pub(crate) check: Option<String>,
    /// Ports on which commands of the child listen, to be reached at 127.0.0.1 outside.
    #[serde(default)]
    pub(crate) ports: Vec<u16>,
    /// Further folders or files that the child may read.
    #[serde(default)]
    pub(crate) read: Vec<PathBuf>,
    /// Start it though the same task goes on or has just succeeded.
    #[serde(default)]
    pub(crate) again: bool,
    /// Answer with a handle at once instead of waiting for the result.
    #[serde(default)]
    pub(crate) background: bool,
    /// Several tasks side by side, instead of `prompt`. What one leaves out is taken from here.
    #[serde(default)]
    pub(crate) tasks: Vec<Task>,
    /// Several tasks one after the other, instead of `prompt`.
    #[serde(default)]
    pub(crate) chain: Vec<Task>,
}

/// Ask where runs stand, and for the result of one that has ended.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusOf {
    /// The run; all runs of this server when absent.
    #[serde(default)]
    pub(crate) run: Option<String>,
    /// Wait so many seconds for its end, at most 45.
    #[serde(default)]
    pub(crate) wait: Option<u64>,
}

/// Add something to a run's task. The child hears it at its next turn; nothing is interrupted.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Steer {
    /// The run.
    pub(crate) run: String,
    /// What to tell the child.
    pub(crate) message: String,
}

/// Stop a run. Its processes are gone when the answer comes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stop {
    /// The run.
    pub(crate) run: String,
}

/// Ask a person to give a run more than its budget. Each number is added to the limit that there is.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extend {
    /// The run.
    pub(crate) run: String,
    /// More turns.
    #[serde(default)]
    pub(crate) turns: Option<u64>,
    /// More tool calls.
    #[serde(default)]
    pub(crate) tool_calls: Option<u64>,
    /// More commands.
    #[serde(default)]
    pub(crate) commands: Option<u64>,
    /// More tokens.
    #[serde(default)]
    pub(crate) tokens: Option<u64>,
    /// More cost, in millionths of a US dollar.
    #[serde(default)]
    pub(crate) cost_micros: Option<u64>,
    /// More seconds.
    #[serde(default)]
    pub(crate) wall_seconds: Option<u64>,
}

/// Look at what a run changed in its copy. The answer names the manifest's hash.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Diff {
    /// The run.
    pub(crate) run: String,
    /// Only these files and folders, relative to the workspace.
    #[serde(default)]
    pub(crate) paths: Vec<PathBuf>,
    /// A line for each change, instead of its lines.
    #[serde(default)]
    pub(crate) stat: bool,
}

/// Ask a person to take over what a run changed: exactly the manifest that is named.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Apply {
    /// The run.
    pub(crate) run: String,
    /// The manifest's hash, from `subagent_diff`.
    pub(crate) manifest: String,
}

/// Throw a run's copy away. A person is asked where something would be lost.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Discard {
    /// The run.
    pub(crate) run: String,
}

impl Subagent {
    /// The one task, as one of several would be written.
    pub(crate) fn single(&self) -> Option<Task> {
        let prompt = self.prompt.clone()?;
        Some(self.complete(Task {
            prompt,
            again: self.again,
            schema: self.schema.clone(),
            check: self.check.clone(),
            ports: self.ports.clone(),
            ..Task::default()
        }))
    }

    /// A task with what it leaves out taken from the call.
    pub(crate) fn complete(&self, task: Task) -> Task {
        Task {
            workdir: task.workdir.or_else(|| self.workdir.clone()),
            preset: task.preset.or_else(|| self.preset.clone()),
            workspace: task.workspace.or_else(|| self.workspace.clone()),
            model: task.model.or_else(|| self.model.clone()),
            read: match task.read.is_empty() {
                true => self.read.clone(),
                false => task.read,
            },
            again: task.again || self.again,
            ..task
        }
    }
}
