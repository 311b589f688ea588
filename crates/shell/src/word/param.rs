//! `${…}` with its operators.

use super::patterns::{changed, split_slash};
use super::{Builder, How, ansi_c, scan};
use crate::glob;
use crate::machine::{Machine, State};
use crate::value::{Field, Part, Taint};

/// The longest text that a pattern is looked for in: every part of it is tried.
const MAX_MATCHED: usize = 128;

/// The operators, the longer before the shorter.
const OPERATORS: &[&str] = &[
    ":-", ":=", ":+", ":?", "##", "%%", "//", "/#", "/%", "^^", ",,", "~~", "-", "=", "+", "?",
    "#", "%", "/", "^", ",", "~", "@", ":",
];

impl Machine<'_> {
    /// What stands between the braces of `${…}`.
    pub(super) fn parameter(
        &mut self,
        inner: &str,
        quoted: bool,
        state: &mut State,
        builder: &mut Builder,
    ) {
        // `${ command; }` and `${| command; }` run a command.
        if inner.starts_with([' ', '\n', '\t', '|']) {
            self.capture(inner.trim_start_matches('|'), state);
            self.partial("a command in `${ }`");
            builder.value(&Field::unknown(Taint::NONE), quoted);
            return;
        }
        if let Some(name) = inner.strip_prefix('#')
            && !name.is_empty()
            && !name.starts_with(|c: char| ":-=+?#%/^,@".contains(c) && name.len() > 1)
        {
            if let Some(sub) = subscript(name) {
                self.value(sub, state, How::Quoted);
            }
            let length = match state.read(base(name)).known() {
                Some(text) if !name.contains('[') && state.is_set(base(name)) => {
                    Field::lit(&text.chars().count().to_string())
                }
                _ => Field::unknown(Taint::PLAIN),
            };
            builder.value(&length, quoted);
            return;
        }
        let (indirect, rest) = match inner.strip_prefix('!') {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, inner),
        };
        let (name, rest) = split_name(rest);
        let (index, rest) = match rest.strip_prefix('[') {
            Some(after) => match close_bracket(after) {
                Some(end) => (after.get(..end), after.get(end + 1..).unwrap_or_default()),
                None => (Some(after), ""),
            },
            None => (None, rest),
        };
        let mut name = name.to_owned();
        if indirect {
            // `${!name}` is the variable that the value names; `${!name@}` and `${!a[@]}` list names.
            if rest.starts_with(['@', '*']) || index.is_some() {
                builder.value(&Field::unknown(Taint::PLAIN), quoted);
                return;
            }
            match state.read(&name).guess() {
                Some(named) if is_name(&named) => name = named,
                other => {
                    if let Some(text) = other
                        && text.contains(['$', '`'])
                    {
                        self.value(&text, state, How::Quoted);
                    }
                    builder.value(&Field::unknown(Taint::NONE), quoted);
                    return;
                }
            }
        }
        let operator = OPERATORS.iter().find(|op| rest.starts_with(**op)).copied();
        let argument = operator.map_or("", |op| rest.get(op.len()..).unwrap_or_default());
        if name == "@" || name == "*" {
            match operator {
                None => self.special(&name, quoted, state, builder),
                Some(":") => {
                    let fields = state.positional.clone();
                    let picked = self.slice_list(&fields, argument, 1, state);
                    self.list(&picked, name == "*", quoted, builder);
                }
                Some(op) => {
                    let fields = state.positional.clone();
                    let changed: Vec<Field> = fields
                        .iter()
                        .map(|field| {
                            self.apply(op, argument, field.clone(), true, &name, quoted, state)
                                .without(Taint::JOB)
                        })
                        .collect();
                    self.list(&changed, name == "*", quoted, builder);
                }
            }
            return;
        }
        let fields = match index {
            Some("@" | "*") => state.elements(&name),
            Some(index) => {
                let index = self.value(index, state, How::Quoted);
                vec![state.element(&name, &index)]
            }
            None => vec![state.read(&name)],
        };
        let is_set =
            state.is_set(&name) || (name.parse::<usize>().is_ok() && state.positional_known);
        match operator {
            None => self.list(&fields, index == Some("*"), quoted, builder),
            Some(":") if matches!(index, Some("@" | "*")) => {
                let picked = self.slice_list(&fields, argument, 0, state);
                self.list(&picked, index == Some("*"), quoted, builder);
            }
            Some(op) => {
                let changed: Vec<Field> = fields
                    .into_iter()
                    // A part of a job's number is another's.
                    .map(|field| {
                        self.apply(op, argument, field, is_set, &name, quoted, state)
                            .without(Taint::JOB)
                    })
                    .collect();
                self.list(&changed, index == Some("*"), quoted, builder);
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one operator of one expansion, all of it needed"
    )]
    fn apply(
        &mut self,
        op: &str,
        argument: &str,
        value: Field,
        is_set: bool,
        name: &str,
        quoted: bool,
        state: &mut State,
    ) -> Field {
        if value.has_guess() {
            let out = self.apply(op, argument, value.guessed(), is_set, name, quoted, state);
            return guess(out);
        }
        let how = if quoted { How::Quoted } else { How::Value };
        let is_empty = value.known().is_some_and(|text| text.is_empty());
        match op {
            ":-" | "-" | ":=" | "=" => {
                let other = self.value(argument, state, how);
                if is_set && !(is_empty && op.starts_with(':')) {
                    return value;
                }
                // What isn't set here may still come from the environment.
                let unsure = !is_set && !state.is_unset(name);
                let chosen = if unsure { guess(other) } else { other };
                if op.ends_with('=') {
                    state.assign(name, chosen.clone());
                }
                chosen
            }
            ":+" | "+" => {
                let other = self.value(argument, state, how);
                match (is_set, is_empty) {
                    (true, true) if op == ":+" => Field::lit(""),
                    (true, _) => other,
                    (false, _) if state.is_unset(name) => Field::lit(""),
                    (false, _) => guess(other),
                }
            }
            ":?" | "?" => {
                self.value(argument, state, how);
                value
            }
            "@" => match (argument, value.known()) {
                // The value is expanded as a prompt is: what it substitutes runs.
                ("P", Some(text)) => {
                    let text = text.into_owned();
                    self.value(&text, state, How::Quoted)
                }
                ("P", None) => {
                    self.partial("a value that is expanded once more");
                    value
                }
                ("U", Some(text)) => Field::lit(&text.to_uppercase()),
                ("L", Some(text)) => Field::lit(&text.to_lowercase()),
                ("E", Some(text)) => Field::lit(&ansi_c(&text)),
                _ => value,
            },
            ":" => self.slice(argument, &value, state),
            _ => {
                let (pattern, replacement) = match op {
                    "/" | "//" | "/#" | "/%" => split_slash(argument),
                    _ => (argument, ""),
                };
                let pattern = self.value(pattern, state, How::Value);
                // A name that matches a pattern, cut at an end, matches the pattern cut there.
                if let ([Part::Pattern(name)], "#" | "##" | "%" | "%%", Some(cut)) =
                    (value.parts.as_slice(), op, pattern.known())
                    && name.len() <= MAX_MATCHED
                {
                    return Field {
                        parts: vec![Part::Pattern(changed(op, name, &cut, ""))],
                    };
                }
                let replacement = self.value(replacement, state, how);
                let (Some(text), Some(pattern), Some(new)) =
                    (value.known(), pattern.known(), replacement.known())
                else {
                    return Field::unknown(value.taint().risky());
                };
                if !is_set {
                    return value;
                }
                if glob::is_pattern(&pattern)
                    && (text.len() > MAX_MATCHED || pattern.len() > MAX_MATCHED)
                {
                    return Field::unknown(value.taint().risky());
                }
                self.spend(text.len() * text.len() / 16);
                Field::lit(&changed(op, &text, &pattern, &new))
            }
        }
    }

    /// `${x:from:count}`.
    fn slice(&mut self, argument: &str, value: &Field, state: &mut State) -> Field {
        let (from, count) = self.range(argument, state);
        let (Some(text), Some(from)) = (value.known(), from) else {
            return Field::unknown(value.taint().risky());
        };
        let chars: Vec<char> = text.chars().collect();
        let Some((start, end)) = bounds(chars.len(), from, count) else {
            return Field::unknown(Taint::NONE);
        };
        Field::lit(&chars[start..end].iter().collect::<String>())
    }

    fn slice_list(
        &mut self,
        fields: &[Field],
        argument: &str,
        base: i64,
        state: &mut State,
    ) -> Vec<Field> {
        let (from, count) = self.range(argument, state);
        let Some(from) = from else {
            return vec![Field::unknown(Taint::NONE)];
        };
        match bounds(fields.len(), (from - base).max(0), count) {
            Some((start, end)) => fields[start..end].to_vec(),
            None => vec![Field::unknown(Taint::NONE)],
        }
    }

    /// A slice's start, and its count: nothing, a number, or unknown.
    fn range(&mut self, argument: &str, state: &mut State) -> (Option<i64>, Option<Option<i64>>) {
        let mut parts = argument.splitn(2, ':');
        let mut number = |text: &str| {
            let value = self.arithmetic(text, state);
            value
                .known()
                .and_then(|text| text.trim().parse::<i64>().ok())
        };
        let from = number(parts.next().unwrap_or("0"));
        let count = parts.next().map(number);
        (from, count)
    }
}

