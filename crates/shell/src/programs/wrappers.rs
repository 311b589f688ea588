//! Programs that run another command: which of their words it begins with.

use super::wrapper_table::{Wrapper, wrapper};
use super::{Handler, lists};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse};
use crate::rules;
use crate::value::{Field, Out, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "env" | "genv" => env,
        "su" => su,
        "watch" | "hyperfine" | "script" | "sem" | "tmux" | "screen" | "expect" | "at"
        | "batch" | "sg" | "newgrp" => text_command,
        "busybox" | "toybox" | "coreutils" => applets,
        name if wrapper(name).is_some() => wrapped,
        _ => return None,
    })
}

fn wrapped(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let Some(wrapper) = wrapper(call.name) else {
        return Out::empty();
    };
    if let Some(rule) = wrapper.rule {
        machine.act(rule);
    }
    let later = |arg: &Field| {
        let text = arg.prefix();
        text.starts_with("--on-") || text.starts_with("--timer-") || text.starts_with("--path-")
    };
    if call.name == "systemd-run" && call.args.iter().any(later) {
        machine.act(&rules::persistence::TIMER);
    }
    if matches!(
        call.name,
        "unshare"
            | "nsenter"
            | "bwrap"
            | "firejail"
            | "systemd-nspawn"
            | "lxc-attach"
            | "proot"
            | "capsh"
    ) {
        // Their options are many: wherever the command begins, it is looked at.
        super::suspect_tail(machine, call.args, state);
    }
    let parsed = parse(call.args, wrapper.valued, Order::First);
    swallowed(machine, call, wrapper, state);
    for code in parsed.values(wrapper.code) {
        let code = code.clone();
        machine.code_word(&code, &mut state.clone());
    }
    for file in parsed.values(wrapper.writes) {
        let file = file.clone();
        machine.path(Role::Write, &file, state);
    }
    let mut inside = state.clone();
    for folder in parsed.values(wrapper.folder) {
        let path = machine.path(Role::Enter, folder, state).path;
        inside.enter(path);
    }
    let mut rest = parsed.operands.as_slice();
    // `sudo NAME=value command` and the like.
    while let Some((first, after)) = rest.split_first()
        && wrapper.skip == 0
        && is_assignment(first)
    {
        assigned(machine, first, &mut inside);
        rest = after;
    }
    if call.name == "sudo" && (parsed.has(&["e", "edit"])) {
        for file in rest {
            machine.path(Role::Write, file, state);
        }
        return Out::Unknown(Taint::NONE);
    }
    match call.name {
        // Without `-u` it is `su`, whose options may follow the user.
        "runuser" if !parsed.has(&["u", "user"]) => return su(machine, call, state),
        // What follows are the arguments of a shell.
        "capsh"
            if rest
                .first()
                .is_some_and(|word| word.prefix().starts_with('-')) =>
        {
            let mut shell = vec![Field::lit("sh")];
            shell.extend(rest.iter().cloned());
            return machine.call(&shell, &mut inside);
        }
        _ => {}
    }
    // What it locks is made when it isn't there; a number is a descriptor.
    if let ("flock", Some(lock)) = (call.name, rest.first())
        && lock.known().is_none_or(|text| text.parse::<u32>().is_err())
    {
        machine.path(Role::Write, lock, state);
    }
    let rest = rest.get(wrapper.skip..).unwrap_or_default();
    let rest = match (call.name, rest.first().and_then(Field::known).as_deref()) {
        ("flock", Some("-c")) => {
            if let Some(code) = rest.get(1) {
                machine.code_word(code, &mut inside);
            }
            &[][..]
        }
        (_, Some("--")) => rest.get(1..).unwrap_or_default(),
        _ => rest,
    };
    if rest.is_empty() {
        let is_shell = call.name == "sudo" && parsed.has(&["s", "i", "shell", "login"]);
        if is_shell {
            return machine.call(&[Field::lit("sh")], &mut inside);
        }
        if !call.args.is_empty() && parsed.values(wrapper.code).next().is_none() {
            machine.partial("a wrapper whose command isn't found");
        }
        return Out::Unknown(Taint::NONE);
    }
    let out = machine.call(rest, &mut inside);
    state.files = inside.files;
    out
}

