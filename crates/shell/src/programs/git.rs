//! `git`: what its commands change, lose and run.

use super::Handler;
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::options::{Order, Parsed, parse};
use crate::place::Place;
use crate::rules::{self, Rule, history, network, persistence};
use crate::value::{Field, Out, Part, Taint};

pub(super) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "git" | "hub" => git,
        "git-filter-repo" | "bfg" => rewrites,
        "tig" | "lazygit" | "gitk" => interactive,
        _ => return None,
    })
}

fn rewrites(machine: &mut Machine<'_>, _: &Call<'_>, _: &mut State) -> Out {
    machine.act(&history::REWRITE);
    Out::empty()
}

fn interactive(machine: &mut Machine<'_>, _: &Call<'_>, _: &mut State) -> Out {
    machine.act(&rules::opaque::INTERACTIVE);
    Out::empty()
}

/// Commands that only look, whatever their arguments are.
const LOOKS: &[&str] = &[
    "status", "log", "diff", "show", "ls-files", "ls-tree", "rev-parse", "rev-list", "describe", "blame", "annotate",
    "shortlog", "cat-file", "name-rev", "merge-base", "cherry", "count-objects", "check-ignore", "check-attr",
    "for-each-ref", "show-ref", "whatchanged", "diff-tree", "diff-files", "diff-index", "var", "version", "help",
    "range-diff", "show-branch", "verify-commit", "verify-tag", "fsck", "grep", "get-tar-commit-id", "column",
    "stripspace", "patch-id", "check-ref-format", "merge-tree", "interpret-trailers", "ls", "fmt-merge-msg",
];

/// Commands that change the workspace or the repository and lose nothing.
const SAFE: &[&str] = &[
    "add", "commit", "init", "mv", "write-tree", "commit-tree", "hash-object", "mktree", "notes", "stage", "pack-refs",
    "commit-graph", "multi-pack-index", "repack", "maintenance", "apply", "am", "format-patch", "bundle", "archive",
];

/// Commands that talk to a remote.
const NETWORK: &[&str] = &[
    "pull", "fetch", "clone", "ls-remote", "remote-update", "svn", "p4", "send-email", "request-pull", "lfs", "fetch-pack",
    "send-pack", "http-fetch", "http-push", "imap-send", "daemon", "instaweb", "annex", "subtree",
];

fn git(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let mut inside = state.clone();
    let mut aliases: Vec<(String, String)> = Vec::new();
    let mut at = 0;
    while let Some(arg) = call.args.get(at) {
        let text = arg.prefix();
        let next = call.args.get(at + 1);
        match text.as_str() {
            "-C" => {
                if let Some(folder) = next {
                    let path = machine.path(Role::Read, folder, &inside).path;
                    inside.enter(path);
                }
                at += 1;
            }
            "-c" | "--config-env" => {
                if let Some(pair) = next {
                    setting(machine, pair, &mut aliases, state);
                }
                at += 1;
            }
            "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" | "--attr-source" => {
                if let Some(folder) = next {
                    other_tree(machine, &text, folder, &mut inside);
                }
                at += 1;
            }
            _ if text.starts_with("--git-dir=") || text.starts_with("--work-tree=") => {
                let cut = text.find('=').map_or(0, |at| at + 1);
                other_tree(machine, &text[..cut - 1], &arg.after(cut), &mut inside);
            }
            _ if text.starts_with("--exec-path=") => machine.act(&history::PROGRAM),
            _ if text.starts_with("--config-env=") => machine.act(&history::PROGRAM),
            "--version" | "--help" | "-v" | "-h" | "--html-path" | "--man-path" | "--exec-path" | "--info-path" => {
                return Out::Unknown(Taint::NONE);
            }
            _ if text.starts_with('-') => {}
            _ => break,
        }
        at += 1;
    }
    let Some(verb) = call.args.get(at) else {
        if call.args.iter().any(Field::has_unknown) {
            machine.act(&rules::opaque::VALUE);
        }
        return Out::Unknown(Taint::NONE);
    };
    let args = call.args.get(at + 1..).unwrap_or_default();
    let Some(name) = verb.known().map(|name| name.into_owned()) else {
        machine.act(&rules::opaque::VALUE);
        return Out::Unknown(Taint::NONE);
    };
    for (alias, value) in &aliases {
        if *alias == name {
            let words: Vec<String> = args.iter().map(Field::shown).collect();
            let line = match value.strip_prefix('!') {
                Some(code) => format!("{code} {}", words.join(" ")),
                None => format!("git {value} {}", words.join(" ")),
            };
            machine.inner(&line, &mut inside);
            return Out::Unknown(Taint::NONE);
        }
    }
    if args.iter().any(|arg| matches!(arg.known().as_deref(), Some("--help"))) && args.len() == 1 {
        return Out::Unknown(Taint::NONE);
    }
    verb_effects(machine, &name, args, &mut inside)
}

