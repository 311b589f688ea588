//! Programs that run another command: which of their words it begins with.

use super::{Handler, lists};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, parse};
use crate::rules::{self, Rule};
use crate::value::{Field, Out, Taint};

/// A wrapper: its options that take a value, how many operands come before the command, what it is
/// besides.
struct Wrapper {
    names: &'static str,
    valued: &'static str,
    skip: usize,
    rule: Option<&'static Rule>,
    /// Options whose value is shell code.
    code: &'static [&'static str],
    /// Options whose value is the folder that the command runs in.
    folder: &'static [&'static str],
    /// Options whose value is a file that is written.
    writes: &'static [&'static str],
}

const PLAIN: Wrapper = Wrapper {
    names: "",
    valued: "",
    skip: 0,
    rule: None,
    code: &[],
    folder: &[],
    writes: &[],
};

static WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: "nohup setsid time unbuffer catchsegv rlwrap proxychains proxychains4 torsocks \
        dbus-run-session fakeroot eatmydata chronic ltrace-none caffeinate cgexec linux32 linux64 \
        setarch arch xvfb-run noglob nocorrect pkgx aoss padsp primusrun optirun winpty coproc",
        valued: "f o t g s n e w p output",
        writes: &["o", "output"],
        ..PLAIN
    },
    Wrapper {
        names: "nice ionice chrt renice-run cpulimit",
        valued: "n adjustment c class classdata p T P D l",
        ..PLAIN
    },
    Wrapper {
        names: "timeout gtimeout",
        valued: "k s kill-after signal",
        skip: 1,
        ..PLAIN
    },
    Wrapper {
        names: "stdbuf",
        valued: "i o e input output error",
        ..PLAIN
    },
    Wrapper {
        names: "sudo",
        valued: "u user g group p prompt C close-from D chdir R chroot h host r role t type T command-timeout U other-user",
        rule: Some(&rules::privilege::RAISE),
        folder: &["D", "chdir"],
        ..PLAIN
    },
    Wrapper {
        names: "doas",
        valued: "u C a",
        rule: Some(&rules::privilege::RAISE),
        ..PLAIN
    },
    Wrapper {
        names: "pkexec gksudo kdesudo run0 sudo-rs please dzdo calife",
        valued: "u user",
        rule: Some(&rules::privilege::RAISE),
        ..PLAIN
    },
    Wrapper {
        names: "runuser setpriv gosu su-exec capsh",
        valued: "u user g group reuid regid groups",
        rule: Some(&rules::privilege::RAISE),
        code: &["c", "command"],
        ..PLAIN
    },
    Wrapper {
        names: "chroot",
        valued: "userspec groups",
        skip: 1,
        rule: Some(&rules::privilege::RAISE),
        ..PLAIN
    },
    Wrapper {
        names: "unshare nsenter bwrap firejail systemd-nspawn lxc-attach proot",
        valued: "t S G w r R bind",
        rule: Some(&rules::privilege::RAISE),
        ..PLAIN
    },
    Wrapper {
        names: "flock",
        valued: "w timeout E conflict-exit-code c command",
        skip: 1,
        code: &["c", "command"],
        ..PLAIN
    },
    Wrapper {
        names: "taskset",
        valued: "",
        skip: 1,
        ..PLAIN
    },
    Wrapper {
        names: "numactl prlimit trickle choom",
        valued: "N m C p i u d n",
        ..PLAIN
    },
    Wrapper {
        names: "strace ltrace",
        valued: "o e p s a E S u O P I b",
        writes: &["o"],
        ..PLAIN
    },
    Wrapper {
        names: "valgrind perf-run hyperfine-none gdbserver rr",
        valued: "",
        rule: Some(&rules::opaque::PROGRAM),
        ..PLAIN
    },
    Wrapper {
        names: "systemd-run",
        valued: "u unit p property E setenv slice uid gid on-active on-boot on-calendar description",
        rule: Some(&rules::persistence::SERVICE),
        folder: &["working-directory"],
        ..PLAIN
    },
    Wrapper {
        names: "systemd-inhibit dbus-launch ssh-agent i3-msg",
        valued: "what who why mode a t",
        ..PLAIN
    },
    Wrapper {
        names: "direnv-exec op-run doppler chamber aws-vault envchain sops-exec dotenv",
        valued: "",
        rule: Some(&rules::opaque::OPTION),
        ..PLAIN
    },
    Wrapper {
        names: "entr inotifywait-run watchexec nodemon",
        valued: "e w i d exec x",
        rule: Some(&rules::opaque::INTERACTIVE),
        code: &["exec", "x"],
        ..PLAIN
    },
];

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "env" | "genv" => env,
        "su" => su,
        "watch" | "hyperfine" | "script" | "sem" | "tmux" | "screen" | "expect" | "at"
        | "batch" | "sg" | "newgrp" => text_command,
        "busybox" | "toybox" | "coreutils" => applets,
        name if wrapper(name).is_some() => wrapped,
        _ => return None,
    })
}

