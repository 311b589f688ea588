//! Settings of git: which run programs, which load code.

use crate::machine::{Machine, State};
use crate::options::Parsed;
use crate::rules::{self, Rule, history, persistence};
use crate::value::Field;

/// Keys of which the value is a command.
fn runs(key: &str) -> bool {
    let key = key.to_lowercase();
    matches!(
        key.as_str(),
        "core.pager"
            | "core.editor"
            | "core.fsmonitor"
            | "core.sshcommand"
            | "core.askpass"
            | "core.gitproxy"
            | "core.alternaterefscommand"
            | "diff.external"
            | "credential.helper"
            | "gpg.program"
            | "sequence.editor"
            | "web.browser"
            | "uploadpack.packobjectshook"
            | "interactive.difffilter"
            | "receive.procreceiverefs"
            | "gpg.ssh.program"
            | "gpg.x509.program"
            | "gpg.openpgp.program"
            | "gpg.ssh.defaultkeycommand"
            | "man.viewer"
            | "help.browser"
    ) || key.starts_with("pager.")
        || key.starts_with("alias.")
        || ((key.starts_with("filter.")
            || key.starts_with("diff.")
            || key.starts_with("merge.")
            || key.starts_with("difftool.")
            || key.starts_with("mergetool.")
            || key.starts_with("remote.")
            || key.starts_with("credential.")
            || key.starts_with("submodule.")
            || key.starts_with("browser.")
            || key.starts_with("trailer.")
            || key.starts_with("tar.")
            || key.starts_with("man.")
            || key.starts_with("guitool."))
            && [
                ".clean",
                ".smudge",
                ".process",
                ".command",
                ".textconv",
                ".driver",
                ".cmd",
                ".uploadpack",
                ".receivepack",
                ".helper",
                ".update",
                ".path",
                ".vcs",
                ".proxy",
            ]
            .iter()
            .any(|end| key.ends_with(end)))
}

/// Keys that make git load code or configuration from elsewhere, or obey a remote.
fn loads(key: &str) -> bool {
    let key = key.to_lowercase();
    matches!(
        key.as_str(),
        "core.hookspath"
            | "include.path"
            | "init.templatedir"
            | "core.worktree"
            | "core.attributesfile"
            | "safe.directory"
            | "http.proxy"
            | "core.gitdir"
            | "http.sslverify"
            | "core.excludesfile"
            | "commit.template"
    ) || key.starts_with("includeif.")
        || key.starts_with("url.")
        || key.starts_with("protocol.")
        || key.starts_with("hook.")
}

/// Keys of which no value runs, loads, sends or loses anything.
fn is_harmless(key: &str) -> bool {
    let key = key.to_lowercase();
    if runs(&key) || loads(&key) {
        return false;
    }
    let Some((section, name)) = key.split_once('.') else {
        return false;
    };
    let names: &[&str] = match section {
        "user" | "author" | "committer" | "color" | "advice" | "column" | "i18n"
        | "versionsort" => {
            return true;
        }
        "core" => &[
            "autocrlf",
            "eol",
            "safecrlf",
            "filemode",
            "ignorecase",
            "quotepath",
            "abbrev",
            "whitespace",
            "precomposeunicode",
            "longpaths",
            "symlinks",
            "commentchar",
            "preloadindex",
            "untrackedcache",
            "logallrefupdates",
            "bigfilethreshold",
            "protecthfs",
            "protectntfs",
            "compression",
            "createobject",
            "trustctime",
            "checkstat",
        ],
        "diff" if name.ends_with("algorithm") => return true,
        "diff" => &[
            "renames",
            "renamelimit",
            "colormoved",
            "colormovedws",
            "noprefix",
            "mnemonicprefix",
            "context",
            "interhunkcontext",
            "wserrorhighlight",
            "submodule",
            "indentheuristic",
            "suppressblankempty",
            "relative",
            "wordregex",
            "statgraphwidth",
            "ignoresubmodules",
        ],
        "merge" => &[
            "ff",
            "conflictstyle",
            "log",
            "renames",
            "renamelimit",
            "stat",
            "autostash",
        ],
        "pull" => &["rebase", "ff"],
        "push" => &["default", "followtags", "autosetupremote"],
        "fetch" => &["prune", "parallel", "showforcedupdates", "output"],
        "rebase" => &[
            "autosquash",
            "autostash",
            "updaterefs",
            "missingcommitscheck",
            "stat",
        ],
        "commit" => &["gpgsign", "verbose", "cleanup", "status"],
        "tag" => &["gpgsign", "sort", "forcesignannotated"],
        "branch" => &["sort", "autosetupmerge", "autosetuprebase"],
        "log" => &[
            "date",
            "decorate",
            "abbrevcommit",
            "follow",
            "showroot",
            "mailmap",
            "graphcolors",
            "diffmerges",
            "excludedecoration",
        ],
        "status" => return true,
        "grep" => &[
            "linenumber",
            "column",
            "patterntype",
            "extendedregexp",
            "fullname",
            "threads",
        ],
        "blame" => &["coloring", "date", "showemail", "showroot", "blankboundary"],
        "rerere" => &["enabled", "autoupdate"],
        "stash" => &["showincludeuntracked", "showpatch", "showstat"],
        "init" => &["defaultbranch"],
        "gc" => &["auto", "autodetach", "autopacklimit"],
        "pack" => &["threads", "windowmemory", "window", "depth"],
        "index" => &["threads", "version"],
        "feature" => &["manyfiles", "experimental"],
        "format" => &["pretty"],
        "apply" => &["whitespace", "ignorewhitespace"],
        "submodule" => &["recurse", "fetchjobs"],
        "checkout" => &["defaultremote", "guess", "workers"],
        "transfer" => &["fsckobjects"],
        "maintenance" => &["auto", "autodetach"],
        _ => &[],
    };
    names.contains(&name)
}