fn other_tree(machine: &mut Machine<'_>, option: &str, folder: &Field, state: &mut State) {
    let target = machine.path(Role::Read, folder, state);
    match (option, target.place) {
        ("--work-tree", _) => state.enter(target.path),
        // A repository's configuration runs programs.
        (_, Place::Inside | Place::History | Place::Whole | Place::GitInternal) if folder.shown() != ".git" => {
            machine.act(&history::PROGRAM);
        }
        _ => {}
    }
}

/// Keys of which the value is a command.
fn runs(key: &str) -> bool {
    let key = key.to_lowercase();
    matches!(
        key.as_str(),
        "core.pager" | "core.editor" | "core.fsmonitor" | "core.sshcommand" | "core.askpass" | "core.gitproxy"
            | "core.alternaterefscommand" | "diff.external" | "credential.helper" | "gpg.program" | "sequence.editor"
            | "web.browser" | "uploadpack.packobjectshook" | "interactive.difffilter" | "receive.procreceiverefs"
            | "gpg.ssh.program" | "gpg.x509.program" | "gpg.openpgp.program" | "gpg.ssh.defaultkeycommand" | "man.viewer" | "help.browser"
    ) || key.starts_with("pager.")
        || key.starts_with("alias.")
        || ((key.starts_with("filter.") || key.starts_with("diff.") || key.starts_with("merge.") || key.starts_with("difftool.") || key.starts_with("mergetool.") || key.starts_with("remote.") || key.starts_with("credential.") || key.starts_with("submodule.") || key.starts_with("browser.") || key.starts_with("trailer.") || key.starts_with("tar.") || key.starts_with("man.") || key.starts_with("guitool."))
            && [".clean", ".smudge", ".process", ".command", ".textconv", ".driver", ".cmd", ".uploadpack", ".receivepack", ".helper", ".update", ".path", ".vcs", ".proxy"]
                .iter()
                .any(|end| key.ends_with(end)))
}

/// Keys that make git load code or configuration from elsewhere, or obey a remote.
fn loads(key: &str) -> bool {
    let key = key.to_lowercase();
    matches!(key.as_str(), "core.hookspath" | "include.path" | "init.templatedir" | "core.worktree" | "core.attributesfile" | "safe.directory" | "http.proxy" | "core.gitdir" | "http.sslverify" | "core.excludesfile" | "commit.template")
        || key.starts_with("includeif.")
        || key.starts_with("url.")
        || key.starts_with("protocol.")
        || key.starts_with("hook.")
}

/// `-c key=value`.
fn setting(machine: &mut Machine<'_>, pair: &Field, aliases: &mut Vec<(String, String)>, state: &State) {
    let prefix = pair.prefix();
    let (key, known) = prefix.split_once('=').map_or((prefix.as_str(), ""), |(key, value)| (key, value));
    if let Some(alias) = key.strip_prefix("alias.") {
        aliases.push((alias.to_owned(), known.to_owned()));
        return;
    }
    if runs(key) {
        let value = pair.after(key.len() + 1);
        match value.known() {
            Some(text) if matches!(text.as_ref(), "" | "cat" | "less" | "true" | "false" | "more" | "less -R" | "less -FRX") => {}
            Some(text) => {
                let text = text.trim_start_matches('!').to_owned();
                machine.inner(&text, &mut state.clone());
                if key.to_lowercase().starts_with("credential") {
                    machine.act(&history::PROGRAM);
                }
            }
            None => machine.code_word(&value, &mut state.clone()),
        }
    } else if loads(key) {
        machine.act(&history::PROGRAM);
    } else if pair.has_unknown() && !prefix.contains('=') {
        machine.act(&rules::opaque::VALUE);
    }
}

