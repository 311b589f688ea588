//! Interpreters: code in an argument, in a file, or in the input.

use super::{Handler, harmless, inline};
use crate::machine::{Call, Machine, Sink, State};
use crate::rules;
use crate::value::{Field, Out, Taint};

/// An interpreter: options that carry code, options that take another value, its language.
struct Interpreter {
    names: &'static [&'static str],
    code: &'static [&'static str],
    valued: &'static [&'static str],
    language: &'static str,
}

static INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &[
            "python",
            "python2",
            "python3",
            "pypy",
            "pypy3",
            "ipython",
            "python3.11",
            "python3.12",
            "python3.13",
        ],
        code: &["-c"],
        valued: &["-W", "-X", "--check-hash-based-pycs"],
        language: "python",
    },
    Interpreter {
        names: &["node", "nodejs", "bun-run", "tsx", "ts-node", "qjs", "d8"],
        code: &["-e", "--eval", "-p", "--print", "-pe"],
        valued: &["-r", "--require", "--import", "--loader", "-C"],
        language: "javascript",
    },
    Interpreter {
        names: &["perl", "raku"],
        code: &["-e", "-E"],
        valued: &["-I", "-M", "-m"],
        language: "perl",
    },
    Interpreter {
        names: &["ruby", "jruby", "irb"],
        code: &["-e"],
        valued: &["-I", "-r", "-C", "-E"],
        language: "ruby",
    },
    Interpreter {
        names: &["php"],
        code: &["-r", "-B", "-R", "-E"],
        valued: &["-d", "-c", "-t", "-S"],
        language: "php",
    },
    Interpreter {
        names: &["lua", "luajit", "texlua"],
        code: &["-e"],
        valued: &["-l"],
        language: "lua",
    },
    Interpreter {
        names: &["deno"],
        code: &["eval"],
        valued: &[],
        language: "javascript",
    },
    Interpreter {
        names: &[
            "tclsh", "wish", "guile", "racket", "sbcl", "clisp", "scheme", "csi", "gosh",
        ],
        code: &["-c", "-e", "--eval", "--non-interactive"],
        valued: &[],
        language: "lisp",
    },
    Interpreter {
        names: &["m4", "gm4"],
        code: &[],
        valued: &["-I", "-o", "-D", "-U", "-F", "-R"],
        language: "m4",
    },
    Interpreter {
        names: &[
            "Rscript",
            "R",
            "octave",
            "julia",
            "elixir",
            "iex",
            "erl",
            "groovy",
            "scala",
            "kotlin",
            "ghci",
            "runghc",
            "ghc",
            "swift",
            "osascript",
            "jshell",
            "clojure",
            "bb",
            "crystal",
            "nim",
        ],
        code: &["-e", "--eval", "-E", "--exec", "-eval", "--rpc-eval"],
        valued: &["-l"],
        language: "other",
    },
];

pub(super) fn handler(name: &str) -> Option<Handler> {
    interpreter(name).map(|_| run as Handler)
}

fn interpreter(name: &str) -> Option<&'static Interpreter> {
    let versioned = name
        .strip_prefix("python")
        .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'));
    let name = if versioned { "python" } else { name };
    INTERPRETERS.iter().find(|one| one.names.contains(&name))
}

/// Whether `-v` prints a version.
pub(super) fn is_versioned(name: &str) -> bool {
    interpreter(name).is_some()
}

