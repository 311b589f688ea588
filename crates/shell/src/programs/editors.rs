//! Editors and pagers: they wait for somebody, and they can run commands.

use super::Handler;
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::spelled;
use crate::rules;
use crate::value::{Field, Out, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "vim" | "vi" | "nvim" | "view" | "gvim" | "ex" | "vimdiff" | "rvim" | "mvim" => vim,
        "emacs" | "emacsclient" => emacs,
        "less" | "more" | "most" | "pg" | "zless" | "bzless" | "xzless" => pager,
        "man" | "apropos" | "whatis" | "info" => man,
        "nano" | "pico" | "micro" | "hx" | "helix" | "joe" | "mcedit" | "code" | "subl"
        | "gedit" | "kate" | "kak" | "jed" | "ne" | "zed" => editor,
        "top" | "htop" | "btop" | "ranger" | "nnn" | "gdb" | "lldb" | "fzf" | "dialog"
        | "whiptail" | "iotop" | "nethogs" | "glances" | "k9s-none" => interactive,
        _ => return None,
    })
}

fn vim(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.act(&rules::opaque::INTERACTIVE);
    let mut at = 0;
    while let Some(arg) = call.args.get(at) {
        let text = arg.prefix();
        match text.as_str() {
            "-s" if call.name == "ex" => {}
            "-sc" | "-esc" | "-ec" | "-nc" | "-Esc" | "-Nc" | "-Nec" => {
                at += 1;
                if let Some(value) = call.args.get(at) {
                    commands(machine, &value.shown(), state);
                }
            }
            "-c" | "--cmd" | "-S" | "-u" | "-s" | "-W" | "-w" | "-i" | "-T" => {
                if let Some(value) = call.args.get(at + 1) {
                    match text.as_str() {
                        "-c" | "--cmd" => commands(machine, &value.shown(), state),
                        "-w" | "-W" => {
                            machine.path(Role::Write, value, state);
                        }
                        _ => {
                            machine.path(Role::Read, value, state);
                        }
                    }
                }
                at += 1;
            }
            _ if text.starts_with('+') => commands(machine, &text[1..], state),
            _ if text.starts_with("-c") => commands(machine, &arg.after(2).shown(), state),
            _ if text.starts_with('-') => {}
            _ => {
                machine.path(
                    if call.name == "view" {
                        Role::Read
                    } else {
                        Role::Write
                    },
                    arg,
                    state,
                );
            }
        }
        at += 1;
    }
    if let Some(Out::Known(text)) = state.input.clone() {
        for line in text.lines().take(128) {
            commands(machine, line, state);
        }
    }
    Out::Unknown(Taint::NONE)
}

/// Commands of an editor's command line.
fn commands(machine: &mut Machine<'_>, text: &str, state: &State) {
    for command in text.split('|').chain([text]) {
        let command = command.trim().trim_start_matches([':', ' ', '%']);
        let bang = command.find('!').map(|at| command[at + 1..].trim());
        if let Some(code) = bang {
            machine.inner(code, &mut state.clone());
        }
        for word in [
            "w ", "w! ", "write ", "write! ", "sav ", "saveas ", "wq ", "wq! ", "update ",
        ] {
            if let Some(file) = command.strip_prefix(word)
                && !file.trim().starts_with('!')
            {
                machine.path(Role::Write, &Field::lit(file.trim()), state);
            }
        }
        for word in ["e ", "edit ", "r ", "read ", "tabe "] {
            if let Some(file) = command.strip_prefix(word)
                && !file.trim().starts_with('!')
            {
                machine.path(Role::Read, &Field::lit(file.trim()), state);
            }
        }
        if [
            "call",
            "lua",
            "py",
            "python",
            "ruby",
            "perl",
            "echo system",
            "silent",
            "terminal",
            "term",
            "let",
            "exe",
        ]
        .iter()
        .any(|word| command.starts_with(word))
        {
            super::inline::scan(machine, command, "vim", state);
            let rest = command.split_once(' ').map_or("", |(_, rest)| rest);
            machine.suspect(rest.trim_start_matches('!'), state);
        }
    }
}

