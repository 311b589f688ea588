//! `deputize exec`: one command in a boundary.

use std::process::ExitCode;

use deputize_authority::preflight::ExecRequest;
use deputize_authority::{Level, Refusal, SECRET_CLASSES, escape};
use deputize_boundary::{BoundaryPlan, CommandEnd, PinnedProgram};
use deputize_runs::{
    Executed, Execution, Look, RunError, Weaker, choose_dry, execute, plan_command,
};
use serde_json::json;

use crate::args::Exec;
use crate::failure::{Voice, tell_refusal, usage};
use crate::output::error_line;
use crate::request::look_around;
use crate::show;

/// A failure of deputize itself.
pub(crate) const OWN_FAILURE: u8 = 125;
/// Refused, or found and not executable.
const REFUSED: u8 = 126;
/// No such program.
const NOT_FOUND: u8 = 127;

pub(crate) fn main(args: Exec) -> ExitCode {
    match begin(&args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Standard output belongs to the command: a failure is always told on standard error.
            let refusal = error.refusal();
            if args.json {
                error_line(&json!({ "status": "refused", "error": refusal }).to_string());
            } else {
                tell_refusal(&refusal, Voice::Words);
            }
            ExitCode::from(if matches!(error, RunError::Refused(_)) {
                REFUSED
            } else {
                OWN_FAILURE
            })
        }
    }
}

fn begin(args: &Exec) -> Result<u8, RunError> {
    let program = PinnedProgram::open()?;
    let look = look_around()?;
    let execution = execution(args, &look)?;
    if args.dry_run {
        let grant = plan_command(&look, &execution)?;
        let plan = choose_dry(&grant, &look.host())?;
        let given = execution
            .environment
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        show::exec_plan(&grant, &plan, given, Voice::of(args.json));
        return Ok(0);
    }
    let executed = execute(&look, &execution, &program, |plan, weaker| {
        tell_start(args, plan, weaker);
    })?;
    for warning in &executed.warnings {
        error_line(&format!("deputize: {warning}"));
    }
    Ok(tell_end(args, &executed))
}

fn execution(args: &Exec, look: &Look) -> Result<Execution, RunError> {
    if !args.host.is_empty() {
        return Err(RunError::Refused(Refusal::new(
            "not_available",
            "host",
            "no network is available in this version",
            "leave --host out",
        )));
    }
    let known = |class: &String| SECRET_CLASSES.iter().any(|row| row.id == class);
    if let Some(class) = args.secret.iter().find(|class| !known(class)) {
        let ids: Vec<&str> = SECRET_CLASSES.iter().map(|row| row.id).collect();
        let reason = format!("`{}` is no class of secrets", escape(class));
        return Err(usage(
            "secret",
            reason,
            &format!("use one of {}", ids.join(", ")),
        ));
    }
    let environment: Vec<(String, String)> = args
        .env
        .iter()
        .map(|typed| variable(typed, look))
        .collect::<Result<_, _>>()?;
    let folders =
        |paths: &[std::path::PathBuf]| paths.iter().map(|path| look.folder(path)).collect();
    Ok(Execution {
        request: ExecRequest {
            argv: args.command.clone(),
            read: folders(&args.read),
            write: folders(&args.write),
            env: environment.iter().map(|(name, _)| name.clone()).collect(),
            secrets: args.secret.clone(),
            ports: args.port.clone(),
        },
        workdir: args.workdir.clone(),
        environment,
        memory_bytes: memory(&args.limit)?,
    })
}

fn variable(typed: &str, look: &Look) -> Result<(String, String), RunError> {
    let (name, value) = match typed.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (typed, look.variable(typed)),
    };
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !starts_well
        || !name
            .chars()
            .all(|part| part.is_ascii_alphanumeric() || part == '_')
    {
        let reason = format!("`{}` is no name of a variable", escape(name));
        return Err(usage(
            "env",
            reason,
            "use letters, digits and `_`, with no digit in front",
        ));
    }
    let value = value.ok_or_else(|| {
        usage(
            "env",
            format!("`{name}` is not set here, or isn't text"),
            "write NAME=VALUE",
        )
    })?;
    Ok((name.to_owned(), value))
}

