//! What a run is given.

use deputize_authority::{Budget, Tool, WorkspaceMode};
use deputize_model::{ModelLabel, Price, ToolSpec};

use crate::Schema;

/// Everything that the loop needs to know about its run. It holds no rights: those are in the grant.
#[derive(Debug, Clone)]
pub struct Brief {
    /// The run's id.
    pub run: String,
    /// The task, in the principal's words.
    pub prompt: String,
    /// The folder that the child works in, as an absolute path.
    pub workspace: String,
    /// Where the child's writes go, if it has any.
    pub workspace_mode: WorkspaceMode,
    /// The tools in effect.
    pub tools: Vec<OfferedTool>,
    /// How much may be used.
    pub budget: Budget,
    /// What the model's tokens cost; `None` where nobody knows.
    pub price: Option<Price>,
    /// The model, as it was chosen.
    pub model: String,
    /// What kind of thing that is.
    pub model_label: ModelLabel,
    /// The most output tokens of one turn.
    pub max_output_tokens: u64,
    /// The agent definition's own instructions.
    pub definition: Option<String>,
    /// Instructions that were found in the project: its text, not the principal's.
    pub project: Option<String>,
    /// The command that must pass before the run is `ok`.
    pub check: Option<String>,
    /// What the answer must look like.
    pub schema: Option<Schema>,
}

/// A tool that the child can call.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// How it is described to the model.
    pub spec: ToolSpec,
    /// What a call of it uses and changes.
    pub kind: CallKind,
}

/// What a call uses and changes, as far as budget and loop guard care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// It looks, and changes nothing.
    Look,
    /// It looks at something that changes by itself: repeating it is its purpose.
    Poll,
    /// It changes a file.
    Change,
    /// It runs a command, which may change anything.
    Run,
}

impl CallKind {
    /// The kind of a built-in tool's calls.
    #[must_use]
    pub fn of(tool: Tool) -> Self {
        match tool {
            Tool::Read | Tool::Ls | Tool::Find | Tool::Grep | Tool::Git => Self::Look,
            Tool::Write | Tool::Edit => Self::Change,
            Tool::Bash | Tool::Exec => Self::Run,
        }
    }

    /// Whether others may see something new after it.
    pub(crate) fn may_change_state(self) -> bool {
        matches!(self, Self::Change | Self::Run)
    }
}

impl Brief {
    /// Whether the child can change anything.
    pub(crate) fn may_change_state(&self) -> bool {
        self.tools
            .iter()
            .any(|offered| offered.kind.may_change_state())
    }

    /// The kind of a call by its tool's name. A tool that isn't offered changes nothing: the gate
    /// refuses it, with its own reason, before a budget for what it would do matters.
    pub(crate) fn kind(&self, tool: &str) -> CallKind {
        self.tools
            .iter()
            .find(|offered| offered.spec.name == tool)
            .map(|offered| offered.kind)
            .unwrap_or(CallKind::Look)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn brief(budget: Budget) -> Brief {
        Brief {
            run: "run-1".to_owned(),
            prompt: "Where are limits enforced?".to_owned(),
            workspace: "/work/repo".to_owned(),
            workspace_mode: WorkspaceMode::CopyOnWrite,
            tools: [Tool::Read, Tool::Grep]
                .map(|tool| OfferedTool {
                    spec: ToolSpec {
                        name: tool.name().to_owned(),
                        description: String::new(),
                        parameters: serde_json::Value::Null,
                    },
                    kind: CallKind::of(tool),
                })
                .into(),
            budget,
            price: None,
            model: "script".to_owned(),
            model_label: ModelLabel::Scripted,
            max_output_tokens: 1000,
            definition: None,
            project: None,
            check: None,
            schema: None,
        }
    }

    /// G7: what isn't offered goes to the gate, whose refusal says more than an empty budget would.
    #[test]
    fn a_tool_that_is_not_offered_reserves_nothing_but_a_call() {
        let mut brief = brief(Budget::UNLIMITED);
        assert_eq!(brief.kind("grep"), CallKind::Look);
        for name in ["bash", "write", "teleport"] {
            assert_eq!(brief.kind(name), CallKind::Look, "{name}");
        }
        brief.tools[0].spec.name = "bash".to_owned();
        brief.tools[0].kind = CallKind::Run;
        assert_eq!(brief.kind("bash"), CallKind::Run);
    }
}
