//! Programs that make, change and remove files.

use super::Handler;
use super::attributes::is_setuid;
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, Parsed, parse, spelled};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Part, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "rm" | "rmdir" | "unlink" | "trash" | "srm" | "trash-put" | "gio" => remove,
        "cp" | "install" | "scp-local" => copy,
        "mv" => move_,
        "rimraf" | "del-cli" => remove_all,
        "ln" | "link" => link,
        "rsync" => rsync,
        "tee" | "sponge" => tee,
        "dd" => dd,
        "touch" | "mkdir" | "mkfifo" | "mknod" | "mktemp" => make,
        _ => return None,
    })
}

fn remove(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(call.args, "", Order::Any);
    let mut operands = parsed.operands.as_slice();
    if call.name == "gio" {
        match operands.split_first() {
            Some((verb, rest)) if matches!(verb.shown().as_str(), "trash" | "remove") => {
                operands = rest
            }
            _ => {
                machine.act(&rules::opaque::OPTION);
                return Out::Unknown(Taint::NONE);
            }
        }
    }
    let tree = parsed.has(&["r", "R", "recursive"]);
    for operand in operands {
        removed(machine, operand, tree, state);
    }
    // An option that can't be told may make it recursive.
    Out::empty()
}

/// A program that removes trees without being asked to.
fn remove_all(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    for operand in &parse(call.args, "", Order::Any).operands {
        removed(machine, operand, true, state);
    }
    Out::empty()
}

/// Notes that a path is removed.
pub(super) fn removed(machine: &mut Machine<'_>, operand: &Field, tree: bool, state: &State) {
    let role = if tree { Role::DeleteTree } else { Role::Delete };
    let target = machine.path(role, operand, state);
    // Everything in a folder of the workspace is a tree, too.
    if !tree && target.wide && target.place == Place::Inside {
        machine.act(&rules::destructive::BULK);
    }
}

/// Sources and destination of a program that copies.
fn ends(parsed: &Parsed) -> (Vec<Field>, Option<Field>) {
    if let Some(folder) = parsed.value(&["t", "target-directory"]) {
        return (parsed.operands.clone(), Some(folder.clone()));
    }
    match parsed.operands.split_last() {
        Some((last, sources)) if !sources.is_empty() => (sources.to_vec(), Some(last.clone())),
        _ => (parsed.operands.clone(), None),
    }
}

/// Whether a secret is to be had afterwards under a name that doesn't say so.
fn leaves_its_name(
    machine: &Machine<'_>,
    source: &Field,
    to: &Field,
    parsed: &Parsed,
    state: &State,
) -> bool {
    let is_folder = to.shown().ends_with('/')
        || parsed.has(&["t", "target-directory"])
        || machine.target(to, state).place == Place::Whole;
    let name = match is_folder {
        true => {
            let source = source.shown();
            let name = source.rsplit('/').next().unwrap_or_default();
            Field::lit(&format!("{}/{name}", to.shown()))
        }
        false => to.clone(),
    };
    !matches!(
        machine.target(&name, state).place,
        Place::SecretInside | Place::Secret
    )
}

/// Notes what is written where one source lands in a destination: it may be a folder.
pub(super) fn landed(
    machine: &mut Machine<'_>,
    source: Option<&Field>,
    to: &Field,
    state: &mut State,
) {
    let target = machine.path(Role::Write, to, state);
    let name = source.and_then(|source| {
        source
            .known()
            .map(|text| text.trim_end_matches('/').to_owned())
    });
    let base = name
        .as_deref()
        .and_then(|name| name.rsplit('/').next())
        .unwrap_or_default()
        .to_owned();
    if matches!(
        target.place,
        Place::Whole | Place::Inside | Place::GitInternal | Place::History
    ) && !base.is_empty()
    {
        let mut below = to.clone();
        below.push(Part::Lit {
            text: format!("/{base}"),
            quoted: true,
        });
        let inner = machine.target(&below, state);
        if matches!(inner.place, Place::Protected(_)) || inner.place == Place::GitInternal {
            machine.path(Role::Write, &below, state);
        }
    }
    let is_secret = source.is_some_and(|source| {
        matches!(
            machine.target(source, state).place,
            Place::Secret | Place::SecretInside
        )
    });
    if is_secret && let Some(path) = &target.path {
        for copy in [format!("{path}/{base}"), path.clone()] {
            machine.hold(&copy);
            state.files.insert(copy, Out::Unknown(Taint::SECRET));
        }
        return;
    }
    // What is known of the source is known of the copy.
    let content = source.map(|source| machine.target(source, state).path);
    if let (Some(path), Some(from)) = (target.path, content)
        && let Out::Known(text) = machine.content(&from, state)
    {
        for copy in [format!("{path}/{base}"), path] {
            machine.hold(&copy);
            state.files.insert(copy, Out::Known(text.clone()));
        }
    }
}

