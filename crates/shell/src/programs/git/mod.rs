//! `git`: what its commands change, lose and run.

mod contents;
mod options;
mod settings;
mod verb_lists;
mod verbs;

use options::{programs_of, spelled, valued};
use settings::setting;
use verb_lists::LOOKS;
use verbs::judged;

use super::Handler;
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, Parsed, parse};
use crate::place::Place;
use crate::rules::{self, history, network};
use crate::value::{Field, Out, Part, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "git" | "hub" => git,
        "git-filter-repo" | "bfg" => rewrites,
        "tig" | "lazygit" | "gitk" => interactive,
        _ => return None,
    })
}

fn rewrites(machine: &mut Machine<'_>, _: &Call<'_>, _: &mut State) -> Out {
    machine.act(&history::REWRITE);
    Out::empty()
}

fn interactive(machine: &mut Machine<'_>, _: &Call<'_>, _: &mut State) -> Out {
    machine.act(&rules::opaque::INTERACTIVE);
    Out::empty()
}

fn git(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut inside = state.clone();
    let mut aliases: Vec<(String, String)> = Vec::new();
    let mut at = 0;
    while let Some(arg) = call.args.get(at) {
        let text = arg.prefix();
        let next = call.args.get(at + 1);
        match text.as_str() {
            "-C" => {
                if let Some(folder) = next {
                    let path = machine.path(Role::Read, folder, &inside).path;
                    inside.enter(path);
                }
                at += 1;
            }
            "-c" | "--config-env" => {
                if let Some(pair) = next {
                    setting(machine, pair, &mut aliases, state);
                }
                at += 1;
            }
            "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" | "--attr-source" => {
                if let Some(folder) = next {
                    other_tree(machine, &text, folder, &mut inside);
                }
                at += 1;
            }
            _ if text.starts_with("--git-dir=") || text.starts_with("--work-tree=") => {
                let cut = text.find('=').map_or(0, |at| at + 1);
                other_tree(machine, &text[..cut - 1], &arg.after(cut), &mut inside);
            }
            _ if text.starts_with("--exec-path=") => machine.act(&history::PROGRAM),
            _ if text.starts_with("--config-env=") => machine.act(&history::PROGRAM),
            "--version" | "--help" | "-v" | "-h" | "--html-path" | "--man-path" | "--exec-path"
            | "--info-path" => {
                return Out::Unknown(Taint::NONE);
            }
            _ if text.starts_with('-') => {}
            _ => break,
        }
        at += 1;
    }
    let Some(verb) = call.args.get(at) else {
        if call.args.iter().any(Field::has_unknown) {
            machine.act(&rules::opaque::VALUE);
        }
        return Out::Unknown(Taint::NONE);
    };
    let args = call.args.get(at + 1..).unwrap_or_default();
    let Some(name) = verb.known().map(|name| name.into_owned()) else {
        machine.act(&rules::opaque::VALUE);
        return Out::Unknown(Taint::NONE);
    };
    for (alias, value) in &aliases {
        if *alias == name {
            let words: Vec<String> = args.iter().map(Field::shown).collect();
            let line = match value.strip_prefix('!') {
                Some(code) => format!("{code} {}", words.join(" ")),
                None => format!("git {value} {}", words.join(" ")),
            };
            machine.inner(&line, &mut inside);
            return Out::Unknown(Taint::NONE);
        }
    }
    if args
        .iter()
        .any(|arg| matches!(arg.known().as_deref(), Some("--help")))
        && args.len() == 1
    {
        return Out::Unknown(Taint::NONE);
    }
    if made_repository(machine, &inside) {
        machine.act(&history::PROGRAM);
    }
    let out = verb_effects(machine, &name, args, &mut inside);
    state.commits_secret |= inside.commits_secret;
    out
}

fn other_tree(machine: &mut Machine<'_>, option: &str, folder: &Field, state: &mut State) {
    let target = machine.path(Role::Read, folder, state);
    match (option, target.place) {
        ("--work-tree", _) => state.enter(target.path),
        // A repository's configuration runs programs.
        (_, Place::Inside | Place::History | Place::Whole | Place::GitInternal)
            if folder.shown() != ".git" =>
        {
            machine.act(&history::PROGRAM);
        }
        _ => {}
    }
}