fn verb_effects(machine: &mut Machine<'_>, verb: &str, args: &[Field], state: &mut State) -> Out {
    let outside = !matches!(
        state.cwd.as_deref().map(|cwd| crate::place::place_of(cwd, machine.world)),
        Some(Place::Whole | Place::Inside | Place::Generated)
    );
    for arg in args {
        let text = arg.prefix();
        // A remote helper runs what the address says.
        if let Some(code) = text.strip_prefix("ext::") {
            machine.inner(code, &mut state.clone());
        }
        for option in ["--upload-pack=", "--receive-pack=", "--exec="] {
            if text.starts_with(option) {
                let code = arg.after(option.len());
                machine.code_word(&code, &mut state.clone());
            }
        }
    }
    let parsed = parse(args, valued(verb), Order::Any);
    programs_of(machine, verb, &parsed, state);
    for file in parsed.values(&["output", "o-dir", "output-directory"]) {
        let file = file.clone();
        machine.path(Role::Write, &file, state);
    }
    if matches!(verb, "format-patch" | "bundle" | "archive") {
        for file in parsed.values(&["o"]) {
            let file = file.clone();
            machine.path(Role::Write, &file, state);
        }
    }
    if let Some(rule) = judged(machine, verb, args, &parsed, state) {
        machine.act(rule);
    }
    if outside && !LOOKS.contains(&verb) && !matches!(verb, "clone" | "fetch" | "ls-remote" | "push") {
        // Whatever it changes lies outside.
        machine.path(Role::Write, &Field::lit("."), state);
    }
    let lists = verb == "ls-files"
        || matches!(verb, "diff" | "show" | "diff-tree") && parsed.has(&["name-only"])
        || verb == "grep" && parsed.has(&["l", "name-only", "files-with-matches"]);
    if lists && !outside {
        return Out::Unknown(Taint::INSIDE);
    }
    if matches!(verb, "rev-parse" | "describe" | "rev-list" | "log" | "symbolic-ref" | "merge-base" | "hash-object")
        && !parsed.has(&["format", "pretty", "show-toplevel"])
    {
        return Out::Unknown(if verb == "log" { Taint::NONE } else { Taint::PLAIN });
    }
    if verb == "rev-parse" && parsed.has(&["show-toplevel"]) && !outside {
        return machine.world.writable.first().map_or(Out::Unknown(Taint::NONE), |root| Out::Known(format!("{root}\n")));
    }
    Out::Unknown(Taint::NONE)
}

/// Options that take a value, by command.
fn valued(verb: &str) -> &'static str {
    match verb {
        "grep" => "e f C A B m max-depth max-count threads context",
        "rebase" => "x exec onto s strategy X C",
        "commit" => "m message F file C c reuse-message author date t template fixup squash cleanup trailer pathspec-from-file",
        "log" | "show" | "diff" | "shortlog" | "whatchanged" | "diff-tree" => "n S G L O max-count since until after before author grep format pretty output date word-diff-regex diff-filter ignore-matching-lines U",
        "push" => "o push-option repo receive-pack exec",
        "clone" => "b branch depth o origin u upload-pack c config reference template separate-git-dir j jobs filter",
        "checkout" | "switch" => "b B c C orphan conflict pathspec-from-file",
        "restore" => "s source conflict pathspec-from-file",
        "worktree" => "b B reason",
        "archive" => "o output format prefix remote exec add-file",
        "format-patch" => "o output-directory subject-prefix",
        "bundle" => "",
        "tag" => "m message F file u local-user sort n",
        "difftool" | "mergetool" => "x extcmd t tool",
        "filter-branch" => "tree-filter index-filter env-filter msg-filter commit-filter tag-name-filter parent-filter subdirectory-filter setup d",
        "fetch" | "pull" => "upload-pack depth o j jobs s strategy X shallow-since",
        "config" => "f file blob type default get-color",
        "clean" => "e exclude",
        "init" => "template separate-git-dir object-format b initial-branch",
        "stash" => "m message pathspec-from-file",
        "notes" => "m F C c ref",
        "am" | "apply" => "C p directory exclude include",
        "bisect" => "term-old term-new",
        "branch" => "u set-upstream-to sort contains format points-at no-contains merged-into",
        "gc" => "",
        "merge" | "cherry-pick" | "revert" => "m message F s strategy X mainline S-key",
        "blame" => "L S C M ignore-rev ignore-revs-file contents",
        "send-email" => "to from smtp-server",
        _ => "",
    }
}

