//! `ssh` and what copies over it: options that run programs here, commands that run there.

use super::net::{args_taint, is_remote, talks, written};
use super::{Handler, input_taint};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, Parsed, parse};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "ssh" | "autossh" | "mosh" | "sshpass" | "slogin" => ssh,
        "scp" | "sftp" | "sshfs" | "lftp" | "ftp" | "tftp" | "rcp" | "smbclient" => transfer,
        _ => return None,
    })
}

fn ssh(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        "b B c D E e F I i J L l m O o p Q R S W w f-x",
        Order::First,
    );
    if parsed.has(&["V"]) || call.args.first().is_some_and(|arg| arg.prefix() == "-Q") {
        return Out::Unknown(Taint::NONE);
    }
    if call.name == "sshpass" {
        let rest = parse(call.args, "p f e-x P d", Order::First).operands;
        return machine.call(&rest, state);
    }
    options_of_ssh(machine, &parsed, state);
    if parsed.has(&["L", "D", "R"]) {
        machine.act(&rules::network::LISTEN);
    }
    // Options may follow the host.
    let mut parsed = parsed;
    if let Some((to, rest)) = parsed.operands.split_first()
        && rest
            .first()
            .is_some_and(|next| next.prefix().starts_with('-'))
    {
        let after = parse(
            rest,
            "b B c D E e F I i J L l m O o p Q R S W w",
            Order::First,
        );
        options_of_ssh(machine, &after, state);
        let mut operands = vec![to.clone()];
        operands.extend(after.operands);
        parsed.operands = operands;
    }
    let Some((to, command)) = parsed.operands.split_first() else {
        machine.network(None);
        return Out::Unknown(Taint::LINE);
    };
    if to.prefix().starts_with('-') {
        machine.act(&rules::opaque::OPTION);
    }
    talks(
        machine,
        Some(to),
        args_taint(call.args).and(input_taint(state)),
    );
    machine.act(&rules::network::REMOTE_COMMAND);
    // What runs over there can destroy what is over there.
    if !command.is_empty() {
        let text: Vec<String> = command.iter().map(Field::shown).collect();
        machine.suspect(&text.join(" "), state);
    } else if let Some(Out::Known(text)) = state.input.clone() {
        machine.suspect(&text, state);
    }
    Out::Unknown(Taint::LINE)
}

/// The hosts that a connection goes through.
fn hop(machine: &mut Machine<'_>, hops: &Field) {
    match hops.known() {
        Some(text) => {
            for one in text.split(',') {
                machine.network(super::net::host(&Field::lit(one)));
            }
        }
        None => machine.network(None),
    }
}

/// `-o ProxyCommand=…` and its kin run programs here.
pub(super) fn options_of_ssh(machine: &mut Machine<'_>, parsed: &Parsed, state: &State) {
    for hops in parsed.values(&["J", "W"]) {
        hop(machine, hops);
    }
    for option in parsed.values(&["o"]) {
        let text = option.shown();
        let (name, value) = text.split_once(['=', ' ']).unwrap_or((text.as_str(), ""));
        let value = value.trim();
        match name.trim().to_lowercase().as_str() {
            "proxycommand" | "localcommand" | "knownhostscommand" | "match" if value != "none" => {
                machine.inner(value, &mut state.clone());
            }
            "proxyjump" | "hostname" if value != "none" => hop(machine, &Field::lit(value)),
            "permitlocalcommand" | "proxyusefdpass" => {}
            "pkcs11provider" | "securitykeyprovider" | "include" => {
                machine.act(&rules::opaque::OPTION)
            }
            "stricthostkeychecking" | "userknownhostsfile" => {}
            _ => {}
        }
    }
    for file in parsed.values(&["F", "i", "S"]) {
        let place = machine.target(file, state).place;
        // A key that is used isn't shown.
        if place != Place::Secret {
            machine.path(Role::Read, file, state);
        }
    }
    for file in parsed.values(&["E"]) {
        machine.path(Role::Write, file, state);
    }
    if parsed.has(&["F", "I"]) {
        machine.act(&rules::opaque::OPTION);
    }
}

fn transfer(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(call.args, "c D F i J l o P S X b B e u", Order::Any);
    options_of_ssh(machine, &parsed, state);
    for program in parsed.values(&["S"]) {
        let program = program.clone();
        machine.code_word(&program, &mut state.clone());
    }
    for code in parsed.values(&["e", "c"]) {
        let text = code.shown();
        let text = text.trim_start_matches('!');
        machine.suspect(text, state);
    }
    let mut taint = args_taint(call.args);
    let mut told: Vec<String> = Vec::new();
    for code in parsed.values(&["e", "c"]) {
        told.extend(code.shown().split(';').map(str::to_owned));
    }
    if let Some(Out::Known(text)) = &state.input {
        told.extend(text.lines().map(str::to_owned));
    }
    for line in told.iter().take(64) {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("put" | "mput" | "reput" | "send") => {
                for word in words {
                    let file = match word.strip_prefix('~') {
                        Some(rest) => format!("{}{rest}", machine.world.home),
                        None => word.to_owned(),
                    };
                    taint = taint.and(machine.read_file(&Field::lit(&file), state).taint().risky());
                }
            }
            Some(word) if word.starts_with('!') => {
                machine.suspect(line.trim_start_matches(['!', ' ']), state)
            }
            _ => {}
        }
    }
    if let Some((last, sources)) = parsed.operands.split_last() {
        let to_remote = is_remote(last) || !matches!(call.name, "scp" | "rcp");
        for source in sources {
            if !is_remote(source) && matches!(call.name, "scp" | "rcp") {
                taint = taint.and(machine.read_file(source, state).taint().risky());
            }
        }
        if !to_remote {
            written(machine, last, state);
        }
    }
    let mut remotes = parsed.operands.iter().filter(|field| is_remote(field));
    talks(machine, remotes.next(), taint);
    for other in remotes {
        talks(machine, Some(other), taint);
    }
    Out::Unknown(Taint::REMOTE)
}
