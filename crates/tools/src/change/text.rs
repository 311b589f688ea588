//! A text while it is edited: line ends are all alike in it, and come back as they were.

use std::borrow::Cow;

use deputize_authority::escape;
use deputize_gate::{Occurrences, Replacement};

use super::replace::too_large;
use super::window::Window;
use crate::limits::{CHANGED_FILE_BYTES, MATCH_CHARS, SHOWN_PLACES};
use crate::output::{ToolFailure, count};
use crate::text::cut;

const BOM: char = '\u{feff}';

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Lf,
    CrLf,
}

/// A text with `\n` for every line end, and how each of them is written.
#[derive(Debug)]
pub(super) struct Text {
    text: String,
    ends: Vec<End>,
    /// How a line end is written that takes no other's place.
    usual: End,
    bom: Option<char>,
}

impl Text {
    pub(super) fn new(content: &str) -> Self {
        let (bom, content) = match content.strip_prefix(BOM) {
            Some(rest) => (Some(BOM), rest),
            None => (None, content),
        };
        let ends: Vec<End> = content
            .match_indices('\n')
            .map(|(at, _)| match content[..at].ends_with('\r') {
                true => End::CrLf,
                false => End::Lf,
            })
            .collect();
        let crlf = ends.iter().filter(|end| **end == End::CrLf).count();
        Self {
            text: content.replace("\r\n", "\n"),
            usual: if crlf * 2 > ends.len() {
                End::CrLf
            } else {
                End::Lf
            },
            ends,
            bom,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.text.len() + self.ends.len()) as u64
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut out = String::with_capacity(self.text.len() + self.ends.len() + 3);
        out.extend(self.bom);
        let mut ends = self.ends.iter();
        for line in self.text.split_inclusive('\n') {
            match line.strip_suffix('\n') {
                None => out.push_str(line),
                Some(line) => {
                    out.push_str(line);
                    out.push_str(match ends.next() {
                        Some(End::CrLf) => "\r\n",
                        Some(End::Lf) | None => "\n",
                    });
                }
            }
        }
        out.into_bytes()
    }

    /// Makes one change, and adds it to what is shown.
    pub(super) fn apply(
        &mut self,
        edit: &Replacement,
        window: &mut Window,
    ) -> Result<(), ToolFailure> {
        let old = plain(&edit.old);
        let new = plain(&edit.new);
        let places = self.places(&old, edit.occurrences)?;
        let bytes = self.text.len() - places.len() * old.len() + places.len() * new.len();
        if bytes as u64 > CHANGED_FILE_BYTES {
            return Err(too_large());
        }
        let mut text = String::with_capacity(bytes);
        let mut ends = Vec::with_capacity(self.ends.len());
        let (mut done, mut line) = (0, 0);
        let removed = newlines(&old);
        for place in places {
            let between = &self.text[done..place];
            let kept = newlines(between);
            ends.extend_from_slice(&self.ends[line..line + kept]);
            line += kept;
            let taken = &self.ends[line..line + removed];
            if window.has_room() {
                let piece = Piece::of(&self.text, place, &old, &new);
                window.add(ends.len() as u64 + 1, &piece.before, &piece.after);
            } else {
                window.count(&old, &new);
            }
            // A line end that takes another's place is written like it.
            let like = taken.last().copied().unwrap_or(self.usual);
            ends.extend((0..newlines(&new)).map(|at| taken.get(at).copied().unwrap_or(like)));
            line += removed;
            text.push_str(between);
            text.push_str(&new);
            done = place + old.len();
        }
        text.push_str(&self.text[done..]);
        ends.extend_from_slice(&self.ends[line..]);
        self.text = text;
        self.ends = ends;
        Ok(())
    }

    /// Where the old text is, first to last, no two overlapping.
    fn places(&self, old: &str, occurrences: Occurrences) -> Result<Vec<usize>, ToolFailure> {
        let found: Vec<usize> = match occurrences {
            Occurrences::All => self.text.match_indices(old).map(|(at, _)| at).collect(),
            Occurrences::One => self.overlapping(old).take(SHOWN_PLACES + 1).collect(),
        };
        match (found.as_slice(), occurrences) {
            ([], _) => Err(self.not_found(old)),
            ([_], _) | (_, Occurrences::All) => Ok(found),
            (several, Occurrences::One) => Err(self.ambiguous(several)),
        }
    }

    /// Every place, also one that begins within another.
    fn overlapping<'t>(&'t self, old: &'t str) -> impl Iterator<Item = usize> + 't {
        let step = old.chars().next().map_or(1, char::len_utf8);
        let mut from = 0;
        std::iter::from_fn(move || {
            let at = from + self.text.get(from..)?.find(old)?;
            from = at + step;
            Some(at)
        })
    }

    fn ambiguous(&self, places: &[usize]) -> ToolFailure {
        let lines: Vec<String> = places
            .iter()
            .take(SHOWN_PLACES)
            .map(|at| self.line_of(*at).to_string())
            .collect();
        let more = if places.len() > SHOWN_PLACES {
            " and more"
        } else {
            ""
        };
        ToolFailure::new(
            "ambiguous",
            format!(
                "the old text is there {}{more}, at the lines {}{more}: give more of the text \
                 around it, or set `all`",
                count(lines.len() as u64, "time", "times"),
                lines.join(", ")
            ),
        )
    }

