//! `sed`: its scripts can run commands and write files.

use super::{Handler, input_taint};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse};
use crate::rules;
use crate::value::{Field, Out};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "sed" | "gsed" | "ssed" => sed,
        "ed" | "ex-ed" | "red" => ed,
        "sd" => sd,
        _ => return None,
    })
}

/// `sd FIND REPLACE FILE…` changes files; without any it is a filter.
fn sd(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(call.args, "n max-replacements f flags", Order::Any);
    let role = match parsed.has(&["p", "preview"]) {
        true => Role::Read,
        false => Role::Write,
    };
    for file in parsed.operands.iter().skip(2) {
        machine.path(role, file, state);
    }
    Out::Unknown(input_taint(state).risky())
}

fn sed(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    // `-i` takes a suffix only when it is attached, and `-n -i` is as good as `-ni`.
    let mut in_place = false;
    let mut suffixes: Vec<Field> = Vec::new();
    let args: Vec<Field> = call
        .args
        .iter()
        .filter(|arg| {
            let text = arg.prefix();
            let long = text.starts_with("--in-place") || text.starts_with("--in-p");
            let short = text.starts_with('-')
                && !text.starts_with("--")
                && text
                    .chars()
                    .skip(1)
                    .take_while(|c| c.is_alphabetic())
                    .any(|c| c == 'i')
                && !text.starts_with("-e")
                && !text.starts_with("-f");
            in_place |= long || short;
            if long && let Some(at) = text.find('=') {
                suffixes.push(arg.after(at + 1));
            } else if short && let Some(at) = text.find('i') {
                suffixes.push(arg.after(at + 1));
            }
            // `-ie` ends in a suffix; `-i.bak -e` doesn't.
            !(long || short)
        })
        .cloned()
        .collect();
    let parsed = parse(&args, "e expression f file l line-length", Order::Any);
    let mut scripts: Vec<Field> = parsed.values(&["e", "expression"]).cloned().collect();
    let mut files = parsed.operands.clone();
    for file in parsed.values(&["f", "file"]) {
        let file = file.clone();
        match machine.read_file(&file, state) {
            Out::Known(text) => scripts.push(Field::lit(&text)),
            Out::Unknown(_) => machine.act(&rules::opaque::OPTION),
        }
    }
    if scripts.is_empty() && !parsed.has(&["f", "file"]) && !files.is_empty() {
        scripts.push(files.remove(0));
    }
    for script in &scripts {
        match script.known() {
            Some(text) => {
                let text = text.into_owned();
                if script_effects(machine, &text, state) {
                    machine.act(&rules::opaque::VALUE);
                }
            }
            None => {
                // The unknown is most likely text to put in, but it may be a command.
                let shown = script.shown();
                script_effects(machine, &shown, state);
                machine.act(&rules::opaque::VALUE);
            }
        }
    }
    for file in &files {
        if in_place {
            machine.path(Role::Write, file, state);
            for suffix in suffixes.iter().filter(|suffix| !suffix.parts.is_empty()) {
                machine.path(Role::Write, &backup(file, suffix), state);
            }
        } else {
            machine.read_file(file, state);
        }
    }
    let plain = !in_place
        && parsed
            .options
            .iter()
            .all(|given| matches!(given.name.as_str(), "e" | "expression" | "E" | "r"));
    Some(())
        .filter(|()| plain)
        .and_then(|()| substituted(&scripts, &files, state))
        .unwrap_or(Out::Unknown(input_taint(state).risky()))
}

/// Where a file is kept that is changed in place: a `*` stands for its name, and a folder may come before.
fn backup(file: &Field, suffix: &Field) -> Field {
    let Some(text) = suffix.known().filter(|text| text.contains('*')) else {
        let mut backup = file.clone();
        suffix
            .parts
            .iter()
            .cloned()
            .for_each(|part| backup.push(part));
        return backup;
    };
    let shown = file.shown();
    let (folder, name) = shown.rsplit_once('/').unwrap_or(("", &shown));
    let name = text.replace('*', name);
    Field::lit(&match text.contains('/') || folder.is_empty() {
        true => name,
        false => format!("{folder}/{name}"),
    })
}

