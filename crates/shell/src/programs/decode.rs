//! Decoders: what a shell would be fed when text goes through them.

/// Base64, in either alphabet; white space is skipped.
pub(super) fn base64(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            byte if byte.is_ascii_whitespace() => continue,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

/// Base32.
pub(super) fn base32(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0_u64, 0_u32);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a',
            b'2'..=b'7' => byte - b'2' + 26,
            b'=' => break,
            byte if byte.is_ascii_whitespace() => continue,
            _ => return None,
        };
        bits = (bits << 5) | u64::from(value);
        count += 5;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

pub(super) fn to_base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            if at <= chunk.len() {
                out.push(LETTERS[(bits >> (18 - 6 * at) & 63) as usize] as char);
            } else {
                out.push('=');
            }
        }
    }
    out
}

/// Pairs of hexadecimal digits; what isn't a digit is skipped.
pub(super) fn hex(text: &str) -> String {
    let digits: Vec<u8> = text
        .split('\n')
        .flat_map(|line| line.split_once(": ").map_or(line, |(_, rest)| rest).chars())
        .filter_map(|c| c.to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok())
        .collect();
    let bytes: Vec<u8> = digits
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The characters that a set of `tr` stands for.
fn set(text: &str) -> Vec<char> {
    let text = crate::word::ansi_c(text)
        .replace("[:lower:]", "a-z")
        .replace("[:upper:]", "A-Z")
        .replace("[:digit:]", "0-9")
        .replace("[:alpha:]", "A-Za-z")
        .replace("[:alnum:]", "0-9A-Za-z")
        .replace("[:space:]", " \t\n\r\u{b}\u{c}")
        .replace("[:blank:]", " \t");
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() && out.len() < 4_096 {
        match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(high)) if *high >= chars[at] => {
                out.extend((chars[at]..=*high).take(512));
                at += 3;
            }
            _ => {
                out.push(chars[at]);
                at += 1;
            }
        }
    }
    out
}

/// What `tr` makes of text.
pub(super) fn translate(text: &str, from: &str, to: &str, complement: bool) -> String {
    let (from, to) = (set(from), set(to));
    let Some(last) = to.last().copied() else {
        return text.to_owned();
    };
    text.chars()
        .map(|c| match from.iter().position(|known| *known == c) {
            Some(_) if complement => c,
            None if complement => last,
            Some(at) => to.get(at).copied().unwrap_or(last),
            None => c,
        })
        .collect()
}

/// What `tr -d` makes of text.
pub(super) fn delete(text: &str, what: &str, complement: bool) -> String {
    let what = set(what);
    text.chars()
        .filter(|c| what.contains(c) == complement)
        .collect()
}

/// What `printf` writes; `None` when it can't be told.
pub(super) fn printf(format: &str, args: &[String]) -> Option<String> {
    let mut out = String::new();
    let mut args_left = args;
    for round in 0..64 {
        if round == 63 {
            return None;
        }
        let before = args_left.len();
        let chars: Vec<char> = format.chars().collect();
        let mut at = 0;
        let mut literal = String::new();
        while at < chars.len() {
            if chars[at] != '%' {
                literal.push(chars[at]);
                at += 1;
                continue;
            }
            out.push_str(&crate::word::ansi_c(&literal));
            literal.clear();
            at += 1;
            let start = at;
            while chars
                .get(at)
                .is_some_and(|c| "-+ #0123456789.'".contains(*c))
            {
                at += 1;
            }
            let flags: String = chars[start..at].iter().collect();
            let kind = *chars.get(at)?;
            at += 1;
            if kind == '%' {
                out.push('%');
                continue;
            }
            let arg = args_left
                .split_first()
                .map_or(String::new(), |(first, rest)| {
                    args_left = rest;
                    first.clone()
                });
            match kind {
                's' => match flags
                    .strip_prefix('.')
                    .and_then(|width| width.parse::<usize>().ok())
                {
                    Some(width) => out.extend(arg.chars().take(width)),
                    None => out.push_str(&arg),
                },
                'b' => out.push_str(&crate::word::ansi_c(&arg)),
                'd' | 'i' | 'u' => out.push_str(&number(&arg)?.to_string()),
                'x' => out.push_str(&format!("{:x}", number(&arg)?)),
                'o' => out.push_str(&format!("{:o}", number(&arg)?)),
                'c' => out.extend(arg.chars().next()),
                'q' => out.push_str(&arg),
                _ => return None,
            }
        }
        out.push_str(&crate::word::ansi_c(&literal));
        if args_left.is_empty() || args_left.len() == before {
            break;
        }
    }
    Some(out)
}

fn number(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    if let Some(rest) = text.strip_prefix(['\'', '"']) {
        return rest.chars().next().map(|c| i64::from(u32::from(c)));
    }
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoders_decode() {
        assert_eq!(base64("cm0gLXJmIC9ldGM=").unwrap(), "rm -rf /etc");
        assert_eq!(to_base64("rm -rf /etc"), "cm0gLXJmIC9ldGM=");
        assert_eq!(base32("OJWSALLSMYQC6===").unwrap(), "rm -rf /");
        assert_eq!(hex("726d202d7266202f"), "rm -rf /");
        assert_eq!(translate("sn -sg /", "a-z", "z-za-y", false), "rm -rf /");
        assert_eq!(delete("rXmX -rf /", "X", false), "rm -rf /");
        assert_eq!(
            printf("rm -rf %s\\n", &["/".to_owned()]).unwrap(),
            "rm -rf /\n"
        );
        assert_eq!(printf("\\x72m", &[]).unwrap(), "rm");
    }
}
