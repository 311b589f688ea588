//! The host's own calls (G3): what an agent that nothing confines is told about a call of its own.
//!
//! The gate's advice is from text alone. Here paths are also followed to where they lead, and the
//! stricter of the two answers counts.

use std::path::{Component, Path, PathBuf};

use deputize_authority::{CallRule, Level, Mode, Tool, escape};
use deputize_gate::{Explanation, SecondOpinion, Stance, Standing, explain_line, explain_path};
use deputize_shell::{Role, User};
use serde::Serialize;
use serde_json::{Map, Value};

/// The rule by which a person's own rule asks: no mode answers it.
const PERSON_ASKS: &str = "rule.ask";

/// Where a host's agent works.
#[derive(Debug, Clone)]
pub struct OwnSeat {
    /// The folder that it may change.
    pub root: PathBuf,
    /// The folder that it is in.
    pub cwd: PathBuf,
    /// The home folder.
    pub home: PathBuf,
    /// How much is asked.
    pub mode: Mode,
    /// The other parser.
    pub second: SecondOpinion,
    /// The person's own rules about calls.
    pub rules: Vec<CallRule>,
}

/// What the host is told about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OwnVerdict {
    /// `allow`, `ask` or `deny`.
    pub verdict: &'static str,
    /// The rule.
    pub rule: String,
    /// Why.
    pub reason: String,
    /// What to do instead, where there is something.
    pub safer: Option<String>,
}

/// Judges a call of a host's own agent. What isn't understood is never allowed but in `auto-all`.
#[must_use]
pub fn judge_own_call(tool: &str, input: &Map<String, Value>, seat: &OwnSeat) -> OwnVerdict {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    match tool {
        "bash" => match text("command") {
            Some(line) => command(line, seat),
            None => unreadable("the call has no command"),
        },
        "read" | "ls" | "find" | "grep" | "write" | "edit" => {
            let kind = match tool {
                "read" => Tool::Read,
                "ls" => Tool::Ls,
                "find" => Tool::Find,
                "grep" => Tool::Grep,
                "write" => Tool::Write,
                _ => Tool::Edit,
            };
            match text("path") {
                Some(target) => file(target, kind, seat),
                None if matches!(kind, Tool::Ls | Tool::Find | Tool::Grep) => file(".", kind, seat),
                None => unreadable("the call has no path"),
            }
        }
        _ if tool == "subagent" || tool.starts_with("subagent_") => OwnVerdict {
            verdict: "allow",
            rule: "own.subagent".to_owned(),
            reason: "a child has a grant of its own, and what it needs is asked about there"
                .to_owned(),
            safer: None,
        },
        _ => unknown(tool, seat.mode),
    }
}

fn command(line: &str, seat: &OwnSeat) -> OwnVerdict {
    let stance = Stance::Bound(seat.mode, Level::None);
    told(&explain_line(line, &standing(seat), stance, seat.second))
}

fn standing(seat: &OwnSeat) -> Standing {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let user = match rustix::process::geteuid().is_root() {
        true => User::Root,
        false => User::Ordinary,
    };
    Standing::new(
        &[&text(&seat.root)],
        &text(&seat.cwd),
        &text(&seat.home),
        user,
    )
    .with_rules(seat.rules.clone())
}

fn file(target: &str, tool: Tool, seat: &OwnSeat) -> OwnVerdict {
    let role = match tool {
        Tool::Write | Tool::Edit => Role::Write,
        _ => Role::Read,
    };
    if target.contains('\0') {
        return unreadable("the path has a NUL");
    }
    if role == Role::Write && seat.mode == Mode::Explore {
        return OwnVerdict {
            verdict: "deny",
            rule: "mode.explore".to_owned(),
            reason: "this mode looks and changes nothing".to_owned(),
            safer: Some("Say what would have to be changed".to_owned()),
        };
    }
    // The host reads `@path` and `~` as people write them.
    let plain = target.strip_prefix('@').unwrap_or(target);
    let expanded = match plain.strip_prefix("~/") {
        Some(rest) => seat.home.join(rest),
        None if plain == "~" => seat.home.clone(),
        None => seat.cwd.join(plain),
    };
    let standing = standing(seat);
    let strictness = |verdict: &str| match verdict {
        "deny" => 2,
        "ask" => 1,
        _ => 0,
    };
    let leads = leads_to(&expanded);
    let mut verdict = [&expanded, &leads]
        .map(|path| {
            told(&explain_path(
                &path.to_string_lossy(),
                role,
                tool,
                &standing,
            ))
        })
        .into_iter()
        .max_by_key(|verdict| strictness(verdict.verdict))
        .unwrap_or_else(|| unreadable("the path can't be judged"));
    let asks = match (role, seat.mode) {
        (Role::Write, Mode::Ask) => true,
        (_, Mode::AutoAll) => {
            if verdict.verdict == "ask" && verdict.rule != PERSON_ASKS {
                verdict.verdict = "allow";
            }
            false
        }
        _ => false,
    };
    if asks && verdict.verdict == "allow" {
        verdict.verdict = "ask";
        verdict.rule = "mode.ask".to_owned();
        verdict.reason = "this mode asks about each change".to_owned();
    }
    verdict
}

