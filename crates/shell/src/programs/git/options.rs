//! Options of git's commands: which take a value, which run a program.

use super::settings::setting;
use crate::effect::Role;
use crate::machine::{Machine, State};
use crate::options::Parsed;
use crate::rules::history;
use crate::value::Field;

/// Options that take a value, by command.
pub(super) fn valued(verb: &str) -> &'static str {
    match verb {
        "grep" => "e f C A B m max-depth max-count threads context",
        "rebase" => "x exec onto s strategy X C",
        "commit" => {
            "m message F file C c reuse-message author date t template fixup squash cleanup trailer pathspec-from-file"
        }
        "log" | "show" | "diff" | "shortlog" | "whatchanged" | "diff-tree" | "diff-files"
        | "diff-index" | "range-diff" => {
            "n S G L O max-count since until after before author grep format pretty output date word-diff-regex diff-filter ignore-matching-lines U"
        }
        "push" => "o push-option repo receive-pack exec",
        "clone" => {
            "b branch depth o origin u upload-pack c config reference template separate-git-dir j jobs filter"
        }
        "checkout" | "switch" => "b B c C orphan conflict pathspec-from-file",
        "restore" => "s source conflict pathspec-from-file",
        "worktree" => "b B reason",
        "archive" => "o output format prefix remote exec add-file add-virtual-file mtime",
        "format-patch" => "o output-directory subject-prefix",
        "bundle" => "",
        "tag" => "m message F file u local-user sort n",
        "difftool" | "mergetool" => "x extcmd t tool",
        "filter-branch" => {
            "tree-filter index-filter env-filter msg-filter commit-filter tag-name-filter parent-filter subdirectory-filter setup d"
        }
        "fetch" | "pull" => "upload-pack depth o j jobs s strategy X shallow-since",
        "config" => "f file blob type default get-color",
        "clean" => "e exclude",
        "init" => "template separate-git-dir object-format b initial-branch",
        "stash" => "m message pathspec-from-file",
        "notes" => "m F C c ref",
        "am" | "apply" => "C p directory exclude include build-fake-ancestor whitespace",
        "bisect" => "term-old term-new",
        "branch" => "u set-upstream-to sort contains format points-at no-contains merged-into",
        "gc" => "",
        "rm" | "add" | "stage" | "reset" => "pathspec-from-file chmod",
        "maintenance" => "task schedule scheduler",
        "interpret-trailers" => "trailer where if-exists if-missing",
        "hash-object" => "t path",
        "merge" | "cherry-pick" | "revert" => "m message F s strategy X mainline S-key",
        "blame" => "L S C M ignore-rev ignore-revs-file contents",
        "send-email" => "to from smtp-server",
        _ => "",
    }
}

