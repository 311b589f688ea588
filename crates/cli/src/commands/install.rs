//! `deputize install` and `deputize uninstall`: a host's own configuration, shown before it is written.

use std::path::PathBuf;
use std::process::ExitCode;

use deputize_authority::{Refusal, escape};
use deputize_hosts::{Around, Edit, Host, Plan, Wish, plan, plan_removal, snippet};
use deputize_runs::{Look, RunError};
use serde_json::{Value, json};

use super::copies::Consent;
use crate::args::{HostName, Install, Uninstall};
use crate::failure::{self, Voice};
use crate::output::{print, print_json};
use crate::request::look_around;

/// What Codex does with a hook that is new to it.
const TRUST: &str = "On a terminal Codex asks you whether to trust the hook. Until you do it runs no hook, without a \
                     word: `codex exec` too.\n";

pub(crate) fn main(args: &Install) -> ExitCode {
    let voice = Voice::of(args.json);
    match install(args, voice) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::tell(&error, voice),
    }
}

pub(crate) fn remove(args: &Uninstall) -> ExitCode {
    let voice = Voice::of(args.json);
    match uninstall(args, voice) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::tell(&error, voice),
    }
}

fn install(args: &Install, voice: Voice) -> Result<(), RunError> {
    let host = host(args.host);
    let program = match &args.program {
        Some(program) => absolute(program)?,
        None => own_path()?,
    };
    if host == Host::Mcp && args.file.is_none() && args.print {
        print(&format!("{}\n", snippet(&program)?));
        return Ok(());
    }
    let wish = Wish {
        host,
        gate: args.gate,
        file: args.file.as_deref().map(absolute).transpose()?,
        program,
        package: args.package.clone(),
    };
    let look = look_around()?;
    let plan = plan(&wish, &around(&look, &|name| look.variable(name))?)?;
    let then = match (host, args.gate) {
        (Host::Codex, true) => TRUST,
        _ => "",
    };
    carry(
        plan,
        args.print,
        args.yes,
        voice,
        ("Write this?", "installed", then),
    )
}

fn uninstall(args: &Uninstall, voice: Voice) -> Result<(), RunError> {
    let look = look_around()?;
    let plan = plan_removal(
        host(args.host),
        &around(&look, &|name| look.variable(name))?,
    )?;
    carry(
        plan,
        args.print,
        args.yes,
        voice,
        ("Take this back?", "removed", ""),
    )
}

/// Shows a plan, asks, and writes it.
fn carry(
    plan: Plan,
    only_print: bool,
    yes: bool,
    voice: Voice,
    (question, done, then): (&str, &str, &str),
) -> Result<(), RunError> {
    let files: Vec<Value> = plan.edits().iter().map(told).collect();
    let tell = |status: &str| match voice {
        Voice::Json => print_json(&json!({ "status": status, "files": files })),
        Voice::Words => match status {
            "unchanged" => print("Nothing to do: it is as it should be.\n"),
            "planned" => {}
            status => print(&format!(
                "It is {status}. The host reads it when it starts.\n{then}"
            )),
        },
    };
    let shown: String = plan.edits().iter().map(text).collect();
    if plan.edits().is_empty() {
        // A record without an entry has no use.
        plan.write()?;
        tell("unchanged");
        return Ok(());
    }
    if only_print {
        if voice == Voice::Words {
            print(&shown);
        }
        tell("planned");
        return Ok(());
    }
    Consent::of(yes).get(&shown, question, voice)?;
    plan.write()?;
    tell(done);
    Ok(())
}

fn text(edit: &Edit) -> String {
    let path = escape(&edit.path().to_string_lossy());
    let mut out = format!("{}: {path}\n", edit.what());
    for (number, sign, line) in edit.lines() {
        out.push_str(&format!("{number:>6} {sign} {}\n", escape(&line)));
    }
    out
}

fn told(edit: &Edit) -> Value {
    let lines = edit.lines();
    let lines = lines
        .iter()
        .map(|(number, sign, line)| json!({ "line": number, "sign": sign, "text": line }));
    json!({
        "path": edit.path().to_string_lossy(),
        "what": edit.what(),
        "lines": lines.collect::<Vec<_>>(),
    })
}

fn host(name: HostName) -> Host {
    match name {
        HostName::Pi => Host::Pi,
        HostName::Claude => Host::ClaudeCode,
        HostName::Codex => Host::Codex,
        HostName::Mcp => Host::Mcp,
    }
}

fn around<'a>(
    look: &Look,
    variable: &'a dyn Fn(&str) -> Option<String>,
) -> Result<Around<'a>, RunError> {
    Ok(Around {
        home: look.home.clone(),
        state: look.state()?.to_owned(),
        variable,
    })
}

/// Where this program lies, as a host is to start it.
fn own_path() -> Result<PathBuf, RunError> {
    std::env::current_exe().map_err(|source| RunError::State {
        doing: "find the program",
        path: "/proc/self/exe".into(),
        source,
    })
}

/// A typed path, for whoever reads it in another folder.
fn absolute(path: &std::path::Path) -> Result<PathBuf, Refusal> {
    std::path::absolute(path).map_err(|error| {
        Refusal::new(
            "path_unusable",
            "path",
            format!("`{}`: {error}", escape(&path.to_string_lossy())),
            "name it from the top",
        )
    })
}