/// Programs that share a row don't share every option: the word that an option takes may be the
/// command after all.
fn swallowed(machine: &mut Machine<'_>, call: &Call<'_>, wrapper: &Wrapper, state: &State) {
    for (at, arg) in call.args.iter().enumerate().take(16) {
        let text = arg.prefix();
        let name = text.trim_start_matches('-');
        if !text.starts_with('-') {
            break;
        }
        if lists(wrapper.valued, name) && !wrapper.code.contains(&name) {
            machine.suspect_call(&call.args[at + 1..], state);
        }
    }
}

fn is_assignment(field: &Field) -> bool {
    field
        .prefix()
        .split_once('=')
        .is_some_and(|(name, _)| super::builtins::plain_name(name))
}

fn assigned(machine: &mut Machine<'_>, field: &Field, state: &mut State) {
    let prefix = field.prefix();
    if let Some((name, _)) = prefix.split_once('=') {
        let value = field.after(name.len() + 1);
        super::environment(machine, name, &value, state);
        state.assign(name, value);
    }
}

fn env(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        "u unset C chdir S split-string a argv0 P",
        Order::First,
    );
    let mut inside = state.clone();
    for folder in parsed.values(&["C", "chdir"]) {
        let path = machine.path(Role::Enter, folder, state).path;
        inside.enter(path);
    }
    let mut words: Vec<Field> = Vec::new();
    for text in parsed.values(&["S", "split-string"]) {
        let Some(known) = text.known() else {
            machine.unseen(text.taint());
            continue;
        };
        let known = known.into_owned();
        for word in crate::word::split_words(&known) {
            words.extend(machine.word(word, &mut inside));
        }
    }
    words.extend(parsed.operands);
    let mut rest = words.as_slice();
    while let Some((first, after)) = rest.split_first()
        && is_assignment(first)
    {
        assigned(machine, first, &mut inside);
        rest = after;
    }
    if rest.is_empty() {
        machine.act(&rules::secret::ENVIRONMENT);
        return Out::Unknown(Taint::SECRET);
    }
    // What env runs is a program, never a function or a builtin of this shell.
    inside.functions.clear();
    let out = machine.call(rest, &mut inside);
    state.files = inside.files;
    out
}

fn su(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.act(&rules::privilege::RAISE);
    let parsed = parse(
        call.args,
        "c command session-command s shell g group G supp-group w",
        Order::Any,
    );
    let mut inside = state.clone();
    for code in parsed.values(&["c", "command", "session-command"]) {
        let code = code.clone();
        machine.code_word(&code, &mut inside);
    }
    // A known word may be the command of a `runuser` that was misread.
    super::suspect_tail(machine, call.args, state);
    Out::Unknown(Taint::NONE)
}

