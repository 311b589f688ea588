//! Files whose content commands of git print: as they are in the folder, and as the history holds them.

use crate::effect::Role;
use crate::machine::{Machine, State};
use crate::options::Parsed;
use crate::place::Place;
use crate::value::{Field, Taint};

/// Options with which only names and numbers are printed.
const NO_CONTENT: &[&str] = &[
    "stat",
    "numstat",
    "shortstat",
    "name-only",
    "name-status",
    "quiet",
    "summary",
    "no-patch",
    "s",
    "dirstat",
];

/// Notes the files that are printed; gives what is known of the output.
pub(super) fn printed(
    machine: &mut Machine<'_>,
    verb: &str,
    args: &[Field],
    parsed: &Parsed,
    state: &State,
) -> Taint {
    let prints = match verb {
        "blame" | "annotate" | "cat-file" => true,
        "show" | "diff" => !parsed.has(NO_CONTENT),
        "log" => parsed.has(&["p", "u", "patch", "L", "c", "cc"]),
        "archive" => true,
        _ => false,
    };
    if !prints {
        return Taint::NONE;
    }
    // Behind the dashes there are paths only.
    let behind = args
        .iter()
        .position(|arg| arg.known().as_deref() == Some("--"))
        .map_or(0, |at| args.len() - at - 1);
    let before = parsed.operands.len().saturating_sub(behind);
    let mut taint = Taint::NONE;
    for (at, operand) in parsed.operands.iter().enumerate() {
        let text = operand.prefix();
        let path = match text.find(':') {
            _ if at >= before => operand.clone(),
            Some(colon) => in_revision(machine, &operand.after(colon + 1)),
            // A revision may be named as a file is.
            None if text.contains(['~', '^', '@']) || text.contains("..") => continue,
            None => operand.clone(),
        };
        let place = machine.target(&path, state).place;
        // Which paths there are in the history, and where a word that may be a revision leads, says nothing
        // about files elsewhere.
        let counts = matches!(place, Place::Secret | Place::SecretInside | Place::Inside);
        if counts {
            machine.path(Role::Read, &path, state);
        }
        if matches!(place, Place::Secret | Place::SecretInside) {
            taint = taint.and(Taint::SECRET);
        }
    }
    taint
}

/// The path behind a revision: it begins at the root of the repository, unless it says otherwise.
fn in_revision(machine: &Machine<'_>, path: &Field) -> Field {
    let text = path.prefix();
    let stage = ["0:", "1:", "2:", "3:"]
        .iter()
        .find(|stage| text.starts_with(**stage));
    let path = stage.map_or_else(|| path.clone(), |stage| path.after(stage.len()));
    let text = path.prefix();
    match machine.world.writable.first() {
        Some(root)
            if !text.is_empty()
                && !text.starts_with('/')
                && !text.starts_with("./")
                && !text.starts_with("../") =>
        {
            let mut whole = Field::lit(&format!("{root}/"));
            path.parts.iter().cloned().for_each(|part| whole.push(part));
            whole
        }
        _ => path,
    }
}
