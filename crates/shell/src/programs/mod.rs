//! What is known about programs: which arguments are commands, which are paths and in what role.

mod agents;
mod archive;
mod attributes;
mod awk;
mod builtins;
mod containers;
mod converters;
mod decode;
mod editors;
mod environment;
mod files;
mod find;
mod find_expression;
mod git;
mod harmless;
pub(crate) mod inline;
mod interpreters;
mod literals;
mod marks;
mod net;
mod packages;
mod patches;
mod readers;
mod sed;
mod services;
mod shells;
mod sql;
mod ssh;
mod system;
mod table;
mod text;
mod wrapper_table;
mod wrappers;
mod xargs;

pub(crate) use agents::unleashes;
pub(crate) use environment::{environment, is_heeded};

use crate::limits::MAX_TAIL;
use crate::machine::{Call, Machine, State};
use crate::rules;
use crate::value::{Field, Out, Taint};

/// Follows one call; gives what it writes to its output.
type Handler = fn(&mut Machine<'_>, &Call<'_>, &mut State) -> Out;

/// Who follows calls, in the order of asking.
const REGISTRIES: &[fn(&str) -> Option<Handler>] = &[
    builtins::handler,
    text::handler,
    files::handler,
    attributes::handler,
    find::handler,
    xargs::handler,
    wrappers::handler,
    shells::handler,
    interpreters::handler,
    git::handler,
    net::handler,
    ssh::handler,
    archive::handler,
    sed::handler,
    awk::handler,
    editors::handler,
    services::handler,
    sql::handler,
    containers::handler,
    packages::handler,
    agents::handler,
    system::handler,
    table::handler,
    converters::handler,
];

fn handler(name: &str) -> Option<Handler> {
    REGISTRIES.iter().find_map(|registry| registry(name))
}

/// Whether a program is known here.
pub(crate) fn is_known(name: &str) -> bool {
    handler(name).is_some()
}

/// Whether a name is the shell's own and no file is looked for.
pub(crate) fn is_builtin(name: &str) -> bool {
    builtins::handler(name).is_some()
        || matches!(
            name,
            "echo" | "printf" | "test" | "[" | "true" | "false" | "pwd" | "kill"
        )
}

/// Runs a program, by its name.
pub(crate) fn run(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    let name = call.name;
    let Some(handler) = handler(name) else {
        machine.act(&rules::opaque::PROGRAM);
        if state.functions.contains_key("command_not_found_handle") {
            let mut handled = vec![Field::lit("command_not_found_handle"), Field::lit(name)];
            handled.extend(call.args.iter().cloned());
            machine.suspect_call(&handled, state);
        }
        suspect_tail(machine, call.args, state);
        let taint = call
            .args
            .iter()
            .fold(input_taint(state), |all, arg| all.and(arg.taint().risky()));
        return Out::Unknown(taint);
    };
    if asks_for_help(call) {
        machine.ran(name);
        return Out::Unknown(Taint::NONE);
    }
    handler(machine, call, state)
}

/// Whether a call only prints help or a version.
fn asks_for_help(call: &Call<'_>) -> bool {
    let Some((last, before)) = call.args.split_last() else {
        return false;
    };
    // These take the next word as a command, or have no such option.
    let runs = [
        "echo", "printf", "eval", "exec", "command", "builtin", "test", "[", "git",
    ]
    .contains(&call.name);
    let Some(last) = last.known().filter(|_| !runs) else {
        return false;
    };
    match last.as_ref() {
        "--version" => before.is_empty(),
        "--help" => {
            before.iter().all(|word| {
                word.known().is_some_and(|word| {
                    word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                        && !word.starts_with('-')
                })
            }) && (before.is_empty() || takes_subcommands(call.name))
        }
        "-V" | "-v" | "version" | "help" => before.is_empty() && takes_subcommands(call.name),
        _ => false,
    }
}

/// Programs of which the first word is one of their own commands.
fn takes_subcommands(name: &str) -> bool {
    packages::handler(name).is_some()
        || services::handler(name).is_some()
        || containers::handler(name).is_some()
        || matches!(
            name,
            "node" | "deno" | "python" | "python3" | "ruby" | "perl" | "php" | "ssh" | "tmux"
        ) && interpreters::is_versioned(name)
}

/// The words of a call to an unknown program may be a command that it runs.
pub(crate) fn suspect_tail(machine: &mut Machine<'_>, args: &[Field], state: &State) {
    if machine.suspicions > 2 {
        return;
    }
    for (at, arg) in args.iter().take(24).enumerate() {
        let Some(text) = arg.known() else {
            continue;
        };
        let base = text.rsplit('/').next().unwrap_or_default();
        if is_harmful(base) {
            let tail = &args[at..];
            match tail.len() <= MAX_TAIL {
                true => machine.suspect_call(tail, state),
                // Both ends are enough to show plain danger.
                false => {
                    let (begin, end) = (&tail[..MAX_TAIL / 2], &tail[tail.len() - MAX_TAIL / 2..]);
                    machine.suspect_call(&[begin, end].concat(), state);
                }
            }
        } else if text.contains(' ') && text.split_whitespace().next().is_some_and(is_harmful) {
            let text = text.into_owned();
            machine.suspect(&text, state);
        }
    }
}

/// Programs whose names make the words from there on a command worth looking at.
fn is_harmful(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    matches!(
        name,
        "rm" | "dd"
            | "shred"
            | "sh"
            | "bash"
            | "zsh"
            | "dash"
            | "ksh"
            | "wipefs"
            | "chmod"
            | "chown"
            | "find"
            | "sudo"
            | "git"
            | "mv"
            | "tee"
            | "truncate"
            | "env"
            | "unlink"
            | "rmdir"
            | "nc"
            | "ncat"
            | "curl"
            | "python3"
            | "python"
            | "perl"
            | "busybox"
            | "cp"
            | "cat"
            | "kubectl"
            | "terraform"
            | "psql"
            | "mysql"
            | "mongosh"
            | "mongo"
            | "redis-cli"
            | "sqlite3"
            | "dropdb"
            | "rimraf"
            | "del-cli"
    ) || name.starts_with("mkfs")
}

fn input_taint(state: &State) -> Taint {
    state.input.as_ref().map_or(Taint::NONE, Out::taint)
}

/// Whether a list of words separated by blanks holds this one.
fn lists(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// The whole of a call's arguments as known text.
fn known_words(args: &[Field]) -> Option<Vec<String>> {
    args.iter()
        .map(|arg| arg.known().map(|text| text.into_owned()))
        .collect()
}
