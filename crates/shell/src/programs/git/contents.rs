//! Files whose content commands of git print: as they are in the folder, and as the history holds them.

use crate::effect::Role;
use crate::machine::{Machine, State};
use crate::options::Parsed;
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Part, Taint};

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
        "log" | "whatchanged" | "diff-tree" | "diff-files" | "diff-index" | "reflog" => {
            parsed.has(&[
                "p",
                "u",
                "patch",
                "L",
                "c",
                "cc",
                "U",
                "unified",
                "patch-with-stat",
                "patch-with-raw",
                "binary",
                "word-diff",
                "color-words",
                "G",
                "S",
                "m",
                "function-context",
                "W",
            ])
        }
        "stash" => {
            parsed
                .operands
                .first()
                .is_some_and(|sub| sub.shown() == "show")
                && parsed.has(&["p", "u", "patch", "include-untracked", "only-untracked"])
        }
        "grep" | "format-patch" => true,
        "archive" => true,
        _ => false,
    };
    if !prints {
        return Taint::NONE;
    }
    if verb == "cat-file" && parsed.has(&["batch", "batch-command"]) {
        return listed(machine, state);
    }
    // Behind the dashes there are paths only.
    let behind = args
        .iter()
        .position(|arg| arg.known().as_deref() == Some("--"))
        .map_or(0, |at| args.len() - at - 1);
    let before = parsed.operands.len().saturating_sub(behind);
    let mut taint = Taint::NONE;
    // `-L from,to:file`
    for lines in parsed.values(&["L"]).filter(|_| verb != "blame") {
        let file = lines
            .known()
            .and_then(|text| text.rsplit_once(':').map(|(_, file)| file.to_owned()));
        let file = Field::lit(&file.unwrap_or_default());
        if machine.target(&file, state).holds_secret() {
            machine.path(Role::Read, &file, state);
            taint = taint.and(Taint::SECRET);
        }
    }
    for (at, operand) in parsed.operands.iter().enumerate() {
        let text = operand.prefix();
        let path = match text.find(':') {
            _ if verb == "grep" && at == 0 && before > 0 && !parsed.has(&["e", "f", "file"]) => {
                continue;
            }
            _ if at >= before => match pathspec(operand) {
                Some(path) => path,
                None => continue,
            },
            Some(colon) => in_revision(machine, &operand.after(colon + 1)),
            // A revision may be named as a file is.
            None if text.contains(['~', '^', '@']) || text.contains("..") => continue,
            // Files that lie elsewhere are compared as they are.
            None if verb == "diff" && (text.starts_with('/') || text.starts_with("../")) => {
                taint = taint.and(machine.read_file(operand, state).taint().risky());
                continue;
            }
            None => match pathspec(operand) {
                Some(path) => path,
                None => continue,
            },
        };
        let target = machine.target(&path, state);
        // Which paths there are in the history, and where a word that may be a revision leads, says nothing
        // about files elsewhere.
        let is_secret = target.place == Place::Secret || target.holds_secret();
        if is_secret || target.place == Place::Inside {
            machine.path(Role::Read, &path, state);
        }
        if is_secret {
            taint = taint.and(Taint::SECRET);
        }
    }
    taint
}

/// Objects whose names stand on the input.
fn listed(machine: &mut Machine<'_>, state: &State) -> Taint {
    let text = match &state.input {
        Some(Out::Known(text)) => text.clone(),
        // Names of commits and of files as git lists them.
        Some(Out::Unknown(taint)) if taint.has(Taint::PLAIN.with(Taint::INSIDE)) => {
            return Taint::NONE;
        }
        _ => {
            machine.act(&rules::opaque::VALUE);
            return Taint::NONE;
        }
    };
    let mut taint = Taint::NONE;
    for name in text.lines().take(256) {
        let Some((_, path)) = name.split_once(':') else {
            continue;
        };
        let path = in_revision(machine, &Field::lit(path.trim()));
        if machine.target(&path, state).holds_secret() {
            machine.path(Role::Read, &path, state);
            taint = taint.and(Taint::SECRET);
        }
    }
    taint
}

/// The files that a word behind the dashes stands for: it is a pattern though it is quoted, and may begin
/// with what it means. `None`: it leaves files out.
fn pathspec(word: &Field) -> Option<Field> {
    let Some(text) = word.known() else {
        return Some(word.clone());
    };
    let mut text = text.as_ref();
    if let Some(magic) = text.strip_prefix(":(") {
        let (words, path) = magic.split_once(')')?;
        if words.split(',').any(|word| word == "exclude") {
            return None;
        }
        text = path;
    } else if let Some(path) = text.strip_prefix(':') {
        if path.starts_with(['!', '^']) {
            return None;
        }
        text = path.trim_start_matches([':', '/']);
    }
    Some(match crate::glob::is_pattern(text) {
        true => Field {
            parts: vec![Part::Pattern(text.to_owned())],
        },
        false => Field::lit(text),
    })
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
