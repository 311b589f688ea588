//! `deputize diff`: what a run changed in its copy, or in the folder itself.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::ExitCode;

use deputize_runs::words::Repositories;
use deputize_runs::{Review, RunError, chosen, lines};
use deputize_workspace::{Disposition, RelPath};

use super::copies::find;
use crate::args::Diff;
use crate::failure::{self, Voice, usage};
use crate::output::{colours, list_width, print, print_json};
use crate::show::{self, Colours};

pub(crate) fn main(args: &Diff) -> ExitCode {
    match look(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::tell(&error, Voice::of(args.json)),
    }
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
    let all = chosen(manifest, &wanted).map_err(|path| {
        usage(
            "path",
            format!("nothing changed at `{}`", path.shown()),
            "`deputize diff RUN --name-only` lists what did",
        )
    })?;
    if args.json {
        print_json(&Review::of(run.id.as_str(), &copy, &all)?);
        return Ok(());
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
        let mut repositories = match copy.is_snapshot() {
            true => Repositories::in_folder(),
            false => Repositories::default(),
        };
        for change in &all.changes {
            let may_fold = matches!(change.disposition, Disposition::Hold(_)) || copy.is_snapshot();
            let is_folded =
                wanted.is_empty() && may_fold && repositories.take(&change.path.shown());
            if !is_folded {
                print(&show::diff_change(change, &copy.body(change)?, colours));
            }
        }
        let held = if copy.is_snapshot() {
            ""
        } else {
            "held back; "
        };
        for line in repositories.lines() {
            print(&format!("changed: {line}\n  {held}name it to see them\n"));
        }
    }
    for note in &copy.record().notes {
        print(&format!("copy: {}\n", deputize_authority::escape(note)));
    }
    match (copy.is_in_use(), copy.is_snapshot()) {
        (true, true) => print("The run goes on: this is what it changed so far.\n"),
        (true, false) => print("The run goes on: this is what its copy holds at the moment.\n"),
        (false, true) => {
            print("All of it is in the folder itself; `deputize undo` takes it back.\n")
        }
        (false, false) => {}
    }
    let sums = match (copy.is_snapshot(), all.changes.len()) {
        (false, _) => show::diff_sums(&all),
        (true, 1) => "1 change".to_owned(),
        (true, count) => format!("{count} changes"),
    };
    print(&format!("{sums}\nmanifest {}\n", all.digest));
    Ok(())
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