/// Where a path leads: its nearest ancestor that there is, followed, and the rest as it stands.
fn leads_to(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain = std::fs::canonicalize(&plain).unwrap_or(plain);
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    let mut rest = Vec::new();
    let mut there = plain.as_path();
    loop {
        if let Ok(found) = std::fs::canonicalize(there) {
            return rest
                .iter()
                .rev()
                .fold(found, |whole, part| whole.join(part));
        }
        let (Some(above), Some(name)) = (there.parent(), there.file_name()) else {
            return plain;
        };
        rest.push(name.to_owned());
        there = above;
    }
}

fn told(explanation: &Explanation) -> OwnVerdict {
    let safer = explanation
        .shell
        .iter()
        .flat_map(|shell| &shell.rules)
        .map(|spoken| spoken.safer.to_owned())
        .next()
        .filter(|_| explanation.verdict != "allow");
    OwnVerdict {
        verdict: explanation.verdict,
        rule: explanation.rule.to_owned(),
        reason: escape(&explanation.reasons.join("; ")),
        safer,
    }
}

fn unknown(tool: &str, mode: Mode) -> OwnVerdict {
    let verdict = match mode {
        Mode::Explore => "deny",
        Mode::Ask | Mode::AutoEdit => "ask",
        Mode::AutoAll => "allow",
    };
    let shown: String = escape(tool).chars().take(64).collect();
    OwnVerdict {
        verdict,
        rule: "own.unknown_tool".to_owned(),
        reason: format!("what `{shown}` does isn't known to the gate"),
        safer: None,
    }
}

fn unreadable(why: &str) -> OwnVerdict {
    OwnVerdict {
        verdict: "deny",
        rule: "call.unreadable".to_owned(),
        reason: why.to_owned(),
        safer: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn verdict(tool: &str, input: &Value, mode: Mode, root: &Path) -> &'static str {
        let seat = OwnSeat {
            root: root.join("work"),
            cwd: root.join("work"),
            home: root.to_owned(),
            mode,
            second: |_| None,
            rules: Vec::new(),
        };
        let input = input.as_object().cloned().unwrap_or_default();
        judge_own_call(tool, &input, &seat).verdict
    }

    /// G3: the modes over the calls that a host has; what isn't known is asked about or denied.
    #[test]
    fn g3_the_modes_of_a_hosts_own_agent() {
        let base = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(base.path()).unwrap();
        std::fs::create_dir_all(root.join("work/src")).unwrap();
        std::fs::create_dir(root.join(".ssh")).unwrap();
        std::os::unix::fs::symlink(root.join(".ssh"), root.join("work/out")).unwrap();
        let modes = [Mode::Explore, Mode::Ask, Mode::AutoEdit, Mode::AutoAll];
        for (tool, input, expected) in [
            ("read", json!({"path": "src/a.rs"}), ["allow"; 4]),
            ("grep", json!({"pattern": "x"}), ["allow"; 4]),
            ("read", json!({"path": "~/.ssh/id_ed25519"}), ["deny"; 4]),
            ("read", json!({"path": "out/id_ed25519"}), ["deny"; 4]),
            (
                "write",
                json!({"path": "src/a.rs"}),
                ["deny", "ask", "allow", "allow"],
            ),
            ("edit", json!({}), ["deny"; 4]),
            (
                "bash",
                json!({"command": "cargo test"}),
                ["deny", "ask", "ask", "allow"],
            ),
            (
                "bash",
                json!({"command": "deputize auth set x"}),
                ["deny"; 4],
            ),
            ("mcp__x__y", json!({}), ["deny", "ask", "ask", "allow"]),
            ("subagent", json!({"prompt": "x"}), ["allow"; 4]),
        ] {
            let found = modes.map(|mode| verdict(tool, &input, mode, &root));
            assert_eq!(found, expected, "{tool} {input}");
        }
        let outside = verdict("write", &json!({"path": "/etc/x"}), Mode::AutoEdit, &root);
        assert_ne!(outside, "allow");
    }
}
