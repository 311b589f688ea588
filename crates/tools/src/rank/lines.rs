//! The lines of a text.

/// Where the lines of a text start.
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let breaks = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let starts = std::iter::once(0)
            .chain(breaks.map(|(at, _)| at + 1))
            .collect();
        Self { bytes, starts }
    }

    /// The line, from 0, that holds a byte.
    pub(super) fn at(&self, byte: usize) -> usize {
        self.starts
            .partition_point(|start| *start <= byte)
            .saturating_sub(1)
    }

    pub(super) fn start(&self, line: usize) -> usize {
        let start = self.starts.get(line).copied().unwrap_or(self.bytes.len());
        let indent = self.bytes[start..]
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        start + indent
    }

    /// The line's text without the space around it; empty beyond the last.
    pub(super) fn text(&self, line: usize) -> &'a [u8] {
        let Some(&start) = self.starts.get(line) else {
            return &[];
        };
        let end = self
            .starts
            .get(line + 1)
            .map_or(self.bytes.len(), |next| next - 1);
        self.bytes[start..end].trim_ascii()
    }
}

/// Whether a line is nothing but comment, in the languages that people use most.
pub(super) fn is_comment(line: &[u8]) -> bool {
    const MARKS: [&[u8]; 7] = [b"//", b"/*", b"*", b"--", b"<!--", b";", b"# "];
    MARKS.iter().any(|mark| line.starts_with(mark)) || line == b"#"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_belong_to_lines() {
        let lines = Lines::new(b"ab\n\tc\r\n\nd");
        assert_eq!(
            [0, 2, 3, 4, 7, 8, 99].map(|at| lines.at(at)),
            [0, 0, 1, 1, 2, 3, 3]
        );
        let texts: Vec<&[u8]> = (0..5).map(|line| lines.text(line)).collect();
        assert_eq!(texts, [&b"ab"[..], b"c", b"", b"d", b""]);
        assert_eq!(lines.start(1), 4);
        assert_eq!(Lines::new(b"").at(0), 0);
    }
}
