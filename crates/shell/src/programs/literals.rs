//! String literals of other languages.

/// The string literals of code, with what `+` or `.` joins joined.
pub(super) fn literals(code: &str, language: &str) -> Vec<String> {
    let chars: Vec<char> = code.chars().collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    let mut joins = false;
    while at < chars.len() && out.len() < 64 {
        let c = chars[at];
        let close = match c {
            '\'' | '"' | '`' => Some(c),
            _ => quote_word(&chars, at, language),
        };
        let Some(close) = close else {
            // Only an operator that joins, or white space, keeps two literals together.
            if !matches!(c, '+' | '.' | ' ' | '\t' | '\n') {
                joins = false;
            }
            if c == '+' || (c == '.' && matches!(language, "perl" | "php" | "lua")) {
                joins = true;
            }
            at += 1;
            continue;
        };
        let open = match c {
            '\'' | '"' | '`' => at + 1,
            _ => {
                let mut open = at;
                while open < chars.len() && chars[open].is_alphabetic()
                    || chars.get(open) == Some(&'%')
                    || chars.get(open) == Some(&' ')
                {
                    open += 1;
                }
                open + 1
            }
        };
        let mut text = String::new();
        let mut end = open;
        while end < chars.len() && chars[end] != close {
            if chars[end] == '\\' && end + 1 < chars.len() {
                text.push(chars[end]);
                end += 1;
            }
            text.push(chars[end]);
            end += 1;
        }
        let text = if text.contains('\\') {
            crate::word::ansi_c(&text)
        } else {
            text
        };
        match out.last_mut() {
            Some(last) if joins => last.push_str(&text),
            _ => out.push(text),
        }
        joins = false;
        at = end + 1;
    }
    out
}

/// The closing sign of `q{…}`, `qx(…)` and `%x(…)`.
fn quote_word(chars: &[char], at: usize, language: &str) -> Option<char> {
    let word_before = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    let starts = match (language, chars[at]) {
        ("perl", 'q') | ("ruby", '%') => !word_before,
        _ => false,
    };
    if !starts {
        return None;
    }
    let rest: String = chars[at..].iter().take(4).collect();
    let word = ["qx", "qq", "qw", "q", "%x", "%q", "%Q", "%w"]
        .iter()
        .find(|word| rest.starts_with(**word))?;
    let open = chars[at + word.len()..].iter().find(|c| **c != ' ')?;
    Some(match open {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        '/' | '|' | '!' => *open,
        _ => return None,
    })
}
