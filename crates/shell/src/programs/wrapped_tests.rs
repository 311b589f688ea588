//! Whatever runs another command lists it as one of the line's (G6).

use super::super::wrapper_table::WRAPPERS;
use crate::{World, analyse};

/// The lines that don't list the commit in them.
fn unlisted(lines: &[String]) -> Vec<&String> {
    let commit = ["git".to_owned(), "commit".to_owned()];
    let lists = |line: &&String| {
        let analysis = analyse(line, &World::workspace("/w", "/home/u"));
        let mut steps = analysis.steps.iter();
        !steps.any(|step| step.words.starts_with(&commit))
    };
    lines.iter().filter(lists).collect()
}

/// G6: a program in any wrapper of the table stands among the commands, so that rules hear of it.
#[test]
fn g6_every_wrapper_of_the_table_lists_what_it_runs() {
    let mut lines = Vec::new();
    for wrapper in WRAPPERS {
        for name in wrapper.names.split_whitespace() {
            let before = "x ".repeat(wrapper.skip);
            // These two take a user's name for the first word, or a shell's arguments.
            match name {
                "runuser" => lines.push("runuser -u x -- git commit".to_owned()),
                "capsh" => lines.push("capsh --user=x -- -c 'git commit'".to_owned()),
                _ => lines.extend([
                    format!("{name} {before}git commit"),
                    format!("{name} {before}-- git commit"),
                ]),
            }
            for option in wrapper.code {
                let dashes = if option.len() == 1 { "-" } else { "--" };
                lines.push(format!("{name} {dashes}{option} 'git commit' {before}x"));
            }
        }
    }
    assert!(unlisted(&lines).is_empty(), "{:#?}", unlisted(&lines));
}

/// G6: the same of every other program that runs one, and of text that is known in part.
#[test]
fn g6_whatever_runs_a_program_lists_it() {
    let lines = [
        "command git commit",
        "command -p -- git commit",
        "exec git commit",
        "exec -a ls git commit",
        "builtin command git commit",
        "builtin exec git commit",
        "git() { :; }; command git commit",
        "jobs -x git commit",
        "eval git commit",
        "trap 'git commit' EXIT",
        "env git commit",
        "env -S 'git commit'",
        "su -c 'git commit'",
        "su x -c 'git commit'",
        "runuser x -c 'git commit'",
        "runuser -u x git commit",
        "watch git commit",
        "watch -x git commit",
        "hyperfine 'git commit'",
        "script -c 'git commit' out",
        "script out git commit",
        "sem git commit",
        "tmux new -d 'git commit'",
        "tmux new-session -d git commit",
        "screen -dm git commit",
        "sg users -c 'git commit'",
        "sg users 'git commit'",
        "echo 'git commit' | at now",
        "expect -c 'spawn git commit'",
        "busybox git commit",
        "find . -exec git commit \\;",
        "fd x -x git commit",
        "ls | xargs git commit -m",
        "xargs -I{} git commit -m {} < list",
        "ls | parallel git commit -m",
        "parallel git commit -m ::: a",
        "parallel ::: 'git commit'",
        "sshpass -p x git commit",
        "sh -c 'git commit'",
        "sh -c \"git commit -m $X\"",
        "ls | sh -c \"git commit -m $(cat)\"",
        "git bisect run git commit",
        "git submodule foreach 'git commit'",
        "git -c alias.x='!git commit' x",
    ]
    .map(str::to_owned);
    assert!(unlisted(&lines).is_empty(), "{:#?}", unlisted(&lines));
}
