//! From a prompt to the terms of a ranked search.

use super::vocabulary::{Import, alternatives, import};

/// How much of a prompt is read: a question's words stand at its start, and a longer text is
/// material.
const MAX_PROMPT_BYTES: usize = 16 << 10;

/// The most terms of one search.
const MAX_TERMS: usize = 24;

/// The longest term.
const MAX_TERM_BYTES: usize = 100;

/// The most files that are read because the prompt names them.
const MAX_FILES: usize = 3;

/// Weights beside an ordinary word's.
const IDENTIFIER: &str = "^1.5";
const PART: &str = "^0.3";
const PAIR: &str = "^0.4";
const COMMON: &str = "^0.3";
const PARTICIPLE: &str = "^0.7";

/// What a prompt asks for, as far as words tell.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Question {
    /// Terms as ranked search takes them: `limits|max|cap`, `parser^0.5`.
    pub(super) terms: Vec<String>,
    /// Paths that look like files of the workspace.
    pub(super) files: Vec<String>,
}

/// One word of a prompt.
#[derive(Debug, PartialEq)]
enum Word<'a> {
    /// In quotes: meant literally.
    Quoted(&'a str),
    Plain(&'a str),
}

impl Question {
    /// Reads a prompt.
    pub(super) fn read(prompt: &str) -> Self {
        let prompt = &prompt[..prompt.floor_char_boundary(MAX_PROMPT_BYTES)];
        let mut found = Found::default();
        for word in words(prompt) {
            match word {
                Word::Quoted(text) => found.quoted(text),
                Word::Plain(text) => found.plain(text),
            }
        }
        found.into_question()
    }
}

/// Terms by rank: those that say most come first, and stay where there are too many.
#[derive(Default)]
struct Found {
    whole: Vec<String>,
    ordinary: Vec<String>,
    pairs: Vec<String>,
    rest: Vec<String>,
    files: Vec<String>,
    /// The telling word right before, for pairs.
    before: Option<String>,
}

impl Found {
    fn quoted(&mut self, text: &str) {
        self.before = None;
        if is_file(text) {
            self.file(text);
        } else {
            self.whole.push(format!("{text}{IDENTIFIER}"));
            self.parts(text);
        }
    }

    fn plain(&mut self, text: &str) {
        if is_file(text) {
            self.before = None;
            self.file(text);
        } else if is_identifier(text) {
            self.before = None;
            // `case-insensitive` may be English.
            let weight = if is_hyphenated(text) { "" } else { IDENTIFIER };
            self.whole.push(format!("{text}{weight}"));
            self.parts(text);
        } else {
            self.word(&text.to_lowercase());
        }
    }

    fn file(&mut self, path: &str) {
        let path = path.trim_start_matches("./");
        self.files.push(path.to_owned());
        self.whole.push(format!("{path}{IDENTIFIER}"));
    }

    fn word(&mut self, word: &str) {
        let word = word.strip_suffix("'s").unwrap_or(word);
        match import(word) {
            Import::Empty => self.before = None,
            Import::Common => {
                self.rest.push(format!("{word}{COMMON}"));
                self.pair(word);
            }
            Import::Telling => {
                // What is done to things goes by many names; the things by few.
                let weight = if word.ends_with("ed") { PARTICIPLE } else { "" };
                self.ordinary
                    .push(format!("{}{weight}", with_alternatives(word)));
                self.pair(word);
            }
        }
    }

    /// Two words in a row may be one identifier: `access limits`, `AccessLimits`.
    fn pair(&mut self, word: &str) {
        if let Some(before) = self.before.replace(word.to_owned()) {
            self.pairs.push(format!("{before} {word}{PAIR}"));
        }
    }

    fn parts(&mut self, text: &str) {
        let parts = parts(text);
        if parts.len() < 2 {
            return;
        }
        for part in parts {
            if part.len() > 2 && import(&part) == Import::Telling {
                self.rest.push(format!("{part}{PART}"));
            }
        }
    }

    fn into_question(self) -> Question {
        let mut terms: Vec<String> = Vec::new();
        let ranked = [self.whole, self.ordinary, self.pairs, self.rest];
        for term in ranked.into_iter().flatten() {
            let word = |term: &str| {
                let end = term.find(['|', '^']).unwrap_or(term.len());
                term[..end].to_lowercase()
            };
            let known = terms.iter().any(|other| word(other) == word(&term));
            if !known && term.len() <= MAX_TERM_BYTES {
                terms.push(term);
            }
            if terms.len() == MAX_TERMS {
                break;
            }
        }
        let mut files = self.files;
        files.dedup();
        files.truncate(MAX_FILES);
        Question { terms, files }
    }
}

fn with_alternatives(word: &str) -> String {
    let mut term = word.to_owned();
    for other in alternatives(word) {
        term.push('|');
        term.push_str(other);
    }
    term
}

/// The words of a prompt, free of punctuation; what stands in quotes is one word.
fn words(prompt: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = prompt;
    while let Some((before, text, after)) = next_quoted(rest) {
        words.extend(plain_words(before));
        words.push(Word::Quoted(text));
        rest = after;
    }
    words.extend(plain_words(rest));
    words
}

/// What stands before the first quotation, in it, and after it.
fn next_quoted(text: &str) -> Option<(&str, &str, &str)> {
    for (at, mark) in text.match_indices(['`', '"', '\'', '“']) {
        let close = if mark == "“" { "”" } else { mark };
        let inner = at + mark.len();
        // `it's` quotes nothing.
        let opens = !text[..at].ends_with(char::is_alphanumeric);
        let near = &text[inner..];
        let length = near[..near.floor_char_boundary(MAX_TERM_BYTES)]
            .split('\n')
            .next()
            .and_then(|line| line.find(close));
        let Some(length) = length.filter(|_| opens) else {
            continue;
        };
        let quoted = text[inner..inner + length].trim();
        if quoted.len() <= MAX_TERM_BYTES / 2 && quoted.contains(char::is_alphanumeric) {
            return Some((&text[..at], quoted, &text[inner + length + close.len()..]));
        }
    }
    None
}

fn plain_words(text: &str) -> impl Iterator<Item = Word<'_>> {
    text.split_whitespace().filter_map(|word| {
        let word = word.trim_end_matches("()");
        let word = word.trim_matches(|character: char| {
            !character.is_alphanumeric() && !matches!(character, '_' | '/' | '.' | '$' | '@')
        });
        let word = word.trim_end_matches(['.', '/', '(', ')', '?', '!', ',', ':', ';']);
        (word
            .chars()
            .filter(|character| character.is_alphanumeric())
            .count()
            > 1)
        .then_some(Word::Plain(word))
    })
}

