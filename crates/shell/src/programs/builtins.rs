//! What the shell does itself.

use super::{Handler, known_words};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "cd" | "chdir" | "pushd" | "popd" | "dirs" => cd,
        "eval" => eval,
        "source" | "." => source,
        "exec" | "command" | "builtin" => pass,
        "export" | "declare" | "typeset" | "local" | "readonly" => declare,
        "unset" => unset,
        "alias" | "unalias" => alias,
        "read" | "mapfile" | "readarray" => read,
        "set" | "shift" => positional,
        "trap" => trap,
        "let" => evaluate,
        "test" | "[" => test,
        "exit" | "return" | "break" | "continue" | "wait" | "jobs" | "fg" | "bg" | "disown"
        | "times" | "getopts" | "shopt" | "umask" | "ulimit" | "hash" | "type" | "suspend"
        | "logout" | "bind" | "complete" | "compgen" | "enable" | "history" | "fc" | "caller"
        | "help" | "compopt" => other,
        _ => return None,
    })
}

fn cd(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    if call.name == "dirs" {
        return Out::Unknown(Taint::NONE);
    }
    if call.name == "popd" {
        let folder = state.folders.pop().unwrap_or(None);
        state.enter(folder);
        return Out::Unknown(Taint::NONE);
    }
    let parsed = parse(call.args, "", Order::First);
    let to = match parsed.operands.first() {
        None if call.name == "pushd" => {
            state.enter(None);
            return Out::Unknown(Taint::NONE);
        }
        None => state.read("HOME"),
        Some(to) if to.known().as_deref() == Some("-") => state.read("OLDPWD"),
        Some(to) => to.clone(),
    };
    if call.name == "pushd" {
        state.folders.push(state.cwd.clone());
    }
    let target = machine.path(Role::Enter, &to, state);
    let folder = target
        .path
        .filter(|_| !target.pattern && target.place != Place::Unknown);
    // A folder by a pattern is one that matches: known enough to tell what is outside.
    let folder = if target.pattern {
        machine.target(&to, state).path
    } else {
        folder
    };
    state.enter(folder);
    Out::empty()
}

fn eval(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut code = Field::default();
    for (at, arg) in call.args.iter().enumerate() {
        if at > 0 {
            code.push(crate::value::Part::Lit {
                text: " ".to_owned(),
                quoted: true,
            });
        }
        for part in arg.clone().quoted().parts {
            code.push(part);
        }
    }
    let before = std::mem::replace(&mut state.output, Out::empty());
    machine.code_word(&code, state);
    std::mem::replace(&mut state.output, before)
}

fn source(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    let Some((file, args)) = call.args.split_first() else {
        return Out::empty();
    };
    let target = machine.target(file, state);
    let content = machine.read_file(file, state);
    match content {
        Out::Known(text) => {
            if !args.is_empty() {
                state.positional = args.to_vec();
                state.positional_known = true;
            }
            machine.inner(&text, state);
        }
        Out::Unknown(taint) if target.place == Place::Stream => machine.unseen(taint),
        Out::Unknown(_) => {
            machine.suspect_file(&target.path, state);
            machine.act(&rules::opaque::SCRIPT);
        }
    }
    Out::Unknown(Taint::NONE)
}

/// `exec`, `command` and `builtin`: the words after them are the command.
fn pass(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        if call.name == "exec" { "a" } else { "" },
        Order::First,
    );
    if call.name == "command" && parsed.has(&["v", "V"]) {
        return Out::Unknown(Taint::NONE);
    }
    if parsed.operands.is_empty() {
        return Out::empty();
    }
    // Under another name, or without its variables, a program may do something else.
    state.sets_variables |= call.name == "exec" && parsed.has(&["a", "c", "l"]);
    machine.call_program(&parsed.operands, state)
}

