//! Commands of git: what each changes, loses or talks to.

use super::settings::config;
use super::verb_lists::{LOOKS, NETWORK, SAFE};
use crate::effect::Role;
use crate::machine::{Machine, State};
use crate::options::Parsed;
use crate::place::Place;
use crate::programs::patches::{self, Strip};
use crate::rules::{self, Rule, history, network, persistence};
use crate::value::{Field, Out, Part, Taint};

fn first(parsed: &Parsed) -> String {
    parsed
        .operands
        .first()
        .map(Field::shown)
        .unwrap_or_default()
}

/// The rule that a command comes to, if there is one; paths that it touches are noted on the way.
pub(super) fn judged(
    machine: &mut Machine<'_>,
    verb: &str,
    args: &[Field],
    parsed: &Parsed,
    state: &mut State,
) -> Option<&'static Rule> {
    let sub = first(parsed);
    let words: Vec<String> = args.iter().map(Field::shown).collect();
    let has_word = |word: &str| words.iter().any(|known| known == word);
    if verb == "grep"
        && let Some(code) = args
            .iter()
            .find(|arg| arg.prefix().starts_with("-O") && arg.prefix().len() > 2)
    {
        let code = code.after(2);
        machine.code_word(&code, &mut state.clone());
        return None;
    }
    match verb {
        "grep"
            if parsed.has(&["no-index"])
                || parsed.has(&["untracked"]) && parsed.has(&["no-exclude-standard"]) =>
        {
            // What isn't tracked holds secrets, and nothing leaves them out.
            let pattern = !parsed.has(&["e", "f", "file"]);
            let files = parsed
                .operands
                .get(usize::from(pattern)..)
                .unwrap_or_default();
            let mut whole = files.is_empty();
            for file in files {
                whole |= machine.target(file, state).place == Place::Whole;
                machine.read_file(file, state);
            }
            whole.then_some(&rules::secret::INSIDE)
        }
        "diff" | "log" | "show" if parsed.has(&["no-index"]) => {
            for operand in &parsed.operands {
                machine.read_file(operand, state);
            }
            None
        }
        "fsck" if parsed.has(&["lost-found"]) => None,
        "notes" if sub.starts_with("rem") || sub.starts_with("pr") => Some(&history::BRANCH),
        "notes" if parsed.has(&["f", "force"]) => Some(&history::BRANCH),
        "maintenance"
            if parsed.has(&["schedule"])
                || parsed
                    .values(&["task"])
                    .any(|task| task.known().is_none_or(|task| task == "prefetch")) =>
        {
            machine.network(None);
            None
        }
        "archive" => {
            for file in parsed.values(&["add-file"]) {
                machine.read_file(file, state);
            }
            for remote in parsed.values(&["remote"]) {
                machine.network(crate::programs::net::host(remote));
            }
            None
        }
        "interpret-trailers" => {
            let role = match parsed.has(&["in-place"]) {
                true => Role::Write,
                false => Role::Read,
            };
            for operand in &parsed.operands {
                machine.path(role, operand, state);
            }
            None
        }
        "maintenance" if matches!(sub.as_str(), "start" | "register" | "unregister") => {
            Some(&persistence::CONFIGURATION)
        }
        "apply" | "am" => {
            let folder = parsed.value(&["directory"]);
            let strip = parsed
                .value(&["p"])
                .and_then(|count| count.known()?.parse().ok())
                .unwrap_or(1);
            let mut patches: Vec<Out> = Vec::new();
            for operand in &parsed.operands {
                patches.push(match operand.known().as_deref() {
                    Some("-") => state.input.clone().unwrap_or(Out::Unknown(Taint::NONE)),
                    _ => machine.read_file(operand, state),
                });
            }
            if parsed.operands.is_empty() {
                patches.extend(state.input.clone());
            }
            let looks =
                parsed.has(&["stat", "numstat", "summary", "check"]) && !parsed.has(&["apply"]);
            for patch in patches.iter().filter(|_| !looks) {
                patches::applied(machine, patch, &Strip::Some(strip), folder, state);
            }
            if let Some(folder) = folder {
                machine.path(Role::Write, folder, state);
            }
            if parsed.has(&["unsafe-paths"]) {
                Some(&rules::place::WRITE_UNKNOWN)
            } else {
                (verb == "am" && parsed.has(&["abort", "skip"])).then_some(&history::DISCARD)
            }
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
            if let Some((_, sources)) = parsed.operands.split_last() {
                for source in sources {
                    machine.path(Role::Away, source, state);
                }
            }
            for operand in &parsed.operands {
                machine.path(Role::Write, operand, state);
            }
            parsed
                .has(&["f", "force"])
                .then_some(&rules::destructive::EMPTIED)
        }
        "rm" => {
            let cached = parsed.has(&["cached"]);
            if parsed.has(&["pathspec-from-file"]) && !cached {
                machine.act(&rules::destructive::UNKNOWN_TARGET);
            }
            for operand in &parsed.operands {
                let place = machine.target(operand, state).place;
                if cached
                    && matches!(
                        place,
                        Place::Inside | Place::Whole | Place::Generated | Place::SecretInside
                    )
                {
                    continue;
                }
                let role = if parsed.has(&["r"]) {
                    Role::DeleteTree
                } else {
                    Role::Delete
                };
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
        "reset" if parsed.has(&["soft", "mixed"]) && !sub.is_empty() && sub != "HEAD" => {
            Some(&history::REORDER)
        }
        "reset"
            if sub.starts_with("HEAD~")
                || sub.starts_with("HEAD^")
                || sub.starts_with("HEAD@")
                || sub.starts_with('@') && sub != "@" =>
        {
            Some(&history::REORDER)
        }
        "reset" if parsed.operands.iter().any(Field::has_unknown) => Some(&rules::opaque::VALUE),
        "reset"
            if sub.is_empty()
                || sub == "HEAD"
                || sub == "@"
                || has_word("--")
                || machine
                    .target(parsed.operands.first()?, state)
                    .path
                    .is_some()
                    && (sub.contains('.') || sub.contains('/')) =>
        {
            None
        }
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
            let forced = parsed.has(&["D", "M", "C", "f", "force"])
                || parsed.has(&["d", "delete"]) && parsed.has(&["f", "force"]);
            if parsed.has(&["edit-description"]) {
                Some(&rules::opaque::INTERACTIVE)
            } else {
                forced.then_some(&history::BRANCH)
            }
        }
        "tag" => (parsed.has(&["d", "delete", "f", "force"])).then_some(&history::BRANCH),
        "push" => Some(push(parsed)),
        "remote" => match sub.as_str() {
            "" | "show" | "get-url" if !parsed.has(&["u"]) || sub.is_empty() => {
                (sub == "show").then_some(&network::USE)
            }
            "-v" => None,
            "update" | "prune" => Some(&network::USE),
            "remove" | "rm" | "rename" | "set-url" | "add" => Some(&persistence::CONFIGURATION),
            _ => Some(&persistence::CONFIGURATION),
        },
        "config" => config(machine, args, parsed, state),
        "filter-branch" | "filter-repo" | "replace" | "fast-import" => Some(&history::REWRITE),
        "update-ref" => Some(if parsed.has(&["d", "stdin", "delete"]) {
            &history::REWRITE
        } else {
            &history::REORDER
        }),
        "symbolic-ref" => {
            (parsed.operands.len() > 1 || parsed.has(&["d", "delete"])).then_some(&history::REORDER)
        }
        "reflog" => match sub.as_str() {
            "expire" | "delete" | "drop" => Some(&history::REWRITE),
            _ => None,
        },
        "gc" | "prune" => {
            let now = words
                .iter()
                .any(|word| word.starts_with("--prune") && word != "--prune=2.weeks.ago")
                || verb == "prune" && !parsed.has(&["n", "dry-run"]);
            now.then_some(&history::REWRITE)
        }
        "prune-packed" => None,
        "repack" => parsed
            .has(&["a", "A"])
            .then_some(&history::REORDER)
            .filter(|_| parsed.has(&["d"])),
        "rebase" => {
            if parsed.has(&["abort", "quit", "skip"]) {
                Some(&history::DISCARD)
                    .filter(|_| parsed.has(&["skip"]))
                    .or(Some(&history::REORDER))
            } else {
                Some(&history::REORDER)
            }
        }
        "sparse-checkout" | "rerere" if matches!(sub.as_str(), "list" | "status" | "diff") => None,
        "read-tree" if parsed.has(&["reset"]) => Some(&history::DISCARD),
        "checkout-index" if parsed.has(&["f", "force"]) => Some(&history::DISCARD),
        "merge" | "cherry-pick" | "revert" | "read-tree" | "checkout-index" | "update-index"
        | "sparse-checkout" | "rerere" => Some(&history::MERGE),
        "bisect" => {
            if sub == "run" {
                let at = args
                    .iter()
                    .position(|arg| arg.known().as_deref() == Some("run"))?;
                machine.call(&args[at + 1..], &mut state.clone());
                return None;
            }
            if matches!(sub.as_str(), "log" | "view" | "visualize") {
                None
            } else {
                Some(&history::MERGE)
            }
        }
        "submodule" => match sub.as_str() {
            "foreach" => {
                let at = args
                    .iter()
                    .position(|arg| arg.known().as_deref() == Some("foreach"))?;
                let rest: Vec<&Field> = args[at + 1..]
                    .iter()
                    .filter(|arg| arg.known().as_deref() != Some("--recursive"))
                    .collect();
                let code: Vec<Field> = rest.into_iter().cloned().collect();
                joined(machine, &code, state);
                None
            }
            "" | "status" | "summary" => None,
            "deinit" => Some(&history::DISCARD),
            _ => Some(&network::USE),
        },
        "worktree" => match sub.as_str() {
            "list" => None,
            "add" | "move" => {
                for folder in parsed
                    .operands
                    .iter()
                    .skip(if sub == "add" { 1 } else { 2 })
                    .take(1)
                {
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
                Some(if parsed.has(&["f", "force"]) {
                    &history::DISCARD
                } else {
                    &history::BRANCH
                })
            }
            _ => Some(&history::BRANCH),
        },
        "clone" => {
            if let Some(folder) = parsed.operands.get(1) {
                machine.path(Role::Write, folder, state);
            }
            machine.network(parsed.operands.first().and_then(crate::programs::net::host));
            None
        }
        "difftool" | "mergetool" | "gui" | "citool" | "instaweb" | "daemon" | "cvsserver"
        | "shell" => Some(&history::PROGRAM),
        "credential" | "credential-cache" | "credential-store" => Some(&rules::secret::STORE),
        "lfs" => Some(if sub == "prune" {
            &history::REWRITE
        } else {
            &network::USE
        }),
        _ if LOOKS.contains(&verb) || SAFE.contains(&verb) => None,
        _ if NETWORK.contains(&verb) => Some(&network::USE),
        _ => Some(&rules::opaque::PROGRAM),
    }
}

fn joined(machine: &mut Machine<'_>, words: &[Field], state: &State) {
    let mut line = Field::default();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            line.push(Part::Lit {
                text: " ".to_owned(),
                quoted: true,
            });
        }
        for part in word.clone().quoted().parts {
            line.push(part);
        }
    }
    machine.code_word(&line, &mut state.clone());
}

