//! Archives: where they are written, where they are unpacked, what they run.

use super::Handler;
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, Parsed, parse, spelled};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "tar" | "gtar" | "bsdtar" => tar,
        "zip" => zip,
        "unzip" | "bsdunzip" | "7z" | "7za" | "7zz" | "unrar" | "unar" | "cabextract" => unpack,
        "cpio" | "ar" | "pax" => cpio,
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" | "unzstd" | "lz4"
        | "brotli" | "compress" | "pigz" => compress,
        _ => return None,
    })
}

fn tar(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut args = call.args.to_vec();
    // The old style has no dash: `tar xf a.tar`.
    if let Some(first) = args.first_mut()
        && !first.prefix().starts_with('-')
        && first.known().is_some()
    {
        *first = Field::lit(&format!("-{}", first.shown()));
    }
    let args = spelled(
        &args,
        &[
            "extract",
            "get",
            "create",
            "append",
            "update",
            "delete",
            "concatenate",
            "catenate",
            "absolute-names",
            "one-top-level",
            "remove-files",
            "recursive-unlink",
            "transform",
            "xform",
            "add-file",
            "files-from",
            "to-stdout",
        ],
        &["exclude", "to-command", "file"],
    );
    let parsed = parse(
        &args,
        "f C I F T X b H g N V K L file directory use-compress-program to-command checkpoint-action new-volume-script \
         info-script rsh-command rmt-command files-from exclude-from exclude listed-incremental transform xform \
         one-file-system-x strip-components owner group mode mtime newer checkpoint-x warning format label \
         index-file add-file suffix backup-x volno-file",
        Order::Any,
    );
    let mut inside = state.clone();
    for program in parsed.values(&[
        "I",
        "use-compress-program",
        "to-command",
        "F",
        "new-volume-script",
        "info-script",
        "rsh-command",
        "rmt-command",
    ]) {
        let program = program.clone();
        machine.code_word(&program, &mut state.clone());
    }
    for action in parsed.values(&["checkpoint-action"]) {
        if action.prefix().starts_with("exec=") {
            let code = action.after(5);
            machine.code_word(&code, &mut state.clone());
        }
    }
    let has = |letter: &str, long: &str| parsed.has(&[letter, long]);
    let extracts = has("x", "extract") || parsed.has(&["get"]);
    let creates = has("c", "create")
        || has("r", "append")
        || has("u", "update")
        || has("A", "catenate")
        || parsed.has(&["delete", "concatenate"]);
    for folder in parsed.values(&["C", "directory"]) {
        let role = if extracts { Role::Write } else { Role::Read };
        let path = machine.path(role, folder, state).path;
        inside.enter(path);
    }
    for archive in parsed.values(&["f", "file"]) {
        if archive.known().as_deref() == Some("-") {
            continue;
        }
        if super::net::is_remote(archive) && !parsed.has(&["force-local"]) {
            machine.network(super::net::host(archive));
        } else if creates {
            machine.path(Role::Write, archive, state);
        } else {
            machine.read_file(archive, state);
        }
    }
    for file in parsed.values(&["T", "files-from", "X", "exclude-from"]) {
        if file.known().as_deref() != Some("-") {
            let file = file.clone();
            machine.read_file(&file, state);
        }
    }
    let operands = match creates {
        true => listed(machine, &parsed, state),
        false => Vec::new(),
    };
    for file in parsed.values(&["index-file", "g", "listed-incremental", "volno-file"]) {
        let file = file.clone();
        machine.path(Role::Write, &file, state);
    }
    let mut taint = Taint::NONE;
    if creates {
        for file in &operands {
            taint = taint.and(machine.read_file(file, &inside).taint().risky());
            if parsed.has(&["remove-files"]) {
                machine.path(Role::DeleteTree, file, &inside);
                machine.path(Role::Away, file, &inside);
            }
        }
    }
    if creates
        && taint.has(Taint::SECRET)
        && let Some(path) = parsed
            .value(&["f", "file"])
            .and_then(|archive| machine.target(archive, state).path)
    {
        state.files.insert(path, Out::Unknown(Taint::SECRET));
    }
    // Names that lead elsewhere, or that are made up on the way.
    if extracts && parsed.has(&["P", "absolute-names", "transform", "xform"]) {
        machine.act(&rules::place::WRITE_UNKNOWN);
    }
    if extracts && parsed.has(&["recursive-unlink"]) {
        machine.act(&rules::destructive::TREE);
    }
    for folder in parsed.values(&["one-top-level"]).filter(|_| extracts) {
        machine.path(Role::Write, folder, &inside);
    }
    if extracts && !parsed.has(&["C", "directory", "O", "to-stdout"]) {
        machine.path(Role::Write, &Field::lit("."), state);
    }
    Out::Unknown(taint)
}