fn declare(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(call.args, "", Order::First);
    if parsed.operands.is_empty() && (call.args.is_empty() || parsed.has(&["p", "x"])) {
        machine.act(&rules::secret::ENVIRONMENT);
        return Out::Unknown(Taint::SECRET);
    }
    if parsed.has(&["i"]) {
        machine.partial("a variable whose values are evaluated");
    }
    // In a function these are its own, unless they say otherwise.
    let own = matches!(call.name, "local" | "declare" | "typeset") && !parsed.has(&["g"]);
    for operand in &parsed.operands {
        let shown = operand.prefix();
        let name = shown.split(['=', '[', '+']).next().unwrap_or_default();
        if own && let Some(locals) = machine.locals.last_mut() {
            locals.push(name.to_owned());
        }
        machine.subscripted(operand, state);
        if parsed.has(&["n"])
            && let Some((name, other)) = operand
                .known()
                .as_deref()
                .and_then(|text| text.split_once('='))
            && plain_name(name)
            && plain_name(other)
        {
            state.refer(name, other);
            continue;
        }
        if operand.has_unknown() && !operand.prefix().contains('=') {
            machine.partial("a variable whose name isn't known");
        }
        // `declare -x` and the like take names that were expanded, too.
        if let Some((name, value)) = operand
            .known()
            .as_deref()
            .and_then(|text| text.split_once('='))
        {
            let value = Field::lit(value);
            if state.read(name) != value && plain_name(name) {
                super::environment(machine, name, &value, state);
                state.assign(name, value);
            }
        }
    }
    if parsed.has(&["f", "F"]) || parsed.has(&["p"]) {
        return Out::Unknown(Taint::SECRET);
    }
    Out::empty()
}

pub(super) fn plain_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn unset(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(call.args, "", Order::First);
    for arg in &parsed.operands {
        machine.subscripted(arg, state);
        let Some(name) = arg.known() else {
            continue;
        };
        // Without an option a variable goes, and a function only where there is none.
        if parsed.has(&["f"]) || !parsed.has(&["v"]) && !state.is_set(&name) {
            state.functions.remove(name.as_ref());
        } else {
            state.unset(&name);
        }
    }
    Out::empty()
}

fn alias(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    for arg in call.args {
        let prefix = arg.prefix();
        let Some((name, value)) = prefix.split_once('=') else {
            continue;
        };
        if call.name == "alias" {
            if arg.known().is_some() {
                // What an alias does is looked at when it is made: it may be used where it isn't seen.
                machine.suspect(value, state);
                state.aliases.insert(name.to_owned(), value.to_owned());
            } else {
                machine.partial("an alias that isn't known");
            }
        }
    }
    Out::empty()
}

fn read(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let valued = if call.name == "read" {
        "a d i n N p t u"
    } else {
        "d n O s u C c"
    };
    let parsed = parse(call.args, valued, Order::First);
    for callback in parsed.values(&["C"]) {
        let callback = callback.clone();
        machine.code_word(&callback, state);
    }
    let raw = parsed.has(&["r"]);
    let mut names: Vec<String> = Vec::new();
    for operand in parsed.operands.iter().chain(parsed.value(&["a"])) {
        machine.subscripted(operand, state);
        names.extend(operand.known().map(|name| name.into_owned()));
    }
    if names.iter().any(|name| super::is_heeded(name)) {
        machine.act(&rules::persistence::ENVIRONMENT);
    }
    let as_list = call.name != "read" || parsed.has(&["a"]);
    // From another descriptor, for a while, or a part of a line.
    let partly = call.name == "read" && parsed.has(&["u", "t", "n", "N"]);
    let line = match &mut state.input {
        _ if partly => Err(Taint::NONE),
        Some(Out::Known(text)) if call.name == "read" => {
            let (line, rest) = match text.split_once(['\n', '\0']) {
                Some((line, rest)) => (line.to_owned(), rest.to_owned()),
                None => (std::mem::take(text), String::new()),
            };
            *text = rest;
            // Without `-r` a backslash only quotes.
            Ok(if raw { line } else { line.replace('\\', "") })
        }
        Some(Out::Known(text)) => Ok(std::mem::take(text)),
        Some(Out::Unknown(taint)) => Err(*taint),
        None => Err(Taint::NONE),
    };
    match line {
        Ok(line) => give(&line, &names, as_list, call.name != "read", state),
        Err(taint) => {
            for name in &names {
                state.assign(name, Field::unknown(taint));
            }
            if names.is_empty() {
                state.assign(
                    if as_list { "MAPFILE" } else { "REPLY" },
                    Field::unknown(taint),
                );
            }
        }
    }
    Out::empty()
}

/// Gives the words of a line to names; the last takes the rest.
fn give(line: &str, names: &[String], as_list: bool, by_line: bool, state: &mut State) {
    let ifs = state.ifs();
    if as_list {
        let separate = |c: char| if by_line { c == '\n' } else { ifs.contains(c) };
        let words = line
            .split(separate)
            .filter(|word| !word.is_empty())
            .map(Field::lit)
            .collect();
        let name = names.last().map_or("MAPFILE", String::as_str);
        state.assign_list(name, words);
        return;
    }
    let mut rest = line.trim_matches(|c: char| ifs.contains(c) && c.is_whitespace());
    let Some((last, first)) = names.split_last() else {
        state.assign("REPLY", Field::lit(line));
        return;
    };
    for name in first {
        let (word, left) = rest
            .split_once(|c: char| ifs.contains(c))
            .unwrap_or((rest, ""));
        state.assign(name, Field::lit(word));
        rest = left.trim_start_matches(|c: char| ifs.contains(c) && c.is_whitespace());
    }
    state.assign(last, Field::lit(rest));
}