    fn not_found(&self, old: &str) -> ToolFailure {
        let near = match self.nearest(old) {
            Some((number, line)) => format!(
                "; line {number} differs only in the space around it: `{}`",
                escape(&cut(line, MATCH_CHARS).replace('\t', "\\t"))
            ),
            None => String::new(),
        };
        ToolFailure::new(
            "not_found",
            format!(
                "the old text is not in the file{near}. It must match exactly, spaces and line \
                 breaks included: read the file again"
            ),
        )
    }

    /// A line that would be the first of the old text, but for the space around it.
    fn nearest(&self, old: &str) -> Option<(usize, &str)> {
        let wanted = old.lines().map(str::trim).find(|line| !line.is_empty())?;
        let mut lines = self.text.lines().enumerate();
        let (index, line) = lines.find(|(_, line)| line.trim() == wanted)?;
        Some((index + 1, line))
    }

    fn line_of(&self, at: usize) -> usize {
        newlines(&self.text[..at]) + 1
    }
}

/// The whole lines that one change touches, before and after.
struct Piece {
    before: String,
    after: String,
}

impl Piece {
    fn of(text: &str, place: usize, old: &str, new: &str) -> Self {
        let start = text[..place].rfind('\n').map_or(0, |at| at + 1);
        let rest = &text[place + old.len()..];
        // When the old text ends its line, nothing of the next one is touched.
        let end = match old.ends_with('\n') && (new.is_empty() || new.ends_with('\n')) {
            true => 0,
            false => rest.find('\n').map_or(rest.len(), |at| at + 1),
        };
        let (lead, tail) = (&text[start..place], &rest[..end]);
        Self {
            before: format!("{lead}{old}{tail}"),
            after: format!("{lead}{new}{tail}"),
        }
    }
}

fn plain(text: &str) -> Cow<'_, str> {
    match text.contains("\r\n") {
        true => Cow::Owned(text.replace("\r\n", "\n")),
        false => Cow::Borrowed(text),
    }
}

fn newlines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Few letters, so that old texts are often there, and there often.
    fn piece() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(vec!["a", "b", "\n", "\r\n", "\r", "é", " "]),
            0..6,
        )
        .prop_map(|parts| parts.concat())
    }

    fn edit() -> impl Strategy<Value = Replacement> {
        (piece(), piece(), any::<bool>()).prop_filter_map("empty", |(old, new, all)| {
            (!old.is_empty()).then_some(Replacement {
                old,
                new,
                occurrences: match all {
                    true => Occurrences::All,
                    false => Occurrences::One,
                },
            })
        })
    }

    /// The plain way, for a text with one kind of line end.
    fn plainly(text: &str, edit: &Replacement) -> Option<String> {
        let (old, new) = (plain(&edit.old), plain(&edit.new));
        let starts = (0..text.len())
            .filter(|at| text.is_char_boundary(*at) && text[*at..].starts_with(old.as_ref()));
        match (starts.count(), edit.occurrences) {
            (0, _) => None,
            (1, _) | (_, Occurrences::All) => Some(text.replace(old.as_ref(), &new)),
            (_, Occurrences::One) => None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        /// Edits are what replacing is, and a text that is all CRLF stays so.
        #[test]
        fn edits_replace_as_the_plain_way_does(
            text in prop::collection::vec(piece(), 0..8),
            edits in prop::collection::vec(edit(), 1..4),
        ) {
            let text = plain(&text.concat()).replace('\r', "r");
            let edits: Vec<Replacement> = edits
                .into_iter()
                .map(|edit| Replacement {
                    old: plain(&edit.old).replace('\r', "r"),
                    new: plain(&edit.new).replace('\r', "r"),
                    ..edit
                })
                .collect();
            let crlf = text.replace('\n', "\r\n");
            let (mut ours, mut ours_crlf) = (Text::new(&text), Text::new(&crlf));
            let mut theirs = text.clone();
            for edit in &edits {
                let expected = plainly(&theirs, edit);
                let done = ours.apply(edit, &mut Window::default());
                let done_crlf = ours_crlf.apply(edit, &mut Window::default());
                prop_assert_eq!(done.is_ok(), expected.is_some());
                prop_assert_eq!(done_crlf.is_ok(), expected.is_some());
                theirs = expected.unwrap_or(theirs);
            }
            prop_assert_eq!(String::from_utf8(ours.into_bytes()).unwrap(), theirs.clone());
            if text.contains('\n') {
                let written = String::from_utf8(ours_crlf.into_bytes()).unwrap();
                prop_assert_eq!(written, theirs.replace('\n', "\r\n"));
            }
        }

        /// Whatever the text, one that isn't edited comes back byte for byte.
        #[test]
        fn an_unedited_text_comes_back(text in prop::collection::vec(piece(), 0..8), bom in any::<bool>()) {
            let text = format!("{}{}", if bom { "\u{feff}" } else { "" }, text.concat());
            prop_assert_eq!(Text::new(&text).into_bytes(), text.into_bytes());
        }

        /// No line end outside the changed place is touched, whatever mixture the text has.
        #[test]
        fn other_line_ends_stay(before in piece(), after in piece(), old in "[xyz]", new in "[xyz\n]{0,4}") {
            let text = format!("{before}{old}{after}");
            let mut edited = Text::new(&text);
            let edit = Replacement { old, new, occurrences: Occurrences::One };
            edited.apply(&edit, &mut Window::default()).unwrap();
            let written = String::from_utf8(edited.into_bytes()).unwrap();
            prop_assert!(written.starts_with(&before) && written.ends_with(&after), "{text:?} {written:?}");
        }
    }
}