fn emacs(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.act(&rules::opaque::INTERACTIVE);
    for arg in call.args {
        let text = arg.shown();
        if text.starts_with('(') || text.contains("(shell-command") {
            super::inline::scan(machine, &text, "lisp", state);
        }
    }
    Out::Unknown(Taint::NONE)
}

fn pager(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut log = false;
    for arg in call.args {
        let text = arg.prefix();
        if let Some(command) = text.strip_prefix('+') {
            let command = command.trim_start_matches('+');
            match command.strip_prefix(['!', '|', '#']) {
                Some(code) => machine.inner(code, &mut state.clone()),
                None if command.starts_with('v') || command.starts_with(':') => {
                    machine.act(&rules::opaque::INTERACTIVE)
                }
                None => {}
            }
        } else if text.starts_with("-o")
            || text.starts_with("-O")
            || text.starts_with("--log-file")
            || text.starts_with("--LOG-FILE")
        {
            let cut = text.find('=').map_or(2, |at| at + 1);
            let file = arg.after(cut);
            if file.parts.is_empty() {
                log = true;
            } else {
                machine.path(Role::Write, &file, state);
            }
        } else if text.starts_with("-k") || text.starts_with("--lesskey") {
            machine.act(&rules::opaque::OPTION);
        } else if !text.starts_with('-') {
            if log {
                machine.path(Role::Write, arg, state);
                log = false;
            } else {
                machine.read_file(arg, state);
            }
        }
    }
    state
        .input
        .clone()
        .filter(|_| call.args.is_empty())
        .unwrap_or(Out::Unknown(super::input_taint(state)))
}

fn man(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let args = spelled(
        call.args,
        &[
            "pager",
            "html",
            "preprocessor",
            "config-file",
            "local-file",
            "manpath",
        ],
        &[],
    );
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let text = arg.prefix();
        let code = match text.as_str() {
            "-P" | "--pager" | "-H" | "--html" | "--preprocessor" => {
                at += 1;
                args.get(at)
                    .cloned()
                    .filter(|_| text != "-H" && text != "--html")
            }
            _ if text.starts_with("--pager=") => Some(arg.after(8)),
            _ if text.starts_with("--html=") => Some(arg.after(7)),
            _ if text.starts_with("-P") || (text.starts_with("-H") && text.len() > 2) => {
                Some(arg.after(2))
            }
            "-C" | "--config-file" | "-l" | "--local-file" | "-M" | "--manpath" => {
                at += 1;
                if let Some(file) = args.get(at) {
                    machine.path(Role::Read, file, state);
                }
                if text == "-C" || text == "--config-file" {
                    machine.act(&rules::opaque::OPTION);
                }
                None
            }
            _ => {
                if text.contains('/') && !text.starts_with('-') {
                    machine.path(Role::Read, arg, state);
                }
                None
            }
        };
        if let Some(code) = code {
            machine.code_word(&code, &mut state.clone());
        }
        at += 1;
    }
    Out::Unknown(Taint::NONE)
}

fn editor(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.act(&rules::opaque::INTERACTIVE);
    for arg in call
        .args
        .iter()
        .filter(|arg| !arg.prefix().starts_with(['-', '+']))
    {
        machine.path(Role::Write, arg, state);
    }
    for arg in call.args {
        let text = arg.shown();
        machine.suspect(text.trim_start_matches([':', '!']), state);
    }
    Out::Unknown(Taint::NONE)
}

fn interactive(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.act(&rules::opaque::INTERACTIVE);
    for arg in call.args {
        let whole = arg.shown();
        // `--eval-command=shell rm`
        let value = whole
            .strip_prefix("--")
            .and_then(|text| text.split_once('='));
        let text = value.map_or(whole.as_str(), |(_, value)| value);
        for piece in [
            text,
            text.trim_start_matches("shell "),
            text.trim_start_matches('!'),
            text.split_once(':').map_or("", |(_, rest)| rest),
        ] {
            machine.suspect(
                piece.trim_start_matches("execute(").trim_end_matches(')'),
                state,
            );
        }
    }
    super::suspect_tail(machine, call.args, state);
    Out::Unknown(Taint::NONE)
}
