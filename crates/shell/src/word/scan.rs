//! Where quotes and brackets end in raw text.

/// The end of a quoted or escaped piece that begins at `at`, or `at` itself if none does.
fn quoted_end(text: &[u8], at: usize) -> Option<usize> {
    match text[at] {
        b'\\' => Some((at + 2).min(text.len())),
        b'\'' => find(text, at + 1, b'\'').map(|end| end + 1),
        b'"' => double_end(text, at + 1),
        b'`' => backtick_end(text, at + 1).map(|end| end + 1),
        b'$' => match text.get(at + 1) {
            Some(b'\'') => ansi_end(text, at + 2),
            Some(b'"') => double_end(text, at + 2),
            Some(b'(') => close_paren(text, at + 2).map(|end| end + 1),
            Some(b'{') => close_brace(text, at + 2).map(|end| end + 1),
            _ => Some(at),
        },
        _ => Some(at),
    }
}

pub(super) fn find(text: &[u8], from: usize, wanted: u8) -> Option<usize> {
    text.get(from..)?
        .iter()
        .position(|byte| *byte == wanted)
        .map(|at| from + at)
}

/// One past the `'` that ends `$'…'`.
pub(super) fn ansi_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'\'' => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// One past the `"` that ends what begins at `from`.
pub(super) fn double_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at < text.len() {
        match text[at] {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            b'`' => at = backtick_end(text, at + 1)? + 1,
            b'$' if matches!(text.get(at + 1), Some(b'(' | b'{')) => at = quoted_end(text, at)?,
            _ => at += 1,
        }
    }
    None
}

/// Where the closing backtick stands.
pub(super) fn backtick_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'`' => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Where the `}` stands that ends `${…`.
pub(crate) fn close_brace(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at < text.len() {
        if text[at] == b'}' {
            return Some(at);
        }
        let end = quoted_end(text, at)?;
        at = if end > at { end } else { at + 1 };
    }
    None
}

/// Where the `)` stands that ends what begins at `from`: past quotes, comments, brackets, here-documents and
/// the patterns of `case`.
pub(crate) fn close_paren(text: &[u8], from: usize) -> Option<usize> {
    // For each open bracket: how many `case` are open in it.
    let mut cases: Vec<usize> = vec![0];
    // Here-documents whose text begins on the next line.
    let mut announced: Vec<Here> = Vec::new();
    let mut at = from;
    while at < text.len() {
        let starts_word =
            at == from || text[at - 1].is_ascii_whitespace() || b";|&(".contains(&text[at - 1]);
        match text[at] {
            b'#' if starts_word => {
                at = find(text, at, b'\n')?;
                continue;
            }
            b'<' if text[at..].starts_with(b"<<<") => {
                at += 3;
                continue;
            }
            b'<' if text[at..].starts_with(b"<<") => {
                let (here, end) = here(text, at + 2)?;
                announced.push(here);
                at = end;
                continue;
            }
            b'\n' if !announced.is_empty() => {
                at += 1;
                for here in announced.drain(..) {
                    at = here.end(text, at)?;
                }
                continue;
            }
            b'(' => cases.push(0),
            b')' => match cases.last().copied() {
                Some(open) if open > 0 => {}
                _ => {
                    cases.pop();
                    if cases.is_empty() {
                        return Some(at);
                    }
                }
            },
            b'c' if starts_word && word_is(text, at, b"case") => {
                if let Some(open) = cases.last_mut() {
                    *open += 1;
                }
            }
            b'e' if starts_word && word_is(text, at, b"esac") => {
                if let Some(open) = cases.last_mut() {
                    *open = open.saturating_sub(1);
                }
            }
            _ => {
                let end = quoted_end(text, at)?;
                if end > at {
                    at = end;
                    continue;
                }
            }
        }
        at += 1;
    }
    None
}

/// A here-document that was announced.
struct Here {
    delimiter: Vec<u8>,
    strips_tabs: bool,
}

impl Here {
    /// Where the line after its text begins; `None` where it doesn't end.
    fn end(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            let end = find(text, at, b'\n');
            let line = text.get(at..end.unwrap_or(text.len()))?;
            let tabs = line
                .iter()
                .take_while(|byte| self.strips_tabs && **byte == b'\t')
                .count();
            if line[tabs..] == self.delimiter {
                // The break belongs to what comes after, so that the next word begins there.
                return Some(end.map_or(text.len(), |end| end + 1));
            }
            at = end? + 1;
        }
    }
}

/// A here-document's delimiter, and where it ends.
fn here(text: &[u8], from: usize) -> Option<(Here, usize)> {
    let strips_tabs = text.get(from) == Some(&b'-');
    let mut at = from + usize::from(strips_tabs);
    while matches!(text.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let mut delimiter = Vec::new();
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => {
                delimiter.extend(text.get(at + 1));
                at += 2;
            }
            quote @ (b'\'' | b'"') => {
                let end = find(text, at + 1, *quote)?;
                delimiter.extend_from_slice(&text[at + 1..end]);
                at = end + 1;
            }
            byte if byte.is_ascii_whitespace() || b";|&()<>".contains(byte) => break,
            byte => {
                delimiter.push(*byte);
                at += 1;
            }
        }
    }
    let here = Here {
        delimiter,
        strips_tabs,
    };
    Some((here, at))
}

fn word_is(text: &[u8], at: usize, word: &[u8]) -> bool {
    text[at..].starts_with(word)
        && text
            .get(at + word.len())
            .is_none_or(|next| next.is_ascii_whitespace() || b";|&)".contains(next))
}

/// Raw text split at white space outside quotes and brackets.
pub(crate) fn split_words(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut words = Vec::new();
    let mut start = None;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii_whitespace() {
            words.extend(start.take().and_then(|start| text.get(start..at)));
            at += 1;
            continue;
        }
        start.get_or_insert(at);
        at = match quoted_end(bytes, at) {
            Some(end) if end > at => end,
            Some(_) => at + 1,
            None => bytes.len(),
        };
    }
    words.extend(start.and_then(|start| text.get(start..)));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_end_where_a_shell_ends_them() {
        for (text, wanted) in [
            ("ls) x", "ls"),
            ("echo ')' \")\" \\)) x", "echo ')' \")\" \\)"),
            ("echo $(ls)) x", "echo $(ls)"),
            ("(ls); (pwd)) x", "(ls); (pwd)"),
            ("case x in x) ls;; esac) y", "case x in x) ls;; esac"),
            ("ls # )\n) x", "ls # )\n"),
            ("echo a#b) x", "echo a#b"),
            ("echo `ls )`) x", "echo `ls )`"),
            ("cat <<A\n)'\nA\nls) x", "cat <<A\n)'\nA\nls"),
            (
                "cat <<-'A B' <<C | d\n)\n\tA B\n\"\nC\n) x",
                "cat <<-'A B' <<C | d\n)\n\tA B\n\"\nC\n",
            ),
            ("cat <<< a\n) x", "cat <<< a\n"),
        ] {
            let end = close_paren(text.as_bytes(), 0).unwrap();
            assert_eq!(&text[..end], wanted, "{text}");
        }
        assert_eq!(close_paren(b"ls", 0), None);
        assert_eq!(close_paren(b"cat <<A\nA)", 0), None);
    }

    #[test]
    fn words_keep_their_quotes() {
        assert_eq!(
            split_words("a \"b c\" $(d e) 'f g'\\ h"),
            ["a", "\"b c\"", "$(d e)", "'f g'\\ h"]
        );
    }
}
