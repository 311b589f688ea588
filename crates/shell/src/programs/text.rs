//! Programs that pass text on: what they write is known when what they read is.

use super::{Handler, decode, input_taint};
use crate::glob;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse};
use crate::rules;
use crate::value::{Field, Out, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "echo" => echo,
        "printf" => printf,
        "cat" | "tac" | "zcat" | "nl" | "bat" | "batcat" => cat,
        "base64" | "base32" | "basenc" => base64,
        "xxd" | "hexdump" | "od" => hex,
        "rev" => rev,
        "tr" => tr,
        "head" | "tail" => ends,
        "true" | ":" | "false" => nothing,
        "seq" | "yes" | "date" | "pwd" => plain,
        "dirname" | "basename" => part_of_path,
        _ => return None,
    })
}

fn nothing(machine: &mut Machine<'_>, call: &Call<'_>, _: &mut State) -> Out {
    machine.ran(call.name);
    Out::empty()
}

/// Arguments joined, with what is unknown named by its taint.
fn joined(args: &[Field]) -> Result<String, Taint> {
    let mut text = String::new();
    let (mut all, mut is_known) = (None::<Taint>, true);
    for (at, arg) in args.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        let own = match arg.known() {
            Some(known) => {
                text.push_str(&known);
                promised(&known, arg.has_glob())
            }
            None => arg.taint(),
        };
        all = Some(all.map_or(own, |all| all.and(own)));
        is_known &= arg.known().is_some() && !arg.has_glob();
    }
    match is_known {
        true => Ok(text),
        false => Err(all.unwrap_or(Taint::NONE)),
    }
}

/// What is promised of known text beside text that isn't: that it can't lead away from the working
/// folder. A pattern promises it of the names that it matches, unless nearly every name does.
fn promised(text: &str, is_pattern: bool) -> Taint {
    let leads_away = text.starts_with(['/', '~']) || text.contains("..") || text.contains('$');
    let is_wide = || {
        text.split('/')
            .any(|part| glob::is_pattern(part) && glob::is_wide(part))
    };
    match is_pattern {
        _ if leads_away || text.contains("//") => Taint::NONE,
        true if is_wide() => Taint::NONE,
        true => Taint::INSIDE,
        false => Taint::INSIDE.with(Taint::PLAIN),
    }
}

/// What is shown to the model must not be a credential.
fn shown(machine: &mut Machine<'_>, taint: Taint) {
    if taint.has(Taint::NAMED) {
        machine.act(&rules::secret::ENVIRONMENT);
    }
}

fn echo(machine: &mut Machine<'_>, call: &Call<'_>, _: &mut State) -> Out {
    machine.ran(call.name);
    let mut args = call.args;
    let (mut newline, mut escapes) = (true, false);
    while let Some((first, rest)) = args.split_first() {
        match first.known().as_deref() {
            Some(flags)
                if flags.len() > 1
                    && flags.starts_with('-')
                    && flags[1..].chars().all(|c| "neE".contains(c)) =>
            {
                newline &= !flags.contains('n');
                escapes |= flags.contains('e');
                args = rest;
            }
            _ => break,
        }
    }
    match joined(args) {
        Ok(mut text) => {
            if escapes {
                text = crate::word::ansi_c(&text);
            }
            if newline {
                text.push('\n');
            }
            Out::Known(text)
        }
        Err(taint) => {
            shown(machine, taint);
            Out::Unknown(taint)
        }
    }
}

fn printf(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut args = call.args;
    let mut name = None;
    if let Some((first, rest)) = args.split_first() {
        match first.known().as_deref() {
            Some("-v") => {
                name = rest.first().cloned();
                args = rest.get(1..).unwrap_or_default();
            }
            Some("--") => args = rest,
            _ => {}
        }
    }
    let out = match (joined(args), args.split_first()) {
        (Ok(_), Some((format, rest))) => {
            let rest: Vec<String> = rest.iter().map(Field::shown).collect();
            decode::printf(&format.shown(), &rest).map_or(Out::Unknown(Taint::NONE), Out::Known)
        }
        (Err(taint), _) => {
            shown(machine, taint);
            Out::Unknown(taint)
        }
        _ => Out::empty(),
    };
    let Some(name) = name else {
        return out;
    };
    machine.subscripted(&name, state);
    if let Some(name) = name.known() {
        let value = match out {
            Out::Known(text) => Field::lit(&text),
            Out::Unknown(taint) => Field::unknown(taint),
        };
        state.assign(&name, value);
    }
    Out::empty()
}

