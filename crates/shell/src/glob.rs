//! Patterns matched as text: nothing is looked up.

/// Whether a shell pattern matches a whole name. `/` has no meaning here: patterns are matched
/// component by component.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    if pattern.starts_with("!(") {
        return true;
    }
    if differs_at_an_end(pattern, name) {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().take(256).collect();
    let name: Vec<char> = name.chars().take(256).collect();
    // Where to go on when a `*` must take one character more.
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if p < pattern.len() && pattern[p] == '*' {
            retry = Some((p, n));
            p += 1;
            continue;
        }
        if n == name.len() {
            return pattern[p..].iter().all(|c| *c == '*');
        }
        if let Some(next) = one(&pattern, p, name[n]) {
            p = next;
            n += 1;
            continue;
        }
        match retry {
            Some((star, at)) => {
                p = star + 1;
                n = at + 1;
                retry = Some((star, n));
            }
            None => return false,
        }
    }
}

/// Whether the first or the last character alone tells that a name isn't matched, as it does for most.
fn differs_at_an_end(pattern: &str, name: &str) -> bool {
    let plain = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let first = pattern.first().filter(plain);
    // What is longer is only looked at so far.
    let last = pattern
        .last()
        .filter(plain)
        .filter(|_| pattern.len().max(name.len()) < 256);
    first.is_some_and(|first| name.first() != Some(first))
        || last.is_some_and(|last| name.last() != Some(last))
}

/// Where the pattern goes on when the part at `p` matches this character.
fn one(pattern: &[char], p: usize, c: char) -> Option<usize> {
    match pattern.get(p)? {
        '?' => Some(p + 1),
        '\\' => (pattern.get(p + 1) == Some(&c)).then_some(p + 2),
        '[' => {
            let mut at = p + 1;
            let negated = matches!(pattern.get(at), Some('!' | '^'));
            if negated {
                at += 1;
            }
            let first = at;
            let mut found = false;
            loop {
                let low = *pattern.get(at)?;
                if low == ']' && at > first {
                    break;
                }
                // A class such as `[:alpha:]` is taken as any character: it may match.
                if low == '[' && pattern.get(at + 1) == Some(&':') {
                    let end = (at + 2..pattern.len()).find(|i| pattern[*i] == ']')?;
                    found = true;
                    at = end + 1;
                    continue;
                }
                match (pattern.get(at + 1), pattern.get(at + 2)) {
                    (Some('-'), Some(high)) if *high != ']' => {
                        found |= low <= c && c <= *high;
                        at += 3;
                    }
                    _ => {
                        found |= low == c;
                        at += 1;
                    }
                }
            }
            (found != negated).then_some(at + 1)
        }
        other => (*other == c).then_some(p + 1),
    }
}

/// Whether a component is a pattern.
pub(crate) fn is_pattern(component: &str) -> bool {
    component.contains(['*', '?', '[']) || component.contains("!(")
}

/// Whether a pattern matches nearly every name: no two letters, digits or dots in a row stand in it.
pub(crate) fn is_wide(pattern: &str) -> bool {
    // Everything but a few names.
    if pattern.starts_with("!(") && pattern.ends_with(')') {
        return true;
    }
    // A range of a whole alphabet says nothing about a name.
    let mut plain = pattern.to_owned();
    for range in [
        "[a-z]",
        "[A-Z]",
        "[a-zA-Z]",
        "[A-Za-z]",
        "[a-z0-9]",
        "[[:alpha:]]",
        "[[:alnum:]]",
        "[[:lower:]]",
    ] {
        plain = plain.replace(range, "?");
    }
    let fixed = plain
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        .count();
    // `*~`, `.#*`: what editors leave.
    let marks = plain.contains(['~', '#', '%', '+']);
    fixed == 0 && !marks || pattern.starts_with(".[")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_a_shell_matches_them() {
        for (pattern, name) in [
            ("*", "home"),
            ("h*", "home"),
            ("b?n", "bin"),
            ("r?", "rm"),
            ("[e]tc", "etc"),
            ("[a-f]tc", "etc"),
            ("[!x]tc", "etc"),
            ("*o*e", "home"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("h*", "etc"), ("b?n", "bi"), ("[!e]tc", "etc"), ("", "a")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_wide_pattern_names_nothing() {
        assert!(is_wide("*") && is_wide(".*") && is_wide("?*") && is_wide(".[!.]*"));
        assert!(!is_wide("*.tmp") && !is_wide("a*"));
    }
}
