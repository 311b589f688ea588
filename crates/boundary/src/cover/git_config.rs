//! What a repository's configuration makes git run or read, as far as protecting it needs that.
//!
//! Only keys that name places are looked for, and under any section: one too many is harmless.

/// The values of some keys of a configuration, in its order. Keys are compared without case.
pub(crate) fn values(text: &str, key: &str) -> Vec<String> {
    let joined = text.replace("\\\r\n", "").replace("\\\n", "");
    joined
        .lines()
        .filter_map(|line| after_header(line.trim()).split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case(key))
        .map(|(_, value)| unquoted(value.trim_start()))
        .collect()
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
}
