//! What the person's own configuration of git names: git runs or obeys it in every work tree, whatever
//! the repository there says.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use deputize_authority::git_config;

/// More than any configuration that a person wrote has.
const CONFIG_BYTES: u64 = 1 << 20;
/// Most files, included ones too.
const FILES: usize = 16;
/// Most names that are kept.
const NAMES: usize = 64;

/// Settings that name a file or a folder. Of a command, only words with a slash are places; the others
/// are found by `PATH`.
const FILE_KEYS: &[&str] = &["attributesfile", "excludesfile", "hookspath", "template"];

/// Reads the configuration that holds for every repository of this person.
pub(crate) fn gather(
    home: Option<&Path>,
    variable: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let mut names = Vec::new();
    let mut files = files(home, &variable);
    let mut at = 0;
    while let Some(file) = files.get(at).cloned().filter(|_| at < FILES) {
        at += 1;
        let Some(text) = text(&file) else { continue };
        for (key, word) in git_config::named(&text) {
            if key == "path" {
                files.extend(included(&word, &file, home));
            } else if is_place(&key, &word) && names.len() < NAMES {
                names.push((key, expanded(&word, home)));
            }
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Where git looks, whatever repository it works in.
fn files(home: Option<&Path>, variable: &impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let set = |name: &str| variable(name).map(PathBuf::from);
    let mut files = Vec::new();
    files.push(set("GIT_CONFIG_SYSTEM").unwrap_or_else(|| PathBuf::from("/etc/gitconfig")));
    match set("GIT_CONFIG_GLOBAL") {
        Some(file) => files.push(file),
        None => {
            let moved = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
            let base = moved.or_else(|| home.map(|home| home.join(".config")));
            files.extend(base.map(|base| base.join("git/config")));
            files.extend(home.map(|home| home.join(".gitconfig")));
        }
    }
    files
}

fn included(word: &str, by: &Path, home: Option<&Path>) -> Option<PathBuf> {
    Some(by.parent()?.join(expanded(word, home)))
}

fn expanded(word: &str, home: Option<&Path>) -> String {
    match (word.strip_prefix("~/"), home.and_then(Path::to_str)) {
        (Some(below), Some(home)) => format!("{home}/{below}"),
        _ => word.to_owned(),
    }
}

fn is_place(key: &str, word: &str) -> bool {
    let is_path = !word.starts_with(['-', '$']);
    is_path && (FILE_KEYS.contains(&key) || word.contains('/'))
}

/// A regular file's text; whatever else is there names nothing.
fn text(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(CONFIG_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B2, C2: relative names count, from every file that git would read; programs of `PATH` don't.
    #[test]
    fn names_in_every_work_tree_are_found() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
        write(
            ".gitconfig",
            "[core]\n hooksPath = .githooks\n pager = less -R\n editor = /usr/bin/vi\n\
             [include]\n path = more\n[alias]\n go = !sh ./tools/go.sh --now\n",
        );
        write(
            "more",
            "[filter \"x\"]\n clean = bin/clean %f\n[core]\n excludesFile = ~/.ign\n",
        );
        let nothing = |name: &str| (name == "GIT_CONFIG_SYSTEM").then(|| "/dev/null".to_owned());
        let found = gather(Some(home.path()), nothing);
        let words: Vec<&str> = found.iter().map(|(_, word)| word.as_str()).collect();
        let ignored = home.path().join(".ign").display().to_string();
        assert_eq!(
            words,
            [
                "bin/clean",
                "/usr/bin/vi",
                &ignored,
                "./tools/go.sh",
                ".githooks"
            ]
        );
        let elsewhere = |name: &str| {
            Some(
                if name == "GIT_CONFIG_GLOBAL" {
                    "/dev/null"
                } else {
                    "/"
                }
                .to_owned(),
            )
        };
        assert_eq!(gather(Some(home.path()), elsewhere), []);
    }
}
