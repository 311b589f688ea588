//! Names and ids as providers take them back.

/// A tool's name or a call's id in the characters that every provider takes: a model may have asked
/// for a tool that nobody could name.
pub(super) fn plain(name: &str) -> String {
    let plain: String = name
        .chars()
        .take(64)
        .map(|character| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
            _ => '_',
        })
        .collect();
    if plain.is_empty() {
        "_".to_owned()
    } else {
        plain
    }
}

/// What an id begins with that a provider didn't give.
const OURS: &str = "deputize-";

/// An id for a call of a provider that gives none: `serial` differs from turn to turn.
pub(super) fn own_id(serial: usize, index: usize) -> String {
    format!("{OURS}{serial}-{index}")
}

/// Whether an id is the provider's.
pub(super) fn is_given(id: &str) -> bool {
    !id.starts_with(OURS)
}
