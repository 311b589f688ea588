//! Containers: what of the machine they are handed, and what goes with them.

use super::Handler;
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::place::Place;
use crate::rules::{self, container};
use crate::value::{Field, Out, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    matches!(
        name,
        "docker"
            | "podman"
            | "nerdctl"
            | "docker-compose"
            | "podman-compose"
            | "buildah"
            | "lxc"
            | "lxd"
            | "crictl"
            | "ctr"
            | "colima"
            | "limactl"
            | "multipass"
            | "distrobox"
            | "toolbox"
            | "incus"
            | "apptainer"
            | "singularity"
    )
    .then_some(run as Handler)
}

fn run(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let words: Vec<String> = call.args.iter().map(Field::shown).collect();
    let line = words.join(" ");
    let plain: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let verb = plain.first().copied().unwrap_or_default();
    let second = plain.get(1).copied().unwrap_or_default();
    if matches!(
        line.as_str(),
        "version"
            | "--version"
            | "-v"
            | "help"
            | "context ls"
            | "buildx version"
            | "compose version"
    ) {
        return Out::Unknown(Taint::NONE);
    }
    let has = |flags: &[&str]| words.iter().any(|word| flags.contains(&word.as_str()));
    if matches!(
        verb,
        "run" | "create" | "exec" | "compose" | "container" | "service" | "build"
    ) || call.name.ends_with("compose")
        || matches!(call.name, "apptainer" | "singularity")
    {
        handed(machine, call.args, state);
    }
    let destroys = match (verb, second) {
        (
            "system" | "volume" | "image" | "container" | "network" | "builder" | "buildx"
            | "images",
            "prune" | "rm" | "remove" | "reset",
        ) => true,
        ("rmi", _) => true,
        ("swarm", "leave")
        | ("stack", "rm")
        | ("service", "rm")
        | ("secret", "rm")
        | ("node", "rm")
        | ("config", "rm")
        | ("machine", "rm")
        | ("context", "rm")
        | ("plugin", "rm") => true,
        ("rm" | "delete" | "destroy", _) => {
            has(&[
                "-f",
                "--force",
                "-v",
                "--volumes",
                "-fv",
                "-vf",
                "-rf",
                "-a",
                "--all",
            ]) || line.contains('…')
                || call.name == "lxc"
                || call.name == "incus"
        }
        ("compose", "down") | ("down", _) => has(&["-v", "--volumes", "--rmi"]),
        ("compose", "rm") => has(&["-v", "-f", "-fv", "-fsv", "-sf"]),
        _ => false,
    };
    machine.act(if destroys {
        &container::DESTROY
    } else if matches!(
        verb,
        "ps" | "images"
            | "logs"
            | "inspect"
            | "stats"
            | "info"
            | "top"
            | "port"
            | "history"
            | "events"
            | "df"
            | "search"
            | "list"
            | "ls"
            | "diff"
    ) || matches!(
        second,
        "ls" | "list" | "inspect" | "ps" | "logs" | "config" | "images" | "df"
    ) {
        &container::LOOK
    } else {
        &container::RUN
    });
    if matches!(verb, "cp" | "export" | "save") {
        let operands: Vec<&Field> = call
            .args
            .iter()
            .filter(|arg| !arg.prefix().starts_with('-'))
            .skip(1)
            .collect();
        if let [from, to] = operands.as_slice() {
            if !super::net::is_remote(from) {
                machine.read_file(from, state);
            }
            if !super::net::is_remote(to) {
                machine.path(Role::Write, to, state);
            }
        }
        for (at, word) in words.iter().enumerate() {
            if matches!(word.as_str(), "-o" | "--output")
                && let Some(file) = call.args.get(at + 1)
            {
                machine.path(Role::Write, file, state);
            }
        }
    }
    // In a container that runs already, or in one that was handed the machine, harm is harm.
    if verb == "exec" || second == "exec" {
        super::suspect_tail(machine, call.args, state);
    }
    Out::Unknown(Taint::NONE)
}

/// What of the machine a container is handed.
fn handed(machine: &mut Machine<'_>, args: &[Field], state: &State) {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let text = arg.prefix();
        let (name, mut value) = match text.split_once('=') {
            Some((name, _)) if name.starts_with('-') => {
                (name.to_owned(), Some(arg.after(name.len() + 1)))
            }
            _ => (text.clone(), None),
        };
        let attached = name.starts_with("-v") && !name.starts_with("--") && name.len() > 2;
        if attached {
            value = Some(arg.after(2));
        }
        let next = || args.get(at + 1).cloned();
        let key = if attached { "-v" } else { name.as_str() };
        match key {
            "-v" | "--volume" | "--bind" | "-B" => {
                if let Some(value) = value.or_else(next) {
                    mounted(machine, &value, state);
                }
            }
            "--mount" => {
                if let Some(value) = value.or_else(next) {
                    let shown = value.shown();
                    for part in shown.split(',') {
                        if let Some(source) = part
                            .strip_prefix("source=")
                            .or_else(|| part.strip_prefix("src="))
                        {
                            mounted(machine, &Field::lit(&format!("{source}:/x")), state);
                        }
                    }
                }
            }
            "--privileged" | "--device" | "--cgroup-parent" => machine.act(&container::HOST),
            "--cap-add" | "--security-opt" => {
                let value = value
                    .or_else(next)
                    .map(|value| value.shown().to_uppercase())
                    .unwrap_or_default();
                if value.contains("ALL")
                    || value.contains("SYS_")
                    || value.contains("UNCONFINED")
                    || value.contains("DAC_")
                    || value.contains("NET_ADMIN")
                    || value.contains("DISABLE")
                {
                    machine.act(&container::HOST);
                }
            }
            "--pid" | "--ipc" | "--uts" | "--userns" | "--cgroupns" | "--net" | "--network"
                if value
                    .clone()
                    .or_else(next)
                    .is_some_and(|value| value.shown() == "host") =>
            {
                machine.act(if key.starts_with("--net") {
                    &rules::network::LISTEN
                } else {
                    &container::HOST
                });
            }
            "--env-file" | "-f" | "--file" => {
                if let Some(file) = value.or_else(next) {
                    machine.path(Role::Read, &file, state);
                }
            }
            "-p" | "--publish" => machine.act(&rules::network::LISTEN),
            _ => {}
        }
        at += 1;
    }
}

/// `host:inside[:ro]`.
fn mounted(machine: &mut Machine<'_>, value: &Field, state: &State) {
    let prefix = value.prefix();
    let source = prefix.split(':').next().unwrap_or_default();
    if source.is_empty() || !(source.starts_with(['/', '.', '~'])) {
        return;
    }
    let target = machine.target(&Field::lit(source), state);
    match target.place {
        Place::Inside | Place::Generated | Place::Whole | Place::Readable => {}
        Place::Temp => machine.act(&rules::place::WRITE_TEMP),
        _ => machine.act(&container::HOST),
    }
}
