//! Fitting text into columns.

use deputize_authority::Untrusted;

/// Foreign text in one line.
pub fn one_line(text: &str) -> String {
    Untrusted::new(text).preview(400)
}

/// The beginning of a line that fits so many columns; `…` where something was left out.
pub fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars()
        .take(columns.saturating_sub(1))
        .chain(['…'])
        .collect()
}

/// Wraps escaped text at spaces; every line begins with `indent` and ends with a break.
pub fn wrap(text: &str, columns: usize, indent: &str) -> String {
    let room = columns.saturating_sub(indent.len()).max(12);
    let mut out = String::new();
    for line in text.lines() {
        let mut current = String::new();
        let mut used = 0;
        for word in line.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if used > 0 && used + length > room {
                out.push_str(&format!("{indent}{}\n", current.trim_end()));
                current.clear();
                used = 0;
            }
            current.push_str(word);
            used += word.chars().count();
        }
        out.push_str(&format!("{indent}{}\n", current.trim_end()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_narrow_terminals() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(
            wrap("one two three four", 14, "  "),
            "  one two\n  three four\n"
        );
        // A word that is longer than a line stays whole: paths can be copied.
        assert_eq!(
            wrap("a/very/long/path/name x", 12, ""),
            "a/very/long/path/name\nx\n"
        );
    }
}