fn run(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let Some(interpreter) = interpreter(call.name) else {
        return Out::empty();
    };
    if state.sink == Sink::Line
        || state
            .input
            .as_ref()
            .is_some_and(|input| input.taint().has(Taint::LINE))
    {
        machine.act(&rules::network::REVERSE_SHELL);
    }
    let language = interpreter.language;
    let mut codes: Vec<Field> = Vec::new();
    let mut operands: Vec<Field> = Vec::new();
    let mut at = 0;
    while let Some(arg) = call.args.get(at) {
        let text = arg.prefix();
        at += 1;
        if !operands.is_empty()
            || !text.starts_with('-') && !interpreter.code.contains(&text.as_str())
            || text == "-"
        {
            operands.push(arg.clone());
            // What comes after the code or the script are its own arguments.
            if codes.is_empty() || language != "python" {
                operands.extend(call.args.iter().skip(at).cloned());
            }
            break;
        }
        if interpreter.code.contains(&text.as_str()) {
            codes.extend(call.args.get(at).cloned());
            at += 1;
            if language == "python" {
                operands.extend(call.args.iter().skip(at).cloned());
                break;
            }
            continue;
        }
        if let Some((name, _)) = text.split_once('=')
            && interpreter.code.contains(&name)
        {
            codes.push(arg.after(name.len() + 1));
            continue;
        }
        if text == "-m" && language == "python" {
            return module(machine, call, at, state);
        }
        if text == "-S" && language == "php" {
            machine.act(&rules::network::LISTEN);
        }
        if interpreter.valued.contains(&text.as_str()) {
            at += 1;
            continue;
        }
        // Short options in one word: `-pe`, `-ne`, `-lane`, `-c'code'`.
        if !text.starts_with("--") {
            let letters: Vec<char> = interpreter
                .code
                .iter()
                .filter_map(|code| {
                    code.strip_prefix('-')?
                        .chars()
                        .next()
                        .filter(|_| code.len() == 2)
                })
                .collect();
            if let Some(position) = text
                .char_indices()
                .skip(1)
                .find(|(_, c)| letters.contains(c))
                .map(|(position, _)| position)
            {
                let attached = arg.after(position + 1);
                if attached.parts.is_empty() {
                    codes.extend(call.args.get(at).cloned());
                    at += 1;
                } else {
                    codes.push(attached);
                }
                if text.contains('i') && language == "perl" {
                    machine.act(&rules::opaque::CODE);
                }
            }
        }
    }
    if codes.is_empty() && operands.is_empty() {
        return from_input(machine, call, language, state);
    }
    // `-i` changes the files that are named.
    let in_place = matches!(language, "perl" | "ruby")
        && call
            .args
            .iter()
            .take_while(|arg| arg.prefix().starts_with('-'))
            .any(|arg| {
                let text = arg.prefix();
                !text.starts_with("--")
                    && text
                        .chars()
                        .skip(1)
                        .take_while(|c| c.is_ascii_lowercase() || *c == '0')
                        .any(|c| c == 'i')
            });
    if in_place {
        for operand in &operands {
            machine.path(crate::effect::Role::Write, operand, state);
        }
    }
    if matches!(language, "perl" | "ruby") {
        for operand in operands.iter().filter(|_| !codes.is_empty()) {
            machine.read_file(operand, state);
        }
    }
    let words: Vec<String> = call.args.iter().map(Field::shown).collect();
    let is_plain = harmless::is_plain_call(call.name, language, &words);
    let mut proved = !codes.is_empty() && is_plain;
    for code in &codes {
        match code.known() {
            Some(text) => {
                let text = text.into_owned();
                inline::scan(machine, &text, language, state);
                for operand in &operands {
                    let shown = operand.shown();
                    // An argument of the code is a name that the code may use.
                    inline::argument(machine, &text, &shown, state);
                }
                match harmless::reads(&text, language) {
                    Some(paths) => read(machine, &paths, state),
                    None => proved = false,
                }
                proved &= operands.is_empty();
            }
            None => {
                let shown = code.shown();
                inline::scan(machine, &shown, language, state);
                machine.unseen(code.taint());
                proved = false;
            }
        }
    }
    if codes.is_empty() {
        script(machine, call, &operands, language, state);
    } else if !proved {
        machine.act(&rules::opaque::CODE);
    }
    match codes.as_slice() {
        [code] => {
            inline::printed(&code.shown(), language).map_or(Out::Unknown(Taint::NONE), Out::Known)
        }
        _ => Out::Unknown(Taint::NONE),
    }
}

fn read(machine: &mut Machine<'_>, paths: &[String], state: &State) {
    for path in paths {
        machine.read_file(&Field::lit(path), state);
    }
}

