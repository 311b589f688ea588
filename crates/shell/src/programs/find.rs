//! `find` and `fd`: where they look, what they run, remove and write.

use super::Handler;
use crate::effect::Role;
use crate::glob;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Part, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "find" | "gfind" => find,
        "fd" | "fdfind" => fd,
        _ => return None,
    })
}

/// Tests and options of `find` that take no argument.
const BARE: &[&str] = &[
    "-print",
    "-print0",
    "-ls",
    "-delete",
    "-depth",
    "-d",
    "-xdev",
    "-mount",
    "-empty",
    "-executable",
    "-readable",
    "-writable",
    "-true",
    "-false",
    "-prune",
    "-quit",
    "-not",
    "-a",
    "-o",
    "-and",
    "-or",
    "-follow",
    "-daystart",
    "-noleaf",
    "-nogroup",
    "-nouser",
    "-warn",
    "-nowarn",
    "-ignore_readdir_race",
];

fn find(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let args = call.args;
    let mut at = 0;
    let mut roots: Vec<Field> = Vec::new();
    while let Some(arg) = args.get(at) {
        let text = arg.prefix();
        if text == "-D" {
            at += 2;
        } else if matches!(text.as_str(), "-H" | "-L" | "-P") || text.starts_with("-O") {
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
    if roots.is_empty() {
        roots.push(Field::lit("."));
    }
    // `-D` at the end takes a word that isn't there.
    let at = at.min(args.len());
    let narrow = narrowed(&args[at..]);
    let bounded = args[at..].iter().any(|arg| {
        matches!(
            arg.prefix().as_str(),
            "-mtime"
                | "-mmin"
                | "-atime"
                | "-ctime"
                | "-size"
                | "-empty"
                | "-newer"
                | "-user"
                | "-perm"
        )
    });
    // An alternative finds other names too.
    let is_only = !args[at..]
        .iter()
        .any(|arg| matches!(arg.prefix().as_str(), "-o" | "-or" | ","));
    let mut taint = Taint::INSIDE;
    let mut acts = false;
    let expression = &args[at..];
    let mut at = 0;
    while let Some(arg) = expression.get(at) {
        let text = arg.prefix();
        match text.as_str() {
            "-delete" if !bounded || narrow.is_some() => {
                acts = true;
                for root in &roots {
                    machine.path(Role::Away, root, state);
                    deleted(machine, root, narrow.as_deref(), state);
                }
            }
            "-delete" => {
                // Which ones can't be told, but not all.
                acts = true;
                for root in &roots {
                    machine.path(Role::Away, root, state);
                    let place = machine.target(root, state).place;
                    if matches!(place, Place::Whole | Place::Inside) {
                        machine.act(&rules::destructive::BULK);
                    } else {
                        machine.path(Role::DeleteTree, root, state);
                    }
                }
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                acts = true;
                let rest = &expression[at + 1..];
                let end = rest
                    .iter()
                    .position(|arg| matches!(arg.known().as_deref(), Some(";" | "+")))
                    .unwrap_or(rest.len());
                for root in &roots {
                    executed(machine, &rest[..end], root, narrow.as_deref(), state);
                }
                at += end + 1;
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                if let Some(file) = expression.get(at + 1) {
                    machine.path(Role::Write, file, state);
                }
                at += if text == "-fprintf" { 2 } else { 1 };
            }
            "-files0-from" | "-newer" | "-anewer" | "-cnewer" | "-samefile" => {
                if let Some(file) = expression.get(at + 1) {
                    machine.path(Role::Read, file, state);
                }
                at += 1;
            }
            _ if BARE.contains(&text.as_str()) || !text.starts_with('-') => {}
            _ => at += 1,
        }
        at += 1;
    }
    for root in &roots {
        let place = machine.target(root, state).place;
        if !acts {
            machine.path(Role::Read, root, state);
        }
        let sought = found(root, narrow.as_deref());
        let sought = machine.target(&sought, state);
        let is_secret = sought.place == Place::SecretInside || sought.may_be_secret;
        taint = match place {
            Place::Whole | Place::Inside if narrow.is_some() && is_secret => {
                taint.with(Taint::NAMES_SECRET)
            }
            Place::Whole | Place::Inside
                if narrow.is_some() && sought.place == Place::Generated && is_only =>
            {
                taint.with(Taint::GENERATED)
            }
            Place::Whole if !bounded && narrow.is_none() => taint.with(Taint::ALL),
            Place::Whole | Place::Inside | Place::Generated => taint,
            Place::Outside | Place::Startup | Place::Secret | Place::Device => Taint::OUTSIDE,
            _ => Taint::NONE,
        };
    }
    Out::Unknown(taint)
}

/// The first pattern that every name must match. What is negated leaves all the others.
fn narrowed(expression: &[Field]) -> Option<String> {
    // For each open bracket, whether what stands in it is negated.
    let mut brackets = Vec::new();
    let mut negated = false;
    for (at, arg) in expression.iter().enumerate() {
        let text = arg.prefix();
        match text.as_str() {
            "!" | "-not" => {
                negated = !negated;
                continue;
            }
            "(" => brackets.push(negated),
            ")" => {
                brackets.pop();
            }
            "-name" | "-iname" | "-path" | "-wholename" | "-ipath" | "-regex" => {
                let pattern = expression.get(at + 1).and_then(Field::known);
                let is_negated = negated || brackets.contains(&true);
                if let Some(pattern) =
                    pattern.filter(|pattern| !is_negated && !glob::is_wide(pattern))
                {
                    return Some(pattern.into_owned());
                }
            }
            _ => {}
        }
        negated = false;
    }
    None
}

/// A name below a root of the search, with the pattern that narrows it.
fn found(root: &Field, narrow: Option<&str>) -> Field {
    let mut field = root.clone();
    field.push(Part::Lit {
        text: "/".to_owned(),
        quoted: true,
    });
    field.push(Part::Pattern(
        narrow
            .unwrap_or("*")
            .rsplit('/')
            .next()
            .unwrap_or("*")
            .to_owned(),
    ));
    field
}

fn deleted(machine: &mut Machine<'_>, root: &Field, narrow: Option<&str>, state: &State) {
    let place = machine.target(root, state).place;
    match (place, narrow) {
        (Place::Whole | Place::Inside, Some(_)) => {
            machine.path(Role::Delete, &found(root, narrow), state);
        }
        (Place::Whole, None) => {
            machine.path(Role::DeleteTree, root, state);
        }
        _ => {
            machine.path(Role::DeleteTree, root, state);
        }
    }
}

/// Runs a command once for a name that is found, and with the root itself as the name.
fn executed(
    machine: &mut Machine<'_>,
    words: &[Field],
    root: &Field,
    narrow: Option<&str>,
    state: &mut State,
) {
    let place = machine.target(root, state).place;
    let inside = matches!(place, Place::Whole | Place::Inside | Place::Generated);
    let name = found(root, narrow);
    let replaced: Vec<Field> = words
        .iter()
        .map(|word| match word.known() {
            Some(text) if text == "{}" => name.clone(),
            Some(text) if text.contains("{}") => {
                let mut field = Field::default();
                for (at, piece) in text.split("{}").enumerate() {
                    if at > 0 {
                        for part in name.parts.clone() {
                            field.push(part);
                        }
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
        })
        .collect();
    if replaced.is_empty() {
        return;
    }
    if !inside {
        machine.path(Role::Read, root, state);
    }
    let mut inner = state.clone();
    machine.call(&replaced, &mut inner);
}

fn fd(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let at = call.args.iter().position(|arg| {
        matches!(
            arg.known().as_deref(),
            Some("-x" | "-X" | "--exec" | "--exec-batch")
        )
    });
    let (args, command) = match at {
        Some(at) => (&call.args[..at], &call.args[at + 1..]),
        None => (call.args, &[][..]),
    };
    let parsed = parse(
        args,
        "d max-depth min-depth t type e extension E exclude S size c color j threads base-directory search-path",
        Order::Any,
    );
    let mut roots: Vec<Field> = parsed.operands.iter().skip(1).cloned().collect();
    roots.extend(parsed.values(&["base-directory", "search-path"]).cloned());
    if roots.is_empty() {
        roots.push(Field::lit("."));
    }
    for root in &roots {
        machine.path(Role::Read, root, state);
    }
    if !command.is_empty() {
        let pattern = parsed
            .operands
            .first()
            .and_then(|field| field.known().map(|text| format!("*{text}*")));
        let mut words = command.to_vec();
        if !words.iter().any(|word| word.shown().contains('{')) {
            words.push(Field::lit("{}"));
        }
        for root in &roots {
            executed(machine, &words, root, pattern.as_deref(), state);
        }
        let removes = command
            .first()
            .is_some_and(|first| first.shown().ends_with("rm"));
        if removes {
            machine.act(&rules::destructive::BULK);
        }
    }
    Out::Unknown(Taint::INSIDE)
}