/// What a single plain substitution makes of known input.
fn substituted(scripts: &[Field], files: &[Field], state: &State) -> Option<Out> {
    let ([script], [], Some(Out::Known(input))) = (scripts, files, &state.input) else {
        return None;
    };
    let script = script.known()?;
    let mut out = input.clone();
    for one in script.split(';') {
        let rest = one.trim().strip_prefix('s')?;
        let separator = rest.chars().next()?;
        let mut parts = rest[separator.len_utf8()..].split(separator);
        let (from, to, flags) = (parts.next()?, parts.next()?, parts.next()?);
        if !matches!(flags, "" | "g")
            || parts.next().is_some()
            || from.contains(['\\', '*', '[', '^', '$', '.', '+', '?'])
            || to.contains(['\\', '&'])
        {
            return None;
        }
        out = out
            .lines()
            .map(|line| if flags.contains('g') { line.replace(from, to) } else { line.replacen(from, to, 1) } + "\n")
            .collect();
    }
    Some(Out::Known(out))
}

/// Walks a script command by command; true when something in it wasn't understood.
fn script_effects(machine: &mut Machine<'_>, script: &str, state: &State) -> bool {
    let bytes: Vec<char> = script.chars().collect();
    let mut at = 0;
    let mut steps = 0;
    while at < bytes.len() {
        steps += 1;
        if steps > 256 {
            machine.act(&rules::opaque::OPTION);
            return true;
        }
        at = address(&bytes, at);
        let Some(command) = bytes.get(at).copied() else {
            break;
        };
        at += 1;
        match command {
            'e' => {
                let (text, next) = line(&bytes, at);
                at = next;
                if text.trim().is_empty() {
                    // What the pattern space holds is run.
                    machine.act(&rules::opaque::VALUE);
                } else {
                    machine.inner(text.trim(), &mut state.clone());
                }
            }
            'w' | 'W' | 'r' | 'R' => {
                let (text, next) = line(&bytes, at);
                at = next;
                let file = Field::lit(text.trim());
                if matches!(command, 'w' | 'W') {
                    machine.path(Role::Write, &file, state);
                } else {
                    machine.read_file(&file, state);
                }
            }
            's' => match substitution(&bytes, at) {
                Some((replacement, flags, file, next)) => {
                    at = next;
                    if flags.contains('e') {
                        machine.inner(&replacement.replace("\\/", "/"), &mut state.clone());
                        machine.act(&rules::opaque::VALUE);
                    }
                    if let Some(file) = file {
                        machine.path(Role::Write, &Field::lit(file.trim()), state);
                    }
                }
                None => return true,
            },
            'y' => match delimited(&bytes, at, 2) {
                Some((_, next)) => at = next,
                None => return true,
            },
            'a' | 'i' | 'c' => {
                let mut end = at;
                while end < bytes.len() && (bytes[end] != '\n' || bytes[end - 1] == '\\') {
                    end += 1;
                }
                at = end;
            }
            ':' | 'b' | 't' | 'T' | '#' | 'q' | 'Q' | 'l' | 'L' | 'v' => {
                while at < bytes.len()
                    && bytes[at] != '\n'
                    && (bytes[at] != ';' || command == '#')
                    && bytes[at] != '}'
                {
                    at += 1;
                }
            }
            _ => {}
        }
    }
    false
}

/// Past white space, separators and addresses.
fn address(chars: &[char], mut at: usize) -> usize {
    while let Some(c) = chars.get(at) {
        match c {
            ' ' | '\t' | '\n' | ';' | '{' | '}' | ',' | '!' | '$' | '~' | '+' | '0'..='9' => {
                at += 1
            }
            '/' => at = regex(chars, at + 1, '/'),
            '\\' => match chars.get(at + 1) {
                Some(close) => at = regex(chars, at + 2, *close),
                None => return at + 1,
            },
            'I' | 'M' if at > 0 && chars[at - 1] != ';' && chars[at - 1] != '\n' => at += 1,
            _ => break,
        }
    }
    at
}

/// One past the sign that closes a pattern.
fn regex(chars: &[char], at: usize, close: char) -> usize {
    closed(chars, at, close).unwrap_or(chars.len())
}