/// Whether `git config` only prints.
pub(super) fn looks(parsed: &Parsed) -> bool {
    let verb = parsed
        .operands
        .first()
        .map(Field::shown)
        .unwrap_or_default();
    let lists = parsed.has(&[
        "l",
        "list",
        "get",
        "get-all",
        "get-regexp",
        "get-urlmatch",
        "get-color",
    ]);
    let changes = parsed.has(&[
        "e",
        "edit",
        "unset",
        "unset-all",
        "add",
        "replace-all",
        "remove-section",
        "rename-section",
    ]);
    match verb.as_str() {
        "list" | "get" => !changes,
        "set" | "unset" | "edit" | "remove-section" | "rename-section" => false,
        _ => (lists || parsed.operands.len() == 1) && !changes,
    }
}

/// `-c key=value`.
pub(super) fn setting(
    machine: &mut Machine<'_>,
    pair: &Field,
    aliases: &mut Vec<(String, String)>,
    state: &State,
) {
    let prefix = pair.prefix();
    let (key, known) = prefix
        .split_once('=')
        .map_or((prefix.as_str(), ""), |(key, value)| (key, value));
    if let Some(alias) = key.strip_prefix("alias.") {
        aliases.push((alias.to_owned(), known.to_owned()));
        return;
    }
    if runs(key) {
        let value = pair.after(key.len() + 1);
        match value.known() {
            Some(text)
                if matches!(
                    text.as_ref(),
                    "" | "cat" | "less" | "true" | "false" | "more" | "less -R" | "less -FRX"
                ) => {}
            Some(text) => {
                let text = text.trim_start_matches('!').to_owned();
                machine.inner(&text, &mut state.clone());
                if key.to_lowercase().starts_with("credential") {
                    machine.act(&history::PROGRAM);
                }
            }
            None => machine.code_word(&value, &mut state.clone()),
        }
    } else if pair.has_unknown() && !prefix.contains('=') {
        machine.act(&rules::opaque::VALUE);
    } else if !is_harmless(key) {
        machine.act(&history::PROGRAM);
    }
}

pub(super) fn config(
    machine: &mut Machine<'_>,
    args: &[Field],
    parsed: &Parsed,
    state: &State,
) -> Option<&'static Rule> {
    let words: Vec<String> = args.iter().map(Field::shown).collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    if has(&[
        "-l",
        "--list",
        "--get",
        "--get-all",
        "--get-regexp",
        "list",
        "get",
        "--show-origin",
        "--get-urlmatch",
        "--get-color",
    ]) && !has(&["set", "unset", "--unset", "--add", "--unset-all"])
    {
        return None;
    }
    let operands: Vec<&Field> = parsed
        .operands
        .iter()
        .filter(|field| {
            !matches!(
                field.shown().as_str(),
                "set" | "unset" | "edit" | "remove-section" | "rename-section"
            )
        })
        .collect();
    if has(&["-e", "--edit", "edit"]) {
        return Some(&rules::opaque::INTERACTIVE);
    }
    let unsets = has(&[
        "--unset",
        "--unset-all",
        "--remove-section",
        "unset",
        "--rename-section",
    ]);
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
        if crate::machine::runs_remote(&text) {
            machine.act(&persistence::PLANTED);
        }
    }
    let elsewhere = has(&["--global", "--system", "--worktree"]);
    // The repository's own settings that are known to do nothing else are part of working in it.
    (elsewhere || unsets || !is_harmless(&key) || operands.iter().any(|field| field.has_unknown()))
        .then_some(&persistence::CONFIGURATION)
}
