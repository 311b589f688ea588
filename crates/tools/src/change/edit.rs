//! The tool `edit`.

use std::path::Path;

use deputize_gate::Replacement;

use super::replace::{Existing, too_large};
use super::text::Text;
use super::window::Window;
use super::write::changed;
use super::{Hash, LastSeen};
use crate::beneath::Beneath;
use crate::limits::{CHANGED_FILE_BYTES, SNIFFED_BYTES};
use crate::output::{Draft, ToolFailure, ToolOutput, count};
use crate::sniff::describe_binary;
use crate::text::shown_path;

/// Makes all changes of a call in a file, or none.
pub(crate) fn edit(
    place: &Beneath<'_>,
    workspace: &Path,
    edits: &[Replacement],
    last_seen: LastSeen,
) -> Result<(ToolOutput, Hash), ToolFailure> {
    let shown = shown_path(place.canonical(), workspace);
    let existing = Existing::open(place)?;
    // A file that was never read is not stale: the old text tells whether this is the right place.
    if last_seen != LastSeen::Never {
        last_seen.matches(existing.hash, &shown)?;
    }
    let mut text = text(&existing.content)?;
    let mut window = Window::default();
    for (index, edit) in edits.iter().enumerate() {
        text.apply(edit, &mut window).map_err(|mut failure| {
            if edits.len() > 1 {
                let number = index + 1;
                failure.message = format!("edit {number}: {}; no edit was made", failure.message);
            }
            failure
        })?;
        if text.bytes() > CHANGED_FILE_BYTES {
            return Err(too_large());
        }
    }
    let content = text.into_bytes();
    if content == existing.content {
        let note = "the file would have the same content as before: nothing was written";
        return Err(ToolFailure::new("no_change", note));
    }
    existing.replace(&content)?;
    let mut draft = Draft::new();
    draft.line(&format!(
        "edited {shown}: {}, {}",
        count(window.places(), "place", "places"),
        window.counted()
    ));
    window.show(&mut draft);
    Ok(changed(draft, shown, Hash::of(&content)))
}

fn text(content: &[u8]) -> Result<Text, ToolFailure> {
    let is_binary = content.iter().take(SNIFFED_BYTES).any(|byte| *byte == 0);
    match std::str::from_utf8(content) {
        Ok(text) if !is_binary => Ok(Text::new(text)),
        _ if is_binary => Err(ToolFailure::new(
            "not_text",
            format!("the file is not text: {}", describe_binary(content)),
        )),
        _ => Err(ToolFailure::new(
            "not_text",
            "the file holds bytes that aren't UTF-8, and an edit would not keep them; change it \
             with a command",
        )),
    }
}