/// Programs that run shell code which they are given as words.
fn text_command(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut inside = state.clone();
    inside.output = Out::empty();
    match call.name {
        "watch" => {
            let parsed = parse(call.args, "n interval q equexit", Order::First);
            machine.act(&rules::opaque::INTERACTIVE);
            if parsed.has(&["x", "exec"]) {
                return machine.call(&parsed.operands, &mut inside);
            }
            joined(machine, &parsed.operands, &mut inside);
        }
        "hyperfine" => {
            let parsed = parse(
                call.args,
                "w warmup r runs p prepare c cleanup s setup S shell L export-json export-markdown export-csv m M n",
                Order::Any,
            );
            for code in parsed
                .operands
                .iter()
                .chain(parsed.values(&["p", "prepare", "c", "cleanup", "s", "setup"]))
            {
                machine.code_word(code, &mut inside);
            }
            for file in parsed.values(&["export-json", "export-markdown", "export-csv"]) {
                let file = file.clone();
                machine.path(Role::Write, &file, state);
            }
        }
        "script" => {
            let parsed = parse(call.args, "c command I O B T E o t", Order::First);
            let code: Vec<Field> = parsed.values(&["c", "command"]).cloned().collect();
            for code in &code {
                machine.code_word(code, &mut inside);
            }
            if let Some((file, command)) = parsed.operands.split_first() {
                machine.path(Role::Write, file, state);
                if !command.is_empty() {
                    machine.call(command, &mut inside);
                }
            }
            if code.is_empty() {
                machine.act(&rules::opaque::INTERACTIVE);
            }
        }
        "sem" => {
            let parsed = parse(call.args, "j jobs id st semaphoretimeout", Order::First);
            machine.act(&rules::opaque::CODE);
            joined(machine, &parsed.operands, &mut inside);
        }
        "at" | "batch" => {
            machine.act(&rules::persistence::TIMER);
            if let Some(Out::Known(text)) = state.input.clone() {
                machine.inner(&text, &mut inside);
            }
        }
        "tmux" | "screen" => {
            let harmless = call
                .args
                .first()
                .and_then(Field::known)
                .is_some_and(|verb| {
                    matches!(verb.as_ref(), "ls" | "list-sessions" | "-ls" | "-V" | "-v")
                });
            if harmless {
                return Out::Unknown(Taint::NONE);
            }
            machine.act(&rules::opaque::INTERACTIVE);
            // Where the command begins among their options can't be told, but no option is a program.
            for (at, arg) in call.args.iter().enumerate().take(16) {
                let text = arg.shown();
                machine.suspect_listed(&text, state);
                if super::is_known(&text) {
                    let words: Vec<String> = call.args[at..].iter().map(Field::shown).collect();
                    machine.suspect_listed(&words.join(" "), state);
                }
            }
            super::suspect_tail(machine, call.args, state);
        }
        "sg" | "newgrp" => {
            machine.act(&rules::privilege::RAISE);
            for (at, arg) in call.args.iter().enumerate().skip(1) {
                let text = arg.shown();
                machine.suspect_listed(&text, state);
                if at == 1 && !text.starts_with('-') {
                    let words: Vec<String> = call.args[at..].iter().map(Field::shown).collect();
                    machine.suspect_listed(&words.join(" "), state);
                }
            }
        }
        _ => {
            machine.act(&rules::opaque::CODE);
            for arg in call.args {
                let text = arg.shown();
                super::inline::scan(machine, &text, "tcl", state);
                for piece in text.split([';', '\n']) {
                    let piece = piece.trim();
                    let started = ["spawn ", "exec ", "system "]
                        .iter()
                        .find_map(|word| piece.strip_prefix(word));
                    machine.suspect_listed(started.unwrap_or_default(), state);
                }
            }
        }
    }
    inside.output
}

/// Words that are one line of shell code together.
fn joined(machine: &mut Machine<'_>, words: &[Field], state: &mut State) {
    let mut line = Field::default();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            line.push(crate::value::Part::Lit {
                text: " ".to_owned(),
                quoted: true,
            });
        }
        for part in word.clone().quoted().parts {
            line.push(part);
        }
    }
    machine.code_word(&line, state);
}

fn applets(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let rest: &[Field] = match call.args.first().and_then(Field::known).as_deref() {
        Some(flag) if flag.starts_with("--coreutils-prog=") => {
            let mut words = vec![call.args[0].after("--coreutils-prog=".len())];
            words.extend(call.args[1..].iter().cloned());
            return machine.call(&words, state);
        }
        Some("--list" | "--help" | "--install") | None => &[],
        Some(_) => call.args,
    };
    if rest.is_empty() {
        Out::Unknown(Taint::NONE)
    } else {
        machine.call(rest, state)
    }
}

#[cfg(test)]
#[path = "wrapped_tests.rs"]
mod tests;