/// Options of commands that run a program.
fn programs_of(machine: &mut Machine<'_>, verb: &str, parsed: &Parsed, state: &State) {
    let names: &[&str] = match verb {
        "rebase" => &["x", "exec"],
        "filter-branch" => &["tree-filter", "index-filter", "env-filter", "msg-filter", "commit-filter", "tag-name-filter", "parent-filter", "setup"],
        "difftool" | "mergetool" => &["x", "extcmd"],
        "clone" => &["u", "upload-pack"],
        "fetch" | "pull" | "ls-remote" => &["upload-pack"],
        "push" => &["receive-pack", "exec"],
        "archive" => &["exec"],
        "send-email" => &["smtp-server"],
        _ => &[],
    };
    for code in parsed.values(names) {
        let code = code.clone();
        machine.code_word(&code, &mut state.clone());
    }
    if verb == "grep" {
        for given in &parsed.options {
            if given.name == "O" {
                // The pager follows in the same word, which `parse` gave letter by letter.
                machine.act(&history::PROGRAM);
            } else if given.name.starts_with("open-files") {
                match &given.value {
                    Some(code) => machine.code_word(&code.clone(), &mut state.clone()),
                    None => machine.act(&history::PROGRAM),
                }
            }
        }
    }
    if verb == "clone" {
        for pair in parsed.values(&["c", "config"]) {
            let pair = pair.clone();
            setting(machine, &pair, &mut Vec::new(), state);
        }
    }
    for file in parsed.values(&["template", "separate-git-dir"]).filter(|_| matches!(verb, "clone" | "init")) {
        let file = file.clone();
        machine.path(Role::Write, &file, state);
        machine.act(&history::PROGRAM);
    }
    for file in parsed.values(&["F", "file", "f", "contents", "ignore-revs-file"]).filter(|_| matches!(verb, "commit" | "tag" | "grep" | "blame" | "notes" | "config")) {
        let file = file.clone();
        let role = if verb == "config" { Role::Write } else { Role::Read };
        machine.path(role, &file, state);
    }
    if parsed.has(&["ext-diff", "textconv"]) && matches!(verb, "log" | "diff" | "show") {
        machine.act(&history::PROGRAM);
    }
}

fn first(parsed: &Parsed) -> String {
    parsed.operands.first().map(Field::shown).unwrap_or_default()
}