/// `src/store.rs`, `Cargo.toml`; not `e.g`, `self.limit` or `1.2`.
fn is_file(text: &str) -> bool {
    const BARE: [&str; 24] = [
        "rs", "py", "go", "ts", "tsx", "js", "jsx", "mjs", "c", "h", "cc", "cpp", "hpp", "java",
        "kt", "rb", "sh", "md", "toml", "json", "yaml", "yml", "css", "html",
    ];
    if text.len() > MAX_TERM_BYTES / 2 || text.contains([' ', '(', ':', '*', '|', '^']) {
        return false;
    }
    let name = text.rsplit('/').next().unwrap_or_default();
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    let short = (1..=5).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic());
    !stem.is_empty() && short && (text.contains('/') || BARE.contains(&extension))
}

/// Whether a word can only come from code: `snake_case`, `a::b`, `a.b`, `kebab-case`, `CamelCase`.
fn is_identifier(text: &str) -> bool {
    let characters: Vec<char> = text.chars().collect();
    characters.windows(2).any(|pair| {
        (pair[0].is_lowercase() && pair[1].is_uppercase())
            || pair.contains(&'_')
            || pair == [':', ':']
    }) || characters.windows(3).any(|three| {
        matches!(three[1], '-' | '.' | '/')
            && three[0].is_alphanumeric()
            && three[2].is_alphanumeric()
    })
}

fn is_hyphenated(text: &str) -> bool {
    text.chars()
        .all(|character| character.is_alphanumeric() || character == '-')
}

/// The words that an identifier or a phrase is made of, in lower case.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut before = ' ';
    for character in text.chars() {
        let starts = !before.is_alphanumeric() || before.is_lowercase() && character.is_uppercase();
        if character.is_alphanumeric() {
            match parts.last_mut() {
                Some(part) if !starts => part.extend(character.to_lowercase()),
                _ => parts.push(character.to_lowercase().collect()),
            }
        }
        before = character;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(prompt: &str) -> Vec<String> {
        Question::read(prompt).terms
    }

    #[test]
    fn a_question_becomes_its_telling_words() {
        assert_eq!(
            terms("Where are access limits enforced?"),
            [
                "access|allow|permission|privilege",
                "limits|cap|max|quota|threshold",
                "enforced|check|exceed|exhaust|reject^0.7",
                "access limits^0.4",
                "limits enforced^0.4",
            ]
        );
        assert_eq!(
            terms("Where is it, and how does it do that?"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn identifiers_stay_whole_and_come_apart() {
        assert_eq!(
            terms("What does SecretRules::denied() do?"),
            [
                "SecretRules::denied^1.5",
                "secret^0.3",
                "rules^0.3",
                "denied^0.3"
            ]
        );
        assert_eq!(terms("who sets `no_new_privs`")[0], "no_new_privs^1.5");
        assert_eq!(terms("the \"broken pipe\" message")[0], "broken pipe^1.5");
        assert_eq!(terms("the read-only preset")[0], "read-only");
        assert!(terms("the gate's verdict").contains(&"gate".to_owned()));
    }

    #[test]
    fn files_are_told_from_words_with_dots() {
        let question =
            Question::read("Is src/store.rs or ./Cargo.toml using self.limit, e.g. 1.5?");
        assert_eq!(question.files, ["src/store.rs", "Cargo.toml"]);
        assert!(
            question.terms.contains(&"self.limit^1.5".to_owned()),
            "{question:?}"
        );
    }

    #[test]
    fn any_prompt_is_read_in_bounds() {
        for prompt in [
            "x".repeat(1 << 20),
            "'\"`“".repeat(100_000),
            "aB_c ".repeat(100_000),
            "é\u{1b}[31m\u{202e}".repeat(50_000),
            (0..50_000).map(|n| format!("word{n} ")).collect(),
        ] {
            let question = Question::read(&prompt);
            assert!(question.terms.len() <= MAX_TERMS);
            assert!(
                question
                    .terms
                    .iter()
                    .all(|term| term.len() <= MAX_TERM_BYTES)
            );
        }
    }
}