fn verb_effects(machine: &mut Machine<'_>, verb: &str, args: &[Field], state: &mut State) -> Out {
    let outside = !matches!(
        state
            .cwd
            .as_deref()
            .map(|cwd| crate::place::place_of(cwd, machine.world)),
        Some(Place::Whole | Place::Inside | Place::Generated)
    );
    for arg in args {
        let text = arg.prefix();
        // A remote helper runs what the address says.
        let address = match text.strip_prefix("--") {
            Some(long) => long.split_once('=').map_or("", |(_, value)| value),
            None => &text,
        };
        if let Some(code) = address.strip_prefix("ext::") {
            machine.inner(code, &mut state.clone());
            machine.suspect(&code.replace("% ", " ").replace("%S", ""), state);
            // A blank behind `%` stands inside a word.
            let words = code.replace("% ", "\u{0}");
            let words: Vec<Field> = words
                .split_whitespace()
                .map(|word| Field::lit(&word.replace('\u{0}', " ")))
                .collect();
            machine.suspect_call(&words, state);
        }
        for option in ["--upload-pack=", "--receive-pack=", "--exec="] {
            if text.starts_with(option) {
                let code = arg.after(option.len());
                machine.code_word(&code, &mut state.clone());
            }
        }
    }
    let args = &spelled(verb, args);
    let parsed = parse(args, valued(verb), Order::Any);
    unknown_options(machine, args, &parsed);
    if verb == "hash-object" {
        for operand in &parsed.operands {
            machine.path(Role::Read, operand, state);
        }
        if parsed.has(&["stdin-paths"]) {
            names_read(machine, state);
        }
    }
    let adds = matches!(verb, "add" | "stage" | "commit")
        && parsed.operands.iter().any(|operand| {
            matches!(
                machine.target(operand, state).place,
                Place::Secret | Place::SecretInside
            )
        });
    state.commits_secret |= adds;
    if verb == "push" && state.commits_secret {
        machine.act(&rules::secret::UPLOAD);
    }
    let printed = contents::printed(machine, verb, args, &parsed, state);
    programs_of(machine, verb, &parsed, state);
    for file in parsed.values(&["output", "o-dir", "output-directory"]) {
        let file = file.clone();
        machine.path(Role::Write, &file, state);
    }
    if matches!(verb, "format-patch" | "bundle" | "archive") {
        for file in parsed.values(&["o"]) {
            let file = file.clone();
            machine.path(Role::Write, &file, state);
        }
    }
    if let Some(rule) = judged(machine, verb, args, &parsed, state) {
        machine.act(rule);
    }
    if outside
        && !LOOKS.contains(&verb)
        && !matches!(verb, "clone" | "fetch" | "ls-remote" | "push")
    {
        // Whatever it changes lies outside.
        machine.path(Role::Write, &Field::lit("."), state);
    }
    let lists = verb == "ls-files"
        || matches!(verb, "diff" | "show" | "diff-tree") && parsed.has(&["name-only"])
        || verb == "grep" && parsed.has(&["l", "name-only", "files-with-matches"]);
    if lists && !outside {
        return Out::Unknown(Taint::INSIDE);
    }
    let is_plain = verb == "branch" && parsed.has(&["show-current"])
        || matches!(verb, "log" | "show" | "rev-list")
            && parsed.options.iter().all(|given| {
                // Nothing else is printed beside the format.
                given.name.chars().all(|c| c.is_ascii_digit())
                    || [
                        "format",
                        "pretty",
                        "s",
                        "no-patch",
                        "n",
                        "max-count",
                        "all",
                        "reverse",
                        "since",
                        "until",
                        "author",
                        "grep",
                        "merges",
                        "no-merges",
                        "skip",
                        "diff-filter",
                        "follow",
                        "first-parent",
                    ]
                    .contains(&given.name.as_str())
            })
            && parsed
                .value(&["format", "pretty"])
                .and_then(Field::known)
                .is_some_and(|format| prints_plainly(&format))
            && (verb != "show" || parsed.has(&["s", "no-patch"]));
    if is_plain {
        return Out::Unknown(Taint::PLAIN);
    }
    if matches!(
        verb,
        "rev-parse"
            | "describe"
            | "rev-list"
            | "log"
            | "symbolic-ref"
            | "merge-base"
            | "hash-object"
    ) && !parsed.has(&["format", "pretty", "show-toplevel"])
    {
        return Out::Unknown(if verb == "log" {
            Taint::NONE
        } else {
            Taint::PLAIN
        });
    }
    if verb == "rev-parse" && parsed.has(&["show-toplevel"]) && !outside {
        return machine
            .world
            .writable
            .first()
            .map_or(Out::Unknown(Taint::NONE), |root| {
                Out::Known(format!("{root}\n"))
            });
    }
    Out::Unknown(printed)
}

