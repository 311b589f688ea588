//! `deputize diff`: what a run changed in its copy.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::ExitCode;

use deputize_runs::RunError;
use deputize_workspace::{Body, Change, CopyState, Disposition, Manifest, RelPath, WorkingCopy};
use serde::Serialize;

use super::copies::find;
use crate::args::Diff;
use crate::failure::{self, Voice, usage};
use crate::output::{colours, list_width, print, print_json};
use crate::show::{self, Colours, Repositories};

pub(crate) fn main(args: &Diff) -> ExitCode {
    match look(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::tell(&error, Voice::of(args.json)),
    }
}

/// The manifest as JSON, with what a script wants beside it.
#[derive(Serialize)]
struct Told<'a> {
    run: &'a str,
    manifest: &'a str,
    state: CopyState,
    copy: deputize_workspace::CopyKind,
    base: String,
    notes: &'a [String],
    changes: Vec<ToldChange<'a>>,
}

#[derive(Serialize)]
struct ToldChange<'a> {
    #[serde(flatten)]
    change: &'a Change,
    /// Lines, where the change is one of text.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Lines>,
}

#[derive(Serialize)]
struct Lines {
    added: usize,
    removed: usize,
}

fn look(args: &Diff) -> Result<(), RunError> {
    let (_, run) = find(&args.run)?;
    let mut copy = run.copy()?;
    let manifest = copy.changes()?;
    let wanted: Vec<RelPath> = args
        .paths
        .iter()
        .map(|path| below(path))
        .collect::<Result<_, _>>()?;
    let all = Manifest {
        digest: manifest.digest.clone(),
        changes: chosen(manifest.changes, &wanted)?,
    };
    if args.json {
        return json(run.id.as_str(), &copy, &all);
    }
    if args.name_only {
        for change in &all.changes {
            print(&format!("{}\n", change.path.shown()));
        }
        return Ok(());
    }
    if args.stat {
        let mut counts = Vec::with_capacity(all.changes.len());
        for change in &all.changes {
            counts.push(lines(&copy.body(change)?));
        }
        print(&show::diff_stat(&all, &counts, list_width()));
    } else {
        let colours = match colours() {
            true => Colours::On,
            false => Colours::Off,
        };
        let mut repositories = Repositories::default();
        for change in &all.changes {
            let is_folded = wanted.is_empty()
                && matches!(change.disposition, Disposition::Hold(_))
                && repositories.take(&change.path.shown());
            if !is_folded {
                print(&show::diff_change(change, &copy.body(change)?, colours));
            }
        }
        for line in repositories.lines() {
            print(&format!(
                "changed: {line}\n  held back; name it to see them\n"
            ));
        }
    }
    for note in &copy.record().notes {
        print(&format!("copy: {}\n", deputize_authority::escape(note)));
    }
    if copy.is_in_use() {
        print("The run goes on: this is what its copy holds at the moment.\n");
    }
    print(&format!(
        "{}\nmanifest {}\n",
        show::diff_sums(&all),
        all.digest
    ));
    Ok(())
}

fn json(run: &str, copy: &WorkingCopy, all: &Manifest) -> Result<(), RunError> {
    let mut changes = Vec::with_capacity(all.changes.len());
    for change in &all.changes {
        let lines = match lines(&copy.body(change)?) {
            (0, 0) => None,
            (added, removed) => Some(Lines { added, removed }),
        };
        changes.push(ToldChange { change, lines });
    }
    print_json(&Told {
        run,
        manifest: &all.digest,
        state: copy.state()?,
        copy: copy.record().kind,
        base: copy.record().base.path.to_string_lossy().into_owned(),
        notes: &copy.record().notes,
        changes,
    });
    Ok(())
}

fn lines(body: &Body) -> (usize, usize) {
    match body {
        Body::Text { added, removed, .. } => (*added, *removed),
        _ => (0, 0),
    }
}

/// A path as it is typed: its bytes, or the text that lists show for it.
pub(super) fn below(path: &Path) -> Result<RelPath, RunError> {
    let text = std::str::from_utf8(path.as_os_str().as_bytes()).ok();
    let escaped = text
        .filter(|text| text.contains('\\'))
        .and_then(RelPath::from_text);
    escaped.or_else(|| RelPath::typed(path)).ok_or_else(|| {
        usage(
            "path",
            format!(
                "`{}` is no path inside the workspace",
                deputize_authority::escape(&path.to_string_lossy())
            ),
            "name it relative to the workspace, as `deputize diff RUN --name-only` lists it",
        )
    })
}

fn chosen(changes: Vec<Change>, wanted: &[RelPath]) -> Result<Vec<Change>, RunError> {
    for path in wanted {
        if !changes.iter().any(|change| change.path.lies_in(path)) {
            return Err(usage(
                "path",
                format!("nothing changed at `{}`", path.shown()),
                "`deputize diff RUN --name-only` lists what did",
            ));
        }
    }
    let named = |change: &Change| wanted.iter().any(|path| change.path.lies_in(path));
    Ok(match wanted.is_empty() {
        true => changes,
        false => changes.into_iter().filter(named).collect(),
    })
}
