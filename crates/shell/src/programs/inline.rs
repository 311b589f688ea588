//! Code in another language: its literals are looked through for harm, and a few harmless forms are
//! known. Nothing here proves that code is safe: see `harmless`.

use super::literals::literals;
use super::marks::{READS, REMOVES, RUNS, TALKS, WRITES};
use crate::effect::Role;
use crate::machine::{Machine, State};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Part, Taint};

/// Looks code through for harm.
pub(crate) fn scan(machine: &mut Machine<'_>, code: &str, language: &str, state: &State) {
    let code = code.get(..code.len().min(16_384)).unwrap_or_default();
    let mut literals = literals(code, language);
    let decoded: Vec<String> = literals
        .iter()
        .flat_map(|text| decoded(code, text))
        .collect();
    // What is decoded may be code of the same language, or of a shell.
    let nested = ["exec(", "eval(", "eval ", "Function(", "compile("]
        .iter()
        .any(|mark| code.contains(mark));
    let nested: Vec<String> = if nested {
        literals
            .iter()
            .filter(|text| text.contains('(') && text.len() < code.len())
            .take(8)
            .cloned()
            .collect()
    } else {
        Vec::new()
    };
    for text in decoded.iter().chain(&nested) {
        if machine.depth < crate::limits::MAX_DEPTH {
            machine.depth += 1;
            scan(machine, text, language, state);
            machine.depth -= 1;
        }
        machine.suspect(text, state);
    }
    literals.extend(decoded);
    if language == "m4" {
        for call in code.split("syscmd(").skip(1).take(16) {
            let text = call.split_once(')').map_or(call, |(text, _)| text);
            machine.suspect(text.trim_matches(['`', '\'', '[', ']']), state);
        }
    }
    let has = |marks: &[&str]| marks.iter().any(|mark| code.contains(mark));
    let (runs, removes, writes, talks) = (has(RUNS), has(REMOVES), has(WRITES), has(TALKS));
    for line in code.lines().take(64) {
        if let Some(rest) = line.trim().strip_prefix("exec ") {
            machine.suspect(rest, state);
        }
    }
    if runs {
        for text in &literals {
            machine.suspect(text, state);
        }
        // An argument list: `['rm', '-rf', '/']`.
        for (at, text) in literals.iter().enumerate().take(16) {
            if !text.contains(char::is_whitespace) && at + 1 < literals.len() {
                let words: Vec<Field> = literals[at..]
                    .iter()
                    .take(12)
                    .map(|text| home(text, &machine.world.home))
                    .collect();
                machine.suspect_call(&words, state);
            }
        }
    }
    let paths: Vec<String> = literals
        .iter()
        .filter(|text| is_path(text))
        .cloned()
        .collect();
    let homes = names_home(code);
    let mut secret = false;
    machine.possibly(|machine| {
        for text in paths.iter().chain(homes.iter()) {
            let text = text.trim_start_matches(['>', '<', '+', ' ']);
            let field = home(text, &machine.world.home);
            let field = if text.contains(['*', '?']) {
                unquoted(text)
            } else {
                field
            };
            let place = machine.target(&field, state).place;
            if place == Place::Stream || place == Place::Connection {
                continue;
            }
            if removes {
                machine.path(Role::DeleteTree, &field, state);
            } else if writes && writes_to(code, text, language) {
                machine.path(Role::Write, &field, state);
            }
            if has(READS) {
                secret |= machine.read_file(&field, state).taint().has(Taint::SECRET);
            }
        }
    });
    if talks {
        let shell = code.contains("dup2")
            || code.contains("/bin/sh")
            || code.contains("/bin/bash")
            || code.contains("pty.spawn")
            || code.contains("cmd.exe");
        let raw = [
            "socket",
            "TCPSocket",
            "IO::Socket",
            "fsockopen",
            "net.connect",
            "net.Socket",
            "createConnection",
        ]
        .iter()
        .any(|mark| code.contains(mark));
        let starts = [
            "popen",
            "subprocess",
            "child_process",
            "system(",
            "exec(",
            "spawn",
            "shell_exec",
            "proc_open",
        ]
        .iter()
        .any(|mark| code.contains(mark));
        if shell && (runs || code.contains("dup2") || code.contains("pipe")) || raw && starts {
            machine.act(&rules::network::REVERSE_SHELL);
        }
        let inside = literals
            .iter()
            .any(|text| machine.target(&Field::lit(text), state).place == Place::SecretInside);
        let environment = code.contains("os.environ)")
            || code.contains("process.env)")
            || code.contains("dict(os.environ");
        if secret || inside || environment {
            machine.act(&rules::secret::UPLOAD);
        }
        machine.network(None);
    } else if !paths.is_empty() || literals.iter().any(|text| text.starts_with(".env")) {
        for text in &literals {
            let place = machine.target(&Field::lit(text), state).place;
            if place == Place::SecretInside {
                machine.act(&rules::secret::INSIDE);
            }
        }
    }
}

