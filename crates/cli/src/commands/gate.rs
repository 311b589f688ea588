//! `deputize gate`: the gate as another host's hook before a tool call.
//!
//! Both hosts let a call pass when a hook fails in any way but one: exit code 2 with a reason. So
//! everything that goes wrong here ends so, a fault of our own included.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use deputize_authority::CallRule;
use deputize_gate::{Host, OnAsk, Seat, hook};
use deputize_runs::Look;
use deputize_shell::{User, second_opinion};

use crate::args::{Gate, HookHost, Questions};
use crate::output::{error_line, print_json_line};

/// The code that both hosts take as a block.
pub(crate) const BLOCKED: u8 = 2;
/// Bytes of input that are read: more than the gate takes, so that it sees when there are too many.
const READ: u64 = (8 << 20) + 1;

pub(crate) fn main(args: &Gate) -> ExitCode {
    match std::panic::catch_unwind(|| decided(args)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(reason)) => blocked(&reason),
        Err(_) => blocked("the gate failed on this call"),
    }
}

fn blocked(reason: &str) -> ExitCode {
    error_line(&format!(
        "Deputize blocks this call: {reason}. See `deputize gate --help`."
    ));
    ExitCode::from(BLOCKED)
}

fn decided(args: &Gate) -> Result<(), String> {
    let mut input = Vec::new();
    std::io::stdin()
        .lock()
        .take(READ)
        .read_to_end(&mut input)
        .map_err(|error| format!("the hook's input can't be read: {error}"))?;
    let answer = hook(&input, &seat(args)?).map_err(|error| error.to_string())?;
    if let Some(output) = answer.output {
        print_json_line(&output);
    }
    Ok(())
}

fn seat(args: &Gate) -> Result<Seat, String> {
    let host = args.host.map(|host| match host {
        HookHost::ClaudeCode => Host::ClaudeCode,
        HookHost::Codex => Host::Codex,
    });
    let roots = match (args.root.as_slice(), host) {
        ([], Some(Host::Codex)) => Vec::new(),
        // Where the person started the host; its agent may have gone elsewhere since.
        ([], _) => std::env::var("CLAUDE_PROJECT_DIR")
            .ok()
            .filter(|folder| folder.starts_with('/'))
            .into_iter()
            .collect(),
        (roots, _) => roots
            .iter()
            .map(|root| absolute(root))
            .collect::<Result<_, _>>()?,
    };
    Ok(Seat {
        host,
        roots,
        home: std::env::var("HOME").unwrap_or_default(),
        user: if rustix::process::geteuid().is_root() {
            User::Root
        } else {
            User::Ordinary
        },
        on_ask: match args.on_ask {
            Questions::Ask => OnAsk::Ask,
            Questions::Deny => OnAsk::Deny,
            Questions::Leave => OnAsk::Leave,
        },
        second: second_opinion,
        rules: rules()?,
    })
}

/// The person's rules about calls. A file that is at fault holds every call up: a denial in it must
/// not pass as nothing.
fn rules() -> Result<Vec<CallRule>, String> {
    let look = Look::around().map_err(|error| format!("there is no folder here: {error}"))?;
    let rules = look.rules(None).map_err(|error| {
        let refusal = error.refusal();
        format!("{}, {}: {}", refusal.code, refusal.reason, refusal.fix)
    })?;
    Ok(rules.calls().to_vec())
}

fn absolute(root: &Path) -> Result<String, String> {
    let here =
        || std::env::current_dir().map_err(|error| format!("there is no folder here: {error}"));
    let path: PathBuf = if root.is_absolute() {
        root.to_owned()
    } else {
        here()?.join(root)
    };
    path.into_os_string()
        .into_string()
        .map_err(|_| "--root must be text".to_owned())
}
