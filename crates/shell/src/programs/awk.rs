//! `awk`: its programs can run commands and write files.

use super::{Handler, input_taint};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse, spelled};
use crate::rules;
use crate::value::{Field, Out};

pub(super) fn handler(name: &str) -> Option<Handler> {
    matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "original-awk").then_some(awk as Handler)
}

fn awk(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let args = spelled(
        call.args,
        &[
            "profile",
            "pretty-print",
            "dump-variables",
            "debug",
            "exec",
            "file",
            "source",
            "include",
            "load",
        ],
        &[],
    );
    let args = reports(machine, &args, state);
    let parsed = parse(
        &args,
        "F field-separator v assign f file e source E exec i include l load W",
        Order::First,
    );
    for file in parsed.values(&["profile", "pretty-print", "dump-variables"]) {
        machine.path(Role::Write, file, state);
    }
    // Options of other spellings, among them one that reads a program.
    let plain = |word: &Field| {
        matches!(
            word.known().as_deref(),
            Some("version" | "help" | "usage" | "interactive")
        )
    };
    if parsed.values(&["W"]).any(|word| !plain(word)) || parsed.has(&["debug", "D"]) {
        machine.act(&rules::opaque::OPTION);
    }
    let mut programs: Vec<Field> = parsed.values(&["e", "source"]).cloned().collect();
    let mut files = parsed.operands.clone();
    let by_file = parsed.has(&["f", "file", "E", "exec", "l", "load"]);
    for file in parsed.values(&["f", "file", "E", "exec"]) {
        let file = file.clone();
        match machine.read_file(&file, state) {
            Out::Known(text) => programs.push(Field::lit(&text)),
            Out::Unknown(_) => machine.act(&rules::opaque::OPTION),
        }
    }
    let in_place = parsed
        .values(&["i", "include"])
        .any(|name| name.shown().contains("inplace"));
    if parsed.has(&["l", "load"]) || (parsed.has(&["i", "include"]) && !in_place) {
        machine.act(&rules::opaque::OPTION);
    }
    if programs.is_empty() && !by_file && !files.is_empty() {
        programs.push(files.remove(0));
    }
    let runs = programs
        .iter()
        .any(|program| program.shown().contains("system") || program.shown().contains('|'));
    for pair in parsed.values(&["v", "assign"]).filter(|_| runs) {
        let shown = pair.shown();
        machine.suspect(shown.split_once('=').map_or("", |(_, value)| value), state);
    }
    for program in &programs {
        match program.known() {
            Some(text) => {
                let text = text.into_owned();
                follow(machine, &text, state);
            }
            None => {
                let shown = program.shown();
                follow(machine, &shown, state);
                machine.act(&rules::opaque::VALUE);
            }
        }
    }
    for file in files.iter().filter(|file| {
        !file
            .prefix()
            .split_once('=')
            .is_some_and(|(name, _)| super::builtins::plain_name(name))
    }) {
        if in_place {
            machine.path(Role::Write, file, state);
        } else {
            machine.read_file(file, state);
        }
    }
    printed(&programs).unwrap_or(Out::Unknown(input_taint(state).risky()))
}

/// Notes the files that are written beside the output, and gives the arguments without the options that
/// name them: such a name stands in the option's own word.
fn reports(machine: &mut Machine<'_>, args: &[Field], state: &State) -> Vec<Field> {
    let mut rest = Vec::new();
    let mut before = true;
    for arg in args {
        let text = arg.prefix();
        before &= text.starts_with('-') || takes_next(rest.last());
        let is_report = before
            && !text.starts_with("--")
            && (text.starts_with("-p") || text.starts_with("-o") || text.starts_with("-d"));
        if !is_report {
            rest.push(arg.clone());
            continue;
        }
        let file = arg.after(2);
        match file.parts.is_empty() {
            true => machine.path(Role::Write, &Field::lit("awkprof.out"), state),
            false => machine.path(Role::Write, &file, state),
        };
    }
    rest
}

/// Whether the next word belongs to this option.
fn takes_next(arg: Option<&Field>) -> bool {
    arg.and_then(Field::known).is_some_and(|text| {
        matches!(
            text.as_ref(),
            "-F" | "-v"
                | "-f"
                | "-e"
                | "-E"
                | "-i"
                | "-l"
                | "-W"
                | "--assign"
                | "--file"
                | "--source"
                | "--field-separator"
                | "--include"
                | "--load"
                | "--exec"
        )
    })
}

/// What `BEGIN{print "…"}` writes.
fn printed(programs: &[Field]) -> Option<Out> {
    let [program] = programs else {
        return None;
    };
    let program = program.known()?;
    let inner = program
        .trim()
        .strip_prefix("BEGIN")?
        .trim()
        .strip_prefix('{')?
        .strip_suffix('}')?
        .trim();
    let text = inner
        .strip_prefix("printf")
        .or_else(|| inner.strip_prefix("print"))?
        .trim()
        .trim_end_matches(';');
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains('"')).then(|| Out::Known(crate::word::ansi_c(text) + "\n"))
}

/// A piece of an awk program.
enum Token {
    Text(String),
    Word(String),
    Sign(char),
}