fn copy(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let valued = if call.name == "install" {
        "t target-directory m mode o owner g group S suffix strip-program"
    } else {
        "t target-directory S suffix sparse no-preserve"
    };
    let parsed = parse(call.args, valued, Order::Any);
    if let Some(program) = parsed.value(&["strip-program"]) {
        let program = program.clone();
        machine.code_word(&program, state);
    }
    for mode in parsed.values(&["m", "mode"]) {
        if is_setuid(&mode.shown()) {
            machine.act(&rules::privilege::SETUID);
        }
    }
    if call.name == "install" && parsed.has(&["d", "directory"]) {
        for folder in &parsed.operands {
            machine.path(Role::Write, folder, state);
        }
        return Out::empty();
    }
    let (sources, to) = ends(&parsed);
    for source in &sources {
        machine.read_file(source, state);
    }
    if let Some(to) = to {
        landed(machine, sources.first(), &to, state);
        if parsed.has(&["s", "symbolic-link", "l", "link"]) && call.name == "cp" {
            linked(machine, sources.first(), &to, state);
        }
    }
    Out::empty()
}

fn move_(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(call.args, "t target-directory S suffix", Order::Any);
    let (sources, to) = ends(&parsed);
    for source in &sources {
        let place = machine.target(source, state).place;
        // Moved away is removed, but inside the workspace nothing is lost.
        let role = match place {
            Place::Whole | Place::History => Role::DeleteTree,
            Place::Inside | Place::Generated | Place::SecretInside => Role::Read,
            _ => Role::Delete,
        };
        if place != Place::SecretInside {
            machine.path(role, source, state);
        } else if to
            .as_ref()
            .is_some_and(|to| leaves_its_name(machine, source, to, &parsed, state))
        {
            machine.path(Role::Read, source, state);
        }
        if place == Place::Secret {
            machine.path(Role::Read, source, state);
        }
        machine.path(Role::Away, source, state);
    }
    if let Some(to) = to {
        // To a place that keeps nothing.
        if machine.target(&to, state).place == Place::Stream {
            machine.act(&rules::destructive::OUTSIDE);
        }
        landed(machine, sources.first(), &to, state);
    }
    Out::empty()
}

fn link(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(call.args, "t target-directory S suffix", Order::Any);
    let (mut sources, mut to) = ends(&parsed);
    if to.is_none()
        && let Some(source) = sources.first()
    {
        to = source
            .known()
            .and_then(|text| text.rsplit('/').next().map(Field::lit));
    }
    let symbolic = parsed.has(&["s", "symbolic"]);
    for source in &mut sources {
        // A relative link leads from where it lies.
        if symbolic
            && !source.prefix().starts_with('/')
            && let Some(folder) = to.as_ref().and_then(|to| {
                to.known()
                    .and_then(|to| to.rsplit_once('/').map(|(folder, _)| folder.to_owned()))
            })
        {
            let mut moved = Field::lit(&format!("{folder}/"));
            for part in source.parts.clone() {
                moved.push(part);
            }
            *source = moved;
        }
        let target = machine.path(Role::LinkTo, source, state);
        if let Some(to) = &to
            && target.place == Place::SecretInside
            && leaves_its_name(machine, source, to, &parsed, state)
        {
            machine.path(Role::Read, source, state);
        }
    }
    if let Some(to) = to {
        machine.path(Role::Write, &to, state);
        linked(machine, sources.first(), &to, state);
    }
    Out::empty()
}

/// Remembers a link, so that what goes through it is seen.
fn linked(machine: &mut Machine<'_>, source: Option<&Field>, to: &Field, state: &mut State) {
    let Some(source) = source else {
        return;
    };
    let (from, at) = (
        machine.target(source, state).path,
        machine.target(to, state).path,
    );
    if let (Some(from), Some(at)) = (from, at)
        && state.links.len() < 16
        && from != at
    {
        let base = from.rsplit('/').next().unwrap_or_default().to_owned();
        if machine.target(to, state).place == Place::Whole {
            state.links.insert(format!("{at}/{base}"), from);
        } else {
            state.links.insert(at, from);
        }
    }
}

