//! Laws of the verdict over every line of the corpus.

use deputize_shell::Answer;
use proptest::prelude::*;

use crate::{answer, own_corpus, verdict};

/// A line in single quotes, as a shell reads it back.
fn quoted(line: &str) -> String {
    format!("'{}'", line.replace('\'', "'\\''"))
}

/// Whether a line is whole: nothing in it is left open that would swallow what comes after it.
fn is_whole(line: &str) -> bool {
    deputize_shell::first_opinion(line).is_some()
        && !line.contains("<<")
        && !line.contains('#')
        && !line.ends_with('\\')
}

/// G5: wrapping a command never makes it safer.
#[test]
fn wrapping_never_makes_a_line_safer() {
    let mut safer: Vec<String> = Vec::new();
    for (line, ..) in own_corpus().into_iter().filter(|row| is_whole(&row.0)) {
        let alone = answer(&line);
        let wrapped = [
            format!("( {line}\n)"),
            format!("{{ {line}\n}}"),
            format!("if true; then {line}\nfi"),
            format!("while true; do {line}\ndone"),
            format!("bash -c {}", quoted(&line)),
            format!("sh -c {}", quoted(&line)),
            format!("eval {}", quoted(&line)),
            format!("sudo bash -c {}", quoted(&line)),
            format!("timeout 5 bash -c {}", quoted(&line)),
            format!("env UNUSED=1 nohup bash -c {}", quoted(&line)),
            format!("echo \"$(\n{line}\n)\""),
            format!("f() {{ {line}\n}}; f"),
            format!("{line} & wait"),
        ];
        for wrapped in wrapped {
            // What a substitution prints is no longer shown, and a variable of a positional is another.
            let same_world = !line.contains("$1") && !line.contains("${1") && !line.contains("$@");
            if same_world && answer(&wrapped) < alone {
                safer.push(wrapped);
            }
        }
    }
    assert_eq!(safer, [""; 0]);
}

/// G5: wrapping a simple command in a program that runs it never makes it safer.
#[test]
fn wrappers_never_make_a_command_safer() {
    let mut safer: Vec<String> = Vec::new();
    for (line, ..) in own_corpus() {
        let simple = line
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || " /.-_~'\"".contains(c))
            && is_whole(&line);
        let first = line.split_whitespace().next().unwrap_or_default();
        let own = [
            "cd", "pushd", "eval", "export", "declare", "alias", "unalias", "trap", "source", ".",
            "set", "history", "builtin", "exec", "command", "coproc", "time", "if", "type", "for",
            "f()",
        ];
        if !simple || own.contains(&first) {
            continue;
        }
        let alone = answer(&line);
        for wrapper in [
            "env",
            "nice",
            "timeout 9",
            "nohup",
            "setsid",
            "stdbuf -oL",
            "sudo",
            "xargs",
            "command",
            "busybox",
            "flock lock",
            "env -i PATH=/bin",
            "time",
            "exec",
            "!",
            "watch",
            // The same with options: one that takes a value swallows the command's name where the table
            // is wrong about it.
            "setsid -f",
            "setsid --wait",
            "nice -n 5",
            "nice -5",
            "ionice -c 3 -t",
            "ionice -c3",
            "timeout -s KILL 9",
            "timeout --foreground -k 1 9",
            "time -p",
            "nohup --",
            "env -u A",
            "env --",
            "stdbuf -o L -e0",
            "sudo -n",
            "sudo -u root -E",
            "doas -n",
            "chrt -b 0",
            "taskset -c 1",
            "strace -f",
            "strace -f -o out",
            "ltrace -S",
            "chronic -v",
            "unbuffer -p",
            "caffeinate -i",
            "fakeroot --",
            "xvfb-run -a",
            "flock -n lock",
            "flock -w 3 lock",
            "prlimit --nofile=9",
            "numactl -N 0",
            "proxychains4 -q",
            "torsocks -i",
            "rlwrap -a",
            "dbus-run-session --",
            "systemd-run --user",
            "cgexec -g cpu:x",
            "setarch -R",
            "xargs -n1 -r",
            "exec -a x",
            "command --",
            "nsenter -t 1 -m",
            "unshare -r",
            "firejail --quiet",
            "choom -n 5 --",
            "trickle -s -d 5",
            "busybox nice",
        ] {
            // `watch` makes one text of its words: quotes are gone.
            if wrapper == "watch" && line.contains(['\'', '"']) {
                continue;
            }
            let wrapped = format!("{wrapper} {line}");
            if answer(&wrapped) < alone {
                safer.push(wrapped);
            }
        }
    }
    assert_eq!(safer, [""; 0]);
}

