//! The words of a search.
//!
//! A term is one idea. It can have alternatives, `limit|max|quota`, of which those after the first
//! count for less; and a weight, `parser^0.5`. A term of several parts (`SecretRules`,
//! `secret_rules`, `secret rules`) stands for all its spellings.

use super::decisions::asks_for_one;

/// The most terms that are looked at: as many as fit the counters of a file.
pub(super) const MAX_TERMS: usize = 24;

/// The most spellings over all terms; beyond them the automaton would grow without finding more.
const MAX_SPELLINGS: usize = 400;

/// The longest spelling: a long path.
const MAX_SPELLING_BYTES: usize = 200;

/// How much an alternative counts beside the word it stands for.
const ALTERNATIVE: f32 = 0.5;

/// One idea to look for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    /// The first alternative, as it was given.
    pub(super) shown: String,
    /// How much it matters beside the others.
    pub(super) weight: f32,
    /// It has several words: a bonus where it stands, no loss where it doesn't.
    pub(super) phrase: bool,
    /// It asks where something is decided: `enforced`. Code that decides stands for it.
    pub(super) asks: bool,
    pub(super) spellings: Vec<Spelling>,
}

/// One way to write a term.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spelling {
    /// What is looked for, in lower case; an ending may follow it.
    pub(super) stem: String,
    /// The whole word that the stem was taken from.
    pub(super) word: String,
    /// 1 for the term itself, less for an alternative.
    pub(super) strength: f32,
}

/// Reads terms as they were given; what is empty or too long is left out.
pub(super) fn parse(given: &[String]) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    let mut room = MAX_SPELLINGS;
    for text in given {
        if terms.len() == MAX_TERMS {
            break;
        }
        let Some(mut term) = parse_one(text) else {
            continue;
        };
        let same = |other: &Term| other.spellings[0].stem == term.spellings[0].stem;
        if terms.iter().any(same) {
            continue;
        }
        term.spellings.truncate(room);
        room -= term.spellings.len();
        if !term.spellings.is_empty() {
            terms.push(term);
        }
    }
    terms
}

fn parse_one(text: &str) -> Option<Term> {
    let (text, weight) = split_weight(text.trim());
    let mut spellings: Vec<Spelling> = Vec::new();
    let mut shown = None;
    for alternative in text.split('|') {
        let alternative = alternative.trim();
        let usable = alternative.len() <= MAX_SPELLING_BYTES
            && alternative.chars().any(char::is_alphanumeric);
        if !usable {
            continue;
        }
        let strength = if shown.is_none() { 1.0 } else { ALTERNATIVE };
        shown.get_or_insert_with(|| alternative.to_owned());
        for (stem, word) in spell(alternative) {
            if !spellings.iter().any(|other| other.stem == stem) {
                spellings.push(Spelling {
                    stem,
                    word,
                    strength,
                });
            }
        }
    }
    let shown = shown?;
    Some(Term {
        phrase: shown.contains(' '),
        asks: asks_for_one(&shown),
        shown,
        weight,
        spellings,
    })
}

/// `word^0.5` is a word of half the weight. Anything else is a word.
fn split_weight(text: &str) -> (&str, f32) {
    text.rsplit_once('^')
        .and_then(|(word, weight)| Some((word, weight.parse::<f32>().ok()?)))
        .filter(|(_, weight)| weight.is_finite() && *weight > 0.0)
        .map_or((text, 1.0), |(word, weight)| (word, weight.min(10.0)))
}

/// The spellings of one alternative: a stem for a plain word, all joinings for one of several parts.
fn spell(text: &str) -> Vec<(String, String)> {
    let literal = text.to_lowercase();
    let parts = parts(text);
    if parts.len() < 2 {
        let stem = if literal.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            stem(&literal).to_owned()
        } else {
            literal.clone()
        };
        return vec![(stem, literal)];
    }
    let ending = parts.last().map_or(0, |last| last.len() - stem(last).len());
    let joined = ["_", "", "-", " ", "::", "."].into_iter().map(|joint| {
        let word = parts.join(joint);
        (word[..word.len() - ending].to_owned(), word)
    });
    let mut all = vec![(literal.clone(), literal)];
    // A path or a phrase of many words has one spelling.
    if parts.len() <= 4 && !text.contains('/') {
        all.extend(joined);
    }
    all
}

/// The words that an identifier is made of, in lower case.
pub(super) fn parts(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut parts: Vec<String> = Vec::new();
    let mut open = false;
    for (index, character) in characters.iter().enumerate() {
        if !character.is_alphanumeric() {
            open = false;
            continue;
        }
        let before = index.checked_sub(1).map(|index| characters[index]);
        let after = characters.get(index + 1);
        let hump = character.is_uppercase()
            && (before.is_some_and(char::is_lowercase)
                || after.is_some_and(|next| next.is_lowercase()));
        match parts.last_mut() {
            Some(part) if open && !hump => part.extend(character.to_lowercase()),
            _ => parts.push(character.to_lowercase().collect()),
        }
        open = true;
    }
    parts
}

