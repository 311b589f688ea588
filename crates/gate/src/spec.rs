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
        Tool::Git | Tool::Bash | Tool::Write | Tool::Edit | Tool::Exec => return None,
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

    /// A schema that names an argument which the gate refuses would send models into denials.
    #[test]
    fn g1_the_gate_takes_exactly_what_the_schemas_name() {
        for tool in Tool::ALL {
            let Some(spec) = spec(tool) else { continue };
            for name in spec.parameters["properties"].as_object().unwrap().keys() {
                let error = Call::parse(spec.name, &json!({ name: {} })).unwrap_err();
                assert!(
                    !matches!(error, crate::CallError::UnknownArgument { .. }),
                    "{tool}: {name}"
                );
            }
        }
    }
}
