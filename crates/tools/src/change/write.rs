//! The tool `write`.

use std::path::Path;

use super::fresh::Way;
use super::replace::{Existing, make};
use super::window::Window;
use super::{Hash, LastSeen};
use crate::beneath::Beneath;
use crate::output::{Draft, ToolFailure, ToolOutput, count};
use crate::text::shown_path;

/// Replaces a file that the child has seen as it is.
pub(crate) fn write(
    place: &Beneath<'_>,
    workspace: &Path,
    content: &str,
    last_seen: LastSeen,
) -> Result<(ToolOutput, Hash), ToolFailure> {
    let shown = shown_path(place.canonical(), workspace);
    let existing = Existing::open(place)?;
    last_seen.matches(existing.hash, &shown)?;
    let hash = Hash::of(content.as_bytes());
    if hash == existing.hash {
        let note = format!("`{shown}` has this content already");
        return Err(ToolFailure::new("no_change", note));
    }
    existing.replace(content.as_bytes())?;
    let mut window = Window::default();
    let before = String::from_utf8_lossy(&existing.content);
    window.add(1, &before, content);
    let mut draft = Draft::new();
    draft.line(&format!("replaced {shown}: {}", window.counted()));
    window.show(&mut draft);
    Ok(changed(draft, shown, hash))
}

/// Makes a file below a folder, with the folders on the way.
pub(crate) fn create(
    folder: &Beneath<'_>,
    rest: &Path,
    workspace: &Path,
    content: &str,
) -> Result<(ToolOutput, Hash), ToolFailure> {
    let shown = shown_path(&folder.canonical().join(rest), workspace);
    let way = Way::make(folder, rest)?;
    if let Err(failure) = make(way.folder(), way.name, content.as_bytes()) {
        way.undo();
        return Err(failure);
    }
    let lines = content.lines().count() as u64;
    let bytes = content.len() as u64;
    let mut draft = Draft::new();
    draft.line(&format!(
        "created {shown}: {}, {}",
        count(lines, "line", "lines"),
        count(bytes, "byte", "bytes")
    ));
    Ok(changed(draft, shown, Hash::of(content.as_bytes())))
}

/// The answer of a change that was made.
pub(super) fn changed(mut draft: Draft, shown: String, hash: Hash) -> (ToolOutput, Hash) {
    draft.files_seen = 1;
    draft.note(format!("content {hash}"));
    draft.changed.push(shown);
    (draft.finish(), hash)
}