/// What a filter reads: its files one after the other, or its input.
fn reads(machine: &mut Machine<'_>, operands: &[Field], state: &State) -> Out {
    if operands.is_empty() {
        return state.input.clone().unwrap_or(Out::Unknown(Taint::NONE));
    }
    let mut all = Out::empty();
    for operand in operands {
        if operand.known().as_deref() == Some("-") {
            all.add(state.input.clone().unwrap_or(Out::Unknown(Taint::NONE)));
        } else {
            all.add(machine.read_file(operand, state));
        }
    }
    all
}

fn cat(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let valued = if call.name == "nl" {
        "b d f h i l n s v w"
    } else {
        "pager language style theme"
    };
    let parsed = parse(call.args, valued, Order::Any);
    super::table::doubtful(machine, &parsed, false, state);
    if let Some(pager) = parsed.value(&["pager"]) {
        let pager = pager.clone();
        machine.code_word(&pager, state);
    }
    let parsed = if call.name == "cat" || call.name == "tac" {
        parse(call.args, "", Order::Any)
    } else {
        parsed
    };
    let out = reads(machine, &parsed.operands, state);
    match (call.name, out) {
        ("cat", out) if parsed.options.iter().all(|given| given.name == "u") => out,
        ("tac", Out::Known(text)) => {
            let lines: Vec<&str> = text.lines().rev().collect();
            Out::Known(lines.join("\n") + "\n")
        }
        (_, out) => Out::Unknown(out.taint().risky()),
    }
}

fn ends(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        "n c lines bytes s pid sleep-interval",
        Order::Any,
    );
    super::table::doubtful(machine, &parsed, false, state);
    let out = reads(machine, &parsed.operands, state);
    // Without an option these pass on ten lines.
    match out {
        Out::Known(text) if parsed.options.is_empty() && text.lines().count() <= 10 => {
            Out::Known(text)
        }
        Out::Known(text) => {
            // `-5` is `-n 5`.
            let digits: String = parsed
                .options
                .iter()
                .filter(|given| given.name.parse::<u8>().is_ok())
                .map(|given| given.name.as_str())
                .collect();
            let count = parsed
                .value(&["n", "lines"])
                // `+3` and `-3` count from the other end.
                .and_then(|field| {
                    field
                        .known()?
                        .parse::<u32>()
                        .ok()
                        .map(i64::from)
                        .filter(|_| !field.prefix().starts_with('+'))
                })
                .or_else(|| digits.parse().ok());
            let lines: Vec<&str> = text.lines().collect();
            match (call.name, count) {
                _ if parsed.options.len() > 1 && digits.len() != parsed.options.len() => {
                    Out::Unknown(Taint::NONE)
                }
                ("head", Some(count)) if count >= 0 => {
                    let count = usize::try_from(count).unwrap_or(0);
                    Out::Known(
                        lines
                            .iter()
                            .take(count)
                            .map(|line| format!("{line}\n"))
                            .collect(),
                    )
                }
                ("tail", Some(count)) if count >= 0 => {
                    let skip = lines
                        .len()
                        .saturating_sub(usize::try_from(count).unwrap_or(0));
                    Out::Known(
                        lines
                            .iter()
                            .skip(skip)
                            .map(|line| format!("{line}\n"))
                            .collect(),
                    )
                }
                _ => Out::Unknown(Taint::NONE),
            }
        }
        Out::Unknown(taint) => {
            Out::Unknown(if parsed.operands.is_empty() && !taint.has(Taint::INSIDE) {
                taint
            } else {
                taint.risky()
            })
        }
    }
}

fn base64(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(call.args, "w wrap i o b input output break", Order::Any);
    let mut operands = parsed.operands.clone();
    operands.extend(parsed.values(&["i", "input"]).cloned());
    let out = reads(machine, &operands, state);
    for target in parsed.values(&["o", "output"]) {
        let target = target.clone();
        machine.path(crate::effect::Role::Write, &target, state);
    }
    let decodes = parsed.has(&["d", "D", "decode"]);
    match out {
        Out::Known(text) if decodes => {
            let decoded = if call.name == "base32" || parsed.has(&["base32"]) {
                decode::base32(&text)
            } else {
                decode::base64(&text)
            };
            decoded.map_or(Out::Unknown(Taint::NONE), Out::Known)
        }
        Out::Known(text) if call.name == "base64" => Out::Known(decode::to_base64(&text) + "\n"),
        out => Out::Unknown(out.taint()),
    }
}

