//! What the scout knows of English and of programmers' English, as data.

/// Words that say nothing about code.
const EMPTY: &[&str] = &[
    "a",
    "about",
    "above",
    "actually",
    "after",
    "again",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "anything",
    "are",
    "as",
    "ask",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "below",
    "best",
    "between",
    "both",
    "but",
    "by",
    "can",
    "come",
    "comes",
    "could",
    "decide",
    "decides",
    "describe",
    "did",
    "do",
    "does",
    "doing",
    "done",
    "during",
    "each",
    "either",
    "else",
    "etc",
    "every",
    "exactly",
    "explain",
    "find",
    "for",
    "from",
    "further",
    "give",
    "given",
    "go",
    "goes",
    "had",
    "happen",
    "happening",
    "happens",
    "has",
    "have",
    "having",
    "he",
    "her",
    "here",
    "him",
    "his",
    "how",
    "i",
    "if",
    "in",
    "inside",
    "into",
    "is",
    "isn't",
    "it",
    "its",
    "it's",
    "just",
    "know",
    "let",
    "like",
    "live",
    "lives",
    "locate",
    "located",
    "look",
    "made",
    "make",
    "makes",
    "many",
    "may",
    "me",
    "might",
    "more",
    "most",
    "much",
    "must",
    "my",
    "need",
    "needs",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "one",
    "only",
    "or",
    "other",
    "our",
    "out",
    "over",
    "own",
    "part",
    "parts",
    "place",
    "places",
    "please",
    "responsible",
    "same",
    "say",
    "says",
    "see",
    "she",
    "should",
    "show",
    "so",
    "some",
    "somewhere",
    "such",
    "take",
    "takes",
    "tell",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "us",
    "very",
    "want",
    "was",
    "way",
    "we",
    "were",
    "what",
    "what's",
    "when",
    "where",
    "where's",
    "whether",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "within",
    "without",
    "work",
    "works",
    "would",
    "you",
    "your",
];

/// Words that are said of all code; they count a little.
const COMMON: &[&str] = &[
    "call",
    "called",
    "calls",
    "class",
    "classes",
    "code",
    "codebase",
    "contain",
    "contains",
    "crate",
    "define",
    "defined",
    "defines",
    "definition",
    "exist",
    "exists",
    "file",
    "files",
    "function",
    "functions",
    "get",
    "gets",
    "handle",
    "handled",
    "handles",
    "handling",
    "help",
    "implement",
    "implementation",
    "implemented",
    "implements",
    "kind",
    "logic",
    "method",
    "methods",
    "program",
    "project",
    "repo",
    "repository",
    "set",
    "sets",
    "struct",
    "use",
    "used",
    "uses",
    "using",
];

/// Words for the same idea. Any of them brings the others along.
const SAME: &[&[&str]] = &[
    &["limit", "max", "cap", "quota", "threshold"],
    &["enforce", "check", "exceed", "exhaust", "reject"],
    &["budget", "meter", "quota"],
    &["auth", "login", "authenticate", "authorize", "credential"],
    &["config", "configuration", "setting", "option", "preference"],
    &["error", "failure", "exception"],
    &["parse", "parser", "decode", "deserialize"],
    &["serialize", "encode", "marshal"],
    &["start", "launch", "spawn", "boot", "init"],
    &["initialize", "init", "setup", "bootstrap"],
    &["stop", "kill", "terminate", "shutdown", "cancel"],
    &["delete", "remove", "unlink"],
    &["log", "logger", "logging", "trace"],
    &["secret", "credential", "password"],
    &["permission", "privilege", "access", "allow"],
    &["retry", "backoff", "attempt"],
    &["timeout", "deadline", "expire"],
    &["display", "render", "print", "format"],
    &["folder", "directory", "dir"],
    &["hash", "digest", "checksum"],
    &["verify", "validate", "check"],
    &["environment", "env"],
    &["argument", "arg", "flag", "param", "parameter"],
    &["command", "cmd", "subcommand"],
    &["database", "db", "sql"],
    &["length", "len", "size"],
    &["ignore", "skip", "exclude"],
    &["escape", "quote", "sanitize"],
    &["compress", "deflate", "gzip"],
    &["compare", "cmp", "equal"],
    &["message", "msg"],
    &["request", "req"],
    &["response", "resp", "reply"],
    &["temporary", "temp", "tmp"],
    &["symlink", "symbolic link", "readlink"],
    &["syscall", "system call"],
    &["regex", "regexp", "pattern"],
    &["iterate", "iter", "iterator"],
    &["allocate", "alloc", "allocator"],
    &["concurrent", "parallel", "thread"],
    &["lock", "mutex"],
    &["color", "colour", "ansi"],
    &["sync", "synchronize"],
    &["async", "asynchronous", "await", "future"],
    &["version", "semver"],
    &["dependency", "dependencies", "deps"],
];

/// How much a word says about code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Import {
    /// Nothing.
    Empty,
    /// A little.
    Common,
    /// As much as any word.
    Telling,
}

/// Judges a word, given in lower case.
pub(super) fn import(word: &str) -> Import {
    if EMPTY.contains(&word) {
        Import::Empty
    } else if COMMON.contains(&word) {
        Import::Common
    } else {
        Import::Telling
    }
}

/// Other words for the same idea.
pub(super) fn alternatives(word: &str) -> Vec<&'static str> {
    let mut all: Vec<&'static str> = Vec::new();
    for group in SAME {
        if group.iter().any(|member| is_form_of(word, member)) {
            let others = group.iter().filter(|other| !is_form_of(word, other));
            all.extend(others.filter(|other| **other != word));
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether `word` is `base` or a regular form of it.
fn is_form_of(word: &str, base: &str) -> bool {
    let whole = word.strip_prefix(base);
    if matches!(
        whole,
        Some("" | "s" | "es" | "d" | "ed" | "ing" | "er" | "ment")
    ) {
        return true;
    }
    let cut = base
        .strip_suffix(['e', 'y'])
        .and_then(|base| word.strip_prefix(base));
    if matches!(cut, Some("ing" | "ies" | "ied" | "ation" | "or" | "er")) {
        return true;
    }
    // stop, stopped
    let doubled = base
        .chars()
        .last()
        .and_then(|last| whole?.strip_prefix(last));
    matches!(doubled, Some("ed" | "ing" | "er"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_bring_the_same_alternatives() {
        for word in ["enforce", "enforced", "enforcing", "enforcement"] {
            assert!(alternatives(word).contains(&"reject"), "{word}");
        }
        for word in ["stop", "stopped", "stopping"] {
            assert!(alternatives(word).contains(&"terminate"), "{word}");
        }
        assert!(!alternatives("limits").contains(&"limit"));
        assert!(alternatives("zebra").is_empty());
    }

    #[test]
    fn tables_are_in_lower_case_and_free_of_doubles() {
        let mut words: Vec<&str> = EMPTY.iter().chain(COMMON).copied().collect();
        assert!(words.iter().all(|word| *word == word.to_lowercase()));
        words.sort_unstable();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