/// A word that isn't known may be an option, and some options write or run. A plain value is none, and
/// names of files as git lists them are taken for names.
fn unknown_options(machine: &mut Machine<'_>, args: &[Field], parsed: &Parsed) {
    let behind = args
        .iter()
        .position(|arg| arg.known().as_deref() == Some("--"))
        .map_or(0, |at| args.len() - at - 1);
    let before = parsed.operands.len().saturating_sub(behind);
    let may_be_option = parsed.operands.iter().take(before).any(|word| {
        let plain = Taint::PLAIN.with(Taint::INSIDE);
        match word.parts.first() {
            Some(Part::Unknown(taint)) => !taint.has(plain),
            Some(Part::Guess(_)) => true,
            _ => false,
        }
    });
    if may_be_option {
        machine.act(&rules::opaque::VALUE);
    }
}

/// Whether a format of commits prints names of commits and dates, and nothing that somebody wrote.
fn prints_plainly(format: &str) -> bool {
    let format = format
        .trim_start_matches("format:")
        .trim_start_matches("tformat:");
    let mut pieces = format.split('%');
    pieces.next() == Some("")
        && !format.is_empty()
        && pieces.all(|piece| {
            [
                "H", "h", "T", "t", "P", "p", "ct", "at", "cI", "aI", "cs", "as",
            ]
            .contains(&piece.trim())
        })
}

/// Files whose names stand on the input are read.
fn names_read(machine: &mut Machine<'_>, state: &State) {
    match &state.input {
        Some(Out::Known(text)) => {
            let names: Vec<Field> = text.lines().take(256).map(Field::lit).collect();
            if text.lines().count() > names.len() {
                machine.partial("more names than are followed");
            }
            for name in &names {
                machine.read_file(name, state);
            }
        }
        Some(Out::Unknown(taint)) => {
            machine.read_file(&Field::unknown(*taint), state);
        }
        None => {
            machine.read_file(&Field::unknown(Taint::NONE), state);
        }
    }
}

/// Whether this line itself made what git takes for a repository, in the working folder or above it.
fn made_repository(machine: &Machine<'_>, state: &State) -> bool {
    let Some(cwd) = state.cwd.as_deref() else {
        return false;
    };
    state.files.keys().chain(&state.made).any(|path| {
        path.rsplit_once('/').is_some_and(|(folder, name)| {
            // At the root of a workspace its own repository comes first, and a file may well be named so.
            let is_root = machine.world.writable.iter().any(|root| root == folder);
            (matches!(name, "HEAD" | "objects" | "refs" | "commondir")
                || name == "config" && !is_root)
                && crate::place::below(cwd, folder).is_some()
        })
    })
}

/// Other version control: looks are free, the rest isn't known well enough.
pub(super) fn other_vcs(machine: &mut Machine<'_>, call: &Call<'_>, _: &State) {
    let verb = call.args.first().map(Field::shown).unwrap_or_default();
    match verb.as_str() {
        "status" | "st" | "log" | "diff" | "info" | "annotate" | "blame" | "heads" | "tip"
        | "summary" | "id" | "files" | "root" | "add" => {}
        "revert" | "purge" | "strip" | "clean" | "rollback" | "cleanup" => {
            machine.act(&history::DISCARD)
        }
        "push"
            if call
                .args
                .iter()
                .any(|arg| matches!(arg.prefix().as_str(), "-f" | "--force")) =>
        {
            machine.act(&history::FORCE_PUSH)
        }
        _ => machine.act(&network::USE),
    }
}