/// G5: more commands never make a line safer.
#[test]
fn more_commands_never_make_a_line_safer() {
    let mut safer: Vec<String> = Vec::new();
    for (line, ..) in own_corpus().into_iter().filter(|row| is_whole(&row.0)) {
        let alone = answer(&line);
        for more in [
            format!("{line}\nls"),
            format!("{line}; echo done"),
            format!("true\n{line}"),
            format!("{line} || true"),
            format!("ls && {line}"),
        ] {
            if line.ends_with(['&', ';']) || line.contains('\n') {
                continue;
            }
            // A value that is only set where `ls` succeeds isn't followed through what a program prints of it.
            if more.starts_with("ls") && line.contains("$(printf") {
                continue;
            }
            if answer(&more) < alone {
                safer.push(more);
            }
        }
    }
    assert_eq!(safer, [""; 0]);
}

/// G5: as an argument of a program that prints or searches, a line is text.
#[test]
fn quoting_never_turns_data_into_a_command() {
    let mut stopped: Vec<String> = Vec::new();
    for (line, ..) in own_corpus()
        .into_iter()
        .filter(|row| row.2 != "unicode-crlf")
    {
        // A carriage return ends a line elsewhere, and hidden characters are asked about anywhere.
        let hides = verdict(&line)
            .voices
            .iter()
            .any(|voice| voice.rule.id == "opaque.hidden");
        if hides || line.contains('\r') {
            continue;
        }
        let data = quoted(&line);
        for text in [
            format!("echo {data}"),
            format!("printf '%s\\n' {data}"),
            format!("grep -F -e {data} a.txt"),
            format!("git commit -m {data}"),
            format!("git log --grep={data}"),
            format!("x={data}; echo \"$x\""),
            format!("cat > notes.txt <<'END_OF_TEXT'\n{line}\nEND_OF_TEXT"),
            format!("test {data} = x"),
        ] {
            if answer(&text) != Answer::Allow {
                stopped.push(text);
            }
        }
    }
    assert_eq!(stopped, [""; 0]);
}

proptest! {
    /// G5: any text in single quotes is text.
    #[test]
    fn any_quoted_text_is_text(text in "[ -~\n]{0,80}") {
        prop_assert_eq!(answer(&format!("echo {}", quoted(&text))), Answer::Allow);
    }

    /// G6: a literal that destroys is denied however it is quoted and spaced.
    #[test]
    fn quotes_and_spaces_hide_nothing(cuts in prop::collection::vec(0..6_u8, 11), spaces in 1..4_usize) {
        let mut line = String::new();
        for (at, c) in "rm -rf /etc".chars().enumerate() {
            if c == ' ' {
                line.push_str(&" ".repeat(spaces));
                continue;
            }
            match cuts[at] {
                0 => line.push_str(&format!("'{c}'")),
                1 => line.push_str(&format!("\"{c}\"")),
                2 => line.push_str(&format!("\\{c}")),
                3 => line.push_str(&format!("$'\\x{:02x}'", c as u32)),
                4 => line.push_str(&format!("''{c}\"\"")),
                _ => line.push(c),
            }
        }
        prop_assert_eq!(answer(&line), Answer::Deny, "{}", line);
    }
}
