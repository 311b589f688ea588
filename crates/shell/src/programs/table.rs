//! Programs that read and compute: which options and operands are paths.

use super::patches::{self, Strip};
use super::readers::{Operands, PROGRAMS, Program};
use super::{Handler, input_taint, lists};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, Parsed, parse, spelled};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Part, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    lookup(name).map(|_| run as Handler)
}

fn lookup(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| lists(program.names, name))
}

fn run(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let Some(program) = lookup(call.name) else {
        return Out::empty();
    };
    if program.operands == Operands::Text {
        // `ps auxe` shows what environment each process has.
        let shows = |arg: &Field| !arg.prefix().starts_with('-') && arg.shown().contains('e');
        if call.name == "ps" && call.args.first().is_some_and(shows) {
            machine.act(&rules::secret::ENVIRONMENT);
            return Out::Unknown(Taint::SECRET);
        }
        return Out::Unknown(Taint::NONE);
    }
    let mut valued = program.text.to_owned();
    for names in [program.reads, program.writes, program.runs] {
        for name in names {
            valued.push(' ');
            valued.push_str(name);
        }
    }
    let mut taint = Taint::NONE;
    let args = match call.name {
        "jq" | "gojq" | "jaq" => named_values(machine, call.args, &mut taint, state),
        "file" => {
            valued.push_str(" f files-from m magic-file F e P");
            spelled(call.args, &["files-from", "magic-file", "compile"], &[])
        }
        _ => call.args.to_vec(),
    };
    let parsed = parse(&args, &valued, Order::Any);
    if call.name == "file" {
        for list in parsed.values(&["f", "files-from", "m", "magic-file"]) {
            taint = taint.and(machine.read_file(list, state).taint().risky());
        }
        if parsed.has(&["C", "compile"]) {
            machine.path(Role::Write, &Field::lit("magic.mgc"), state);
        }
    }
    if call.name == "yq" {
        // Files that are named by what is read, and functions that run programs.
        if parsed.has(&["s", "split-exp", "split-exp-file"]) {
            machine.act(&rules::place::WRITE_UNKNOWN);
        }
        if parsed
            .options
            .iter()
            .any(|given| given.name.starts_with("security-enable"))
        {
            machine.act(&rules::opaque::OPTION);
        }
    }
    if program.operands == Operands::Pattern {
        sought(machine, &parsed, state);
    }
    for file in parsed.values(program.reads) {
        if file.known().as_deref() != Some("-") {
            taint = taint.and(machine.read_file(file, state).taint());
        }
    }
    for file in parsed.values(program.writes) {
        if file.known().as_deref() != Some("-") {
            machine.path(Role::Write, file, state);
        }
    }
    for code in parsed.values(program.runs) {
        ran_option(machine, code, state);
    }
    doubtful(
        machine,
        &parsed,
        program.operands == Operands::Pattern,
        state,
    );
    if call.name == "patch" {
        patched(machine, &parsed, state);
    }
    let pattern_given = parsed.has(&["e", "regexp", "f", "file", "from-file", "files"]);
    if matches!(call.name, "jq" | "gojq" | "jaq" | "yq" | "xq" | "dasel")
        && parsed
            .operands
            .first()
            .is_some_and(|filter| shows_environment(&filter.shown()))
    {
        machine.act(&rules::secret::ENVIRONMENT);
    }
    let mut operands = parsed.operands.as_slice();
    if program.operands == Operands::Pattern && !pattern_given {
        operands = operands.get(1..).unwrap_or_default();
    }
    if call.name == "csplit" {
        // What follows the file are patterns.
        operands = operands.get(..1).unwrap_or_default();
    }
    let changes = program.operands == Operands::Writes
        || parsed.has(program.changes) && !program.changes.is_empty();
    let names_only = matches!(
        call.name,
        "ls" | "dir" | "vdir" | "eza" | "exa" | "lsd" | "tree" | "du" | "dust" | "ncdu" | "stat"
    );
    let mut inside = true;
    for (at, operand) in operands.iter().enumerate() {
        if operand.known().as_deref() == Some("-") {
            taint = taint.and(input_taint(state).risky());
            continue;
        }
        if changes || program.operands == Operands::ReadWrite && at == 1 {
            machine.path(Role::Write, operand, state);
        } else if names_only && is_secret_inside(machine, operand, state) {
            // Its name and its size are no secret.
            machine.path(Role::Enter, operand, state);
        } else {
            taint = taint.and(machine.read_file(operand, state).taint().risky());
        }
        let place = machine.target(operand, state).place;
        inside &= matches!(place, Place::Inside | Place::Whole | Place::Generated);
    }
    if operands.is_empty() {
        if program.operands == Operands::ReadsHere {
            machine.path(Role::Read, &Field::lit("."), state);
        } else {
            taint = taint.and(input_taint(state).risky());
        }
        let recursive =
            matches!(call.name, "rg" | "ag" | "ack") || parsed.has(&["r", "R", "recursive"]);
        if recursive && state.input.is_none() {
            machine.path(Role::Read, &Field::lit("."), state);
        }
    }
    if call.name == "split"
        && let Some(prefix) = parsed.operands.get(1)
    {
        machine.path(Role::Write, prefix, state);
    }
    if call.name == "ls" {
        // Names are relative to the folder, wherever that is.
        return Out::Unknown(
            match state
                .cwd
                .as_deref()
                .map(|cwd| crate::place::is_inside(cwd, machine.world))
            {
                Some(true) if inside && operands.is_empty() => Taint::INSIDE.with(Taint::ALL),
                Some(true) if inside => Taint::INSIDE,
                Some(false) => Taint::OUTSIDE,
                _ => Taint::NONE,
            },
        );
    }
    let lists = parsed.has(&[
        "l",
        "L",
        "files-with-matches",
        "files-without-match",
        "files",
    ]) && program.operands == Operands::Pattern;
    if lists {
        let outside = operands.iter().any(|operand| {
            matches!(
                machine.target(operand, state).place,
                Place::Outside | Place::Startup | Place::Secret
            )
        });
        if inside || outside {
            return Out::Unknown(if inside {
                Taint::INSIDE
            } else {
                Taint::OUTSIDE
            });
        }
    }
    // A filter over names keeps them names of the workspace only when it keeps lines whole.
    let whole_lines = matches!(
        call.name,
        "sort" | "uniq" | "grep" | "egrep" | "fgrep" | "shuf"
    );
    if whole_lines && operands.is_empty() && input_taint(state).has(Taint::INSIDE) {
        let taint = input_taint(state);
        // What is searched for is no longer everything.
        let searches = call.name.ends_with("grep");
        return Out::Unknown(if searches {
            taint.without(Taint::ALL)
        } else {
            taint
        });
    }
    if whole_lines
        && operands.is_empty()
        && let Some(Out::Known(text)) = &state.input
    {
        return filtered(call.name, &parsed, text);
    }
    if matches!(call.name, "wc") {
        return Out::Unknown(Taint::PLAIN);
    }
    Out::Unknown(taint.risky())
}