fn script(
    machine: &mut Machine<'_>,
    call: &Call<'_>,
    operands: &[Field],
    language: &str,
    state: &State,
) {
    let words: Vec<String> = operands.iter().map(Field::shown).collect();
    if super::sql::resets(&words.join(" ")) {
        machine.act(&rules::remote::DATABASE_DESTROY);
    }
    let Some(file) = operands.first() else {
        return;
    };
    if file.known().as_deref() == Some("-") {
        from_input(machine, call, language, state);
        return;
    }
    match machine.read_file(file, state) {
        Out::Known(text) => {
            inline::scan(machine, &text, language, state);
            machine.act(&rules::opaque::SCRIPT);
        }
        Out::Unknown(taint) => {
            let path = machine.target(file, state).path;
            machine.suspect_file(&path, state);
            machine.act(if taint.has(Taint::REMOTE) {
                &rules::network::REMOTE_CODE
            } else {
                &rules::opaque::SCRIPT
            });
        }
    }
}

fn from_input(machine: &mut Machine<'_>, call: &Call<'_>, language: &str, state: &State) -> Out {
    let words: Vec<String> = call.args.iter().map(Field::shown).collect();
    match &state.input {
        Some(Out::Known(text)) => {
            let text = text.clone();
            inline::scan(machine, &text, language, state);
            let is_plain = harmless::is_plain_call(call.name, language, &words);
            match harmless::reads(&text, language).filter(|_| is_plain) {
                Some(paths) => read(machine, &paths, state),
                None => machine.act(&rules::opaque::CODE),
            }
        }
        Some(Out::Unknown(taint)) => machine.unseen(*taint),
        None => machine.act(&rules::opaque::INTERACTIVE),
    }
    Out::Unknown(Taint::NONE)
}

/// `python -m module`.
fn module(machine: &mut Machine<'_>, call: &Call<'_>, at: usize, state: &mut State) -> Out {
    let name = call.args.get(at).map(Field::shown).unwrap_or_default();
    let rest = call.args.get(at + 1..).unwrap_or_default();
    match name.as_str() {
        "http.server" | "SimpleHTTPServer" | "smtpd" | "pydoc" | "xmlrpc.server" | "flask"
        | "uvicorn" => machine.act(&rules::network::LISTEN),
        "json.tool" => {
            if let Some(file) = rest.first() {
                machine.read_file(file, state);
            }
            if let Some(file) = rest.get(1) {
                machine.path(crate::effect::Role::Write, file, state);
            }
        }
        "this" | "calendar" | "platform" | "site" | "sysconfig" => {}
        "py_compile" | "compileall" | "tabnanny" | "ast" | "tokenize" | "dis" => {
            for file in rest {
                machine.path(crate::effect::Role::Read, file, state);
            }
        }
        "pip" => {
            return super::run(
                machine,
                &Call {
                    name: "pip",
                    args: rest,
                },
                state,
            );
        }
        "venv" | "virtualenv" => {
            for folder in rest.iter().filter(|arg| !arg.prefix().starts_with('-')) {
                machine.path(crate::effect::Role::Write, folder, state);
            }
            machine.act(&rules::package::HOOKS);
        }
        "base64" => {
            return super::run(
                machine,
                &Call {
                    name: "base64",
                    args: rest,
                },
                state,
            );
        }
        "zipfile" | "tarfile" | "shutil" => {
            machine.act(&rules::opaque::CODE);
            for (at, option) in rest.iter().enumerate() {
                match option.known().as_deref() {
                    // `-e archive folder`, `-c archive files`
                    Some("-e" | "--extract") => {
                        if let Some(folder) = rest.get(at + 2) {
                            machine.path(crate::effect::Role::Write, folder, state);
                        }
                    }
                    Some("-c" | "--create") => {
                        if let Some(archive) = rest.get(at + 1) {
                            machine.path(crate::effect::Role::Write, archive, state);
                        }
                    }
                    _ => {}
                }
            }
        }
        _ => machine.act(&rules::package::HOOKS),
    }
    Out::Unknown(Taint::NONE)
}