fn tokens(program: &str) -> Vec<Token> {
    let chars: Vec<char> = program.chars().take(16_384).collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if c == '"' {
            let mut text = String::new();
            at += 1;
            while at < chars.len() && chars[at] != '"' {
                if chars[at] == '\\' && at + 1 < chars.len() {
                    text.push(chars[at]);
                    at += 1;
                }
                text.push(chars[at]);
                at += 1;
            }
            out.push(Token::Text(crate::word::ansi_c(&text)));
        } else if c == '#' {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
            continue;
        } else if c == '/' && begins_regex(&out) {
            at += 1;
            while at < chars.len() && chars[at] != '/' && chars[at] != '\n' {
                at += if chars[at] == '\\' { 2 } else { 1 };
            }
        } else if c.is_alphanumeric() || c == '_' {
            let mut word = String::new();
            while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_') {
                word.push(chars[at]);
                at += 1;
            }
            out.push(Token::Word(word));
            continue;
        } else if !c.is_whitespace() || c == '\n' {
            out.push(Token::Sign(c));
        }
        at += 1;
    }
    out
}

fn begins_regex(before: &[Token]) -> bool {
    match before.last() {
        None => true,
        Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | '$'),
        Some(Token::Word(word)) => word == "return" || word == "in",
        Some(Token::Text(_)) => false,
    }
}

fn follow(machine: &mut Machine<'_>, program: &str, state: &State) {
    if program.len() > 16_000 {
        machine.partial("a longer program than is followed");
    }
    let tokens = tokens(program);
    let mut printing = false;
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Word(word) if word == "system" => run(machine, &tokens[at + 1..], 1, state),
            Token::Word(word) if word == "print" || word == "printf" => {
                printing = true;
                depth = 0;
            }
            Token::Word(word) if word == "getline" => {
                if let Some(Token::Sign('<')) = tokens.get(at + 1).or(tokens.get(at + 2)) {
                    file(machine, &tokens[at + 1..], Role::Read, state);
                } else if let Some(Token::Sign('<')) = tokens.get(at + 2) {
                    file(machine, &tokens[at + 2..], Role::Read, state);
                }
                if let Some(Token::Sign('|' | '&')) =
                    at.checked_sub(1).and_then(|at| tokens.get(at))
                {
                    before(machine, &tokens[..at], state);
                }
            }
            Token::Word(word) if word.starts_with('@') || word == "ENVIRON" => {
                machine.act(&rules::secret::ENVIRONMENT);
            }
            Token::Sign('@') => machine.act(&rules::opaque::OPTION),
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth = depth.saturating_sub(1),
            Token::Sign(';' | '}' | '\n' | '{') => printing = false,
            Token::Sign('>') if printing && depth == 0 => {
                file(machine, &tokens[at + 1..], Role::Write, state);
            }
            Token::Sign('|')
                if matches!(tokens.get(at + 1), Some(Token::Sign('|')))
                    || matches!(
                        at.checked_sub(1).and_then(|at| tokens.get(at)),
                        Some(Token::Sign('|'))
                    ) => {}
            Token::Sign('|') if printing && depth == 0 => run(machine, &tokens[at + 1..], 0, state),
            _ => {}
        }
    }
}

/// The literal that an expression begins with, joined, and whether it is all of the expression.
fn literal(tokens: &[Token]) -> (String, bool) {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Text(more) => text.push_str(more),
            Token::Sign(')' | ';' | '}' | '\n' | '|') => return (text, true),
            Token::Sign('>' | '&') if text.is_empty() => {}
            _ => return (text, false),
        }
    }
    (text, true)
}

fn run(machine: &mut Machine<'_>, tokens: &[Token], skip: usize, state: &State) {
    let (text, whole) = literal(tokens.get(skip..).unwrap_or_default());
    if text.is_empty() || !whole {
        machine.suspect(&text, state);
        machine.act(&rules::opaque::VALUE);
        return;
    }
    machine.inner(&text, &mut state.clone());
}

/// A command before `| getline`.
fn before(machine: &mut Machine<'_>, tokens: &[Token], state: &State) {
    let text = tokens.iter().rev().find_map(|token| match token {
        Token::Text(text) => Some(text.clone()),
        _ => None,
    });
    match text {
        Some(text) => machine.inner(&text, &mut state.clone()),
        None => machine.act(&rules::opaque::VALUE),
    }
}

fn file(machine: &mut Machine<'_>, tokens: &[Token], role: Role, state: &State) {
    let rest = match tokens.first() {
        Some(Token::Sign('>' | '<')) => &tokens[1..],
        _ => tokens,
    };
    let (text, whole) = literal(rest);
    if text.starts_with("/inet") {
        machine.network(text.split('/').nth(4).map(str::to_owned));
        return;
    }
    if text.is_empty() || !whole {
        machine.act(if role == Role::Write {
            &rules::place::WRITE_UNKNOWN
        } else {
            &rules::place::READ_UNKNOWN
        });
        return;
    }
    if role == Role::Read {
        machine.read_file(&Field::lit(&text), state);
    } else {
        machine.path(role, &Field::lit(&text), state);
    }
}
