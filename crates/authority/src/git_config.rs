//! Reads git's configuration as text, as far as protecting what it names needs that. Git itself is never
//! asked: it would obey what it reads.
//!
//! Keys are told under any section: one too many is harmless where places are looked for.

/// The values of a key, in their order. Keys are compared without case.
#[must_use]
pub fn values(text: &str, key: &str) -> Vec<String> {
    let found = pairs(text).into_iter();
    found
        .filter(|(name, _)| name == &key.to_lowercase())
        .map(|(_, value)| value)
        .collect()
}

/// Every key, in lower case and without its section, with its value.
#[must_use]
pub fn pairs(text: &str) -> Vec<(String, String)> {
    let joined = text.replace("\\\r\n", "").replace("\\\n", "");
    joined
        .lines()
        .filter_map(|line| after_header(line.trim()).split_once('='))
        .map(|(name, value)| (name.trim().to_lowercase(), unquoted(value.trim_start())))
        .collect()
}

/// Keys whose values name programs, or files that git reads on its own.
const KEYS: &[&str] = &[
    "askpass",
    "attributesfile",
    "clean",
    "cmd",
    "command",
    "driver",
    "editor",
    "excludesfile",
    "external",
    "fsmonitor",
    "gitproxy",
    "helper",
    "hookspath",
    "pager",
    "path",
    "process",
    "program",
    "smudge",
    "sshcommand",
    "template",
    "textconv",
];

/// What separates words of a command line, as far as finding paths in it goes.
const SEPARATORS: &[char] = &[
    ' ', '\t', '\'', '"', ';', '|', '&', '(', ')', '<', '>', '=', '`',
];

/// What a configuration names that git runs or obeys: each word that may be a place, with its key.
#[must_use]
pub fn named(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (key, value) in pairs(text) {
        if !value.starts_with('!') && !KEYS.contains(&key.as_str()) {
            continue;
        }
        let words = value.trim_start_matches('!').split(SEPARATORS);
        let words = words.filter(|word| !word.is_empty());
        found.extend(words.map(|word| (key.clone(), word.to_owned())));
    }
    found
}

/// What stands behind `[section "name"]` on the same line.
fn after_header(line: &str) -> &str {
    if !line.starts_with('[') {
        return line;
    }
    let mut quoted = false;
    let mut escaped = false;
    let end = line.find(|letter| {
        let ends = letter == ']' && !quoted;
        quoted ^= letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends
    });
    end.map_or("", |end| line[end + 1..].trim_start())
}

/// A value without its quotes, escapes and comment.
fn unquoted(value: &str) -> String {
    let mut out = String::new();
    // As long as what counts: blanks at the end don't, unless they are quoted.
    let mut length = 0;
    let mut quoted = false;
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                quoted = !quoted;
                continue;
            }
            '#' | ';' if !quoted => break,
            '\\' => out.extend(letters.next().map(|escaped| match escaped {
                'n' => '\n',
                't' => '\t',
                other => other,
            })),
            other => out.push(other),
        }
        if quoted || !letter.is_whitespace() {
            length = out.len();
        }
    }
    out.truncate(length);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B2: a value is found in every spelling that git takes.
    #[test]
    fn a_place_is_found_in_every_spelling() {
        for text in [
            "[core]\n\thooksPath = gh\n",
            "[core] hooksPath = gh\n",
            "[core \"]\"]HOOKSPATH=gh\r\n",
            "[core]\nhooksPath = gh # comment\n",
            "[core]\nhooksPath = \"gh\" ; comment\n",
            "[core]\nhooksPath = g\"h\"\n",
            "[core]\nhooksPath = g\\\nh\n",
        ] {
            assert_eq!(values(text, "hooksPath"), ["gh"], "{text:?}");
        }
        assert_eq!(values("hooksPath = \"a # b \" \n", "hooksPath"), ["a # b "]);
        assert_eq!(
            values("[include]\npath=a\n[includeIf \"x\"]\npath=b\n", "path"),
            ["a", "b"]
        );
        assert_eq!(values("# hooksPath = x\n[core]\n", "hooksPath"), [""; 0]);
    }

    /// C2: programs and files are named by settings and by aliases; the rest names nothing.
    #[test]
    fn what_git_runs_is_named() {
        let text = "[core]\n hooksPath = gh\n pager = less\n[alias]\n x = !sh tools/x.sh 1\n y = log\n\
                    [user]\n name = a b\n";
        let named: Vec<String> = named(text).into_iter().map(|(_, word)| word).collect();
        assert_eq!(named, ["gh", "less", "sh", "tools/x.sh", "1"]);
    }
}
