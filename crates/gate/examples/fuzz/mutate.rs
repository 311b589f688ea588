//! Lines that nearly are commands: those of the corpora, changed, joined and buried.

/// The corpora of this tree.
pub(crate) fn corpora() -> Vec<String> {
    [
        include_str!("../../../shell/corpus/own.jsonl"),
        include_str!("../../../shell/corpus/wide.jsonl"),
        include_str!("../../../shell/corpus/hard.jsonl"),
    ]
    .into_iter()
    .flat_map(lines)
    .collect()
}

/// The lines of one corpus.
pub(crate) fn lines(rows: &str) -> Vec<String> {
    let rows = rows
        .lines()
        .filter_map(|row| serde_json::from_str::<serde_json::Value>(row).ok());
    rows.filter_map(|row| row["cmd"].as_str().map(str::to_owned))
        .collect()
}

/// Pieces that mean something to a shell or to our reading of it.
const TOKENS: &[&str] = &[
    "'",
    "\"",
    "`",
    "$(",
    ")",
    "${",
    "}",
    "$((",
    "))",
    "[[",
    "]]",
    "<<E\n",
    "\nE\n",
    "<<<",
    "<(",
    ">(",
    ">",
    ">>",
    "2>&1",
    "&>",
    "|",
    "||",
    "&&",
    ";",
    ";;",
    "&",
    "\n",
    "\\\n",
    "\\",
    "#",
    " ",
    "\t",
    "\r",
    "*",
    "?",
    "[a-z]",
    "{a,b}",
    "{1..9}",
    "~",
    "$IFS",
    "$@",
    "$1",
    "$*",
    "$#",
    "$HOME",
    "${x:-y}",
    "${x//a/b}",
    "${!x}",
    "$'\\x72'",
    "$\"a\"",
    "!",
    "!!",
    "-",
    "--",
    "=",
    "x=1 ",
    "a=(1 2) ",
    "if ",
    "then ",
    "fi",
    "for i in ",
    "do ",
    "done",
    "while ",
    "case x in a) ",
    "esac",
    "f() { ",
    "function ",
    "eval ",
    "exec ",
    "sudo ",
    "env ",
    "xargs ",
    "sh -c ",
    "bash -c '",
    "cd / ",
    "cd .. ",
    "rm -rf ",
    "/",
    "/etc",
    "~/",
    "..",
    "./",
    ".git",
    "/dev/tcp/a/1",
    "coproc ",
    "time ",
    "select ",
    "trap ",
    "alias x=",
    "python3 -c '",
    "base64 -d",
    "\u{200b}",
    "\u{202e}",
    "\u{e9}",
    "\u{1f600}",
    "\0",
    "\u{7f}",
];

/// A seeded source of lines: the same seed gives the same ones.
pub(crate) struct Mutator {
    state: u64,
    lines: Vec<String>,
}

impl Mutator {
    pub(crate) fn new(seed: u64, lines: Vec<String>) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            lines,
        }
    }

    /// Any number below `end`, or 0.
    fn below(&mut self, end: usize) -> usize {
        // xorshift64*: good enough to look around with.
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let number = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap_or_default() % end.max(1)
    }

    fn line(&mut self) -> String {
        let at = self.below(self.lines.len());
        self.lines.get(at).cloned().unwrap_or_default()
    }

    fn token(&mut self) -> &'static str {
        TOKENS[self.below(TOKENS.len())]
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> String {
        match self.below(20) {
            0 => self.bytes(),
            1 => (0..=self.below(40)).map(|_| self.token()).collect(),
            2 => self.repeated(),
            _ => {
                let mut chars: Vec<char> = self.line().chars().collect();
                for _ in 0..=self.below(5) {
                    self.change(&mut chars);
                }
                chars.into_iter().collect()
            }
        }
    }

    fn bytes(&mut self) -> String {
        let count = self.below(300);
        let bytes: Vec<u8> = (0..count)
            .map(|_| u8::try_from(self.below(256)).unwrap_or_default())
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// One piece again and again, alone or around a line.
    fn repeated(&mut self) -> String {
        let count = 1 << self.below(12);
        let token = match self.below(3) {
            0 => self.line(),
            _ => self.token().to_owned(),
        };
        let inner = self.line();
        match self.below(3) {
            0 => token.repeat(count),
            1 => format!("{}{inner}", token.repeat(count)),
            _ => {
                let close = self.token();
                format!("{}{inner}{}", token.repeat(count), close.repeat(count))
            }
        }
        .chars()
        .take(80_000)
        .collect()
    }

    fn change(&mut self, chars: &mut Vec<char>) {
        let at = self.below(chars.len() + 1);
        match self.below(9) {
            0 if at < chars.len() => {
                chars.remove(at);
            }
            1 if at < chars.len() => chars.insert(at, chars[at]),
            // A whole piece goes, or comes again elsewhere.
            2 => {
                let end = (at + self.below(12)).min(chars.len());
                chars.drain(at..end);
            }
            3 => {
                let end = (at + self.below(20)).min(chars.len());
                let piece: Vec<char> = chars[at..end].to_vec();
                let to = self.below(chars.len() + 1);
                chars.splice(to..to, piece);
            }
            // Another line, from some place on, or joined by an operator.
            4 => {
                let other: Vec<char> = self.line().chars().collect();
                let from = self.below(other.len() + 1);
                chars.truncate(at);
                chars.extend(&other[from..]);
            }
            5 => {
                let join = ["; ", " && ", " | ", "\n", " || ", " & "][self.below(6)];
                let other = self.line();
                chars.extend(join.chars().chain(other.chars()));
            }
            // Into quotes or a substitution.
            6 => {
                let end = (at + self.below(12)).min(chars.len());
                let (open, close) = [
                    ("'", "'"),
                    ("\"", "\""),
                    ("$(", ")"),
                    ("`", "`"),
                    ("(", ")"),
                    ("{ ", "; }"),
                ][self.below(6)];
                chars.splice(end..end, close.chars());
                chars.splice(at..at, open.chars());
            }
            _ => {
                let token = self.token();
                chars.splice(at..at, token.chars());
            }
        }
    }
}
