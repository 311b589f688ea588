//! `deputize demo`: a child that works and a child that misbehaves, in two minutes.
//!
//! The model is a recording, and says so. Everything else is real: gate, boundary, copy, ledger.

mod stage;

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::process::ExitCode;

use deputize_agent::RunResult;
use deputize_authority::preflight::RunRequest;
use deputize_authority::{Channel, Preset, Untrusted, WorkspaceMode};
use deputize_boundary::{PinnedProgram, harden_supervisor};
use deputize_ledger::{Report, verify};
use deputize_runs::{Child, ChildRequest, Finished, ModelRequest, RunError, on_main_thread};
use deputize_workspace::{CopyError, WorkingCopy};
use serde_json::{Value, json};

use crate::args::Demo;
use crate::driving::drive;
use crate::failure::{self, Voice};
use crate::output::{print, print_json, width};
use crate::show::{self, Colours};
use crate::status::Style;
use stage::Stage;

/// The task, as a person would type it.
const TASK: &str = "Make the failing test pass";
/// What must pass before the run is ok.
const CHECK: &str = "sh test.sh";
/// Where the misbehaviour begins: calls before this one are work.
const FIRST_ATTEMPT: u64 = 6;
/// Lines of each result that are shown.
const LINES: usize = 2;

pub(crate) fn main(args: &Demo) -> ExitCode {
    match play(args) {
        Ok(code) => code,
        Err(error) => failure::tell(&error, Voice::of(args.json)),
    }
}

fn play(args: &Demo) -> Result<ExitCode, RunError> {
    let program = PinnedProgram::open()?;
    let stage = Stage::unpack()?;
    let look = stage.look();
    let request = ChildRequest {
        run: RunRequest {
            prompt: TASK.into(),
            preset: Preset::General.name().to_owned(),
            check: Some(CHECK.to_owned()),
            ..RunRequest::default()
        },
        model: ModelRequest {
            name: Some("script:recorded".to_owned()),
            ..ModelRequest::default()
        },
        ..ChildRequest::default()
    };
    let mut child = Child::plan(&look, request, &stage)?;
    let voice = Teller::of(args.json);
    voice.part(
        "A project with a failing test",
        &format!(
            "{} holds slug.sh, its test and a repository.\nA child is asked: \"{TASK}\". Its \
             model is a RECORDING of turns, no language\nmodel; gate, boundary, copy and ledger \
             are the real ones.\n",
            stage.project().display()
        ),
    );
    voice.part(
        "One question before it starts",
        &show::card(&child.planned(), crate::output::error_width()),
    );
    voice.say("Start it? [y/N] y    (you typed `deputize demo`: that is the yes here)\n");
    child.accept(&Channel::CommandLine);
    harden_supervisor()?;
    voice.part("The run, as it happens", "");
    let style = if args.json {
        Style::Quiet
    } else {
        Style::Plain
    };
    let finished = on_main_thread(|spawner| drive(child, spawner, program, style))?;
    let seen = Seen::after(&finished, &stage)?;
    if args.json {
        print_json(&seen.as_json(&finished.result));
    } else {
        tell(voice, &finished, &seen);
    }
    Ok(ExitCode::from(u8::from(!seen.holds(&finished.result))))
}

/// What is there when the run has ended, looked at from outside.
struct Seen {
    /// What the child was told about each attempt to do what it shouldn't.
    attempts: Vec<(String, String)>,
    /// Processes of the child that are left.
    survivors: usize,
    /// Whether the project is as it was.
    untouched: bool,
    /// The ledger, checked.
    chain: Report,
    /// The same ledger with one byte changed, checked.
    tampered: Report,
}

impl Seen {
    fn after(finished: &Finished, stage: &Stage) -> Result<Self, RunError> {
        let ledger = finished.folder.join("ledger.jsonl");
        let failed = |source| RunError::State {
            doing: "read",
            path: ledger.clone(),
            source,
        };
        let bytes = fs::read(&ledger).map_err(failed)?;
        let mut changed = bytes.clone();
        let middle = changed.len() / 2;
        if let Some(byte) = changed.get_mut(middle) {
            *byte ^= 1;
        }
        Ok(Self {
            attempts: attempts(&finished.folder),
            survivors: processes_naming(stage.mark()),
            untouched: stage.is_untouched(),
            chain: verify(Cursor::new(bytes)).map_err(failed)?,
            tampered: verify(Cursor::new(changed)).map_err(failed)?,
        })
    }

    /// Whether the demo showed what it claims.
    fn holds(&self, result: &RunResult) -> bool {
        let passed = result.status == deputize_agent::Status::Ok;
        let changed = result.changes.len() == 1;
        passed
            && changed
            && self.survivors == 0
            && self.untouched
            && self.chain.is_intact()
            && !self.tampered.is_intact()
    }