fn checkout(
    machine: &mut Machine<'_>,
    verb: &str,
    args: &[Field],
    parsed: &Parsed,
    state: &State,
) -> Option<&'static Rule> {
    if parsed.has(&["f", "force", "discard-changes"]) {
        return Some(&history::DISCARD);
    }
    if parsed.has(&["B", "C", "force-create"]) {
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
        text == "."
            || text.starts_with("./")
            || text.starts_with(':')
            || text.contains('*')
            || text.ends_with('/')
            || text.rsplit('/').next().is_some_and(|name| {
                name.contains('.') && !name.starts_with('v') && !name.ends_with(".x")
            })
            || machine.target(field, state).place == Place::Whole
    };
    let paths = dashes
        || parsed.operands.len() > 1
        || parsed.operands.iter().any(looks)
        || parsed.has(&["ours", "theirs", "pathspec-from-file"]);
    if paths {
        return Some(&history::DISCARD);
    }
    parsed
        .operands
        .iter()
        .any(Field::has_unknown)
        .then_some(&rules::opaque::VALUE)
}

fn push(parsed: &Parsed) -> &'static Rule {
    let forced = parsed.has(&["f", "force", "mirror", "delete", "d", "prune"])
        || parsed.operands.iter().skip(1).any(|refspec| {
            let text = refspec.prefix();
            text.starts_with('+') || text.starts_with(':') && text.len() > 1
        });
    if forced {
        &history::FORCE_PUSH
    } else {
        &network::USE
    }
}
