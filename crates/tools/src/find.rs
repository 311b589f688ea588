//! The tool `find`: files and folders by glob.

use std::path::Path;

use deputize_authority::SecretRules;
use rustix::fs::FileType;

use crate::beneath::Beneath;
use crate::limits::FIND_RESULTS;
use crate::name_glob::NameGlob;
use crate::output::{Draft, Room, ToolFailure, ToolOutput};
use crate::text::shown_path;
use crate::tree::{Flow, Found, walk};

/// Finds what matches a glob below a folder.
pub(crate) fn find(
    place: &Beneath<'_>,
    workspace: &Path,
    pattern: &str,
    limit: Option<u64>,
    secrets: &SecretRules,
) -> Result<ToolOutput, ToolFailure> {
    let glob = NameGlob::new(pattern, place.canonical())?;
    let limit = limit.unwrap_or(FIND_RESULTS);
    let mut draft = Draft::new();
    let (mut shown, mut total) = (0_u64, 0_u64);
    let mut room = Room::Added;
    let summary = walk(place, secrets, |entry| {
        if glob.matches(entry.path) {
            total += 1;
            if shown < limit && room == Room::Added {
                let name = shown_path(&place.canonical().join(entry.path), workspace);
                room = draft.line(&format!("{name}{}", mark(entry.kind)));
                shown += u64::from(room == Room::Added);
            }
        }
        Flow::Continue
    })?;
    if total == 0 {
        draft.note("nothing matches");
    }
    if shown < total {
        draft.truncated = Some(format!(
            "{shown} of {total} results: use a narrower pattern or path, or a higher limit"
        ));
    }
    let found = if total == 0 {
        Found::Nothing
    } else {
        Found::Something
    };
    summary.say(&mut draft, found);
    Ok(draft.finish())
}

fn mark(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "/",
        FileType::Symlink => "@",
        _ => "",
    }
}
