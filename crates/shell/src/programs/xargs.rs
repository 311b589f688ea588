//! `xargs` and `parallel`: words from the input become words of a command.

use super::Handler;
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse};
use crate::value::{Field, Out, Part, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "xargs" | "gxargs" => xargs,
        "parallel" => parallel,
        _ => return None,
    })
}

fn xargs(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        "a arg-file d delimiter E I L max-lines n max-args P max-procs s max-chars process-slot-var replace",
        Order::First,
    );
    let input = match parsed.value(&["a", "arg-file"]) {
        Some(file) => {
            let file = file.clone();
            machine.read_file(&file, state)
        }
        None => state.input.clone().unwrap_or(Out::Unknown(Taint::NONE)),
    };
    let mark = parsed.value(&["I", "replace"]).map(Field::shown);
    let mark = mark.or_else(|| parsed.has(&["i"]).then(|| "{}".to_owned()));
    let delimiter = parsed
        .value(&["d", "delimiter"])
        .map(|field| crate::word::ansi_c(&field.shown()));
    let zero = parsed.has(&["0", "null"]);
    let words = words(&input, zero, delimiter.as_deref(), mark.is_some());
    let mut command = parsed.operands;
    if command.is_empty() {
        command.push(Field::lit("echo"));
    }
    carried(machine, &command, &words, mark.as_deref(), state)
}

/// The words that an input holds.
fn words(input: &Out, zero: bool, delimiter: Option<&str>, by_line: bool) -> Vec<Field> {
    let text = match input {
        Out::Known(text) => text,
        Out::Unknown(taint) => return vec![Field::unknown(*taint)],
    };
    let pieces: Vec<String> = if zero {
        text.split('\0').map(str::to_owned).collect()
    } else if let Some(delimiter) = delimiter.and_then(|text| text.chars().next()) {
        text.split(delimiter)
            .map(|piece| piece.trim_end_matches('\n').to_owned())
            .collect()
    } else if by_line {
        text.lines()
            .map(|line| line.trim_start().replace(['"', '\'', '\\'], ""))
            .collect()
    } else {
        text.split_whitespace()
            .map(|word| word.replace(['"', '\'', '\\'], ""))
            .collect()
    };
    pieces
        .iter()
        .filter(|piece| !piece.is_empty())
        .take(1_024)
        .map(|piece| Field::lit(piece))
        .collect()
}

/// Runs a command with words put in, or behind it.
fn carried(
    machine: &mut Machine<'_>,
    command: &[Field],
    words: &[Field],
    mark: Option<&str>,
    state: &mut State,
) -> Out {
    let mut inside = state.clone();
    inside.input = Some(Out::empty());
    // Without any word the command runs as it is.
    if !matches!(words, [_, ..] if words.iter().all(|word| word.known().is_some())) {
        machine.suspect_call(command, state);
    }
    let Some(mark) = mark else {
        let mut argv = command.to_vec();
        argv.extend(words.iter().cloned());
        return machine.call(&argv, &mut inside);
    };
    if words.len() > 16 {
        machine.partial("more words than are followed");
    }
    let mut out = Out::empty();
    for word in words.iter().take(16) {
        let argv: Vec<Field> = command.iter().map(|field| put(field, mark, word)).collect();
        out.add(machine.call(&argv, &mut inside));
    }
    if words.is_empty() {
        let argv: Vec<Field> = command
            .iter()
            .map(|field| put(field, mark, &Field::unknown(Taint::NONE)))
            .collect();
        out.add(machine.call(&argv, &mut inside));
    }
    out
}

/// A word with another put where the mark stands.
fn put(field: &Field, mark: &str, word: &Field) -> Field {
    let mut out = Field::default();
    for part in &field.parts {
        match part {
            Part::Lit { text, quoted } if !mark.is_empty() && text.contains(mark) => {
                for (at, piece) in text.split(mark).enumerate() {
                    if at > 0 {
                        for part in word.parts.clone() {
                            out.push(part);
                        }
                    }
                    if !piece.is_empty() {
                        out.push(Part::Lit {
                            text: piece.to_owned(),
                            quoted: *quoted,
                        });
                    }
                }
            }
            other => out.push(other.clone()),
        }
    }
    out
}

fn parallel(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        "j jobs a arg-file I n N joblog results colsep d delimiter S sshlogin",
        Order::First,
    );
    if parsed.has(&["S", "sshlogin"]) {
        machine.network(None);
    }
    for file in parsed.values(&["joblog", "results"]) {
        let file = file.clone();
        machine.path(Role::Write, &file, state);
    }
    let split = parsed
        .operands
        .iter()
        .position(|field| field.prefix().starts_with(":::"));
    let (command, words) = match split {
        Some(at) => {
            let words = parsed.operands[at + 1..]
                .iter()
                .filter(|field| !field.prefix().starts_with(":::"))
                .cloned()
                .collect();
            (parsed.operands[..at].to_vec(), words)
        }
        None => {
            let input = state.input.clone().unwrap_or(Out::Unknown(Taint::NONE));
            (
                parsed.operands.clone(),
                words(&input, parsed.has(&["0", "null"]), None, true),
            )
        }
    };
    if words.len() > 16 {
        machine.partial("more words than are followed");
    }
    // The words are one line of shell code, with each input in it.
    let mut out = Out::empty();
    for word in words.iter().take(16) {
        let mut line = Field::default();
        let marked = command.iter().any(|field| field.shown().contains("{}"));
        for (at, field) in command.iter().enumerate() {
            if at > 0 {
                line.push(Part::Lit {
                    text: " ".to_owned(),
                    quoted: true,
                });
            }
            for part in put(field, "{}", word).quoted().parts {
                line.push(part);
            }
        }
        if !marked {
            line.push(Part::Lit {
                text: " ".to_owned(),
                quoted: true,
            });
            for part in word.clone().quoted().parts {
                line.push(part);
            }
        }
        let mut inside = state.clone();
        inside.output = Out::empty();
        machine.code_word(&line, &mut inside);
        out.add(inside.output);
    }
    out
}
