//! `deputize doctor`: what this machine can enforce, by trying.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;

use deputize_authority::Level;
use deputize_boundary::{Attempt, PinnedProgram, Report, SelfTest, Trial, examine};
use deputize_runs::{RunError, RunId};

use crate::args::Doctor;
use crate::failure::{self, Voice};
use crate::output::{print, print_json};
use crate::request::look_around;

pub(crate) fn main(args: &Doctor) -> ExitCode {
    match report() {
        Ok(report) => {
            if args.json {
                print_json(&report);
            } else {
                print(&text(&report));
            }
            ExitCode::from(u8::from(report.level == Level::None))
        }
        Err(error) => failure::tell(&error, Voice::of(args.json)),
    }
}

fn report() -> Result<Report, RunError> {
    let look = look_around()?;
    let program = PinnedProgram::open()?;
    let scratch = Scratch::new()?;
    let listener = TcpListener::bind("127.0.0.1:0").ok();
    let port = listener
        .as_ref()
        .and_then(|listener| listener.local_addr().ok())
        .map(|a| a.port());
    Ok(examine(
        &program,
        &look.host(),
        &scratch.workspace,
        &scratch.canary,
        port,
    ))
}

/// A folder for the trial, gone afterwards.
struct Scratch {
    folder: PathBuf,
    workspace: PathBuf,
    canary: PathBuf,
}

impl Scratch {
    fn new() -> Result<Self, RunError> {
        let name = format!("deputize-doctor-{}", RunId::new());
        let folder = scratch_parent().join(name);
        let failed = |source| RunError::State {
            doing: "make",
            path: folder.clone(),
            source,
        };
        // New, or an error: a folder that somebody else prepared is not used.
        std::fs::create_dir(&folder).map_err(failed)?;
        let workspace = folder.join("workspace");
        std::fs::create_dir(&workspace).map_err(failed)?;
        let canary = folder.join("canary");
        std::fs::write(&canary, "nothing grants this file\n").map_err(failed)?;
        // The trial compares where the folder really is.
        let workspace = std::fs::canonicalize(&workspace).map_err(failed)?;
        Ok(Self {
            folder,
            workspace,
            canary,
        })
    }
}

/// A folder that anybody may enter, since root's trial runs as somebody else.
fn scratch_parent() -> PathBuf {
    let common = PathBuf::from("/tmp");
    if rustix::process::geteuid().is_root() && common.is_dir() {
        common
    } else {
        std::env::temp_dir()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It holds nothing that anybody needs; a leftover is only untidy.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn text(report: &Report) -> String {
    let mut out = format!(
        "boundary level: {} (as uid {})\n\n",
        report.level, report.uid
    );
    for feature in &report.features {
        let mark = if feature.available { "yes" } else { "NO " };
        out.push_str(&format!(
            "  {mark}  {:<15} {}\n",
            feature.name, feature.detail
        ));
        if let Some(fix) = &feature.fix {
            out.push_str(&format!("       {:<15} fix: {fix}\n", ""));
        }
    }
    for trial in &report.trials {
        out.push('\n');
        trial_text(trial, &mut out);
    }
    if !report.toolchains.is_empty() {
        out.push_str(&format!(
            "\ntoolchains shown to commands: {}\n",
            report.toolchains.join(", ")
        ));
    }
    if report.level == Level::None {
        out.push_str("\nNo boundary can be built here: nothing will be run.\n");
    }
    out
}

fn trial_text(trial: &Trial, out: &mut String) {
    let outcome = if trial.holds {
        "holds"
    } else {
        "DOES NOT HOLD"
    };
    out.push_str(&format!("tried {}: {outcome}\n", trial.level));
    if let Some(failure) = &trial.failure {
        out.push_str(&format!("  {failure}\n"));
    }
    for (who, test) in [("worker", &trial.worker), ("command", &trial.command)] {
        if let Some(test) = test {
            out.push_str(&format!("  self-test of a {who}: {}\n", attempts(test)));
        }
    }
    for state in &trial.promises {
        let (mark, how) = match (&state.mechanism, &state.limit) {
            (Some(mechanism), None) => ("held  ", mechanism.how.clone()),
            (Some(mechanism), Some(limit)) => ("held  ", format!("{} ({limit})", mechanism.how)),
            (None, limit) => ("NOT   ", limit.clone().unwrap_or_default()),
        };
        out.push_str(&format!("  {mark} {:<16} {how}\n", state.promise.name()));
    }
}

fn attempts(test: &SelfTest) -> String {
    [
        ("write", &test.write),
        ("read", &test.read),
        ("connect", &test.connect),
        ("signal", &test.signal),
    ]
    .map(|(what, attempt)| match attempt {
        Attempt::Refused(errno) => {
            let error = std::io::Error::from_raw_os_error(*errno);
            format!("{what} refused ({})", brief(&error))
        }
        Attempt::Succeeded => format!("{what} SUCCEEDED"),
        Attempt::NotTried => format!("{what} not tried"),
    })
    .join(", ")
}

/// The words of an error without its number.
fn brief(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_lowercase()
}
