//! What a model is told about the tools that it can call.

use deputize_authority::Tool;
use serde_json::{Value, json};

use crate::Limits;

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name to call it by.
    pub name: &'static str,
    /// What it does, and how to use it well.
    pub description: &'static str,
    /// The arguments, as a JSON schema.
    pub parameters: Value,
}

/// The description of a tool; `None` for tools that no model can call in this version.
#[must_use]
pub fn spec(tool: Tool) -> Option<ToolSpec> {
    let path = json!({
        "type": "string",
        "description": "Path, relative to the workspace or absolute. Default: the workspace.",
        "maxLength": Limits::PATH,
    });
    let results = |default: &str| {
        json!({
            "type": "integer", "minimum": 1, "maximum": Limits::RESULTS,
            "description": format!("Most results to return. Default: {default}."),
        })
    };
    let (description, properties, required) = match tool {
        Tool::Read => (
            "Reads a text file with line numbers, at most 2000 lines or 50 KB at a time; continue \
             with `offset`. Binary files are described, not shown. One leading `@` of a path is \
             dropped: write `./@name` for a name that starts with it.",
            json!({
                "path": {"type": "string", "maxLength": Limits::PATH,
                    "description": "The file, relative to the workspace or absolute."},
                "offset": {"type": "integer", "minimum": 1,
                    "description": "First line, counted from 1. Default: 1."},
                "limit": {"type": "integer", "minimum": 1, "maximum": Limits::LINES,
                    "description": "Most lines to return."},
            }),
            vec!["path"],
        ),
        Tool::Ls => (
            "Lists a folder, hidden files included: `/` marks folders, `@` symlinks with their \
             target, sizes are bytes.",
            json!({"path": path}),
            vec![],
        ),
        Tool::Find => (
            "Finds files by glob, for example `*.rs` (a name, anywhere below) or \
             `src/**/test_*.py` (a path below the folder). Ignored files (.gitignore) are left out \
             unless `path` names an ignored folder.",
            json!({
                "pattern": {"type": "string", "maxLength": Limits::GLOB, "description": "The glob."},
                "path": path,
                "limit": results("1000"),
            }),
            vec!["pattern"],
        ),
        Tool::Grep => (
            "Searches file contents. Give `pattern` (a regular expression, or plain text with \
             `literal`), or `terms` (words and identifiers) for a ranked search that puts the \
             places that matter most first. Ignored (.gitignore) and binary files are left out.",
            json!({
                "pattern": {"type": "string", "maxLength": Limits::PATTERN,
                    "description": "Regular expression (Rust syntax), matched line by line."},
                "terms": {"type": "array", "maxItems": Limits::TERMS,
                    "items": {"type": "string", "maxLength": Limits::TERM},
                    "description": "Ranked search: words and identifiers, instead of `pattern`."},
                "path": path,
                "glob": {"type": "string", "maxLength": Limits::GLOB,
                    "description": "Only files that match, for example `*.ts`. With `pattern` only."},
                "case": {"type": "string", "enum": ["smart", "sensitive", "insensitive"],
                    "description": "Default: smart (case counts when the pattern has capitals)."},
                "literal": {"type": "boolean", "description": "Take the pattern as plain text."},
                "context": {"type": "integer", "minimum": 0, "maximum": Limits::CONTEXT,
                    "description": "Lines to show around each match."},
                "output": {"type": "string", "enum": ["lines", "files", "count"],
                    "description": "Matching lines, only the files, or counts. Default: lines."},
                "limit": results("100"),
            }),
            vec![],
        ),
        Tool::Git => (
            "Looks at the repository of the workspace; it changes nothing. `op`: `status` (changed \
             files), `diff` (working files against the index; with `staged` the index against HEAD; \
             with `rev` a revision or range such as `main..HEAD`), `log` (commits, newest first), \
             `show` (one commit, or with `path` that file at `rev`), `blame` (who last changed each \
             line, as of `rev`). Filters, external diffs, changes inside submodules and secrets are \
             left out.",
            json!({
                "op": {"type": "string", "enum": ["status", "diff", "log", "show", "blame"],
                    "description": "What to look at."},
                "rev": {"type": "string", "maxLength": Limits::REVISION,
                    "description": "Revision (`HEAD~2`, `main`) or, for diff and log, a range. \
                        Default: HEAD; for diff the index."},
                "path": {"type": "string", "maxLength": Limits::PATH,
                    "description": "One file or folder; needed by blame."},
                "paths": {"type": "array", "maxItems": Limits::GIT_PATHS,
                    "items": {"type": "string", "maxLength": Limits::PATH},
                    "description": "Several, instead of `path`: for status, diff and log."},
                "output": {"type": "string", "enum": ["summary", "names", "stat", "patch"],
                    "description": "How much of each change, for diff, log and show. Default: patch; \
                        for log summary."},
                "staged": {"type": "boolean", "description": "For diff: what is staged."},
                "context": {"type": "integer", "minimum": 0, "maximum": Limits::CONTEXT,
                    "description": "For diff: unchanged lines around each change."},
                "limit": {"type": "integer", "minimum": 1, "maximum": Limits::COMMITS,
                    "description": "For log: most commits. Default: 20."},
                "start": {"type": "integer", "minimum": 1, "description": "For blame: first line."},
                "end": {"type": "integer", "minimum": 1, "description": "For blame: last line."},
            }),
            vec!["op"],
        ),
        Tool::Bash => (
            "Runs a command with bash, in the workspace each time: `cd` and variables don't carry \
             over. No network, no terminal, no input; what it leaves running is ended. Output is \
             bounded. It ends after 120 s unless `timeout_seconds` \
             says otherwise, at most 600.",
            json!({
                "command": {"type": "string", "maxLength": Limits::COMMAND,
                    "description": "The command line."},
                "timeout_seconds": {"type": "integer", "minimum": 1,
                    "maximum": Limits::COMMAND_SECONDS_MOST,
                    "description": "Most seconds it may take. Default: 120."},
            }),
            vec!["command"],
        ),
        Tool::Write => (
            "Creates a text file, with the folders on the way, or replaces all of one that you have \
             read. At most 1 MiB. Use `edit` to change a part.",
            json!({
                "path": {"type": "string", "maxLength": Limits::PATH,
                    "description": "The file, relative to the workspace or absolute."},
                "content": {"type": "string", "maxLength": Limits::CONTENT,
                    "description": "All of its content."},
            }),
            vec!["path", "content"],
        ),
        Tool::Edit => (
            "Changes parts of a text file. Each `old` must be in the file exactly once (or set \
             `all`), spaces and line breaks included. The edits are made in order, each on the \
             result of the one before, and all or none. Line ends stay as they are.",
            json!({
                "path": {"type": "string", "maxLength": Limits::PATH,
                    "description": "The file, relative to the workspace or absolute."},
                "edits": {"type": "array", "minItems": 1, "maxItems": Limits::EDITS, "items": {
                    "type": "object",
                    "properties": {
                        "old": {"type": "string", "minLength": 1, "maxLength": Limits::CONTENT,
                            "description": "The text that is there, without line numbers."},
                        "new": {"type": "string", "maxLength": Limits::CONTENT,
                            "description": "The text that takes its place."},
                        "all": {"type": "boolean", "description": "Replace every occurrence."},
                    },
                    "required": ["old", "new"],
                    "additionalProperties": false,
                }},
            }),
            vec!["path", "edits"],
        ),
        Tool::Exec => return None,
    };
    Some(ToolSpec {
        name: tool.name(),
        description,
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Call;

    /// D4: a tool that no schema describes would be no tool to the budget, and run uncharged.
    #[test]
    fn every_tool_of_a_childs_preset_is_described() {
        for preset in deputize_authority::Preset::FOR_CHILDREN {
            for tool in preset.bounds().tools.items() {
                assert!(spec(*tool).is_some(), "{preset}: {tool}");
            }
        }
    }

    /// A schema that names an argument which the gate refuses would send models into denials.
    #[test]
    fn g1_the_gate_takes_exactly_what_the_schemas_name() {
        for tool in Tool::ALL {
            let Some(spec) = spec(tool) else { continue };
            for name in spec.parameters["properties"].as_object().unwrap().keys() {
                // Which arguments `git` has depends on what it looks at.
                let ops = ["status", "diff", "log", "show", "blame"];
                let is_taken = ops.iter().any(|op| {
                    let arguments = match tool {
                        Tool::Git if name != "op" => json!({ "op": op, name: {} }),
                        _ => json!({ name: {} }),
                    };
                    let error = Call::parse(spec.name, &arguments).unwrap_err();
                    !matches!(error, crate::CallError::UnknownArgument { .. })
                });
                assert!(is_taken, "{tool}: {name}");
            }
        }
    }
}