/// The same, if it is closed at all. Between brackets the sign, and a backslash, stand for themselves.
fn closed(chars: &[char], mut at: usize, close: char) -> Option<usize> {
    while let Some(c) = chars.get(at).copied() {
        if c == close {
            return Some(at + 1);
        }
        at = match c {
            '\\' => at + 2,
            '[' if close != '[' => bracket(chars, at, close).unwrap_or(at + 1),
            _ => at + 1,
        };
    }
    None
}

/// One past a set of characters between brackets, if it ends.
fn bracket(chars: &[char], open: usize, close: char) -> Option<usize> {
    let mut at = open + 1;
    if chars.get(at) == Some(&'^') {
        at += 1;
    }
    let first = at;
    loop {
        match *chars.get(at)? {
            ']' if at > first => return Some(at + 1),
            '\n' => return None,
            '\\' if chars.get(at + 1) == Some(&close) => at += 2,
            '[' if matches!(chars.get(at + 1), Some(':' | '.' | '=')) => {
                let kind = chars[at + 1];
                let end = (at + 2..chars.len().min(at + 34))
                    .find(|end| chars[*end] == kind && chars.get(end + 1) == Some(&']'));
                at = end.map_or(at + 1, |end| end + 2);
            }
            _ => at += 1,
        }
    }
}

/// The rest of the line.
fn line(chars: &[char], at: usize) -> (String, usize) {
    let end = chars[at.min(chars.len())..]
        .iter()
        .position(|c| *c == '\n')
        .map_or(chars.len(), |end| at + end);
    (chars[at.min(end)..end].iter().collect(), end)
}

/// The last of several parts between the same sign, and the place past it.
fn delimited(chars: &[char], at: usize, parts: usize) -> Option<(String, usize)> {
    let close = *chars.get(at)?;
    let mut at = at + 1;
    let mut text = String::new();
    for _ in 0..parts {
        text.clear();
        loop {
            let c = *chars.get(at)?;
            at += 1;
            if c == close {
                break;
            }
            text.push(c);
            if c == '\\' {
                text.push(*chars.get(at)?);
                at += 1;
            }
        }
    }
    Some((text, at))
}

/// Replacement, flags, file to write, and the place past a substitution.
fn substitution(chars: &[char], at: usize) -> Option<(String, String, Option<String>, usize)> {
    let close = *chars.get(at)?;
    let at = closed(chars, at + 1, close)?;
    // What is put in begins at the sign that ends the pattern.
    let (replacement, mut at) = delimited(chars, at - 1, 1)?;
    let mut flags = String::new();
    while let Some(c) = chars.get(at).copied() {
        match c {
            'g' | 'p' | 'i' | 'I' | 'm' | 'M' | 'e' | '0'..='9' => flags.push(c),
            'w' => {
                let (file, next) = line(chars, at + 1);
                return Some((replacement, flags, Some(file), next));
            }
            _ => break,
        }
        at += 1;
    }
    Some((replacement, flags, None, at))
}

/// `ed` reads commands from its input: `!` runs one, `w` writes.
fn ed(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    for file in call
        .args
        .iter()
        .filter(|arg| !arg.prefix().starts_with('-'))
    {
        if let Some(code) = file.prefix().strip_prefix('!') {
            machine.inner(code, &mut state.clone());
            continue;
        }
        machine.path(Role::Write, file, state);
    }
    match state.input.clone() {
        Some(Out::Known(text)) => {
            if text.lines().count() > 256 {
                machine.partial("a longer script than is followed");
            }
            for line in text.lines().take(256) {
                let line =
                    line.trim_start_matches(|c: char| c.is_ascii_digit() || ",.$ ".contains(c));
                if let Some(code) = line
                    .strip_prefix('!')
                    .or_else(|| line.strip_prefix("r !"))
                    .or_else(|| line.strip_prefix("e !"))
                    .or_else(|| line.strip_prefix("w !"))
                {
                    machine.inner(code, &mut state.clone());
                } else if let Some(file) =
                    line.strip_prefix("w ").or_else(|| line.strip_prefix("W "))
                {
                    machine.path(Role::Write, &Field::lit(file.trim()), state);
                }
            }
        }
        _ => machine.act(&rules::opaque::INTERACTIVE),
    }
    Out::Unknown(input_taint(state))
}
