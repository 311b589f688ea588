//! Reading the arguments of `edit`.
//!
//! Models were taught by several harnesses, and each spells these arguments its own way. The
//! spellings of Pi and of Claude Code are taken; the documented ones are `path`, `old`, `new`, `all`.

use crate::arguments::{Arguments, CallError};
use crate::parse::{longest, text};
use crate::{Call, Limits, Occurrences, Replacement};

/// The names of the path.
pub(crate) const PATH: &[&str] = &["path", "file_path"];
const OLD: &[&str] = &["old", "oldText", "old_string"];
const NEW: &[&str] = &["new", "newText", "new_string"];
const ALL: [&str; 2] = ["all", "replace_all"];

pub(crate) fn parse(arguments: &mut Arguments<'_>) -> Result<Call, CallError> {
    let path = arguments.needed_text_of(PATH)?;
    let edits = match arguments.list("edits")? {
        Some(items) => items
            .iter()
            .map(|item| {
                let mut fields = arguments.inner("edits", item)?;
                let edit = replacement(&mut fields)?;
                fields.done()?;
                Ok(edit)
            })
            .collect::<Result<_, _>>()?,
        // One replacement, written beside the path.
        None if arguments.has_any(OLD) => vec![replacement(arguments)?],
        None => return Err(CallError::Missing { name: "edits" }),
    };
    Ok(Call::Edit { path, edits })
}

fn replacement(fields: &mut Arguments<'_>) -> Result<Replacement, CallError> {
    let old = fields.needed_text_of(OLD)?;
    let new = fields.needed_text_of(NEW)?;
    let mut occurrences = Occurrences::One;
    for name in ALL {
        if fields.switch(name, Occurrences::All, Occurrences::One)? == Occurrences::All {
            occurrences = Occurrences::All;
        }
    }
    Ok(Replacement {
        old,
        new,
        occurrences,
    })
}

/// Holds the replacements to their limits.
pub(crate) fn check(edits: &[Replacement]) -> Result<(), CallError> {
    if edits.is_empty() {
        return Err(CallError::Empty { name: "edits" });
    }
    if edits.len() > Limits::EDITS {
        return Err(CallError::too_many("edits", Limits::EDITS));
    }
    for edit in edits {
        text("old", &edit.old, Limits::CONTENT)?;
        longest("new", &edit.new, Limits::CONTENT)?;
    }
    let bytes: usize = edits
        .iter()
        .map(|edit| edit.old.len() + edit.new.len())
        .sum();
    if bytes > Limits::CONTENT {
        return Err(CallError::too_long("edits", Limits::CONTENT));
    }
    Ok(())
}
