//! Shells: code in an argument, in a file, or in the input.

use super::{Handler, inline};
use crate::machine::{Call, Machine, Sink, State};
use crate::options::{Order, parse};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" | "mksh" | "rbash" | "rzsh" | "yash"
        | "posh" | "bash5" | "ksh93" => shell,
        "fish" | "csh" | "tcsh" | "nu" | "elvish" | "xonsh" | "pwsh" | "powershell" | "rc"
        | "es" | "osh" | "ysh" => other_shell,
        _ => return None,
    })
}

fn shell(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let talks = state.sink == Sink::Line
        || state
            .input
            .as_ref()
            .is_some_and(|input| input.taint().has(Taint::LINE))
        || state.lines.contains(&0);
    if talks {
        machine.act(&rules::network::REVERSE_SHELL);
        return Out::Unknown(Taint::LINE);
    }
    // `-c` takes no value of its own: the first operand is the code. Long options come first.
    let args: Vec<Field> = call
        .args
        .iter()
        .map(|arg| match arg.prefix().strip_prefix('+') {
            Some(rest) => Field::lit(&format!("-{rest}")),
            None => arg.clone(),
        })
        .collect();
    let parsed = parse(&args, "o O rcfile init-file", Order::First);
    for file in parsed.values(&["rcfile", "init-file"]) {
        let file = file.clone();
        match machine.read_file(&file, state) {
            Out::Known(text) => machine.inner(&text, &mut state.clone()),
            Out::Unknown(_) => machine.act(&rules::opaque::SCRIPT),
        }
    }
    // `-n` reads a script and runs nothing of it.
    if parsed.has(&["n"]) && !parsed.has(&["c", "i", "s"]) {
        for file in &parsed.operands {
            machine.read_file(file, state);
        }
        if !parsed.operands.is_empty() {
            return Out::Unknown(Taint::NONE);
        }
    }
    // A word that isn't known may be an option or the code.
    if let Some(unknown) = args
        .first()
        .filter(|arg| arg.has_unknown() && arg.prefix().is_empty())
    {
        machine.unseen(unknown.taint());
        return Out::Unknown(Taint::LINE);
    }
    let mut inside = state.clone();
    inside.output = Out::empty();
    inside.aliases.clear();
    if parsed.has(&["c"]) {
        let Some((code, rest)) = parsed.operands.split_first() else {
            // `xargs sh -c`: the code comes from elsewhere.
            machine.unseen(Taint::NONE);
            return Out::Unknown(Taint::LINE);
        };
        if let Some((zero, rest)) = rest.split_first() {
            inside.zero = zero.clone();
            inside.positional = rest.to_vec();
        } else {
            inside.positional = Vec::new();
        }
        inside.positional_known = true;
        if code.known().is_none() {
            machine.code_word(code, &mut inside);
            return Out::Unknown(Taint::LINE);
        }
        machine.code_word(code, &mut inside);
        return inside.output;
    }
    if let Some((file, rest)) = parsed.operands.split_first()
        && !parsed.has(&["s"])
        && file.known().as_deref() != Some("-")
    {
        return script(machine, file, rest, state);
    }
    inside.positional = parsed.operands.clone();
    inside.positional_known = true;
    match state.input.clone() {
        Some(Out::Known(text)) => {
            inside.input = None;
            machine.inner(&text, &mut inside);
            inside.output
        }
        Some(Out::Unknown(taint)) => {
            machine.unseen(taint);
            Out::Unknown(Taint::LINE)
        }
        None => {
            machine.act(&rules::opaque::INTERACTIVE);
            Out::Unknown(Taint::LINE)
        }
    }
}

fn script(machine: &mut Machine<'_>, file: &Field, rest: &[Field], state: &mut State) -> Out {
    let target = machine.target(file, state);
    match machine.read_file(file, state) {
        Out::Known(text) => machine.script(&text, rest, state),
        Out::Unknown(taint) if target.place == Place::Stream => {
            machine.unseen(taint);
            Out::Unknown(Taint::LINE)
        }
        Out::Unknown(taint) => {
            machine.suspect_file(&target.path, state);
            machine.act(if taint.has(Taint::REMOTE) {
                &rules::network::REMOTE_CODE
            } else {
                &rules::opaque::SCRIPT
            });
            Out::Unknown(Taint::NONE)
        }
    }
}

/// `Remove-Item` and its other names, with the paths behind them.
fn removals(machine: &mut Machine<'_>, text: &str, state: &State) {
    const NAMES: [&str; 6] = ["remove-item", "ri", "del", "erase", "rd", "rmdir"];
    for piece in text.split([';', '|', '\n']) {
        let mut words = piece.split_whitespace();
        if words
            .next()
            .is_some_and(|first| NAMES.contains(&first.to_lowercase().as_str()))
        {
            let mut argv = vec![Field::lit("rm"), Field::lit("-r"), Field::lit("--")];
            let home = machine.world.home.clone();
            argv.extend(words.filter(|word| !word.starts_with('-')).map(|word| {
                let word = word.trim_matches(['\'', '"']).replace("$HOME", &home);
                Field::lit(
                    &word
                        .strip_prefix('~')
                        .map_or(word.clone(), |rest| format!("{home}{rest}")),
                )
            }));
            machine.suspect_call(&argv, state);
        }
    }
}

/// A shell with a grammar of its own: never proved, but what looks like harm is found.
fn other_shell(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.act(&rules::opaque::CODE);
    if state.sink == Sink::Line {
        machine.act(&rules::network::REVERSE_SHELL);
    }
    let mut texts: Vec<String> = call.args.iter().map(Field::shown).collect();
    if let Some(Out::Known(text)) = &state.input {
        texts.push(text.clone());
    }
    for text in &texts {
        machine.suspect(text, state);
        if call.name.starts_with('p') {
            removals(machine, text, state);
        }
        inline::scan(
            machine,
            text,
            if call.name.starts_with("p") {
                "powershell"
            } else {
                "shell"
            },
            state,
        );
    }
    Out::Unknown(Taint::LINE)
}