fn wrapper(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| lists(wrapper.names, name))
}

fn wrapped(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let Some(wrapper) = wrapper(call.name) else {
        return Out::empty();
    };
    if let Some(rule) = wrapper.rule {
        machine.act(rule);
    }
    if matches!(
        call.name,
        "unshare"
            | "nsenter"
            | "bwrap"
            | "firejail"
            | "systemd-nspawn"
            | "lxc-attach"
            | "proot"
            | "capsh"
    ) {
        // Their options are many: wherever the command begins, it is looked at.
        super::suspect_tail(machine, call.args, state);
    }
    let parsed = parse(call.args, wrapper.valued, Order::First);
    for code in parsed.values(wrapper.code) {
        let code = code.clone();
        machine.code_word(&code, &mut state.clone());
    }
    for file in parsed.values(wrapper.writes) {
        let file = file.clone();
        machine.path(Role::Write, &file, state);
    }
    let mut inside = state.clone();
    for folder in parsed.values(wrapper.folder) {
        let path = machine.path(Role::Enter, folder, state).path;
        inside.enter(path);
    }
    let mut rest = parsed.operands.as_slice();
    // `sudo NAME=value command` and the like.
    while let Some((first, after)) = rest.split_first()
        && wrapper.skip == 0
        && is_assignment(first)
    {
        assigned(machine, first, &mut inside);
        rest = after;
    }
    if call.name == "sudo" && (parsed.has(&["e", "edit"])) {
        for file in rest {
            machine.path(Role::Write, file, state);
        }
        return Out::Unknown(Taint::NONE);
    }
    let rest = rest.get(wrapper.skip..).unwrap_or_default();
    let rest = match (call.name, rest.first().and_then(Field::known).as_deref()) {
        ("flock", Some("-c")) => {
            if let Some(code) = rest.get(1) {
                machine.code_word(code, &mut inside);
            }
            &[][..]
        }
        (_, Some("--")) => rest.get(1..).unwrap_or_default(),
        _ => rest,
    };
    if rest.is_empty() {
        return Out::Unknown(Taint::NONE);
    }
    let out = machine.call(rest, &mut inside);
    state.files = inside.files;
    out
}

fn is_assignment(field: &Field) -> bool {
    field
        .prefix()
        .split_once('=')
        .is_some_and(|(name, _)| super::builtins::plain_name(name))
}

fn assigned(machine: &mut Machine<'_>, field: &Field, state: &mut State) {
    let prefix = field.prefix();
    if let Some((name, _)) = prefix.split_once('=') {
        let value = field.after(name.len() + 1);
        super::environment(machine, name, &value, state);
        state.assign(name, value);
    }
}

fn env(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let parsed = parse(
        call.args,
        "u unset C chdir S split-string a argv0 P",
        Order::First,
    );
    let mut inside = state.clone();
    for folder in parsed.values(&["C", "chdir"]) {
        let path = machine.path(Role::Enter, folder, state).path;
        inside.enter(path);
    }
    let mut words: Vec<Field> = Vec::new();
    for text in parsed.values(&["S", "split-string"]) {
        let Some(known) = text.known() else {
            machine.unseen(text.taint());
            continue;
        };
        let known = known.into_owned();
        for word in crate::word::split_words(&known) {
            words.extend(machine.word(word, &mut inside));
        }
    }
    words.extend(parsed.operands);
    let mut rest = words.as_slice();
    while let Some((first, after)) = rest.split_first()
        && is_assignment(first)
    {
        assigned(machine, first, &mut inside);
        rest = after;
    }
    if rest.is_empty() {
        machine.act(&rules::secret::ENVIRONMENT);
        return Out::Unknown(Taint::SECRET);
    }
    // What env runs is a program, never a function or a builtin of this shell.
    inside.functions.clear();
    let out = machine.call(rest, &mut inside);
    state.files = inside.files;
    out
}

