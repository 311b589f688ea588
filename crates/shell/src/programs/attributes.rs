//! Programs that change modes, owners and sizes of files.

use super::Handler;
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse};
use crate::place::Place;
use crate::rules;
use crate::value::{Out, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "setfattr" => attributes,
        "shred" | "truncate" | "wipe" => empty,
        _ => return None,
    })
}

/// Whether a mode lets a file run with its owner's authority.
pub(super) fn is_setuid(mode: &str) -> bool {
    let octal = mode.len() > 3 && mode.chars().all(|c| c.is_digit(8));
    if octal {
        let digit = mode
            .trim_start_matches('0')
            .chars()
            .next()
            .filter(|_| mode.trim_start_matches('0').len() > 3);
        return digit.is_some_and(|digit| matches!(digit, '2' | '4' | '6' | '7' | '3' | '5'));
    }
    mode.split(',').any(|part| {
        let adds = part.split_once(['+', '=']);
        adds.is_some_and(|(who, what)| {
            what.contains('s') && who.chars().all(|c| "ugoa".contains(c))
        })
    })
}

fn is_open_to_all(mode: &str) -> bool {
    matches!(
        mode,
        "777"
            | "0777"
            | "666"
            | "0666"
            | "a+rwx"
            | "a+w"
            | "o+w"
            | "+rwx"
            | "a=rwx"
            | "ugo+rwx"
            | "o+rwx"
            | "000"
            | "0000"
    )
}

fn attributes(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    // A mode such as `-x` looks like an option.
    let parsed = parse(
        call.args,
        "reference from m modify x-file M n v",
        Order::Any,
    );
    let tree = parsed.has(&["R", "recursive"]);
    let by_option = parsed.has(&["reference", "m", "modify", "M", "b", "k", "remove-all"]);
    let minus_mode = call.name == "chmod"
        && parsed
            .options
            .iter()
            .any(|given| "rwxst".contains(given.name.as_str()));
    let (mode, files) = match parsed.operands.split_first() {
        Some((mode, files)) if !by_option && !minus_mode => (Some(mode.shown()), files.to_vec()),
        _ => (None, parsed.operands.clone()),
    };
    for reference in parsed.values(&["reference"]) {
        let reference = reference.clone();
        machine.path(Role::Read, &reference, state);
    }
    if let Some(mode) = &mode {
        if call.name == "chmod" && is_setuid(mode) {
            machine.act(&rules::privilege::SETUID);
        }
        if tree && call.name == "chmod" && is_open_to_all(mode) {
            machine.act(&rules::destructive::ATTRIBUTES_TREE);
        }
    }
    if tree && call.name != "chmod" {
        machine.act(&rules::destructive::ATTRIBUTES_TREE);
    }
    if call.name == "chattr" {
        machine.act(&rules::privilege::RAISE);
    }
    let role = if tree {
        Role::AttributesTree
    } else {
        Role::Attributes
    };
    for file in &files {
        machine.path(role, file, state);
    }
    Out::empty()
}

fn empty(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        "s n size r reference iterations random-source o-file remove-how",
        Order::Any,
    );
    for operand in &parsed.operands {
        let place = machine.target(operand, state).place;
        if call.name == "truncate" {
            // Names that a list gives: all of the workspace, or many of it.
            if operand.prefix().is_empty() && operand.has_unknown() {
                machine.act(match operand.taint().has(Taint::ALL) {
                    true => &rules::destructive::WORKSPACE,
                    false => &rules::destructive::BULK,
                });
            }
            machine.path(Role::Write, operand, state);
            continue;
        }
        if matches!(place, Place::Inside | Place::Protected(_)) {
            machine.act(&rules::destructive::EMPTIED);
        }
        machine.path(Role::Delete, operand, state);
        if place == Place::Device {
            machine.act(&rules::destructive::DEVICE);
        }
    }
    Out::empty()
}
