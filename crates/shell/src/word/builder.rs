//! Collects the fields of a word: what is split, what is kept, how much is too much.

use crate::limits::MAX_VALUE;
use crate::value::{Field, Part, Taint};

/// What a raw text is expanded as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// A word of a command: split, with braces and tildes.
    Word,
    /// One value: the right side of an assignment, the target of a redirection.
    Value,
    /// The inside of double quotes, or the body of a here-document.
    Quoted,
}

/// Collects the fields of a word.
pub(crate) struct Builder {
    fields: Vec<Field>,
    open: Option<Field>,
    pub(super) ifs: String,
    pub(super) how: How,
    /// Bytes that were put in so far.
    pub(super) size: usize,
}

impl Builder {
    pub(crate) fn new(how: How, ifs: &str) -> Self {
        Self {
            fields: Vec::new(),
            open: None,
            ifs: ifs.to_owned(),
            how,
            size: 0,
        }
    }

    /// Counts what is put in; false when it is too much to be followed.
    pub(super) fn fits(&mut self, bytes: usize) -> bool {
        self.size = self.size.saturating_add(bytes + 8);
        self.size <= MAX_VALUE
    }

    pub(super) fn is_over(&self) -> bool {
        self.size > MAX_VALUE
    }

    pub(super) fn open(&mut self) -> &mut Field {
        self.open.get_or_insert_with(Field::default)
    }

    pub(super) fn literal(&mut self, text: &str, quoted: bool) {
        if !self.fits(text.len()) {
            return;
        }
        let part = Part::Lit {
            text: text.to_owned(),
            quoted,
        };
        self.open().push(part);
    }

    pub(super) fn end(&mut self) {
        self.fields.extend(self.open.take());
    }

    /// The value of an expansion.
    pub(crate) fn value(&mut self, value: &Field, quoted: bool) {
        let whole = quoted || self.how != How::Word;
        if whole {
            self.open();
        }
        for part in &value.parts {
            match part {
                Part::Lit { text, .. } if whole => {
                    // A value that is assigned is matched as a pattern where it is used unquoted.
                    self.literal(text, quoted || self.how == How::Quoted);
                }
                Part::Lit { text, .. } => self.split(text),
                other => {
                    if self.fits(8) {
                        self.open().push(other.clone());
                    }
                }
            }
        }
    }

    pub(super) fn split(&mut self, text: &str) {
        if self.ifs.is_empty() {
            if !text.is_empty() {
                self.literal(text, false);
            }
            return;
        }
        let ifs = self.ifs.clone();
        let mut piece = String::new();
        for c in text.chars() {
            if !ifs.contains(c) {
                piece.push(c);
                continue;
            }
            if !piece.is_empty() {
                self.literal(&piece, false);
                piece.clear();
            }
            // White space in a row separates once, another separator each time.
            if self.open.is_some() || !c.is_whitespace() {
                self.end();
            }
        }
        if !piece.is_empty() {
            self.literal(&piece, false);
        }
    }

    pub(super) fn finish(mut self) -> Vec<Field> {
        if self.is_over() {
            return vec![Field::unknown(Taint::NONE)];
        }
        self.end();
        self.fields
    }

    pub(super) fn finish_one(mut self) -> Field {
        if self.is_over() {
            return Field::unknown(Taint::NONE);
        }
        self.end();
        let mut all = Field::default();
        for field in self.fields {
            for part in field.parts {
                all.push(part);
            }
        }
        all
    }
}
