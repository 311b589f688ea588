//! The gate's rules by name. Each verdict names one.

use std::borrow::Cow;

use serde::Serialize;

/// A built-in rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable id: scripts match on it.
    pub id: &'static str,
    /// What it says.
    pub says: &'static str,
}

/// The rule that a verdict rests on, and where that rule came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleRef {
    /// Stable id.
    pub id: &'static str,
    /// `built-in`, or the place of the rule in a file.
    pub origin: Cow<'static, str>,
}

impl From<&'static Rule> for RuleRef {
    fn from(rule: &'static Rule) -> Self {
        Self {
            id: rule.id,
            origin: Cow::Borrowed("built-in"),
        }
    }
}

impl From<&'static deputize_shell::Rule> for RuleRef {
    fn from(rule: &'static deputize_shell::Rule) -> Self {
        Self {
            id: rule.id,
            origin: Cow::Borrowed("built-in"),
        }
    }
}

macro_rules! rules {
    ($($name:ident $id:literal $says:literal)*) => {
        $(pub(crate) const $name: Rule = Rule { id: $id, says: $says };)*
        /// Every built-in rule.
        pub const RULES: &[Rule] = &[$($name),*];
    };
}

rules! {
    TOOL_UNKNOWN "tool.unknown" "a tool that nothing here knows is denied"
    TOOL_NOT_GRANTED "tool.not_granted" "only granted tools may be called"
    TOOL_GRANTED "tool.granted" "the grant lists the tool"
    ARGUMENTS_UNKNOWN "arguments.unknown" "an argument that the tool doesn't have is denied"
    ARGUMENTS_INVALID "arguments.invalid" "arguments must have the documented types"
    ARGUMENTS_LIMIT "arguments.limit" "arguments must stay below their limits"
    FACTS_MISSING "facts.missing" "without the facts there is no allowance"
    PATH_INVALID "path.invalid" "a path must mean something"
    PATH_OUTSIDE "path.outside" "a path must lie in a readable root of the grant"
    PATH_ESCAPES "path.escapes" "a symlink must not lead out of the readable roots"
    PATH_LOOP "path.loop" "symlinks must lead somewhere"
    PATH_DENIED "path.denied" "what the kernel refuses to show is denied"
    PATH_FAILED "path.failed" "what can't be looked up is denied"
    PATH_NOT_A_FILE "path.not_a_file" "only regular files are read"
    PATH_NOT_A_FOLDER "path.not_a_folder" "only folders are searched for names"
    PATH_INSIDE "path.inside" "the path lies in a readable root of the grant"
    PATH_MISSING "path.missing" "nothing is there, and the tool will say so"
    SECRET_DENIED "secret.denied" "secrets are not read unless the grant allows their class"
    MODE_EXPLORE "mode.explore" "explore looks and runs nothing"
    READ_ALLOWED "read.allowed" "looking inside the readable roots needs no question"
    ADMIN_DENIED "admin.denied" "a child doesn't administer Deputize"
    COMMAND_NOT_GRANTED "command.not_granted" "only granted commands may be run"
    ENV_NOT_GRANTED "env.not_granted" "only granted environment variables are passed on"
    CWD_NOT_A_FOLDER "cwd.not_a_folder" "a program starts in a folder that exists"
    CWD_CHANGED "cwd.changed" "the workspace must be the folder that was granted"
    WRITE_OUTSIDE "write.outside" "a file is written in a writable root of the grant"
    WRITE_PROTECTED_GIT "write.protected_git" "what git runs or obeys on the host stays as it is"
    WRITE_PROTECTED_AGENT "write.protected_agent" "what configures coding agents stays as it is"
    WRITE_PROTECTED_INSTRUCTIONS "write.protected_instructions" "what coding agents take as their principal's word stays as it is"
    WRITE_PROTECTED_EDITOR "write.protected_editor" "what editors run stays as it is"
    WRITE_PROTECTED_STARTUP "write.protected_startup" "what shells and logins run stays as it is"
    WRITE_HARD_LINK "write.hard_link" "a file with other names is not changed in place"
    WRITE_UNCONTAINED "write.uncontained" "without a boundary that holds writes nothing is written"
    WRITE_CONTAINED "write.contained" "what a copy of the workspace takes needs no question"
    WRITE_APPROVED "write.approved" "a person approved writes to the workspace for this run"
    WRITE_AUTO "write.auto" "this mode writes without a question"
    WRITE_ASK "write.ask" "a write that can't be undone is a question"
    BASH_CONTAINED "bash.contained" "what the boundary contains and a copy undoes needs no question"
    BASH_APPROVED "bash.approved" "a person approved shell commands for this run"
    BASH_PROVEN "bash.proven" "a command whose every effect was followed and is harmless needs no question"
    BASH_AUTO "bash.auto" "this mode runs commands without a question"
    BASH_ASK "bash.ask" "a command whose effects reach further is a question"
    PATH_LEFT "path.left" "nothing speaks against this path"
    CALL_AGREED "call.agreed" "a person was shown this very call and said yes"
    PERSON_ALLOWED "rule.allow" "a rule of the person's allows it"
    PERSON_ASKS "rule.ask" "a rule of the person's asks about it each time"
    PERSON_DENIED "rule.deny" "a rule of the person's denies it"
    GIT_READ "git.read" "a look at the history, with git kept from running anything, needs no question"
    GIT_APPROVED "git.approved" "a person approved commands in the workspace for this run"
    GIT_ASK "git.ask" "git in a folder that it can change is a question"
    PROGRAM_MISSING "program.missing" "a tool needs its program"
    EXEC_UNCONTAINED "exec.uncontained" "without a boundary nothing is run"
    EXEC_PROMISE_MISSING "exec.promise_missing" "the boundary must hold what the preset needs"
    EXEC_CONTAINED "exec.contained" "what the boundary contains needs no question"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique() {
        let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), RULES.len());
    }
}