    fn as_json(&self, result: &RunResult) -> Value {
        let attempts: Vec<Value> = self
            .attempts
            .iter()
            .map(|(call, told)| json!({ "call": call, "told": told }))
            .collect();
        json!({
            "result": result,
            "attempts": attempts,
            "survivors": self.survivors,
            "project_untouched": self.untouched,
            "ledger_intact": self.chain.is_intact(),
            "tampered_byte_detected": !self.tampered.is_intact(),
            "holds": self.holds(result),
        })
    }
}

fn tell(voice: Teller, finished: &Finished, seen: &Seen) {
    voice.part(
        "What it tried, and what it was told",
        &seen
            .attempts
            .iter()
            .fold(String::new(), |mut out, (call, told)| {
                out.push_str(&format!("{call}\n"));
                for line in told.lines() {
                    out.push_str(&format!(
                        "    {}\n",
                        show::cut(line, width().saturating_sub(4))
                    ));
                }
                out
            }),
    );
    voice.say(&format!(
        "\nProcesses of the child that are left: {}\n",
        seen.survivors
    ));
    voice.part(
        "The result",
        &show::result(&finished.result, WorkspaceMode::CopyOnWrite, false),
    );
    let state = if seen.untouched {
        "exactly as it was"
    } else {
        "CHANGED"
    };
    voice.part(
        "What waits for your review",
        &format!(
            "The project itself is {state}. In the copy:\n\n{}",
            diff(&finished.folder)
        ),
    );
    if let Some(receipt) = &finished.result.receipt {
        voice.part("The receipt", &receipt.text(width()));
    }
    voice.part(
        "The ledger",
        &format!(
            "as written:       {}\none byte changed: {}\n",
            seen.chain.line(),
            seen.tampered.line()
        ),
    );
    voice.part(
        "Now with your own project",
        "deputize run --model anthropic:MODEL \"Make the failing test pass\" --check \"cargo test\"\n\
         deputize diff ID, apply ID, undo ID, discard ID\n\
         deputize run --model scout --preset read-only \"Where is …?\"    (offline, no model)\n\
         deputize exec -- COMMAND                                        (any command, contained)\n\n\
         The demo's folder is gone.\n",
    );
}

/// The results of the calls that were attempts, from the run's transcript.
fn attempts(run: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(run.join("transcript.json")).unwrap_or_default();
    let messages: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for message in &messages {
        let asked = message["assistant"]["calls"].as_array();
        calls.extend(asked.into_iter().flatten());
        results.extend(message["tool_result"]["content"].as_str());
    }
    let attempts = (1..).zip(calls.into_iter().zip(results));
    attempts
        .filter(|(number, _)| *number >= FIRST_ATTEMPT)
        .map(|(number, (call, result))| (asked(number, call), told(result)))
        .collect()
}

fn asked(number: u64, call: &Value) -> String {
    let name = call["name"].as_str().unwrap_or_default();
    let arguments = &call["arguments"];
    let what = arguments["command"].as_str().or(arguments["path"].as_str());
    let what = Untrusted::new(what.unwrap_or_default());
    format!(
        "#{number} {name} {}",
        what.preview(width().saturating_sub(16))
    )
}

/// A result without its frame.
fn told(result: &str) -> String {
    let inner = result
        .lines()
        .filter(|line| !line.starts_with("<tool_result") && !line.starts_with("</tool_result"));
    let lines: Vec<String> = inner
        .take(LINES)
        .map(|line| Untrusted::new(line).shown())
        .collect();
    lines.join("\n")
}

/// Processes whose command line has `mark` in it.
fn processes_naming(mark: &str) -> usize {
    let names = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).ok();
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(names)
        .filter(|line| line.windows(mark.len()).any(|part| part == mark.as_bytes()))
        .count()
}

/// The copy's changes as text.
fn diff(run: &Path) -> String {
    let told = |error: CopyError| format!("{}\n", error.refusal().reason);
    let mut copy = match WorkingCopy::open(run) {
        Ok(copy) => copy,
        Err(error) => return told(error),
    };
    let manifest = match copy.changes() {
        Ok(manifest) => manifest,
        Err(error) => return told(error),
    };
    let lines = manifest
        .changes
        .iter()
        .map(|change| match copy.body(change) {
            Ok(body) => show::diff_change(change, &body, Colours::Off),
            Err(error) => told(error),
        });
    lines.collect()
}

/// Tells a demo to a person; a script gets one object in the end.
#[derive(Clone, Copy)]
enum Teller {
    Words,
    Silent,
}

impl Teller {
    fn of(json: bool) -> Self {
        if json { Self::Silent } else { Self::Words }
    }

    fn part(self, title: &str, text: &str) {
        self.say(&format!("\n── {title} ──\n\n{text}"));
    }

    fn say(self, text: &str) {
        if let Self::Words = self {
            print(text);
        }
    }
}
