//! `subagent_diff`: what a run changed in its copy.

use deputize_authority::Refusal;
use deputize_runs::words::{
    Colours, Repositories, diff_change, diff_exceptions, diff_stat, diff_sums,
};
use deputize_runs::{Change, Disposition, Look, Review, RunError, chosen, lines};
use rmcp::model::CallToolResult;

use super::blocking;
use crate::answer::{self, told};
use crate::input::Diff;
use crate::paths::{below, no_path, stored};
use crate::server::Server;

/// The most bytes of a diff that are told at once.
const MAX_DIFF: usize = 64 * 1024;

/// Changes that are told with their details at once.
const MAX_CHANGES: usize = 500;

pub(super) async fn call(server: &Server, input: Diff) -> Result<CallToolResult, Refusal> {
    let look = server.settings.look.clone();
    let shown = blocking(move || show(&look, &input)).await?;
    Ok(shown.unwrap_or_else(|error| answer::failed(&error)))
}

fn show(look: &Look, input: &Diff) -> Result<CallToolResult, RunError> {
    let (_, run) = stored(look, &input.run)?;
    let mut copy = run.copy()?;
    let manifest = copy.changes()?;
    let wanted = below(&input.paths)?;
    let mut chosen =
        chosen(manifest, &wanted).map_err(|path| no_path(path.as_path(), "holds no change"))?;
    let sums = diff_sums(&chosen);
    let repositories = match wanted.is_empty() {
        true => folded(&mut chosen.changes),
        false => Vec::new(),
    };
    let beyond = chosen.changes.len().saturating_sub(MAX_CHANGES);
    chosen.changes.truncate(MAX_CHANGES);
    let mut out = String::from("What a child changed, as data:\n");
    if input.stat {
        let mut counts = Vec::with_capacity(chosen.changes.len());
        for change in &chosen.changes {
            counts.push(lines(&copy.body(change)?));
        }
        out.push_str(&diff_stat(&chosen, &counts, usize::MAX));
    } else {
        for change in &chosen.changes {
            out.push_str(&diff_change(change, &copy.body(change)?, Colours::Off));
            if out.len() > MAX_DIFF {
                break;
            }
        }
        out.push_str(&diff_exceptions(&chosen, &[], usize::MAX));
    }
    for line in &repositories {
        out.push_str(&format!(
            "changed: {line}\n  held back; name it in `paths` to see them\n"
        ));
    }
    if out.len() > MAX_DIFF {
        out.truncate(out.floor_char_boundary(MAX_DIFF));
        out.push_str("\n[cut: name `paths` to see the others]\n");
    }
    if beyond > 0 {
        out.push_str(&format!("[{beyond} more changes: name `paths`]\n"));
    }
    if copy.is_in_use() {
        out.push_str("The run goes on: this is what its copy holds at the moment.\n");
    }
    out.push_str(&format!("{sums}\nmanifest {}\n", chosen.digest));
    let review = Review::of(run.id.as_str(), &copy, &chosen)?;
    let mut object = serde_json::to_value(&review).unwrap_or_default();
    object["omitted"] = beyond.into();
    object["repositories"] = repositories.into();
    // Some hosts show their model this object instead of the text.
    object["diff"] = out.as_str().into();
    object["in_use"] = copy.is_in_use().into();
    Ok(told(out, object))
}

/// Takes out what git keeps for itself and is held back: a commit is a dozen files that nobody reads.
/// Gives a line for each repository.
fn folded(changes: &mut Vec<Change>) -> Vec<String> {
    let mut repositories = Repositories::default();
    changes.retain(|change| {
        let held = matches!(change.disposition, Disposition::Hold(_));
        !(held && repositories.take(&change.path.shown()))
    });
    repositories.lines().collect()
}