fn su(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.act(&rules::privilege::RAISE);
    let parsed = parse(call.args, "c command s shell g group G w", Order::Any);
    let mut inside = state.clone();
    for code in parsed.values(&["c", "command"]) {
        let code = code.clone();
        machine.code_word(&code, &mut inside);
    }
    Out::Unknown(Taint::NONE)
}

/// Programs that run shell code which they are given as words.
fn text_command(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut inside = state.clone();
    inside.output = Out::empty();
    match call.name {
        "watch" => {
            let parsed = parse(call.args, "n interval q equexit", Order::First);
            machine.act(&rules::opaque::INTERACTIVE);
            if parsed.has(&["x", "exec"]) {
                return machine.call(&parsed.operands, &mut inside);
            }
            joined(machine, &parsed.operands, &mut inside);
        }
        "hyperfine" => {
            let parsed = parse(
                call.args,
                "w warmup r runs p prepare c cleanup s setup S shell L export-json export-markdown export-csv m M n",
                Order::Any,
            );
            for code in parsed
                .operands
                .iter()
                .chain(parsed.values(&["p", "prepare", "c", "cleanup", "s", "setup"]))
            {
                machine.code_word(code, &mut inside);
            }
            for file in parsed.values(&["export-json", "export-markdown", "export-csv"]) {
                let file = file.clone();
                machine.path(Role::Write, &file, state);
            }
        }
        "script" => {
            let parsed = parse(call.args, "c command I O B T E o t", Order::First);
            let code: Vec<Field> = parsed.values(&["c", "command"]).cloned().collect();
            for code in &code {
                machine.code_word(code, &mut inside);
            }
            if let Some((file, command)) = parsed.operands.split_first() {
                machine.path(Role::Write, file, state);
                if !command.is_empty() {
                    machine.call(command, &mut inside);
                }
            }
            if code.is_empty() {
                machine.act(&rules::opaque::INTERACTIVE);
            }
        }
        "at" | "batch" => {
            machine.act(&rules::persistence::TIMER);
            if let Some(Out::Known(text)) = state.input.clone() {
                machine.inner(&text, &mut inside);
            }
        }
        "tmux" | "screen" => {
            let harmless = call
                .args
                .first()
                .and_then(Field::known)
                .is_some_and(|verb| {
                    matches!(verb.as_ref(), "ls" | "list-sessions" | "-ls" | "-V" | "-v")
                });
            if harmless {
                return Out::Unknown(Taint::NONE);
            }
            machine.act(&rules::opaque::INTERACTIVE);
            for arg in call.args {
                let text = arg.shown();
                machine.suspect(&text, state);
            }
            super::suspect_tail(machine, call.args, state);
        }
        "sg" | "newgrp" => {
            machine.act(&rules::privilege::RAISE);
            for arg in call.args.iter().skip(1) {
                let text = arg.shown();
                machine.suspect(&text, state);
            }
        }
        _ => {
            machine.act(&rules::opaque::CODE);
            for arg in call.args {
                let text = arg.shown();
                super::inline::scan(machine, &text, "tcl", state);
            }
        }
    }
    inside.output
}

/// Words that are one line of shell code together.
fn joined(machine: &mut Machine<'_>, words: &[Field], state: &mut State) {
    let mut line = Field::default();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            line.push(crate::value::Part::Lit {
                text: " ".to_owned(),
                quoted: true,
            });
        }
        for part in word.clone().quoted().parts {
            line.push(part);
        }
    }
    machine.code_word(&line, state);
}

fn applets(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let rest: &[Field] = match call.args.first().and_then(Field::known).as_deref() {
        Some(flag) if flag.starts_with("--coreutils-prog=") => {
            let mut words = vec![call.args[0].after("--coreutils-prog=".len())];
            words.extend(call.args[1..].iter().cloned());
            return machine.call(&words, state);
        }
        Some("--list" | "--help" | "--install") | None => &[],
        Some(_) => call.args,
    };
    if rest.is_empty() {
        Out::Unknown(Taint::NONE)
    } else {
        machine.call(rest, state)
    }
}