fn positional(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    if call.name == "shift" {
        let count = known_words(call.args)
            .and_then(|words| {
                words
                    .first()
                    .map_or(Some(1), |word| word.parse::<usize>().ok())
            })
            .unwrap_or(1);
        state.positional.drain(..count.min(state.positional.len()));
        return Out::empty();
    }
    if call.args.is_empty() {
        machine.act(&rules::secret::ENVIRONMENT);
        return Out::Unknown(Taint::SECRET);
    }
    let parsed = parse(call.args, "o", Order::First);
    if !parsed.operands.is_empty()
        || call
            .args
            .iter()
            .any(|arg| arg.known().as_deref() == Some("--"))
    {
        state.positional = parsed.operands;
        state.positional_known = true;
    }
    Out::empty()
}

fn trap(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(call.args, "", Order::First);
    if parsed.operands.len() > 1
        && let Some(code) = parsed.operands.first()
        && code.known().as_deref() != Some("-")
    {
        let mut inside = state.clone();
        machine.code_word(code, &mut inside);
        let names = ["$LINENO", "$?", "$BASH_COMMAND"].iter();
        let plain = names.fold(code.shown(), |text, name| text.replace(name, ""));
        let changes = !inside.changed_since(state).is_empty() || plain.contains(['$', '`']);
        // Others run between any two commands, and change what those do.
        let at_the_end = "EXIT INT TERM HUP QUIT SIGINT SIGTERM SIGHUP SIGQUIT 0 1 2 3 15";
        let signals = parsed.operands.iter().skip(1);
        let mut others = signals.filter(|signal| !super::lists(at_the_end, &signal.shown()));
        if others.next().is_some() && changes {
            machine.partial("a trap that runs between commands");
        }
    }
    Out::empty()
}

fn evaluate(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    for arg in call.args {
        let text = arg.shown();
        machine.arithmetic(&text, state);
    }
    Out::empty()
}

fn test(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    for pair in call.args.windows(2) {
        if pair[0].known().as_deref() == Some("-v") {
            machine.subscripted(&pair[1], state);
        }
    }
    Out::empty()
}

fn other(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    match call.name {
        "history" => {
            if call
                .args
                .iter()
                .any(|arg| matches!(arg.prefix().as_str(), "-c" | "-w" | "-d" | "-a"))
            {
                machine.act(&rules::destructive::EMPTIED);
            }
            machine.act(&rules::secret::ENVIRONMENT);
            return Out::Unknown(Taint::SECRET);
        }
        "jobs" if call.args.first().is_some_and(|arg| arg.prefix() == "-x") => {
            return machine.call(&call.args[1..], state);
        }
        "exit" | "return" | "break" | "continue" => machine.left += 1,
        "shopt" => {
            let words: Vec<String> = call.args.iter().map(Field::shown).collect();
            let changes = [
                "lastpipe",
                "dotglob",
                "cdable_vars",
                "nocaseglob",
                "localvar_inherit",
            ];
            if words.iter().any(|word| changes.contains(&word.as_str())) {
                machine.partial("an option of the shell that changes what words mean");
            }
        }
        "hash"
            if call.args.iter().any(|arg| {
                let text = arg.prefix();
                text.starts_with('-') && text.contains('p')
            }) =>
        {
            machine.act(&rules::persistence::ENVIRONMENT);
        }
        "fc" | "enable" => machine.act(&rules::opaque::OPTION),
        // These take code: `complete -C`, `bind -x`, `compgen -C`.
        "bind" | "complete" | "compgen" => {
            for arg in call.args {
                let text = arg.shown();
                let code = text.split_once(':').map_or(text.as_str(), |(_, code)| code);
                machine.suspect(code.trim().trim_matches('"'), state);
            }
            if call
                .args
                .iter()
                .any(|arg| arg.prefix().starts_with("-C") || arg.prefix().starts_with("-x"))
            {
                machine.act(&rules::opaque::OPTION);
            }
        }
        "umask" | "ulimit" | "getopts" => {}
        "wait" | "getopt" => {}
        _ => {}
    }
    Out::Unknown(Taint::NONE)
}
