//! The gate as another host's hook before a tool call: its JSON in, a decision in its form out.
//!
//! Two hosts document such a hook, with nearly one form: Claude Code and Codex (`PreToolUse`). Both
//! take exit code 2 with a reason on standard error as a block, and let the call pass on any other
//! failure of a hook. So whatever isn't understood here is an error that the caller must end with 2.
//!
//! # Invariants
//! - Nothing that isn't understood is allowed; a tool that isn't known is left to the host.
//! - A file tool is never allowed here, only denied, asked about or left to the host: where its path
//!   leads can't be told from the text.
//! - Codex knows no question and no plain allowance, and lets a call pass whose answer holds one. It
//!   is told neither.
//!
//! # Trust
//! All of the input is hostile: a model wrote the tool's arguments.

use deputize_authority::{CallRule, Tool, Untrusted};
use deputize_shell::{Role, User};
use serde_json::{Map, Value, json};

use crate::unconfined::{SecondOpinion, Stance, Standing, changes, explain_line, explain_path};
use crate::{Explanation, Limits};

/// Most bytes of a hook's input: a file that is written whole, and some room.
const MAX_INPUT: usize = 8 << 20;
/// Characters of a reason: a model reads it each time.
const REASON: usize = 900;
/// Files of one patch. More are more than a person can follow.
const PATCH_FILES: usize = 200;

/// A host that has such a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

/// What becomes of a call that a person should be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnAsk {
    /// The host asks, where it can; else the call is denied.
    #[default]
    Ask,
    /// It is denied.
    Deny,
    /// It is left to the host's own rules.
    Leave,
}

/// Where the hook runs.
#[derive(Debug, Clone)]
pub struct Seat {
    /// The host; told from the input when absent.
    pub host: Option<Host>,
    /// Folders that the agent may change; the call's own folder when empty.
    pub roots: Vec<String>,
    /// The home folder.
    pub home: String,
    /// Who runs the host.
    pub user: User,
    /// What becomes of questions.
    pub on_ask: OnAsk,
    /// The other parser.
    pub second: SecondOpinion,
    /// The person's own rules about calls.
    pub rules: Vec<CallRule>,
}

/// What the hook says about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The call may run.
    Allow,
    /// A person is asked.
    Ask,
    /// The call may not run.
    Deny,
    /// The host's own rules decide.
    Leave,
}

/// A decision with what goes to standard output.
#[derive(Debug, Clone, PartialEq)]
pub struct HookAnswer {
    /// The decision, as the host will take it.
    pub decision: Decision,
    /// The host's JSON; nothing where the call is left to the host.
    pub output: Option<Value>,
}

/// Why an input is no call that can be decided about. It must end as a block: exit code 2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// It is larger than the limit.
    #[error("the hook's input is larger than {MAX_INPUT} bytes")]
    TooLarge,
    /// It is no JSON object.
    #[error("the hook's input is no JSON object")]
    NotJson,
    /// It belongs to another event.
    #[error("the hook's event isn't PreToolUse")]
    OtherEvent,
    /// A field is missing or of another type.
    #[error("the hook's input lacks `{0}`, or it isn't what the host documents")]
    Field(&'static str),
    /// A patch whose files can't be told.
    #[error("the patch names no file that can be told, or more than {PATCH_FILES}")]
    Patch,
}

/// A call as far as this hook knows tools.
enum Asked {
    Line(String),
    Paths(Tool, Vec<(String, Role)>),
    Unknown,
}

/// Decides about the call in a hook's input.
///
/// # Errors
/// When the input isn't a call in a documented form.
pub fn hook(input: &[u8], seat: &Seat) -> Result<HookAnswer, HookError> {
    if input.len() > MAX_INPUT {
        return Err(HookError::TooLarge);
    }
    let call: Map<String, Value> = serde_json::from_slice(input).map_err(|_| HookError::NotJson)?;
    if call.get("hook_event_name").and_then(Value::as_str) != Some("PreToolUse") {
        return Err(HookError::OtherEvent);
    }
    let cwd = text(&call, "cwd")?;
    if !cwd.starts_with('/') || cwd.contains('\0') {
        return Err(HookError::Field("cwd"));
    }
    let asked = asked(&call)?;
    let host = seat.host.unwrap_or_else(|| guess(&call));
    let roots: Vec<&str> = match seat.roots.as_slice() {
        [] => vec![cwd],
        roots => roots.iter().map(String::as_str).collect(),
    };
    let standing = Standing::new(&roots, cwd, &seat.home, seat.user).with_rules(seat.rules.clone());
    let explanation = match asked {
        Asked::Unknown => return Ok(left()),
        Asked::Line(line) => explain_line(&line, &standing, Stance::Unconfined, seat.second),
        Asked::Paths(tool, paths) => strictest(paths.iter().map(|(path, role)| {
            let mut explanation = explain_path(path, *role, tool, &standing);
            if explanation.verdict == "allow" {
                explanation.verdict = "leave";
            }
            explanation
        }))
        .ok_or(HookError::Patch)?,
    };
    let is_plan = call.get("permission_mode").and_then(Value::as_str) == Some("plan");
    let decision = match explanation.verdict {
        // A person who only wants a plan isn't overruled.
        "allow" if is_plan && changes(&explanation) => Decision::Leave,
        "allow" => Decision::Allow,
        "leave" => Decision::Leave,
        "ask" => match (seat.on_ask, host) {
            (OnAsk::Leave, _) => Decision::Leave,
            (OnAsk::Ask, Host::ClaudeCode) => Decision::Ask,
            (OnAsk::Ask, Host::Codex) | (OnAsk::Deny, _) => Decision::Deny,
        },
        _ => Decision::Deny,
    };
    Ok(answer(decision, host, &explanation))
}

