//! `find` and `fd`: where they look, what they run, remove and write.

use super::Handler;
use super::find_expression::{self, Reach};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse};
use crate::place::{Place, Target};
use crate::rules;
use crate::value::{Field, Out, Part, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "find" | "gfind" => find,
        "fd" | "fdfind" => fd,
        _ => return None,
    })
}

fn find(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let args = call.args;
    let mut at = 0;
    let mut roots: Vec<Field> = Vec::new();
    let mut follows = false;
    while let Some(arg) = args.get(at) {
        let text = arg.prefix();
        if text == "-D" {
            at += 2;
        } else if matches!(
            text.as_str(),
            "-H" | "-L" | "-P" | "-E" | "-X" | "-s" | "-x"
        ) || text.starts_with("-O")
        {
            follows |= text == "-L";
            at += 1;
        } else if text.starts_with('-')
            || matches!(text.as_str(), "(" | "!" | ")") && arg.known().is_some()
        {
            break;
        } else {
            roots.push(arg.clone());
            at += 1;
        }
    }
    // `-D` at the end takes a word that isn't there.
    let words = &args[at.min(args.len())..];
    let expression = find_expression::read(words);
    if expression.is_doubtful {
        machine.partial("an expression of find that isn't understood");
    }
    follows |= words
        .iter()
        .any(|word| word.known().as_deref() == Some("-follow"));
    for (at, word) in words.iter().enumerate() {
        match word.prefix().as_str() {
            "-files0-from" => {
                // Where it looks stands in a file.
                roots.push(Field::unknown(Taint::NONE));
                if let Some(file) = words.get(at + 1).filter(|file| file.shown() != "-") {
                    machine.path(Role::Read, file, state);
                }
            }
            "-newer" | "-anewer" | "-cnewer" | "-samefile" => {
                if let Some(file) = words.get(at + 1) {
                    machine.path(Role::Read, file, state);
                }
            }
            _ => {}
        }
    }
    if roots.is_empty() {
        roots.push(Field::lit("."));
    }
    let mut acts = false;
    let mut printed: Option<Vec<&Reach>> = None;
    for (at, reach) in &expression.actions {
        let text = words.get(*at).map(Field::prefix).unwrap_or_default();
        match text.as_str() {
            "-delete" => {
                acts = true;
                for root in &roots {
                    machine.path(Role::Away, root, state);
                    deleted(machine, root, reach, state);
                }
                if follows {
                    machine.act(&rules::destructive::BULK);
                }
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                acts = true;
                let rest = words.get(at + 1..).unwrap_or_default();
                let end = rest
                    .iter()
                    .position(|arg| matches!(arg.known().as_deref(), Some(";" | "+")))
                    .unwrap_or(rest.len());
                let elsewhere = text.ends_with("dir");
                for root in &roots {
                    executed(machine, &rest[..end], root, reach, elsewhere, state);
                }
                if follows && rest.first().is_some_and(|first| loses(&first.shown())) {
                    machine.act(&rules::destructive::BULK);
                }
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                if let Some(file) = words.get(at + 1) {
                    machine.path(Role::Write, file, state);
                }
            }
            "-print" | "-print0" | "-printf" | "-ls" => {
                printed.get_or_insert_default().push(reach);
            }
            _ => {}
        }
    }
    let printed = printed.unwrap_or_else(|| vec![&expression.whole]);
    let mut all: Option<Taint> = None;
    for root in &roots {
        if !acts {
            machine.path(Role::Read, root, state);
        }
        for reach in &printed {
            let taint = listed(machine, root, reach, state);
            all = Some(all.map_or(taint, |all| {
                // Everything of one folder is still everything when more is added.
                all.and(taint).with(
                    if all.with(taint).has(Taint::ALL) && all.and(taint).has(Taint::INSIDE) {
                        Taint::ALL
                    } else {
                        Taint::NONE
                    },
                )
            }));
        }
    }
    Out::Unknown(all.unwrap_or(Taint::NONE))
}

