//! `deputize gc`: copies that nobody needs any more are removed.

use std::process::ExitCode;

use deputize_runs::{Fate, RunError, Sweep, Swept, sweep};
use deputize_workspace::{Holds, Policy, Unapplied};
use serde_json::{Value, json};

use super::copies::store;
use crate::args::Gc;
use crate::failure::{self, FAILED, Voice};
use crate::output::{print, print_json};

pub(crate) fn main(args: &Gc) -> ExitCode {
    let voice = Voice::of(args.json);
    clean(args, voice).unwrap_or_else(|error| failure::tell(&error, voice))
}

fn clean(args: &Gc, voice: Voice) -> Result<ExitCode, RunError> {
    let policy = Policy {
        older_than: args.older_than,
        keep_bytes: args.keep_bytes,
        unapplied: match args.unapplied {
            true => Unapplied::Remove,
            false => Unapplied::Keep,
        },
    };
    let how = match args.dry_run {
        true => Sweep::Tell,
        false => Sweep::Remove,
    };
    let swept = sweep(&store()?, &policy, how)?;
    match voice {
        Voice::Json => print_json(&json!({
            "dry_run": args.dry_run,
            "copies": swept.iter().map(row).collect::<Vec<_>>(),
        })),
        Voice::Words => words(&swept, how),
    }
    let failed = swept.iter().any(|one| matches!(one.fate, Fate::Failed(_)));
    Ok(ExitCode::from(if failed { FAILED } else { 0 }))
}

fn row(one: &Swept) -> Value {
    json!({
        "run": one.run.id,
        "holds": one.survey.holds,
        "bytes": one.survey.bytes,
        "days": one.survey.days,
        "fate": fate(one),
    })
}

fn fate(one: &Swept) -> &'static str {
    match one.fate {
        Fate::Kept => "kept",
        Fate::Removed => "removed",
        Fate::Failed(_) => "failed",
    }
}

fn words(swept: &[Swept], how: Sweep) {
    if swept.is_empty() {
        print("There are no copies of runs that ended.\n");
        return;
    }
    let mut freed = 0u64;
    for one in swept {
        let fate = match (&one.fate, how) {
            (Fate::Kept, _) => "stays",
            (Fate::Removed, Sweep::Tell) => "would go",
            (Fate::Removed, Sweep::Remove) => "gone",
            (Fate::Failed(_), _) => "FAILED",
        };
        let holds = match one.survey.holds {
            Holds::Nothing => "nothing changed",
            // What goes with it, so that nobody learns it from a failing undo.
            Holds::Applied => match (&one.fate, how) {
                (Fate::Removed, Sweep::Tell) => "applied; can't be undone once it is gone",
                (Fate::Removed, Sweep::Remove) => "applied; stays, can't be undone any more",
                _ => "applied; can be undone",
            },
            Holds::Undo => "undoes what was written to the folder",
            Holds::Unapplied => "unapplied changes",
            Holds::Unknown => "unreadable",
        };
        print(&format!(
            "{}  {fate:<8}  {:>10}  {:>4} days  {holds}\n",
            one.run.id.short(),
            size(one.survey.bytes),
            one.survey.days
        ));
        match &one.fate {
            Fate::Removed => freed = freed.saturating_add(one.survey.bytes),
            Fate::Failed(error) => {
                let why = deputize_authority::escape(&error.refusal().reason);
                print(&format!("  {why}\n"));
            }
            Fate::Kept => {}
        }
    }
    let word = match how {
        Sweep::Tell => "would be freed",
        Sweep::Remove => "freed",
    };
    print(&format!("{} {word}.\n", size(freed)));
}

fn size(bytes: u64) -> String {
    let steps = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let step = steps.into_iter().find(|(shift, _)| bytes >> shift > 0);
    match step {
        None => format!("{bytes} B"),
        Some((shift, unit)) => {
            let tenths = (bytes >> (shift - 10)) * 10 / 1024;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(17), "17 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(5 << 30), "5.0 GiB");
    }
}
