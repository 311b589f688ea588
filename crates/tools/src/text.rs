//! Names and lines as results show them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use deputize_authority::escape;

/// What a cut line ends in, or begins with.
pub(crate) const CUT: &str = "…";

/// A name in one line: control characters and bytes that aren't UTF-8 are visible.
pub(crate) fn shown_name(path: &Path) -> String {
    let mut out = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        out.push_str(&escape(chunk.valid()));
        for byte in chunk.invalid() {
            // Writing to a String can't fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// A path as results name it: relative to the workspace where it lies in it.
pub(crate) fn shown_path(path: &Path, workspace: &Path) -> String {
    match path.strip_prefix(workspace) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => shown_name(rest),
        Err(_) => shown_name(path),
    }
}

/// At most `chars` characters of a line.
pub(crate) fn cut(line: &str, chars: usize) -> Cow<'_, str> {
    match line.char_indices().nth(chars) {
        None => Cow::Borrowed(line),
        Some((end, _)) => Cow::Owned(format!("{}{CUT}", &line[..end])),
    }
}

/// At most `chars` characters of a line, around the byte at which a match begins.
pub(crate) fn cut_around(line: &str, at: usize, chars: usize) -> Cow<'_, str> {
    if line.char_indices().nth(chars).is_none() {
        return Cow::Borrowed(line);
    }
    let lead = chars / 4;
    let before = line.get(..at).unwrap_or_default();
    let start = before
        .char_indices()
        .rev()
        .nth(lead.saturating_sub(1))
        .map_or(0, |(start, _)| start);
    let mark = if start == 0 { "" } else { CUT };
    Cow::Owned(format!("{mark}{}", cut(&line[start..], chars)))
}

/// Text from bytes, without the line end; what isn't UTF-8 becomes U+FFFD.
pub(crate) fn line(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn names_are_one_honest_line() {
        let odd = OsStr::from_bytes(b"a\nb\x1b[2J\xff\xe2\x80\xaec");
        assert_eq!(
            shown_name(Path::new(odd)),
            "a\\u{a}b\\u{1b}[2J\\xff\\u{202e}c"
        );
        assert_eq!(shown_path(Path::new("/w/a"), Path::new("/w")), "a");
        assert_eq!(shown_path(Path::new("/w"), Path::new("/w")), ".");
        assert_eq!(shown_path(Path::new("/wa"), Path::new("/w")), "/wa");
    }

    #[test]
    fn long_lines_are_cut_at_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äöü…");
        let long = format!("{}needle{}", "ä".repeat(500), "ö".repeat(500));
        let shown = cut_around(&long, 1_000, 40);
        assert_eq!(shown.chars().count(), 42);
        assert!(shown.starts_with("…ä") && shown.contains("needle") && shown.ends_with("ö…"));
        assert_eq!(cut_around("short", 3, 40), "short");
        // An offset that is no character's, or none of this line, is no reason to fail.
        assert_eq!(cut_around(&"ä".repeat(50), 3, 4), "ääää…");
        assert_eq!(cut_around(&"a".repeat(50), 900, 4), "aaaa…");
    }

    #[test]
    fn line_ends_are_dropped() {
        assert_eq!(line(b"a\r\n"), "a");
        assert_eq!(line(b"a\r"), "a");
        assert_eq!(line(b"\xff\n"), "\u{fffd}");
    }
}