fn hex(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let valued = match call.name {
        "xxd" => "c l s g o cols len seek",
        "od" => "A N t j S",
        _ => "n s e f",
    };
    let parsed = parse(call.args, valued, Order::Any);
    super::table::doubtful(machine, &parsed, false, state);
    let decodes = call.name == "xxd" && parsed.has(&["r"]);
    let (files, target) = match parsed.operands.as_slice() {
        [file, target] if call.name == "xxd" => (vec![file.clone()], Some(target.clone())),
        files => (files.to_vec(), None),
    };
    let out = reads(machine, &files, state);
    if let Some(target) = target {
        machine.path(crate::effect::Role::Write, &target, state);
        return Out::empty();
    }
    match out {
        Out::Known(text) if decodes && parsed.has(&["p", "ps", "plain"]) => {
            Out::Known(decode::hex(&text))
        }
        out => Out::Unknown(out.taint().risky()),
    }
}

fn rev(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    match reads(machine, call.args, state) {
        Out::Known(text) => {
            let lines: Vec<String> = text
                .lines()
                .map(|line| line.chars().rev().collect())
                .collect();
            Out::Known(lines.join("\n") + "\n")
        }
        out => out,
    }
}

fn tr(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(call.args, "", Order::First);
    let input = state.input.clone().unwrap_or(Out::Unknown(Taint::NONE));
    let complement = parsed.has(&["c", "C", "complement"]);
    let words = super::known_words(&parsed.operands);
    match (input, words.as_deref()) {
        _ if !words.iter().flatten().all(|word| is_plain_set(word)) => {
            Out::Unknown(input_taint(state).risky())
        }
        (Out::Known(text), Some([what])) if parsed.has(&["d", "delete"]) => {
            Out::Known(decode::delete(&text, what, complement))
        }
        (Out::Known(text), Some([_])) if parsed.has(&["s", "squeeze-repeats"]) => Out::Known(text),
        (Out::Known(text), Some([from, to])) => {
            Out::Known(decode::translate(&text, from, to, complement))
        }
        _ => Out::Unknown(input_taint(state).risky()),
    }
}

/// Whether a set of `tr` is one that is understood: bytes, ranges and common classes.
fn is_plain_set(set: &str) -> bool {
    let classes = [
        "[:lower:]",
        "[:upper:]",
        "[:digit:]",
        "[:alpha:]",
        "[:alnum:]",
        "[:space:]",
        "[:blank:]",
    ];
    let rest = classes
        .iter()
        .fold(set.to_owned(), |rest, class| rest.replace(class, ""));
    rest.is_ascii() && !rest.contains("[:") && !rest.contains("[=") && !rest.contains("*]")
}

fn plain(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    match (call.name, call.args) {
        ("pwd", _) => state
            .cwd
            .clone()
            .map_or(Out::Unknown(Taint::NONE), |cwd| Out::Known(cwd + "\n")),
        ("yes", [word]) => word.known().map_or(Out::Unknown(Taint::NONE), |word| {
            Out::Known(format!("{word}\n"))
        }),
        ("yes", []) => Out::Known("y\n".to_owned()),
        ("date", args) => {
            let parsed = parse(args, "d s r f date set reference file", Order::Any);
            let sets = parsed.has(&["s", "set"])
                || parsed
                    .operands
                    .iter()
                    .any(|arg| !arg.prefix().starts_with('+') && !arg.has_unknown());
            if sets {
                machine.act(&rules::machine::SETTINGS);
            }
            for file in parsed.values(&["f", "file", "r", "reference"]) {
                let file = file.clone();
                machine.path(crate::effect::Role::Read, &file, state);
            }
            // A format may spell anything, `/` among it.
            let odd = args.iter().any(|arg| arg.shown().contains('/'));
            Out::Unknown(if odd { Taint::NONE } else { Taint::PLAIN })
        }
        _ => Out::Unknown(Taint::PLAIN),
    }
}

fn part_of_path(machine: &mut Machine<'_>, call: &Call<'_>, _: &mut State) -> Out {
    machine.ran(call.name);
    let [path] = call.args else {
        return Out::Unknown(Taint::NONE);
    };
    let Some(text) = path.known().filter(|_| !path.has_glob()) else {
        return Out::Unknown(path.taint().risky());
    };
    let text = text.trim_end_matches('/');
    let (folder, name) = match text.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((folder, name)) => (folder, name),
        None if text.is_empty() => ("/", "/"),
        None => (".", text),
    };
    Out::Known(format!(
        "{}\n",
        if call.name == "dirname" { folder } else { name }
    ))
}
