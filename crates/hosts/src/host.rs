//! The hosts that are known, and what each one's configuration has to say.

use std::path::{Path, PathBuf};

use deputize_authority::{Refusal, escape};
use serde_json::{Value, json};

use crate::entry::{Entry, Format};

/// Under which name a host knows the server.
pub(crate) const NAME: &str = "deputize";

/// Seconds that a host waits for the gate: a hundred times what it takes.
const HOOK_SECONDS: u64 = 10;

/// A program that a parent agent lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Pi: the extension is one of its packages.
    Pi,
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Any other client of MCP, by its file.
    Mcp,
}

impl Host {
    /// Its name, for people and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::Mcp => "mcp",
        }
    }
}

/// What is wanted of a host.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The host.
    pub host: Host,
    /// Whether its own tool calls are to pass the gate.
    pub gate: bool,
    /// Its file, where that isn't the usual one.
    pub file: Option<PathBuf>,
    /// The program that it is to start: an absolute path.
    pub program: PathBuf,
    /// For Pi, the package: `npm:NAME@VERSION`, or a folder.
    pub package: Option<String>,
}

/// Where a person's files lie.
pub struct Around<'a> {
    /// The home folder.
    pub home: Option<PathBuf>,
    /// Where records are kept: Deputize's state folder.
    pub state: PathBuf,
    /// The person's environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A file, and what it is to say.
pub(crate) struct Wanted {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) entries: Vec<Entry>,
}

impl Around<'_> {
    /// A folder that a variable moves, or its usual place below home.
    fn folder(&self, variable: &str, below: &str) -> Result<PathBuf, Refusal> {
        let moved = (self.variable)(variable).map(PathBuf::from);
        let usual = || self.home.as_ref().map(|home| home.join(below));
        moved
            .filter(|path| path.is_absolute())
            .or_else(usual)
            .ok_or_else(|| {
                Refusal::new(
                    "home_unknown",
                    "HOME",
                    "no home folder is known, so the host's configuration can't be found",
                    format!("set HOME, or {variable}"),
                )
            })
    }
}

/// The files of a host with the entries that a wish puts into them.
pub(crate) fn wanted(wish: &Wish, around: &Around<'_>) -> Result<Vec<Wanted>, Refusal> {
    let program = text(&wish.program)?;
    if wish.gate && matches!(wish.host, Host::Pi | Host::Mcp) {
        return Err(Refusal::new(
            "gate_unusable",
            "gate",
            format!(
                "`{}` has no hook that this program could answer",
                wish.host.name()
            ),
            "leave --gate out; the Pi extension has a setting of its own for it",
        ));
    }
    if wish.file.is_some() && wish.host != Host::Mcp {
        return Err(Refusal::new(
            "file_unusable",
            "file",
            format!(
                "where `{}` keeps its configuration is known",
                wish.host.name()
            ),
            "leave --file out; the host's own variables move its files",
        ));
    }
    let file = |path: PathBuf, format, entries| Wanted {
        path,
        format,
        entries,
    };
    Ok(match wish.host {
        Host::Pi => {
            let package = wish.package.as_deref().unwrap_or(PACKAGE);
            let folder = around.folder("PI_CODING_AGENT_DIR", ".pi/agent")?;
            let entry = Entry {
                at: vec!["packages".to_owned()],
                name: None,
                value: Value::String(package.to_owned()),
            };
            vec![file(
                folder.join("settings.json"),
                Format::Json,
                vec![entry],
            )]
        }
        Host::ClaudeCode => {
            let moved = (around.variable)("CLAUDE_CONFIG_DIR").is_some();
            let folder = around.folder("CLAUDE_CONFIG_DIR", ".claude")?;
            // Beside the folder, unless it was moved: then inside.
            let servers = match (moved, folder.parent()) {
                (false, Some(home)) => home.join(".claude.json"),
                _ => folder.join(".claude.json"),
            };
            let mut files = vec![file(
                servers,
                Format::Json,
                vec![server(Host::ClaudeCode, program)],
            )];
            if wish.gate {
                let matcher = "Bash|Read|Write|Edit|MultiEdit|NotebookEdit|Grep|Glob|LS";
                let entry = hook(program, "claude-code", matcher);
                files.push(file(
                    folder.join("settings.json"),
                    Format::Json,
                    vec![entry],
                ));
            }
            files
        }
        Host::Codex => {
            let folder = around.folder("CODEX_HOME", ".codex")?;
            let mut entries = vec![server(Host::Codex, program)];
            if wish.gate {
                entries.push(hook(program, "codex", "^(Bash|apply_patch)$"));
            }
            vec![file(folder.join("config.toml"), Format::Toml, entries)]
        }
        Host::Mcp => {
            let path = wish.file.clone().ok_or_else(|| {
                Refusal::new(
                    "file_missing",
                    "file",
                    "every client of MCP keeps its servers in a file of its own",
                    "name it with --file, or add by hand what --print shows",
                )
            })?;
            vec![file(path, Format::Json, vec![server(Host::Mcp, program)])]
        }
    })
}

/// The extension's package, in the version that this program was made with.
const PACKAGE: &str = concat!("npm:@deputize/pi@", env!("CARGO_PKG_VERSION"));

/// What any client of MCP has to be told, as the JSON that most of them read.
///
/// # Errors
/// `program_not_text`.
pub fn snippet(program: &Path) -> Result<String, Refusal> {
    let entry = server(Host::Mcp, text(program)?);
    let shown = json!({ "mcpServers": { NAME: entry.value } });
    Ok(serde_json::to_string_pretty(&shown).unwrap_or_default())
}

fn server(host: Host, program: &str) -> Entry {
    let (table, value) = match host {
        Host::Codex => (
            "mcp_servers",
            json!({ "command": program, "args": ["mcp"] }),
        ),
        Host::ClaudeCode => (
            "mcpServers",
            json!({ "type": "stdio", "command": program, "args": ["mcp"] }),
        ),
        Host::Pi | Host::Mcp => ("mcpServers", json!({ "command": program, "args": ["mcp"] })),
    };
    Entry {
        at: vec![table.to_owned()],
        name: Some(NAME.to_owned()),
        value,
    }
}

fn hook(program: &str, host: &str, matcher: &str) -> Entry {
    let command = format!("{} gate --stdin --host {host}", quoted(program));
    Entry {
        at: vec!["hooks".to_owned(), "PreToolUse".to_owned()],
        name: None,
        value: json!({
            "matcher": matcher,
            "hooks": [{ "type": "command", "command": command, "timeout": HOOK_SECONDS }],
        }),
    }
}

/// A path as one word of a shell.
fn quoted(path: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@".contains(letter);
    match path.chars().all(plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

fn text(program: &Path) -> Result<&str, Refusal> {
    program.to_str().ok_or_else(|| {
        Refusal::new(
            "program_not_text",
            "program",
            format!(
                "`{}` isn't text, and configurations are",
                escape(&program.to_string_lossy())
            ),
            "install the program at another path",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word() {
        assert_eq!(quoted("/usr/bin/deputize"), "/usr/bin/deputize");
        assert_eq!(quoted("/a b/it's"), "'/a b/it'\\''s'");
    }
}