fn memory(limits: &[String]) -> Result<Option<u64>, RunError> {
    let mut memory = None;
    for typed in limits {
        let bytes = typed.strip_prefix("memory=").and_then(bytes);
        memory = Some(bytes.ok_or_else(|| {
            let reason = format!("`{}` is no limit", escape(typed));
            usage(
                "limit",
                reason,
                "write `memory=BYTES`, with k, m or g behind the number if you like",
            )
        })?);
    }
    Ok(memory)
}

/// `512m` and the like, in powers of 1024.
fn bytes(text: &str) -> Option<u64> {
    let lower = text.to_lowercase();
    let (digits, shift) = match lower.strip_suffix(['k', 'm', 'g']) {
        Some(digits) if lower.ends_with('k') => (digits, 10),
        Some(digits) if lower.ends_with('m') => (digits, 20),
        Some(digits) => (digits, 30),
        None => (lower.as_str(), 0),
    };
    digits
        .parse::<u64>()
        .ok()?
        .checked_mul(1 << shift)
        .filter(|bytes| *bytes > 0)
}

/// A weaker boundary is always said; a full one only when asked.
fn tell_start(args: &Exec, plan: &BoundaryPlan, weaker: Option<&Weaker>) {
    if let Some(weaker) = weaker {
        let missing: Vec<&str> = plan
            .promises
            .iter()
            .filter(|state| state.mechanism.is_none())
            .map(|state| state.promise.name())
            .collect();
        error_line(&format!(
            "deputize: boundary {}: {}",
            plan.level, weaker.why
        ));
        error_line(&format!("  not promised: {}", missing.join(", ")));
        error_line(&format!("  fix: {}", weaker.fix));
    } else if args.verbose {
        error_line(&format!("deputize: boundary {}", plan.level));
    }
}

fn tell_end(args: &Exec, executed: &Executed) -> u8 {
    let (code, words) = match &executed.end {
        CommandEnd::Exited(code) => (u8::try_from(*code).unwrap_or(OWN_FAILURE), None),
        CommandEnd::Signalled(number) => {
            let code = u8::try_from(128 + number).unwrap_or(OWN_FAILURE);
            (
                code,
                args.verbose
                    .then(|| format!("signal {number} ended the command")),
            )
        }
        CommandEnd::OutOfMemory(bytes) => {
            let words = format!(
                "the command held {} MiB of memory, more than its limit, and was ended",
                bytes >> 20
            );
            (137, Some(words))
        }
        CommandEnd::Uncovered => {
            let words = "a protected or secret file was replaced from outside, which uncovers it: the \
                         command was ended\n  fix: run it again, and leave such files alone meanwhile"
                .to_owned();
            (137, Some(words))
        }
        CommandEnd::NotFound => {
            let name = args
                .command
                .first()
                .map(|name| name.to_string_lossy())
                .unwrap_or_default();
            (
                NOT_FOUND,
                Some(format!(
                    "there is no program `{}` in the boundary",
                    escape(&name)
                )),
            )
        }
        CommandEnd::NotExecutable(errno) => {
            let error = std::io::Error::from_raw_os_error(*errno);
            (
                REFUSED,
                Some(format!("the program can't be executed: {error}")),
            )
        }
        CommandEnd::NotStarted { step, detail } => {
            let step = step
                .map(|step| format!("could not {step}: "))
                .unwrap_or_default();
            (
                OWN_FAILURE,
                Some(format!("the command was not started: {step}{detail}")),
            )
        }
    };
    if args.json {
        error_line(
            &json!({
                "run": executed.run,
                "end": executed.end,
                "exit_code": code,
                "level": executed.plan.level,
                "self_test": executed.self_test,
                "contained": executed.plan.level == Level::Full,
            })
            .to_string(),
        );
    } else if let Some(words) = words {
        error_line(&format!("deputize: {words}"));
    }
    code
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_with_and_without_a_suffix() {
        assert_eq!(bytes("512"), Some(512));
        assert_eq!(bytes("2k"), Some(2048));
        assert_eq!(bytes("1G"), Some(1 << 30));
        for text in ["", "0", "m", "-1", "1x", "99999999999g", "1.5g"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