/// What is known of the names that are printed.
fn listed(machine: &Machine<'_>, root: &Field, reach: &Reach, state: &State) -> Taint {
    let place = machine.target(root, state).place;
    match place {
        Place::Whole | Place::Inside | Place::Generated => {}
        Place::Outside | Place::Startup | Place::Secret | Place::Device => return Taint::OUTSIDE,
        _ => return Taint::NONE,
    }
    if place == Place::Generated {
        return Taint::INSIDE;
    }
    if reach.regex.as_deref().is_some_and(may_name_secret) {
        return Taint::INSIDE.with(Taint::NAMES_SECRET);
    }
    let Some(narrow) = &reach.narrow else {
        return match place {
            Place::Whole if !reach.bounded => Taint::INSIDE.with(Taint::ALL),
            _ => Taint::INSIDE,
        };
    };
    let targets: Vec<_> = narrow
        .iter()
        .map(|one| machine.target(&found(root, Some(&one.text)), state))
        .collect();
    if targets.iter().any(Target::holds_secret) {
        Taint::INSIDE.with(Taint::NAMES_SECRET)
    } else if targets
        .iter()
        .all(|target| target.place == Place::Generated)
    {
        Taint::INSIDE.with(Taint::GENERATED)
    } else {
        Taint::INSIDE
    }
}

/// Whether a regular expression may match the name of a secret: a pattern of paths isn't compared with
/// names, so pieces of such names count.
fn may_name_secret(regex: &str) -> bool {
    let plain: String = regex.chars().filter(char::is_ascii_alphanumeric).collect();
    [
        "env", "pem", "key", "rsa", "ssh", "secret", "cred", "ed25519", "netrc", "token", "passw",
        "history", "p12", "pfx",
    ]
    .iter()
    .any(|piece| plain.contains(piece))
}

/// Programs that lose or change what they are given.
fn loses(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    matches!(
        name,
        "rm" | "unlink"
            | "rmdir"
            | "shred"
            | "truncate"
            | "mv"
            | "cp"
            | "sed"
            | "perl"
            | "chmod"
            | "chown"
            | "chgrp"
            | "tee"
            | "gzip"
            | "trash"
    )
}

/// So many patterns of names a command is followed for.
const MAX_NAMES: usize = 8;

/// A name below a root of the search, with the pattern that narrows it.
fn found(root: &Field, narrow: Option<&str>) -> Field {
    let mut field = root.clone();
    field.push(Part::Lit {
        text: "/".to_owned(),
        quoted: true,
    });
    let pattern = narrow.unwrap_or("*").rsplit('/').next().unwrap_or("*");
    // The sign of a backup tells its name from others as well as letters do.
    field.push(Part::Pattern(
        pattern.replace('~', ".bak~").replace('#', ".bak#"),
    ));
    field
}

fn deleted(machine: &mut Machine<'_>, root: &Field, reach: &Reach, state: &State) {
    let place = machine.target(root, state).place;
    if !matches!(place, Place::Whole | Place::Inside) {
        machine.path(Role::DeleteTree, root, state);
        return;
    }
    match &reach.narrow {
        Some(narrow) => {
            for one in narrow {
                machine.path(Role::Delete, &found(root, Some(&one.text)), state);
            }
            if let Some(own) = git_name(root, place, reach) {
                machine.path(Role::DeleteTree, &own, state);
            }
        }
        // Which ones can't be told, but not all.
        None if reach.bounded => machine.act(&rules::destructive::BULK),
        None => {
            machine.path(Role::DeleteTree, root, state);
        }
    }
}

/// Something of git's own that a search in a root finds.
fn git_name(root: &Field, place: Place, reach: &Reach) -> Option<Field> {
    if place != Place::Whole {
        return None;
    }
    let own = reach.in_git(&root.shown())?;
    let mut field = root.clone();
    field.push(Part::Lit {
        text: format!("/.git/{own}"),
        quoted: true,
    });
    Some(field)
}

/// Runs a command once for each pattern of names that are found, or with everything below the root.
fn executed(
    machine: &mut Machine<'_>,
    words: &[Field],
    root: &Field,
    reach: &Reach,
    elsewhere: bool,
    state: &State,
) {
    if words.is_empty() {
        return;
    }
    let place = machine.target(root, state).place;
    if !matches!(place, Place::Whole | Place::Inside | Place::Generated) {
        machine.path(Role::Read, root, state);
    }
    let mut names: Vec<Field> = match &reach.narrow {
        Some(narrow) => narrow
            .iter()
            .map(|one| found(root, Some(&one.text)))
            .collect(),
        None => vec![found(root, None)],
    };
    names.extend(git_name(root, place, reach));
    if reach.regex.as_deref().is_some_and(may_name_secret) {
        names.push(found(root, Some(".env")));
    }
    if names.len() > MAX_NAMES {
        machine.partial("more alternatives than are followed");
        names.truncate(MAX_NAMES);
    }
    for name in names {
        let mut inner = state.clone();
        let mut name = name;
        if elsewhere {
            // It runs in the folder of what was found, wherever that is.
            if let (false, Some(folder)) = (name.prefix().starts_with('/'), &state.cwd) {
                let mut whole = Field::lit(&format!("{folder}/"));
                name.parts.into_iter().for_each(|part| whole.push(part));
                name = whole;
            }
            inner.enter(None);
        }
        let replaced: Vec<Field> = words.iter().map(|word| replaced(word, &name)).collect();
        machine.call(&replaced, &mut inner);
    }
}