/// Endings that a word loses to become a stem, longest first.
const STRIPPED: [&str; 19] = [
    "ements", "ement", "ments", "ment", "ings", "ing", "ies", "ied", "ers", "ors", "er", "or",
    "ed", "es", "ly", "e", "y", "d", "s",
];

/// Endings that may follow a stem and leave the word the same idea.
const ENDINGS: [&str; 27] = [
    "ement", "ements", "s", "es", "ed", "d", "e", "y", "ies", "ied", "ing", "ings", "er", "ers",
    "or", "ors", "ment", "ments", "able", "ation", "ations", "ion", "ions", "al", "ly", "ance",
    "ible",
];

/// The shortest stem that an ending is taken from; three letters where it is a plural's.
const SHORTEST_STEM: usize = 4;

/// What a word has in common with its inflections: `enforc` for `enforced` and `enforcement`.
pub(super) fn stem(word: &str) -> &str {
    for ending in STRIPPED {
        let Some(stem) = word.strip_suffix(ending) else {
            continue;
        };
        let last = stem.bytes().last();
        let fits = match ending {
            "s" => stem.len() >= 3 && !matches!(last, Some(b's' | b'u' | b'i')),
            "d" => stem.len() >= SHORTEST_STEM && last == Some(b'e'),
            _ => stem.len() >= SHORTEST_STEM,
        };
        if fits {
            return undouble(stem, ending);
        }
    }
    word
}

/// `stopp` was `stop` before `ing`.
fn undouble<'a>(stem: &'a str, ending: &str) -> &'a str {
    let bytes = stem.as_bytes();
    let (last, before) = (bytes.len() - 1, bytes.len() - 2);
    let doubled = bytes[last] == bytes[before]
        && matches!(ending, "ing" | "ed" | "er" | "ers")
        && !matches!(bytes[last], b's' | b'l' | b'e' | b'f');
    if doubled { &stem[..last] } else { stem }
}

/// Whether `rest`, in lower case, is nothing but an ending after `stem`.
pub(super) fn is_ending(stem: &[u8], rest: &[u8]) -> bool {
    if rest.is_empty() {
        return true;
    }
    let known = |rest: &[u8]| ENDINGS.iter().any(|ending| ending.as_bytes() == rest);
    // A doubled consonant: stop, stopping.
    known(rest) || (rest.first() == stem.last() && known(&rest[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflections_share_a_stem() {
        for (words, expected) in [
            (
                &["limit", "limits", "limited", "limiting", "limiter"][..],
                "limit",
            ),
            (
                &["enforce", "enforced", "enforces", "enforcement"],
                "enforc",
            ),
            (&["policy", "policies"], "polic"),
            (&["stop", "stopped", "stopping"], "stop"),
            (&["token", "tokens"], "token"),
            (&["process", "processes"], "process"),
            (&["status"], "status"),
            (&["user", "users"], "user"),
            (&["key", "keys"], "key"),
            (&["error", "errors"], "error"),
            (&["file", "files"], "file"),
        ] {
            for word in words {
                assert_eq!(stem(word), expected, "{word}");
            }
        }
    }

    #[test]
    fn identifiers_come_apart_at_humps_and_joints() {
        assert_eq!(parts("SecretRules"), ["secret", "rules"]);
        assert_eq!(
            parts("HTTPServer::new_one"),
            ["http", "server", "new", "one"]
        );
        assert_eq!(parts("sha256-sum"), ["sha256", "sum"]);
        assert_eq!(parts("--"), Vec::<String>::new());
    }

    #[test]
    fn a_term_has_weight_alternatives_and_spellings() {
        let terms = parse(&[
            "limits|quota".to_owned(),
            "SecretRules^0.5".to_owned(),
            "limiting".to_owned(),
            "^".to_owned(),
            String::new(),
        ]);
        assert_eq!(terms.len(), 2, "{terms:?}");
        assert_eq!(terms[0].shown, "limits");
        assert_eq!(terms[0].spellings[1].stem, "quota");
        assert!(terms[0].spellings[1].strength < 1.0);
        assert!((terms[1].weight - 0.5).abs() < f32::EPSILON);
        let stems: Vec<&str> = terms[1].spellings.iter().map(|s| s.stem.as_str()).collect();
        assert!(
            stems.contains(&"secret_rule") && stems.contains(&"secretrule"),
            "{stems:?}"
        );
    }

    #[test]
    fn endless_input_is_cut() {
        let many: Vec<String> = (0..10_000).map(|n| format!("AlphaBeta{n}Gamma")).collect();
        let terms = parse(&many);
        assert!(terms.len() <= MAX_TERMS);
        assert!(terms.iter().map(|term| term.spellings.len()).sum::<usize>() <= MAX_SPELLINGS);
        assert!(parse(&["x".repeat(1 << 20)]).is_empty());
    }
}
