//! `deputize audit`: the ledgers of runs.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use deputize_authority::escape;
use deputize_ledger::{Head, Report, read, verify, verify_against};
use deputize_runs::{RunError, Store, StoredRun};
use serde_json::Value;

use super::copies::store;
use crate::args::{Audit, AuditCommand};
use crate::failure::{self, Voice, usage};
use crate::output::{list_width, print, print_json, print_json_line, width};
use crate::show;

/// A ledger that is broken.
const BROKEN: u8 = 1;

pub(crate) fn main(args: &Audit) -> ExitCode {
    let (outcome, json) = match &args.command {
        AuditCommand::Verify { run, head, json } => (
            verify_all(run.as_deref(), head.as_deref(), Voice::of(*json)),
            *json,
        ),
        AuditCommand::Show { run, json, receipt } => {
            (show_run(run.as_deref(), Voice::of(*json), *receipt), *json)
        }
    };
    outcome.unwrap_or_else(|error| failure::tell(&error, Voice::of(json)))
}

fn verify_all(run: Option<&str>, head: Option<&str>, voice: Voice) -> Result<ExitCode, RunError> {
    let kept = head.map(parse_head).transpose()?;
    let ledgers: Vec<PathBuf> = match run {
        // A file that was copied elsewhere can be checked too.
        Some(typed) if typed.contains('/') => vec![PathBuf::from(typed)],
        Some(typed) => vec![store()?.find(typed)?.ledger()],
        None => store()?.list()?.iter().map(StoredRun::ledger).collect(),
    };
    if kept.is_some() && ledgers.len() != 1 {
        return Err(usage(
            "head",
            "a head belongs to one run".to_owned(),
            "name the run",
        ));
    }
    if run.is_none() && voice == Voice::Words {
        return verify_each(&ledgers);
    }
    let mut broken = 0;
    let mut reports = Vec::new();
    let mut unread = None;
    for path in &ledgers {
        let report = match check(path, kept.as_ref()) {
            Ok(report) => report,
            Err(error) if run.is_some() => return Err(error),
            // The others are looked at all the same.
            Err(error) => {
                unread = Some(error);
                continue;
            }
        };
        broken += u64::from(!report.is_intact());
        match voice {
            Voice::Words => print(&report.text()),
            Voice::Json => reports.push(report),
        }
    }
    if voice == Voice::Json {
        print_json(&reports);
    }
    match unread {
        Some(error) if broken == 0 => Err(error),
        _ => Ok(ExitCode::from(if broken > 0 { BROKEN } else { 0 })),
    }
}

fn check(path: &Path, kept: Option<&Head>) -> Result<Report, RunError> {
    let file = open(path)?;
    let report = match kept {
        Some(kept) => verify_against(file, kept),
        None => verify(file),
    };
    report.map_err(|source| RunError::State {
        doing: "read",
        path: path.to_owned(),
        source,
    })
}

/// A line for every ledger, whatever the others are like, and what the sum of them says.
fn verify_each(ledgers: &[PathBuf]) -> Result<ExitCode, RunError> {
    if ledgers.is_empty() {
        print("There are no runs.\n");
        return Ok(ExitCode::SUCCESS);
    }
    let (mut broken, mut unread) = (0usize, 0usize);
    for path in ledgers {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        let folder = escape(&folder.to_string_lossy());
        let word = match check(path, None) {
            Ok(report) => {
                broken += usize::from(!report.is_intact());
                report.line()
            }
            Err(error) => {
                unread += 1;
                format!("NOT READ: {}", error.refusal().reason)
            }
        };
        print(&format!("{folder}  {word}\n"));
    }
    let intact = ledgers.len() - broken - unread;
    print(&format!(
        "{intact} intact, {broken} broken, {unread} not read\n\
         A chain shows corruption, not a rewrite by the same user; without a head from elsewhere a cut \
         end doesn't show.\n"
    ));
    let failed = broken + unread > 0;
    Ok(ExitCode::from(if failed { BROKEN } else { 0 }))
}