/// The rule that a command comes to, if there is one; paths that it touches are noted on the way.
fn judged(machine: &mut Machine<'_>, verb: &str, args: &[Field], parsed: &Parsed, state: &mut State) -> Option<&'static Rule> {
    let sub = first(parsed);
    let words: Vec<String> = args.iter().map(Field::shown).collect();
    let has_word = |word: &str| words.iter().any(|known| known == word);
    if verb == "grep"
        && let Some(code) = args.iter().find(|arg| arg.prefix().starts_with("-O") && arg.prefix().len() > 2)
    {
        let code = code.after(2);
        machine.code_word(&code, &mut state.clone());
        return None;
    }
    match verb {
        "diff" | "log" | "show" | "grep" if parsed.has(&["no-index"]) => {
            for operand in &parsed.operands {
                machine.read_file(operand, state);
            }
            None
        }
        "fsck" if parsed.has(&["lost-found"]) => None,
        "notes" if matches!(sub.as_str(), "remove" | "prune") => Some(&history::BRANCH),
        "maintenance" if matches!(sub.as_str(), "start" | "register" | "unregister") => Some(&persistence::CONFIGURATION),
        "apply" | "am" => {
            for operand in &parsed.operands {
                machine.path(Role::Read, operand, state);
            }
            for folder in parsed.values(&["directory"]) {
                let folder = folder.clone();
                machine.path(Role::Write, &folder, state);
            }
            if parsed.has(&["unsafe-paths"]) { Some(&rules::place::WRITE_UNKNOWN) } else { (verb == "am" && parsed.has(&["abort", "skip"])).then_some(&history::DISCARD) }
        }
        "commit" if parsed.has(&["amend"]) => Some(&history::REORDER),
        "commit" | "add" | "stage" => None,
        "init" => {
            for operand in &parsed.operands {
                machine.path(Role::Write, operand, state);
            }
            None
        }
        "mv" => {
            for operand in &parsed.operands {
                machine.path(Role::Write, operand, state);
            }
            parsed.has(&["f", "force"]).then_some(&rules::destructive::EMPTIED)
        }
        "rm" => {
            let cached = parsed.has(&["cached"]);
            for operand in &parsed.operands {
                let place = machine.target(operand, state).place;
                if cached && matches!(place, Place::Inside | Place::Whole | Place::Generated | Place::SecretInside) {
                    continue;
                }
                let role = if parsed.has(&["r"]) { Role::DeleteTree } else { Role::Delete };
                machine.path(role, operand, state);
            }
            (!cached && parsed.has(&["f", "force"])).then_some(&history::DISCARD)
        }
        "bundle" if sub == "create" => {
            if let Some(file) = parsed.operands.get(1) {
                machine.path(Role::Write, file, state);
            }
            None
        }
        "reset" if parsed.has(&["hard", "merge", "keep"]) => Some(&history::DISCARD),
        "reset" if parsed.has(&["soft", "mixed"]) && !sub.is_empty() && sub != "HEAD" => Some(&history::REORDER),
        "reset" if sub.starts_with("HEAD~") || sub.starts_with("HEAD^") || sub.starts_with("HEAD@") || sub.starts_with('@') && sub != "@" => Some(&history::REORDER),
        "reset" if parsed.operands.iter().any(Field::has_unknown) => Some(&rules::opaque::VALUE),
        "reset" if sub.is_empty() || sub == "HEAD" || sub == "@" || has_word("--") || machine.target(parsed.operands.first()?, state).path.is_some() && (sub.contains('.') || sub.contains('/')) => None,
        "reset" => Some(&history::REORDER),
        "clean" => {
            if parsed.has(&["n", "dry-run"]) {
                None
            } else if parsed.has(&["i", "interactive"]) && !parsed.has(&["f", "force"]) {
                Some(&rules::opaque::INTERACTIVE)
            } else {
                Some(&history::DISCARD)
            }
        }
        "checkout" | "switch" => checkout(machine, verb, args, parsed, state),
        "restore" => {
            let staged_only = parsed.has(&["staged", "S"]) && !parsed.has(&["worktree", "W"]);
            (!staged_only).then_some(&history::DISCARD)
        }
        "stash" => match sub.as_str() {
            "drop" | "clear" => Some(&history::STASH),
            "" | "push" | "save" | "list" | "show" | "create" | "store" => None,
            _ => Some(&history::MERGE),
        },
        "branch" => {
            let forced = parsed.has(&["D", "M", "C", "f", "force"]) || parsed.has(&["d", "delete"]) && parsed.has(&["f", "force"]);
            if parsed.has(&["edit-description"]) { Some(&rules::opaque::INTERACTIVE) } else { forced.then_some(&history::BRANCH) }
        }
        "tag" => (parsed.has(&["d", "delete", "f", "force"])).then_some(&history::BRANCH),
        "push" => Some(push(parsed, args)),
        "remote" => match sub.as_str() {
            "" | "show" | "get-url" if !parsed.has(&["u"]) || sub.is_empty() => (sub == "show").then_some(&network::USE),
            "-v" => None,
            "update" | "prune" => Some(&network::USE),
            "remove" | "rm" | "rename" | "set-url" | "add" => Some(&persistence::CONFIGURATION),
            _ => Some(&persistence::CONFIGURATION),
        },
        "config" => config(machine, args, parsed, state),
        "filter-branch" | "filter-repo" | "replace" | "fast-import" => Some(&history::REWRITE),
        "update-ref" => Some(if parsed.has(&["d", "stdin", "delete"]) { &history::REWRITE } else { &history::REORDER }),
        "symbolic-ref" => (parsed.operands.len() > 1 || parsed.has(&["d", "delete"])).then_some(&history::REORDER),
        "reflog" => match sub.as_str() {
            "expire" | "delete" | "drop" => Some(&history::REWRITE),
            _ => None,
        },
        "gc" | "prune" => {
            let now = words.iter().any(|word| word.starts_with("--prune") && word != "--prune=2.weeks.ago") || verb == "prune" && !parsed.has(&["n", "dry-run"]);
            now.then_some(&history::REWRITE)
        }
        "prune-packed" => None,
        "repack" => parsed.has(&["a", "A"]).then_some(&history::REORDER).filter(|_| parsed.has(&["d"])),
        "rebase" => {
            if parsed.has(&["abort", "quit", "skip"]) { Some(&history::DISCARD).filter(|_| parsed.has(&["skip"])).or(Some(&history::REORDER)) } else { Some(&history::REORDER) }
        }
        "merge" | "cherry-pick" | "revert" | "read-tree" | "checkout-index" | "update-index" | "sparse-checkout" | "rerere" => Some(&history::MERGE),
        "bisect" => {
            if sub == "run" {
                let at = args.iter().position(|arg| arg.known().as_deref() == Some("run"))?;
                machine.call(&args[at + 1..], &mut state.clone());
                return None;
            }
            if matches!(sub.as_str(), "log" | "view" | "visualize") { None } else { Some(&history::MERGE) }
        }
        "submodule" => {
            match sub.as_str() {
                "foreach" => {
                    let at = args.iter().position(|arg| arg.known().as_deref() == Some("foreach"))?;
                    let rest: Vec<&Field> = args[at + 1..].iter().filter(|arg| arg.known().as_deref() != Some("--recursive")).collect();
                    let code: Vec<Field> = rest.into_iter().cloned().collect();
                    joined(machine, &code, state);
                    None
                }
                "" | "status" | "summary" => None,
                "deinit" => Some(&history::DISCARD),
                _ => Some(&network::USE),
            }
        }
        "worktree" => match sub.as_str() {
            "list" => None,
            "add" | "move" => {
                for folder in parsed.operands.iter().skip(if sub == "add" { 1 } else { 2 }).take(1) {
                    machine.path(Role::Write, folder, state);
                }
                None
            }
            "remove" => {
                for folder in parsed.operands.iter().skip(1) {
                    let place = machine.target(folder, state).place;
                    if !matches!(place, Place::Inside | Place::Generated) {
                        machine.path(Role::DeleteTree, folder, state);
                    }
                }
                Some(if parsed.has(&["f", "force"]) { &history::DISCARD } else { &history::BRANCH })
            }
            _ => Some(&history::BRANCH),
        },
        "clone" => {
            if let Some(folder) = parsed.operands.get(1) {
                machine.path(Role::Write, folder, state);
            }
            machine.network(parsed.operands.first().and_then(super::net::host));
            None
        }
        "difftool" | "mergetool" | "gui" | "citool" | "instaweb" | "daemon" | "cvsserver" | "shell" => Some(&history::PROGRAM),
        "credential" | "credential-cache" | "credential-store" => Some(&rules::secret::STORE),
        "lfs" => Some(if sub == "prune" { &history::REWRITE } else { &network::USE }),
        _ if LOOKS.contains(&verb) || SAFE.contains(&verb) => None,
        _ if NETWORK.contains(&verb) => Some(&network::USE),
        _ => Some(&rules::opaque::PROGRAM),
    }
}

fn joined(machine: &mut Machine<'_>, words: &[Field], state: &State) {
    let mut line = Field::default();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            line.push(Part::Lit { text: " ".to_owned(), quoted: true });
        }
        for part in word.clone().quoted().parts {
            line.push(part);
        }
    }
    machine.code_word(&line, &mut state.clone());
}