fn is_secret_inside(machine: &Machine<'_>, operand: &Field, state: &State) -> bool {
    machine.target(operand, state).holds_secret()
}

/// Patterns of names that a search is kept to: that of a secret makes it read one, though it names no file.
fn sought(machine: &mut Machine<'_>, parsed: &Parsed, state: &State) {
    for pattern in parsed.values(&["include", "g", "glob", "iglob"]) {
        let Some(text) = pattern.known().filter(|text| !text.starts_with('!')) else {
            continue;
        };
        let name = Field {
            parts: vec![Part::Pattern(text.trim_start_matches('/').to_owned())],
        };
        if is_secret_inside(machine, &name, state) {
            machine.path(Role::Read, &name, state);
        }
    }
}

/// `jq`'s options with a name and a value: those that name a file read it. Gives the other arguments.
fn named_values(
    machine: &mut Machine<'_>,
    args: &[Field],
    taint: &mut Taint,
    state: &State,
) -> Vec<Field> {
    let mut rest = Vec::new();
    let mut words = args.iter();
    while let Some(arg) = words.next() {
        match arg.known().as_deref() {
            Some("--arg" | "--argjson") => {
                words.next();
                if let Some(value) = words.next() {
                    *taint = taint.and(value.taint().risky());
                }
            }
            Some("--slurpfile" | "--rawfile" | "--argfile") => {
                words.next();
                if let Some(file) = words.next() {
                    *taint = taint.and(machine.read_file(file, state).taint().risky());
                }
            }
            _ => rest.push(arg.clone()),
        }
    }
    rest
}