fn rsync(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        &spelled(
            call.args,
            &[
                "daemon",
                "partial-dir",
                "only-write-batch",
                "remove-source-files",
                "delete",
                "config",
                "dparam",
            ],
            &["remove-sent-files", "partial", "compress", "d"],
        ),
        "e rsh rsync-path f filter exclude exclude-from include include-from files-from log-file temp-dir T \
         compare-dest copy-dest link-dest backup-dir bwlimit password-file port timeout max-size min-size suffix B \
         write-batch only-write-batch partial-dir read-batch out-format info chmod chown config dparam M",
        Order::Any,
    );
    for program in parsed.values(&["e", "rsh", "rsync-path"]) {
        let program = program.clone();
        machine.code_word(&program, state);
    }
    if parsed.has(&["daemon", "config", "dparam"]) {
        machine.act(&rules::network::LISTEN);
    }
    for path in parsed.values(&[
        "log-file",
        "temp-dir",
        "T",
        "backup-dir",
        "write-batch",
        "only-write-batch",
        "partial-dir",
    ]) {
        let path = path.clone();
        machine.path(Role::Write, &path, state);
    }
    for path in parsed.values(&[
        "files-from",
        "exclude-from",
        "include-from",
        "password-file",
        "read-batch",
    ]) {
        let path = path.clone();
        machine.path(Role::Read, &path, state);
    }
    let (sources, to) = ends(&parsed);
    let deletes = parsed
        .options
        .iter()
        .any(|given| given.name.starts_with("del"));
    let mut remote = false;
    let mut secret = false;
    for source in &sources {
        if super::net::is_remote(source) {
            remote = true;
        } else {
            secret |= machine.read_file(source, state).taint().has(Taint::SECRET);
            if parsed.has(&["remove-source-files"]) {
                machine.path(Role::Delete, source, state);
                machine.path(Role::Away, source, state);
            }
        }
    }
    if let Some(to) = &to {
        if super::net::is_remote(to) {
            remote = true;
            if deletes {
                machine.act(&rules::remote::CLOUD_DESTROY);
            }
            if secret {
                machine.act(&rules::secret::UPLOAD);
            }
        } else {
            let place = machine.target(to, state).place;
            if deletes {
                machine.path(Role::DeleteTree, to, state);
            }
            if place != Place::Whole || !deletes {
                machine.path(Role::Write, to, state);
            }
        }
    }
    if remote {
        for other in sources
            .iter()
            .chain(&to)
            .filter(|field| super::net::is_remote(field))
        {
            machine.network(super::net::host(other));
        }
    }
    Out::Unknown(Taint::NONE)
}

fn tee(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(call.args, "", Order::Any);
    let input = state.input.clone().unwrap_or(Out::Unknown(Taint::NONE));
    for operand in &parsed.operands {
        let target = machine.path(Role::Write, operand, state);
        if let Some(path) = target.path {
            machine.given(&path, &input, state);
            if !parsed.has(&["a", "append"]) {
                machine.hold(&path);
            }
            state.files.insert(path, input.clone());
        }
        if operand.shown().starts_with("/dev/tcp") && input.taint().has(Taint::SECRET) {
            machine.act(&rules::secret::UPLOAD);
        }
    }
    input
}

fn dd(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut out = state.input.clone().unwrap_or(Out::Unknown(Taint::NONE));
    let mut writes = false;
    for arg in call.args {
        let prefix = arg.prefix();
        if prefix.starts_with("if=") {
            out = machine.read_file(&arg.after(3), state);
        } else if prefix.starts_with("of=") {
            writes = true;
            machine.path(Role::Write, &arg.after(3), state);
        } else if arg.has_unknown() && !prefix.contains('=') {
            machine.partial("an operand of dd that isn't known");
        }
    }
    if writes { Out::empty() } else { out }
}

fn make(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        if call.name == "mktemp" {
            "p tmpdir suffix"
        } else {
            "m mode d date t r reference Z context"
        },
        Order::Any,
    );
    if call.name == "mktemp" {
        // Its name is made in scratch space, which a person may want to know.
        let here = parsed
            .operands
            .iter()
            .any(|template| machine.target(template, state).place == Place::Inside);
        let inside = parsed.value(&["p", "tmpdir"]).is_some_and(|folder| {
            matches!(
                machine.target(folder, state).place,
                Place::Whole | Place::Inside | Place::Generated
            )
        });
        if !(here || inside) || parsed.has(&["t"]) {
            machine.act(&rules::place::WRITE_TEMP);
        }
        return Out::Unknown(Taint::NONE);
    }
    for file in parsed
        .values(&["r", "reference"])
        .filter(|_| call.name == "touch")
    {
        let file = file.clone();
        machine.path(Role::Read, &file, state);
    }
    for mode in parsed
        .values(&["m", "mode"])
        .filter(|_| call.name == "mkdir")
    {
        if is_setuid(&mode.shown()) {
            machine.act(&rules::privilege::SETUID);
        }
    }
    let operands = if call.name == "mknod" {
        parsed.operands.get(..1).unwrap_or_default()
    } else {
        &parsed.operands
    };
    for operand in operands {
        let target = machine.path(Role::Write, operand, state);
        state.made.extend(target.path);
    }
    Out::empty()
}