/// Codex names the model and the turn; Claude Code doesn't. Where both could be meant, the one whose
/// answers are the stricter.
fn guess(call: &Map<String, Value>) -> Host {
    match call.contains_key("turn_id") || call.contains_key("model") {
        true => Host::Codex,
        false => Host::ClaudeCode,
    }
}

fn left() -> HookAnswer {
    HookAnswer {
        decision: Decision::Leave,
        output: None,
    }
}

fn answer(decision: Decision, host: Host, explanation: &Explanation) -> HookAnswer {
    let word = match (decision, host) {
        (Decision::Leave, _) => return left(),
        (Decision::Allow, Host::Codex) => {
            return HookAnswer {
                decision,
                output: None,
            };
        }
        (Decision::Allow, Host::ClaudeCode) => "allow",
        (Decision::Ask, _) => "ask",
        (Decision::Deny, _) => "deny",
    };
    HookAnswer {
        decision,
        output: Some(json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": word,
            "permissionDecisionReason": reason(decision, explanation),
        }})),
    }
}

/// Rule, reasons and the safer way, in the words for a model and for a person.
fn reason(decision: Decision, explanation: &Explanation) -> String {
    let reasons = explanation.reasons.join("; ");
    let safer = explanation
        .shell
        .iter()
        .flat_map(|shell| &shell.rules)
        .map(|spoken| spoken.safer)
        .next();
    let safer = match (decision, safer) {
        (Decision::Allow, _) | (_, None) => String::new(),
        (_, Some(safer)) => format!(". {safer}"),
    };
    let question = match (decision, explanation.verdict) {
        (Decision::Deny, "ask") => {
            " This needs a person's yes, and the host can't ask for one here: let them run it."
        }
        _ => "",
    };
    let all = format!(
        "Deputize ({}): {reasons}{safer}.{question}",
        explanation.rule
    );
    Untrusted::new(all).preview(REASON)
}

/// The strictest of several explanations.
fn strictest(explanations: impl Iterator<Item = Explanation>) -> Option<Explanation> {
    explanations.max_by_key(|explanation| match explanation.verdict {
        "deny" => 2,
        "ask" => 1,
        _ => 0,
    })
}

fn asked(call: &Map<String, Value>) -> Result<Asked, HookError> {
    let tool = text(call, "tool_name")?;
    let Some(Value::Object(input)) = call.get("tool_input") else {
        return match known(tool) {
            true => Err(HookError::Field("tool_input")),
            false => Ok(Asked::Unknown),
        };
    };
    let path = |name: &'static str, tool, role| {
        let path = text_of(input, name, "tool_input path")?;
        if path.is_empty() || path.contains('\0') || path.len() > Limits::PATH {
            return Err(HookError::Field("tool_input path"));
        }
        Ok(Asked::Paths(tool, vec![(path.to_owned(), role)]))
    };
    let below = |tool| match input.contains_key("path") {
        true => path("path", tool, Role::Read),
        false => Ok(Asked::Paths(tool, vec![(".".to_owned(), Role::Read)])),
    };
    match tool {
        "Bash" => Ok(Asked::Line(
            text_of(input, "command", "tool_input.command")?.to_owned(),
        )),
        "Read" => path("file_path", Tool::Read, Role::Read),
        "Write" => path("file_path", Tool::Write, Role::Write),
        "Edit" | "MultiEdit" => path("file_path", Tool::Edit, Role::Write),
        "NotebookEdit" => path("notebook_path", Tool::Edit, Role::Write),
        "Grep" => below(Tool::Grep),
        "Glob" => below(Tool::Find),
        "LS" => below(Tool::Ls),
        "apply_patch" => patch(text_of(input, "command", "tool_input.command")?),
        _ => Ok(Asked::Unknown),
    }
}

fn known(tool: &str) -> bool {
    [
        "Bash",
        "Read",
        "Write",
        "Edit",
        "MultiEdit",
        "NotebookEdit",
        "apply_patch",
    ]
    .contains(&tool)
}

/// The files that a patch of Codex names in its headers.
fn patch(text: &str) -> Result<Asked, HookError> {
    const HEADERS: [(&str, Role); 4] = [
        ("*** Add File: ", Role::Write),
        ("*** Update File: ", Role::Write),
        ("*** Delete File: ", Role::Delete),
        ("*** Move to: ", Role::Write),
    ];
    let mut paths = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        for (header, role) in HEADERS {
            if let Some(path) = line.strip_prefix(header) {
                paths.push((path.trim().to_owned(), role));
            }
        }
    }
    let plain = |(path, _): &(String, Role)| {
        !path.is_empty() && !path.contains('\0') && path.len() <= Limits::PATH
    };
    if paths.is_empty() || paths.len() > PATCH_FILES || !paths.iter().all(plain) {
        return Err(HookError::Patch);
    }
    Ok(Asked::Paths(Tool::Edit, paths))
}

fn text<'c>(call: &'c Map<String, Value>, name: &'static str) -> Result<&'c str, HookError> {
    text_of(call, name, name)
}

fn text_of<'c>(
    object: &'c Map<String, Value>,
    name: &str,
    shown: &'static str,
) -> Result<&'c str, HookError> {
    object
        .get(name)
        .and_then(Value::as_str)
        .ok_or(HookError::Field(shown))
}