/// What goes into an archive: operands, added files, and names that stand in a file.
fn listed(machine: &mut Machine<'_>, parsed: &Parsed, state: &State) -> Vec<Field> {
    let mut files = parsed.operands.clone();
    files.extend(parsed.values(&["add-file"]).cloned());
    for list in parsed.values(&["T", "files-from"]) {
        let names = match list.known().as_deref() {
            Some("-") => state.input.clone().unwrap_or(Out::Unknown(Taint::NONE)),
            _ => machine.content(&machine.target(list, state).path, state),
        };
        match names {
            Out::Known(text) => files.extend(
                text.split(['\n', '\0'])
                    .filter(|name| !name.is_empty())
                    .take(256)
                    .map(Field::lit),
            ),
            Out::Unknown(taint) => files.push(Field::unknown(taint)),
        }
    }
    files
}

fn zip(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let args = spelled(
        call.args,
        &["unzip-command", "logfile-path", "output-file", "move"],
        &[],
    );
    // `-T`, `-TT cmd`: the second runs a command. Options of two letters stand among those of one.
    for (at, arg) in args.iter().enumerate() {
        let text = arg.prefix();
        let value = |end: usize| match arg.after(end) {
            rest if rest.parts.is_empty() => args.get(at + 1).cloned(),
            rest => Some(rest),
        };
        let is_short = text.starts_with('-') && !text.starts_with("--");
        let letters = |pair: &str| is_short.then(|| text.find(pair)).flatten();
        let code = match letters("TT") {
            Some(from) => value(from + 2),
            None if text == "--unzip-command" => args.get(at + 1).cloned(),
            None => text
                .starts_with("--unzip-command=")
                .then(|| arg.after("--unzip-command=".len())),
        };
        let log = match letters("lf") {
            Some(from) => value(from + 2),
            None if text == "--logfile-path" => args.get(at + 1).cloned(),
            None => text
                .starts_with("--logfile-path=")
                .then(|| arg.after("--logfile-path=".len())),
        };
        if let Some(log) = log {
            machine.path(Role::Write, &log, state);
        }
        if let Some(code) = code {
            machine.code_word(&code, &mut state.clone());
        }
    }
    let parsed = parse(
        &args,
        "P b i x n t tt O out output-file password logfile-path unzip-command temp-path include exclude",
        Order::Any,
    );
    for out in parsed.values(&["b", "temp-path"]) {
        machine.path(Role::Write, out, state);
    }
    if parsed.has(&["@", "names-stdin"]) {
        let names = super::input_taint(state);
        machine.read_file(&Field::unknown(names), state);
    }
    for out in parsed.values(&["O", "out", "output-file"]) {
        let out = out.clone();
        machine.path(Role::Write, &out, state);
    }
    let mut taint = Taint::NONE;
    if let Some((archive, files)) = parsed.operands.split_first() {
        if archive.known().as_deref() != Some("-") {
            machine.path(Role::Write, archive, state);
        }
        for file in files {
            taint = taint.and(machine.read_file(file, state).taint().risky());
            if parsed.has(&["m", "move"]) {
                machine.path(Role::DeleteTree, file, state);
            }
        }
    }
    Out::Unknown(taint)
}