fn bounds(length: usize, from: i64, count: Option<Option<i64>>) -> Option<(usize, usize)> {
    let length = i64::try_from(length).ok()?;
    let start = if from < 0 {
        (length + from).max(0)
    } else {
        from.min(length)
    };
    let end = match count {
        None => length,
        Some(count) => {
            let count = count?;
            if count < 0 {
                length + count
            } else {
                start.saturating_add(count)
            }
        }
    };
    let end = end.clamp(start, length);
    Some((usize::try_from(start).ok()?, usize::try_from(end).ok()?))
}

fn guess(value: Field) -> Field {
    match value.guess() {
        Some(text) => Field {
            parts: vec![Part::Guess(text)],
        },
        None => Field::unknown(value.taint().risky()),
    }
}

fn split_name(text: &str) -> (&str, &str) {
    let first = text.chars().next();
    let end = match first {
        Some(c) if c.is_ascii_alphabetic() || c == '_' => text
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(text.len()),
        Some(c) if c.is_ascii_digit() => text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
        Some(c) if c.is_ascii() => 1,
        _ => 0,
    };
    text.split_at(end)
}

fn close_bracket(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'[' => depth += 1,
            b']' if depth == 0 => return Some(at),
            b']' => depth -= 1,
            b'$' if bytes.get(at + 1) == Some(&b'(') => at = scan::close_paren(bytes, at + 2)?,
            _ => {}
        }
        at += 1;
    }
    None
}

fn subscript(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('[')?;
    Some(rest.strip_suffix(']').unwrap_or(rest))
}

fn base(name: &str) -> &str {
    name.split('[').next().unwrap_or(name)
}

pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