fn parse_head(typed: &str) -> Result<Head, RunError> {
    typed.parse().map_err(|_| {
        usage(
            "head",
            format!("`{}` is no head", escape(typed)),
            "write SEQ:HASH as a result's receipt shows it",
        )
    })
}

fn open(path: &Path) -> Result<BufReader<File>, RunError> {
    File::open(path)
        .map(BufReader::new)
        .map_err(|source| RunError::State {
            doing: "open",
            path: path.to_owned(),
            source,
        })
}

fn show_run(run: Option<&str>, voice: Voice, receipt: bool) -> Result<ExitCode, RunError> {
    let store = store()?;
    let Some(typed) = run else {
        return list(&store, voice);
    };
    let run = store.find(typed)?;
    if receipt {
        return show_receipt(&run, voice);
    }
    for event in read(open(&run.ledger())?) {
        match event {
            Ok(event) if voice == Voice::Json => {
                print_json_line(&event);
            }
            Ok(event) => {
                print(&show::event(
                    &event.at,
                    &event.kind,
                    &event.data,
                    list_width(),
                ));
            }
            Err(error) => {
                print(&format!("the ledger breaks here: {error}\n"));
                return Ok(ExitCode::from(BROKEN));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show_receipt(run: &StoredRun, voice: Voice) -> Result<ExitCode, RunError> {
    let path = run.result();
    let missing = || {
        let row = Row::of(run);
        let state = match (row.preset.as_str(), row.state.as_str()) {
            ("exec", _) => "it is a command's, whose events `audit show RUN` lists",
            (_, "running") => "it still goes on",
            (_, "unreadable") => "its ledger can't be read",
            _ => "its supervisor ended before it had one",
        };
        RunError::Lookup(format!("run {} has no receipt: {state}", run.id.short()))
    };
    let text = std::fs::read_to_string(&path).map_err(|_| missing())?;
    let result: Value = serde_json::from_str(&text).map_err(|_| missing())?;
    match voice {
        Voice::Json => print_json(&result["receipt"]),
        Voice::Words => {
            let receipt: deputize_ledger::Receipt =
                serde_json::from_value(result["receipt"].clone()).map_err(|_| missing())?;
            print(&receipt.text(width()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(store: &Store, voice: Voice) -> Result<ExitCode, RunError> {
    let mut rows = Vec::new();
    for run in store.list()? {
        rows.push(Row::of(&run));
    }
    match voice {
        Voice::Json => print_json(&rows),
        Voice::Words if rows.is_empty() => print("There are no runs.\n"),
        Voice::Words => {
            for row in rows {
                let line = format!(
                    "{}  {}  {:<16} {:<10} {}",
                    row.run, row.at, row.state, row.preset, row.cwd
                );
                print(&format!("{}\n", show::cut(&line, list_width())));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A run in the list.
#[derive(serde::Serialize)]
struct Row {
    run: String,
    at: String,
    state: String,
    preset: String,
    cwd: String,
}

impl Row {
    fn of(run: &StoredRun) -> Self {
        let mut row = Self {
            run: run.id.short().to_owned(),
            at: String::new(),
            state: if run.is_live() {
                "running"
            } else {
                "host_lost"
            }
            .to_owned(),
            preset: String::new(),
            cwd: String::new(),
        };
        let Ok(file) = File::open(run.ledger()) else {
            "unreadable".clone_into(&mut row.state);
            return row;
        };
        for event in read(BufReader::new(file)).flatten() {
            let text = |name: &str| escape(event.data[name].as_str().unwrap_or_default());
            if event.kind == "run.started" {
                row.at = event.at.chars().take(19).collect();
                row.preset = text("preset");
                row.cwd = text("cwd");
            } else if event.kind == "run.finished" {
                row.state = text("status");
            }
        }
        row
    }
}