fn unpack(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    if call.name.starts_with('7') || call.name == "unrar" || call.name == "unar" {
        let verb = call.args.first().map(Field::shown).unwrap_or_default();
        let reads = matches!(verb.as_str(), "l" | "t" | "v" | "i" | "lb" | "h");
        for arg in call.args.iter().skip(1) {
            let text = arg.prefix();
            if text.starts_with("-o") && text.len() > 2 {
                machine.path(Role::Write, &arg.after(2), state);
            } else if !text.starts_with('-') {
                machine.path(
                    if reads || matches!(verb.as_str(), "x" | "e") {
                        Role::Read
                    } else {
                        Role::Write
                    },
                    arg,
                    state,
                );
            }
        }
        return Out::Unknown(Taint::NONE);
    }
    let parsed = parse(call.args, "d P x O-dir", Order::Any);
    if let Some(archive) = parsed.operands.first() {
        machine.read_file(archive, state);
    }
    // It takes `../` in names for what it says.
    if parsed.has(&[":"]) {
        machine.act(&rules::place::WRITE_UNKNOWN);
    }
    let lists = parsed.has(&["l", "t", "p", "v", "Z", "z"]);
    let folders: Vec<Field> = parsed.values(&["d"]).cloned().collect();
    for folder in &folders {
        machine.path(Role::Write, folder, state);
    }
    if folders.is_empty() && !lists {
        machine.path(Role::Write, &Field::lit("."), state);
    }
    Out::Unknown(Taint::NONE)
}

fn cpio(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        "D directory F file O I E H format R owner rsh-command",
        Order::Any,
    );
    for code in parsed.values(&["rsh-command"]) {
        let code = code.clone();
        machine.code_word(&code, &mut state.clone());
    }
    for folder in parsed.values(&["D", "directory", "O"]) {
        let folder = folder.clone();
        machine.path(Role::Write, &folder, state);
    }
    for operand in &parsed.operands {
        let place = machine.target(operand, state).place;
        if call.name != "ar" || !matches!(place, Place::Inside) {
            machine.path(Role::Write, operand, state);
        }
    }
    // Names come from the input or from the archive.
    if !parsed.has(&["t", "list"]) && call.name != "ar" {
        machine.act(&rules::place::WRITE_UNKNOWN);
    }
    Out::Unknown(Taint::NONE)
}

fn compress(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        "S suffix o output T threads b M memory p q-x",
        Order::Any,
    );
    let to_output = parsed.has(&["c", "stdout", "to-stdout", "l", "list", "t", "test"]);
    let mut taint = super::input_taint(state);
    for file in parsed.values(&["o", "output"]) {
        let file = file.clone();
        machine.path(Role::Write, &file, state);
    }
    for operand in &parsed.operands {
        if to_output {
            taint = taint.and(machine.read_file(operand, state).taint().risky());
        } else {
            machine.read_file(operand, state);
            machine.path(Role::Write, operand, state);
            let unpacks = call.name.starts_with("un")
                || call.name.starts_with("gun")
                || call.name.starts_with("bun")
                || parsed.has(&["d", "decompress", "uncompress"]);
            if let Some(name) = operand.known().filter(|_| unpacks) {
                let stem = name
                    .rsplit_once('.')
                    .map_or(name.as_ref(), |(stem, _)| stem);
                machine.path(Role::Write, &Field::lit(stem), state);
            }
            if unpacks && parsed.has(&["N", "name"]) {
                // The name stands in the file.
                machine.act(&rules::place::WRITE_UNKNOWN);
            }
        }
    }
    // Packed and unpacked again it is the same text.
    if parsed.operands.is_empty()
        && let Some(Out::Known(text)) = &state.input
    {
        return Out::Known(text.clone());
    }
    Out::Unknown(taint.risky())
}
