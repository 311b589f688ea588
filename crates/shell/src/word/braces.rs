//! Brace expansion, on raw text.

use super::scan;
use crate::limits::MAX_BRACES;

/// The words that braces make of one. `None`: more than are followed.
pub(crate) fn braces(raw: &str) -> Option<Vec<String>> {
    if !raw.contains('{') {
        return Some(vec![raw.to_owned()]);
    }
    let mut done = Vec::new();
    let mut open = vec![raw.to_owned()];
    while let Some(word) = open.pop() {
        match first(&word) {
            None => done.push(word),
            Some((start, end, choices)) => {
                let (before, after) = (word.get(..start)?, word.get(end..)?);
                for choice in choices.iter().rev() {
                    open.push(format!("{before}{choice}{after}"));
                }
            }
        }
        if open.len() + done.len() > MAX_BRACES {
            return None;
        }
    }
    Some(done)
}

/// The first brace expression outside quotes: its bytes and its choices.
fn first(word: &str) -> Option<(usize, usize, Vec<String>)> {
    let bytes = word.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'{' {
            if let Some((end, commas)) = group(bytes, at + 1) {
                let inner = word.get(at + 1..end)?;
                if !commas.is_empty() {
                    let mut choices = Vec::new();
                    let mut from = at + 1;
                    for comma in commas {
                        choices.push(word.get(from..comma)?.to_owned());
                        from = comma + 1;
                    }
                    choices.push(word.get(from..end)?.to_owned());
                    return Some((at, end + 1, choices));
                }
                if let Some(choices) = sequence(inner) {
                    return Some((at, end + 1, choices));
                }
            }
            at += 1;
            continue;
        }
        at = skip(bytes, at)?;
    }
    None
}

/// Past one character, or past what is quoted.
fn skip(bytes: &[u8], at: usize) -> Option<usize> {
    let end = match bytes[at] {
        b'\\' => at + 2,
        b'\'' => scan::find(bytes, at + 1, b'\'')? + 1,
        b'"' => scan::double_end(bytes, at + 1)?,
        b'`' => scan::backtick_end(bytes, at + 1)? + 1,
        b'$' => match bytes.get(at + 1) {
            Some(b'\'') => scan::ansi_end(bytes, at + 2)?,
            Some(b'(') => scan::close_paren(bytes, at + 2)? + 1,
            Some(b'{') => scan::close_brace(bytes, at + 2)? + 1,
            _ => at + 1,
        },
        _ => at + 1,
    };
    Some(end.min(bytes.len()))
}

/// The end of a group and the commas of its own level.
fn group(bytes: &[u8], from: usize) -> Option<(usize, Vec<usize>)> {
    let (mut at, mut depth, mut commas) = (from, 0_usize, Vec::new());
    while at < bytes.len() {
        match bytes[at] {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some((at, commas)),
            b'}' => depth -= 1,
            b',' if depth == 0 => commas.push(at),
            _ => {
                at = skip(bytes, at)?;
                continue;
            }
        }
        at += 1;
    }
    None
}

/// `1..4` and `a..e`.
fn sequence(inner: &str) -> Option<Vec<String>> {
    let mut parts = inner.split("..");
    let (from, to, step) = (parts.next()?, parts.next()?, parts.next());
    let step = step.map_or(Some(1), |step| step.parse::<i64>().ok())?;
    let step = usize::try_from(step.unsigned_abs()).ok()?.max(1);
    let width = if from.starts_with('0') && from.len() > 1 {
        from.len()
    } else {
        0
    };
    let range = |from: i64, to: i64| -> Option<Vec<i64>> {
        let count = from.abs_diff(to) / u64::try_from(step).ok()? + 1;
        let count = usize::try_from(count).ok()?.min(MAX_BRACES + 1);
        let step = i64::try_from(step).ok()?;
        let sign = if from <= to { step } else { -step };
        Some(
            (0..count)
                .map(|i| from.saturating_add(sign.saturating_mul(i as i64)))
                .collect(),
        )
    };
    if let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) {
        return Some(
            range(from, to)?
                .iter()
                .map(|n| format!("{n:0width$}"))
                .collect(),
        );
    }
    let single = |text: &str| {
        let mut chars = text.chars();
        let c = chars.next().filter(char::is_ascii_alphabetic)?;
        chars.next().is_none().then_some(c)
    };
    let (from, to) = (single(from)?, single(to)?);
    let letters = range(i64::from(u32::from(from)), i64::from(u32::from(to)))?;
    Some(
        letters
            .into_iter()
            .filter_map(|n| u32::try_from(n).ok().and_then(char::from_u32))
            .map(String::from)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::braces;

    #[test]
    fn braces_make_words() {
        for (word, wanted) in [
            ("{rm,-rf,/}", vec!["rm", "-rf", "/"]),
            ("/{etc,var}/x", vec!["/etc/x", "/var/x"]),
            ("a{1..3}", vec!["a1", "a2", "a3"]),
            ("{a,b{c,d}}", vec!["a", "bc", "bd"]),
            ("{}", vec!["{}"]),
            ("'{a,b}'", vec!["'{a,b}'"]),
            ("${a,b}", vec!["${a,b}"]),
            ("{a..c}", vec!["a", "b", "c"]),
        ] {
            assert_eq!(braces(word).unwrap(), wanted, "{word}");
        }
        assert_eq!(braces("{1..1000000000}"), None);
    }
}