/// The files that a patch names, when its text is known.
fn patched(machine: &mut Machine<'_>, parsed: &Parsed, state: &State) {
    let from = parsed
        .value(&["i", "input"])
        .or_else(|| parsed.operands.get(1));
    let patch = match from {
        Some(file) => machine.content(&machine.target(file, state).path, state),
        None => state.input.clone().unwrap_or(Out::Unknown(Taint::NONE)),
    };
    if parsed.has(&["dry-run"]) {
        return;
    }
    let strip = parsed
        .value(&["p", "strip"])
        .and_then(|count| count.known()?.parse().ok())
        .map_or(Strip::All, Strip::Some);
    let folder = parsed.value(&["d", "directory"]);
    patches::applied(machine, &patch, &strip, folder, state);
}

/// A value of an option that may be a file after all: programs that share a row don't share every
/// option. What lies outside counts.
pub(super) fn doubtful(
    machine: &mut Machine<'_>,
    parsed: &Parsed,
    has_pattern: bool,
    state: &State,
) {
    for given in &parsed.options {
        let Some(value) = &given.value else {
            continue;
        };
        if has_pattern
            && matches!(
                given.name.as_str(),
                "e" | "regexp"
                    | "g"
                    | "glob"
                    | "include"
                    | "exclude"
                    | "exclude-dir"
                    | "iglob"
                    | "r"
            )
        {
            continue;
        }
        let names_path = value.shown().len() > 1 && value.shown().contains('/');
        let place = machine.target(value, state).place;
        if names_path
            && matches!(
                place,
                Place::Secret | Place::Outside | Place::Startup | Place::Device
            )
        {
            machine.read_file(value, state);
        }
    }
}

/// What whole-line filters make of known text: one line stays what it is.
fn filtered(name: &str, parsed: &Parsed, text: &str) -> Out {
    let one = text.lines().count() <= 1;
    match name {
        "sort" | "uniq" | "shuf" if one && parsed.options.is_empty() => Out::Known(text.to_owned()),
        "grep" | "egrep" | "fgrep" if parsed.options.is_empty() => {
            let pattern = parsed.operands.first().and_then(Field::known);
            let plain = |c: char| c.is_alphanumeric() || c == ' ' || c == '-';
            match pattern.filter(|pattern| pattern.chars().all(plain)) {
                Some(pattern) => Out::Known(
                    text.lines()
                        .filter(|line| line.contains(pattern.as_ref()))
                        .map(|line| format!("{line}\n"))
                        .collect(),
                ),
                None => Out::Unknown(Taint::NONE),
            }
        }
        _ => Out::Unknown(Taint::NONE),
    }
}

/// Whether a filter reads the environment, or files that aren't named as operands.
fn shows_environment(filter: &str) -> bool {
    filter.contains("$ENV")
        || filter.contains("load(")
        || filter.contains("load_")
        || filter
            .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.' && c != '"')
            .any(|word| matches!(word, "env" | "strenv" | "envsubst"))
}

/// A command in an option: followed, and asked about when it is a script.
fn ran_option(machine: &mut Machine<'_>, code: &Field, state: &State) {
    if code.known().is_some_and(|text| text.is_empty()) {
        return;
    }
    machine.act(&rules::opaque::OPTION);
    machine.code_word(code, &mut state.clone());
}
