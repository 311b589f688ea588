//! The words of a command in a rule, and which commands are never allowed with open arguments.

/// The most words of a command in a rule.
const MAX_WORDS: usize = 32;

/// Characters that mean something to a shell: a rule names words, not shell code.
const SHELL: &str = "$`\\;|&<>(){}*?[]~#!\n\r\t";

/// Splits a command as it stands in a rule. Quotes keep blanks and signs in a word.
pub(super) fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, c) if SHELL.contains(c) => {
                return Err("a rule names the words of one command; quote what isn't shell code");
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match (quote, words.first()) {
        (Some(_), _) => Err("a quote isn't closed"),
        (None, None) => Err("the rule names no command"),
        (None, Some(first)) if first.is_empty() => Err("the rule names no command"),
        _ if words.len() > MAX_WORDS => Err("more words than a rule may have"),
        _ => Ok(words),
    }
}

/// Programs that run what is in their arguments: shells, interpreters, wrappers, runners of packages.
const RUNNERS: &str = "sh bash zsh dash ksh mksh fish ash csh tcsh busybox toybox pwsh powershell nu elvish \
    python pypy ipython node nodejs deno bun tsx ts-node ruby irb perl php lua luajit julia r rscript \
    osascript tclsh expect awk gawk mawk nawk java jshell groovy scala swift ghc runghc elixir erl guile \
    racket sbcl emacs vim vi nvim ed ex \
    env sudo doas su pkexec run0 runuser setpriv gosu chroot unshare nsenter bwrap firejail \
    npx bunx pnpx uvx pipx xargs parallel find fd nice ionice nohup timeout time setsid stdbuf watch \
    flock script ssh eval exec command builtin source . trap strace ltrace gdb rsync tar \
    entr direnv mise nix nix-shell screen tmux at batch deputize";

/// Programs that do so by some of their commands, and are named without one.
const NEEDS_COMMAND: &str = "git npm pnpm yarn cargo go uv poetry pipenv pip pip3 gem bundle composer docker podman kubectl \
    helm terraform aws gcloud az gh glab systemctl brew apt apt-get dnf yum pacman apk conda";

/// Commands of programs that run another program.
const RUNNING_COMMANDS: &[(&str, &str)] = &[
    ("npm", "exec x run run-script explore"),
    ("pnpm", "exec dlx run"),
    ("yarn", "exec dlx run node"),
    ("uv", "run tool x"),
    ("poetry", "run shell"),
    ("pipenv", "run shell"),
    ("bundle", "exec"),
    ("cargo", "run watch"),
    ("go", "run generate tool"),
    ("docker", "run exec compose"),
    ("podman", "run exec compose"),
    ("kubectl", "exec run debug"),
    ("git", "bisect submodule filter-branch rebase config"),
    ("conda", "run"),
];

/// Why an allowance of a command with whatever arguments would allow everything, if it would.
pub(super) fn open_ended(words: &[String]) -> Option<&'static str> {
    let lists = |list: &str, name: &str| list.split_ascii_whitespace().any(|known| known == name);
    let first = words.first()?;
    let base = first.rsplit('/').next().unwrap_or_default().to_lowercase();
    // `python3.12` is a python.
    let plain = base.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if lists(RUNNERS, &base) || lists(RUNNERS, plain) {
        return Some("it runs what its arguments name");
    }
    let second = words.get(1);
    if second.is_some_and(|second| second.starts_with(['-', '+'])) {
        return Some("what comes after an option isn't bound by it");
    }
    if !lists(NEEDS_COMMAND, &base) {
        return None;
    }
    let Some(second) = second else {
        return Some("some of its commands run what their arguments name");
    };
    RUNNING_COMMANDS
        .iter()
        .any(|(program, commands)| *program == base && lists(commands, second))
        .then_some("it runs what its arguments name")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> bool {
        open_ended(&split(text).unwrap()).is_some()
    }

    /// G6: shells, interpreters, env, sudo and package runners are never allowed with open arguments.
    #[test]
    fn what_runs_its_arguments_is_open_ended() {
        for text in [
            "bash",
            "/bin/sh",
            "zsh -c",
            "python3",
            "python3.12",
            "node",
            "perl",
            "env",
            "sudo",
            "doas",
            "npx",
            "uvx",
            "pipx",
            "npm exec",
            "pnpm dlx",
            "yarn dlx",
            "uv run",
            "git",
            "git -c",
            "cargo",
            "cargo +nightly",
            "docker run",
            "find",
            "xargs",
            "ssh",
            "Ruby",
            "make --eval",
        ] {
            assert!(open(text), "{text}");
        }
        for text in [
            "cargo test",
            "npm test",
            "git push",
            "make",
            "ls",
            "pytest",
            "docker ps",
            "gh pr",
            "./run.sh",
        ] {
            assert!(!open(text), "{text}");
        }
    }

    #[test]
    fn words_are_split_as_a_person_reads_them() {
        assert_eq!(
            split("git  commit -m 'a b'").unwrap(),
            ["git", "commit", "-m", "a b"]
        );
        assert_eq!(split("a ''").unwrap(), ["a", ""]);
        for bad in ["", "  ", "''", "a; b", "a $B", "a > b", "a 'b", "rm *"] {
            assert!(split(bad).is_err(), "{bad}");
        }
    }
}