/// Long options that something is judged by, by command.
fn heeded(verb: &str) -> &'static [&'static str] {
    match verb {
        "reset" => &[
            "hard",
            "merge",
            "keep",
            "soft",
            "mixed",
            "pathspec-from-file",
        ],
        "branch" => &["force", "delete", "edit-description"],
        "tag" => &["force", "delete", "file"],
        "gc" => &["prune"],
        "checkout" | "switch" => &[
            "force",
            "force-create",
            "discard-changes",
            "orphan",
            "patch",
            "ours",
            "theirs",
            "pathspec-from-file",
        ],
        "restore" => &["worktree", "patch", "pathspec-from-file"],
        "commit" => &["amend", "file", "template", "pathspec-from-file"],
        "add" | "stage" => &["pathspec-from-file"],
        "rm" => &["force", "pathspec-from-file"],
        "mv" | "worktree" | "checkout-index" => &["force"],
        "stash" => &[
            "ext-diff",
            "textconv",
            "output",
            "patch",
            "pathspec-from-file",
        ],
        "log" | "show" | "diff" | "diff-tree" | "diff-files" | "diff-index" | "whatchanged"
        | "shortlog" | "range-diff" | "reflog" | "rev-list" => {
            &["ext-diff", "textconv", "output", "no-index", "patch"]
        }
        "format-patch" => &["ext-diff", "textconv", "output-directory", "output"],
        "apply" => &["unsafe-paths", "build-fake-ancestor", "directory"],
        "am" => &["abort", "skip", "quit", "directory"],
        "grep" => &[
            "open-files-in-pager",
            "no-index",
            "untracked",
            "no-exclude-standard",
            "textconv",
            "ext-grep",
            "file",
        ],
        "blame" | "annotate" => &["contents", "textconv", "ignore-revs-file"],
        "cat-file" => &["filters", "textconv"],
        "push" => &[
            "force",
            "mirror",
            "delete",
            "prune",
            "receive-pack",
            "exec",
            "repo",
        ],
        "clone" => &["upload-pack", "config", "template", "separate-git-dir"],
        "fetch" | "pull" | "ls-remote" => &["upload-pack", "exec", "force", "prune"],
        "archive" => &["output", "remote", "exec", "add-file", "add-virtual-file"],
        "hash-object" => &["stdin-paths"],
        "interpret-trailers" => &["in-place", "file"],
        "update-ref" => &["stdin"],
        "symbolic-ref" => &["delete"],
        "rebase" => &["exec", "skip", "abort", "quit"],
        "clean" => &["force", "interactive"],
        "config" => &[
            "unset",
            "unset-all",
            "add",
            "replace-all",
            "edit",
            "file",
            "global",
            "system",
            "worktree",
            "remove-section",
            "rename-section",
        ],
        "fsck" => &["lost-found"],
        "maintenance" => &["task"],
        "difftool" | "mergetool" => &["extcmd"],
        "init" => &["template", "separate-git-dir"],
        "read-tree" => &["reset"],
        _ => &[],
    }
}

/// Long options that are whole as they stand, though one that is judged begins with them.
const WHOLE: &[&str] = &["no", "merge", "add", "text", "filter", "stdin"];

/// Arguments with each long option that is judged spelled in full: git takes it by its beginning.
pub(super) fn spelled(verb: &str, args: &[Field]) -> Vec<Field> {
    crate::options::spelled(args, heeded(verb), WHOLE)
}

/// Options of commands that run a program.
pub(super) fn programs_of(machine: &mut Machine<'_>, verb: &str, parsed: &Parsed, state: &State) {
    let names: &[&str] = match verb {
        "rebase" => &["x", "exec"],
        "filter-branch" => &[
            "tree-filter",
            "index-filter",
            "env-filter",
            "msg-filter",
            "commit-filter",
            "tag-name-filter",
            "parent-filter",
            "setup",
        ],
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
    for file in parsed.values(&["pathspec-from-file"]) {
        if file.known().as_deref() != Some("-") {
            machine.read_file(file, state);
        }
    }
    for file in parsed.values(&["build-fake-ancestor"]) {
        machine.path(Role::Write, file, state);
    }
    if verb == "clone" {
        for pair in parsed.values(&["c", "config"]) {
            let pair = pair.clone();
            setting(machine, &pair, &mut Vec::new(), state);
        }
    }
    for file in parsed
        .values(&["template", "separate-git-dir"])
        .filter(|_| matches!(verb, "clone" | "init"))
    {
        let file = file.clone();
        machine.path(Role::Write, &file, state);
        machine.act(&history::PROGRAM);
    }
    for file in parsed
        .values(&["F", "file", "f", "contents", "ignore-revs-file"])
        .filter(|_| {
            matches!(
                verb,
                "commit" | "tag" | "grep" | "blame" | "notes" | "config"
            )
        })
    {
        let file = file.clone();
        if verb == "config" && !super::settings::looks(parsed) {
            machine.path(Role::Write, &file, state);
        } else {
            machine.read_file(&file, state);
        }
    }
    if parsed.has(&["ext-diff", "textconv", "filters"]) {
        machine.act(&history::PROGRAM);
    }
}