/// A word with `{}` replaced by a name.
fn replaced(word: &Field, name: &Field) -> Field {
    match word.known() {
        Some(text) if text == "{}" => name.clone(),
        Some(text) if text.contains("{}") => {
            let mut field = Field::default();
            for (at, piece) in text.split("{}").enumerate() {
                if at > 0 {
                    name.parts.iter().cloned().for_each(|part| field.push(part));
                }
                if !piece.is_empty() {
                    field.push(Part::Lit {
                        text: piece.to_owned(),
                        quoted: true,
                    });
                }
            }
            field
        }
        _ => word.clone(),
    }
}

/// Options of `fd` that take a value, as they are spelled in one letter.
const FD_VALUED: &str = "dteESocjC";

/// Where the options of `fd` end in a command, and the first word of it when it stands in the same word.
fn fd_command(args: &[Field]) -> Option<(usize, Option<Field>)> {
    for (at, arg) in args.iter().enumerate() {
        let text = arg.prefix();
        if text == "--" {
            // Operands may still be followed by nothing.
            return None;
        }
        if let Some(long) = text.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            let runs = name.len() > 2 && ("exec-batch".starts_with(name));
            if runs {
                let value = long.contains('=').then(|| arg.after(name.len() + 3));
                return Some((at, value));
            }
            continue;
        }
        let Some(letters) = text.strip_prefix('-') else {
            continue;
        };
        for (offset, letter) in letters.char_indices() {
            if matches!(letter, 'x' | 'X') {
                let rest = arg.after(offset + 2);
                let value =
                    (!rest.parts.is_empty()).then(|| match rest.prefix().strip_prefix('=') {
                        Some(_) => rest.after(1),
                        None => rest,
                    });
                return Some((at, value));
            }
            if FD_VALUED.contains(letter) {
                break;
            }
        }
    }
    None
}

fn fd(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut command: Vec<Field> = Vec::new();
    let mut args = call.args;
    if let Some((at, first)) = fd_command(call.args) {
        args = &call.args[..at];
        command.extend(first);
        command.extend_from_slice(&call.args[at + 1..]);
    }
    let hidden = call.args.iter().any(|arg| {
        let text = arg.prefix();
        text.starts_with("--hid")
            || text.starts_with("--unr")
            || text.starts_with('-')
                && !text.starts_with("--")
                && text
                    .chars()
                    .skip(1)
                    .take_while(|c| !FD_VALUED.contains(*c) && !matches!(c, 'x' | 'X'))
                    .any(|c| matches!(c, 'H' | 'u'))
    });
    let parsed = parse(
        args,
        "d max-depth min-depth exact-depth t type e extension E exclude S size o owner c color j threads C base-directory \
         search-path changed-within changed-before and ignore-file max-results",
        Order::Any,
    );
    let mut roots: Vec<Field> = parsed.operands.iter().skip(1).cloned().collect();
    roots.extend(
        parsed
            .values(&["C", "base-directory", "search-path"])
            .cloned(),
    );
    if roots.is_empty() {
        roots.push(Field::lit("."));
    }
    for root in &roots {
        machine.path(Role::Read, root, state);
    }
    if command.is_empty() {
        return Out::Unknown(Taint::INSIDE);
    }
    if !command.iter().any(|word| word.shown().contains('{')) {
        command.push(Field::lit("{}"));
    }
    let pattern = parsed
        .operands
        .first()
        .and_then(|field| field.known().map(|text| text.into_owned()));
    let reach = find_expression::named(pattern.as_deref(), hidden);
    let reach = match parsed.value(&["e", "extension"]).and_then(Field::known) {
        // The end of a name says more than a piece of it.
        Some(end) => find_expression::ending(&end, hidden),
        None => reach,
    };
    for root in &roots {
        executed(machine, &command, root, &reach, false, state);
    }
    if command
        .first()
        .is_some_and(|first| first.shown().ends_with("rm"))
    {
        machine.act(&rules::destructive::BULK);
    }
    Out::Unknown(Taint::INSIDE)
}
