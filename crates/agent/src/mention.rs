//! Finds `path:line` in prose.

use crate::evidence::{Claim, Source, Stated, cut, relative};

/// The most mentions that are taken from one text.
const MAX_MENTIONS: usize = 32;

/// The longest path that is taken from prose.
const MAX_MENTIONED_BYTES: usize = 512;

/// The most bytes of the line around a mention that become its note.
const MAX_CONTEXT_BYTES: usize = 200;

/// The places that a text mentions, in order and each once, `limit` at most.
///
/// Taken are `path:12`, `path:12-20`, `path:12:5` and `path#L12`, where the path is relative (or
/// absolute inside the workspace), made of ordinary characters, and has a folder or an extension.
pub(crate) fn mentions(text: &str, workspace: &str, limit: usize) -> Vec<Stated> {
    let mut found: Vec<Stated> = Vec::new();
    for line in text.lines() {
        for word in line.split(|character: char| {
            character.is_whitespace() || "()[]{}<>\"'`,;|*".contains(character)
        }) {
            let Some((path, number)) = place(word, workspace) else {
                continue;
            };
            let is_known = found
                .iter()
                .any(|known| known.claim.path == path && known.claim.line == Some(number));
            if is_known {
                continue;
            }
            found.push(Stated {
                claim: Claim {
                    path: path.to_owned(),
                    line: Some(number),
                    quote: None,
                },
                note: cut(line.trim(), MAX_CONTEXT_BYTES),
                source: Source::Mentioned,
            });
            if found.len() == limit.min(MAX_MENTIONS) {
                return found;
            }
        }
    }
    found
}

/// Splits a word into path and line, when it is such a word.
pub(crate) fn place<'w>(word: &'w str, workspace: &str) -> Option<(&'w str, u64)> {
    let word = word.trim_end_matches(['.', ':', '!', '?']);
    let (path, rest) = match word.split_once("#L") {
        Some(parts) => parts,
        None => word.split_once(':')?,
    };
    let digits = rest
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(rest.len());
    let is_range = rest[digits..]
        .chars()
        .all(|character| character.is_ascii_digit() || "-–:L".contains(character));
    let line: u64 = rest[..digits].parse().ok()?;
    let path = relative(path, workspace);
    (is_range && line > 0 && is_plausible(path)).then_some((path, line))
}

fn is_plausible(path: &str) -> bool {
    let is_plain = |character: char| character.is_alphanumeric() || "_-./+@".contains(character);
    let name = path.rsplit('/').next().unwrap_or(path);
    let has_extension = name.rsplit_once('.').is_some_and(|(_, extension)| {
        extension.starts_with(|first: char| first.is_ascii_alphabetic())
    });
    (1..=MAX_MENTIONED_BYTES).contains(&path.len())
        && !path.starts_with(['/', '-'])
        && path.chars().all(is_plain)
        && path.split('/').all(|part| !part.is_empty() && part != "..")
        && (path.contains('/') || has_extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        mentions(text, "/work/repo", 99)
            .iter()
            .map(|stated| stated.claim.shown())
            .collect()
    }

    #[test]
    fn places_are_found_in_prose() {
        let text = "Limits live in `src/budget.rs:12-20` (see ./src/lib.rs:7:3, docs/a.md#L9).\n\
                    Again src/budget.rs:12; /work/repo/x/Makefile:3: and main.rs:1!";
        assert_eq!(
            found(text),
            [
                "src/budget.rs:12",
                "src/lib.rs:7",
                "docs/a.md:9",
                "x/Makefile:3",
                "main.rs:1"
            ]
        );
    }

    #[test]
    fn what_is_no_place_is_left_alone() {
        let text = "https://example.org:443/a 12:30 a:1 ../up/x.rs:4 /etc/passwd:1 -x/y.rs:2 \
                    src//x.rs:1 src/x.rs:0 src/x.rs:two src/x.rs:1a std::fmt:3 \
                    src/x.rs:99999999999999999999999 key: 1";
        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn they_are_bounded() {
        let text: String = (1..500).map(|line| format!("src/x.rs:{line}\n")).collect();
        assert_eq!(mentions(&text, "/w", 99).len(), MAX_MENTIONS);
        assert_eq!(mentions(&text, "/w", 3).len(), 3);
    }

    #[test]
    fn the_line_around_it_is_the_note() {
        let stated = &mentions("  The limit is in src/x.rs:4.  ", "/w", 1)[0];
        assert_eq!(stated.note, "The limit is in src/x.rs:4.");
    }
}
