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
use crate::options::{Order, parse};
use crate::place::Place;
use crate::rules::{self, history, network};
use crate::value::{Field, Out, Taint};

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
        if let Some(code) = text.strip_prefix("ext::") {
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
    if verb == "hash-object" {
        for operand in &parsed.operands {
            machine.path(Role::Read, operand, state);
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