fn checkout(machine: &mut Machine<'_>, verb: &str, args: &[Field], parsed: &Parsed, state: &State) -> Option<&'static Rule> {
    if parsed.has(&["f", "force", "discard-changes"]) {
        return Some(&history::DISCARD);
    }
    if parsed.has(&["B", "C"]) {
        return Some(&history::BRANCH);
    }
    if parsed.has(&["p", "patch"]) {
        return Some(&rules::opaque::INTERACTIVE);
    }
    if parsed.has(&["b", "c", "orphan"]) || verb == "switch" {
        return None;
    }
    // What comes after `--`, after a commit, or looks like a path is taken from history.
    let dashes = args.iter().any(|arg| arg.known().as_deref() == Some("--"));
    let looks = |field: &Field| {
        let text = field.shown();
        text == "." || text.starts_with("./") || text.starts_with(':') || text.contains('*') || text.ends_with('/')
            || text.rsplit('/').next().is_some_and(|name| name.contains('.') && !name.starts_with('v') && !name.ends_with(".x"))
            || machine.target(field, state).place == Place::Whole
    };
    let paths = dashes || parsed.operands.len() > 1 || parsed.operands.iter().any(looks) || parsed.has(&["ours", "theirs", "pathspec-from-file"]);
    if paths {
        return Some(&history::DISCARD);
    }
    parsed.operands.iter().any(Field::has_unknown).then_some(&rules::opaque::VALUE)
}

fn push(parsed: &Parsed, args: &[Field]) -> &'static Rule {
    let forced = parsed.has(&["f", "force", "mirror", "delete", "d", "prune"])
        || parsed.operands.iter().skip(1).any(|refspec| {
            let text = refspec.prefix();
            text.starts_with('+') || text.starts_with(':') && text.len() > 1
        })
        || args.iter().any(|arg| {
            // Git takes long options by their beginning, too.
            let text = arg.prefix();
            let name = text.split('=').next().unwrap_or_default();
            name.len() > 4 && ["--force", "--mirror", "--delete", "--prune"].iter().any(|full| full.starts_with(name))
        });
    if forced { &history::FORCE_PUSH } else { &network::USE }
}

