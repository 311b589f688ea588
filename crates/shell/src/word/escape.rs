//! Backslash escapes: `$'…'`, `echo -e` and `printf`.

/// Decodes `$'…'` and the like. What isn't an escape stays.
pub(crate) fn ansi_c(text: &str) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    while let Some((_, c)) = chars.next() {
        if c != '\\' {
            push(&mut out, c);
            continue;
        }
        let Some((at, next)) = chars.next() else {
            out.push(b'\\');
            break;
        };
        let mut number = |radix: u32, from: usize, most: usize| -> Option<u32> {
            let digits: String = text
                .get(from..)?
                .chars()
                .take(most)
                .take_while(|c| c.is_digit(radix))
                .collect();
            for _ in 0..digits.len().saturating_sub(usize::from(from == at)) {
                chars.next();
            }
            u32::from_str_radix(&digits, radix).ok()
        };
        match next {
            'a' => out.push(7),
            'b' => out.push(8),
            'e' | 'E' => out.push(27),
            'f' => out.push(12),
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            'v' => out.push(11),
            '0'..='7' => {
                // `echo -e` has a zero before three digits, the others don't.
                let most = if next == '0' { 4 } else { 3 };
                let byte = number(8, at, most).unwrap_or(0);
                out.push((byte & 0xff) as u8);
            }
            'x' => match number(16, at + 1, 2) {
                Some(byte) => out.push((byte & 0xff) as u8),
                None => out.extend(b"\\x"),
            },
            'u' | 'U' => {
                let most = if next == 'u' { 4 } else { 8 };
                match number(16, at + 1, most).and_then(char::from_u32) {
                    Some(c) => push(&mut out, c),
                    None => out.extend([b'\\', next as u8]),
                }
            }
            'c' => {
                if let Some((_, c)) = chars.next() {
                    out.push((c as u32 & 0x1f) as u8);
                }
            }
            '\\' | '\'' | '"' | '?' => push(&mut out, next),
            other => {
                out.push(b'\\');
                push(&mut out, other);
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn push(out: &mut Vec<u8>, c: char) {
    let mut buffer = [0; 4];
    out.extend(c.encode_utf8(&mut buffer).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::ansi_c;

    #[test]
    fn escapes_spell_what_they_spell_in_bash() {
        for (text, wanted) in [
            (r"\057etc", "/etc"),
            (r"\u0072m", "rm"),
            (r"\x72\x6d", "rm"),
            (r"a\tb", "a\tb"),
            (r"\U0000002f", "/"),
            (r"\q", r"\q"),
            (r"r\155", "rm"),
            ("é\\n", "é\n"),
            ("\\", "\\"),
        ] {
            assert_eq!(ansi_c(text), wanted, "{text}");
        }
    }
}