/// An argument that code is given: a path, if the code removes or writes what it is given.
pub(super) fn argument(machine: &mut Machine<'_>, code: &str, argument: &str, state: &State) {
    let takes = ["argv", "ARGV", "@ARGV", "$1", "<>", "shift"]
        .iter()
        .any(|mark| code.contains(mark));
    if !takes || !is_path(argument) {
        return;
    }
    let removes = REMOVES.iter().any(|mark| code.contains(mark));
    let writes = WRITES.iter().any(|mark| code.contains(mark));
    let field = Field::lit(argument);
    machine.possibly(|machine| {
        if removes {
            machine.path(Role::DeleteTree, &field, state);
        } else if writes {
            machine.path(Role::Write, &field, state);
        }
    });
}

fn unquoted(text: &str) -> Field {
    Field {
        parts: vec![Part::Lit {
            text: text.to_owned(),
            quoted: false,
        }],
    }
}

/// A literal with its tilde expanded, as libraries are asked to.
fn home(text: &str, home: &str) -> Field {
    match text.strip_prefix('~') {
        // Whose home it is doesn't matter: it lies outside.
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Field::lit(&format!("{home}{rest}"))
        }
        _ => Field::lit(text),
    }
}

fn is_path(text: &str) -> bool {
    let text = text.trim_start_matches(['>', '<', '+', ' ']);
    (text.starts_with(['/', '~', '.', '*']) || text.contains('/') || text == "src")
        && text.len() < 256
        && !text.contains(['\n', ';', '(', '<', '"'])
        && !text.contains("://")
        && !text.contains(' ')
}

/// Code that names the home folder without a literal.
fn names_home(code: &str) -> Option<String> {
    [
        "environ['HOME']",
        "environ[\"HOME\"]",
        "environ.get('HOME'",
        "getenv('HOME')",
        "getenv(\"HOME\")",
        "Path.home()",
        "process.env.HOME",
        "os.homedir()",
        "homedir()",
        "Dir.home",
        "ENV['HOME']",
        "ENV[\"HOME\"]",
        "$ENV{HOME}",
        "$ENV{\"HOME\"}",
        "getenv(HOME)",
        "expanduser",
        "$HOME",
    ]
    .iter()
    .any(|mark| code.contains(mark))
    .then(|| "~".to_owned())
}

/// Whether code opens a name for writing: `open` alone reads.
fn writes_to(code: &str, text: &str, language: &str) -> bool {
    let opens_only = !WRITES
        .iter()
        .filter(|mark| {
            !matches!(
                **mark,
                "open(" | "open " | "fopen" | "File.open" | "io.open"
            )
        })
        .any(|mark| code.contains(mark));
    if !opens_only {
        return true;
    }
    if language == "perl" {
        return text.starts_with('>') || code.contains('>');
    }
    [
        "'w", "\"w", "'a", "\"a", "'r+", "\"r+", "'x", "\"x", "mode=", "O_WRONLY", "O_CREAT",
        "O_RDWR",
    ]
    .iter()
    .any(|mark| code.contains(mark))
}

/// What code prints that does nothing but print one literal.
pub(super) fn printed(code: &str, language: &str) -> Option<String> {
    let rest = [
        "print",
        "puts",
        "echo",
        "say",
        "console.log",
        "process.stdout.write",
        "printf",
    ]
    .iter()
    .find_map(|word| code.trim().strip_prefix(word))?;
    let rest = rest.trim().trim_end_matches(';').trim();
    let rest = rest
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(rest)
        .trim();
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = rest.strip_prefix(quote)?.strip_suffix(quote)?;
    match literals(rest, language).as_slice() {
        [text] if !inner.contains(quote) => Some(format!("{text}\n")),
        _ => None,
    }
}

/// What a literal decodes to, when the code decodes something.
fn decoded(code: &str, text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let plain = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| !c.is_control() || c == '\n')
            && !text.contains('\u{fffd}')
    };
    let lower = code.to_lowercase();
    if text.len() >= 8
        && ["base64", "b64", "atob", "unpack"]
            .iter()
            .any(|mark| lower.contains(mark))
    {
        out.extend(super::decode::base64(text).filter(|text| plain(text)));
    }
    if text.len() >= 4
        && text.len().is_multiple_of(2)
        && text.chars().all(|c| c.is_ascii_hexdigit())
        && (lower.contains("hex") || lower.contains("pack"))
    {
        out.push(super::decode::hex(text));
    }
    if code.contains("[::-1]") || code.contains("reverse") {
        out.push(text.chars().rev().collect());
    }
    if lower.contains("rot13") || lower.contains("rot_13") {
        out.push(super::decode::translate(
            text,
            "A-Za-z",
            "N-ZA-Mn-za-m",
            false,
        ));
    }
    out
}