fn config(machine: &mut Machine<'_>, args: &[Field], parsed: &Parsed, state: &State) -> Option<&'static Rule> {
    let words: Vec<String> = args.iter().map(Field::shown).collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    if has(&["-l", "--list", "--get", "--get-all", "--get-regexp", "list", "get", "--show-origin", "--get-urlmatch", "--get-color"]) && !has(&["set", "unset", "--unset", "--add", "--unset-all"]) {
        return None;
    }
    let operands: Vec<&Field> = parsed.operands.iter().filter(|field| !matches!(field.shown().as_str(), "set" | "unset" | "edit" | "remove-section" | "rename-section")).collect();
    if has(&["-e", "--edit", "edit"]) {
        return Some(&rules::opaque::INTERACTIVE);
    }
    let unsets = has(&["--unset", "--unset-all", "--remove-section", "unset", "--rename-section"]);
    if operands.len() < 2 && !unsets {
        return None;
    }
    let key = operands.first().map(|key| key.shown()).unwrap_or_default();
    if let Some(value) = operands.get(1)
        && runs(&key)
        && let Some(text) = value.known()
    {
        let text = text.trim_start_matches('!').to_owned();
        machine.suspect(&text, state);
    }
    let elsewhere = has(&["--global", "--system", "--worktree"]);
    // The repository's own settings that run nothing are part of working in it.
    (elsewhere || unsets || runs(&key) || loads(&key) || operands.iter().any(|field| field.has_unknown())).then_some(&persistence::CONFIGURATION)
}

/// Other version control: looks are free, the rest isn't known well enough.
pub(super) fn other_vcs(machine: &mut Machine<'_>, call: &Call<'_>, _: &State) {
    let verb = call.args.first().map(Field::shown).unwrap_or_default();
    match verb.as_str() {
        "status" | "st" | "log" | "diff" | "info" | "annotate" | "blame" | "heads" | "tip" | "summary" | "id" | "files" | "root" | "add" => {}
        "revert" | "purge" | "strip" | "clean" | "rollback" | "cleanup" => machine.act(&history::DISCARD),
        "push" if call.args.iter().any(|arg| matches!(arg.prefix().as_str(), "-f" | "--force")) => machine.act(&history::FORCE_PUSH),
        _ => machine.act(&network::USE),
    }
}
