//! Arithmetic: what it runs, and its value where that is plain.

use super::How;
use crate::machine::{Machine, State};
use crate::value::{Field, Taint};

impl Machine<'_> {
    /// The value of an arithmetic expression; what it substitutes is followed.
    pub(crate) fn arithmetic(&mut self, raw: &str, state: &mut State) -> Field {
        if !self.step() {
            return Field::unknown(Taint::NONE);
        }
        let expanded = self.value(raw, state, How::Quoted);
        self.subscripts(raw, state);
        let Some(text) = expanded.known() else {
            return Field::unknown(Taint::PLAIN);
        };
        // Names are assigned in there, too: afterwards they are no longer what they were.
        if text.contains('=') || text.contains("++") || text.contains("--") {
            for name in names(&text) {
                if state.is_set(name) {
                    state.assign(name, Field::unknown(Taint::PLAIN));
                }
            }
            return Field::unknown(Taint::PLAIN);
        }
        match evaluate(&text, state) {
            Some(number) => Field::lit(&number.to_string()),
            None => Field::unknown(Taint::PLAIN),
        }
    }

    /// A value that stands for a number is evaluated as an expression, and a subscript in it can run
    /// commands.
    fn subscripts(&mut self, raw: &str, state: &mut State) {
        for name in names(raw) {
            let value = state.read(name);
            if let Some(text) = value.known()
                && (text.contains("$(") || text.contains('`'))
            {
                let text = text.into_owned();
                self.value(&text, state, How::Quoted);
            }
        }
    }
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// Sums and products of numbers and known names.
fn evaluate(text: &str, state: &State) -> Option<i64> {
    let mut parser = Sum {
        rest: text.trim(),
        state,
        depth: 0,
    };
    let value = parser.sum()?;
    parser.rest.trim().is_empty().then_some(value)
}

struct Sum<'a> {
    rest: &'a str,
    state: &'a State,
    depth: usize,
}

impl Sum<'_> {
    fn eat(&mut self, c: char) -> bool {
        let trimmed = self.rest.trim_start();
        match trimmed.strip_prefix(c) {
            // `**`, `<<` and the like aren't understood.
            Some(rest) if !rest.starts_with(c) || c == '(' || c == ')' => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            if self.eat('+') {
                value = value.checked_add(self.product()?)?;
            } else if self.eat('-') {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        loop {
            if self.eat('*') {
                value = value.checked_mul(self.atom()?)?;
            } else if self.eat('/') {
                value = value.checked_div(self.atom()?)?;
            } else if self.eat('%') {
                value = value.checked_rem(self.atom()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn atom(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        if self.eat('(') {
            let value = self.sum()?;
            return self.eat(')').then_some(value);
        }
        let text = self.rest.trim_start();
        let end = text
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$')
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return match word.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16).ok(),
                None if word.len() > 1 && word.starts_with('0') => {
                    i64::from_str_radix(word, 8).ok()
                }
                None => word.parse().ok(),
            };
        }
        self.state
            .read(word.trim_start_matches('$'))
            .known()?
            .parse()
            .ok()
    }
}
