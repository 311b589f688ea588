//! Quotes, expansions and splitting.

use super::builder::{Builder, How};
use super::{ansi_c, braces, scan};
use crate::machine::{Machine, State};
use crate::value::{Field, Out, Part, Taint};

impl Machine<'_> {
    /// The fields of a word of a command.
    pub(crate) fn word(&mut self, raw: &str, state: &mut State) -> Vec<Field> {
        // Most words are plain.
        if raw.bytes().all(is_plain) {
            let text = raw.to_owned();
            return vec![Field {
                parts: vec![Part::Lit {
                    text,
                    quoted: false,
                }],
            }];
        }
        let Some(words) = braces(raw) else {
            self.partial("a word with more braces than are followed");
            return vec![Field::unknown(Taint::NONE)];
        };
        let mut fields = Vec::new();
        for word in words {
            let mut builder = Builder::new(How::Word, &state.ifs());
            self.expand(&word, state, &mut builder);
            self.weigh(&builder);
            fields.extend(builder.finish());
        }
        fields
    }

    /// The one value of a raw text.
    pub(crate) fn value(&mut self, raw: &str, state: &mut State, how: How) -> Field {
        let mut builder = Builder::new(how, &state.ifs());
        self.expand(raw, state, &mut builder);
        self.weigh(&builder);
        builder.finish_one()
    }

    /// Long words cost more steps.
    fn weigh(&mut self, builder: &Builder) {
        if builder.is_over() {
            self.partial("a word longer than is followed");
        }
        self.spend(builder.size / 512);
    }

    fn expand(&mut self, raw: &str, state: &mut State, builder: &mut Builder) {
        if !self.step() {
            builder.value(&Field::unknown(Taint::NONE), true);
            return;
        }
        let mut at = 0;
        if builder.how != How::Quoted {
            at = self.tilde(raw, 0, state, builder);
        }
        self.expand_from(raw, at, builder.how == How::Quoted, state, builder);
    }

    /// Expands what begins at `at`; `quoted`: inside double quotes.
    fn expand_from(
        &mut self,
        raw: &str,
        mut at: usize,
        quoted: bool,
        state: &mut State,
        builder: &mut Builder,
    ) {
        let bytes = raw.as_bytes();
        let mut plain = at;
        macro_rules! flush {
            () => {
                if plain < at
                    && let Some(text) = raw.get(plain..at)
                {
                    builder.literal(text, quoted);
                }
            };
        }
        while at < bytes.len() {
            let next = bytes.get(at + 1).copied();
            match bytes[at] {
                b'\\' => {
                    flush!();
                    at = escaped(raw, at, quoted, builder);
                }
                b'\'' if !quoted => {
                    flush!();
                    let end = scan::find(bytes, at + 1, b'\'').unwrap_or(bytes.len());
                    builder.literal(raw.get(at + 1..end).unwrap_or_default(), true);
                    at = end + 1;
                }
                b'"' if builder.how != How::Quoted || !quoted => {
                    flush!();
                    at = self.double(raw, at + 1, state, builder);
                }
                b'$' if next == Some(b'\'') && !quoted => {
                    flush!();
                    let end = scan::ansi_end(bytes, at + 2).unwrap_or(bytes.len() + 1);
                    let text = raw.get(at + 2..end - 1).unwrap_or_default();
                    builder.literal(&ansi_c(text), true);
                    at = end;
                }
                b'$' if next == Some(b'"') && !quoted => {
                    flush!();
                    at = self.double(raw, at + 2, state, builder);
                }
                b'$' => {
                    flush!();
                    at = self.dollar(raw, at, quoted, state, builder);
                }
                b'`' => {
                    flush!();
                    let end = scan::backtick_end(bytes, at + 1).unwrap_or(bytes.len());
                    let code = unescape_backtick(raw.get(at + 1..end).unwrap_or_default(), quoted);
                    self.substitute(&code, quoted, state, builder);
                    at = end + 1;
                }
                b'<' | b'>' if next == Some(b'(') && !quoted => {
                    flush!();
                    let end = scan::close_paren(bytes, at + 2).unwrap_or(bytes.len());
                    let code = raw.get(at + 2..end).unwrap_or_default();
                    let name = self.process_substitution(code, bytes[at] == b'<', state);
                    builder.literal(&name, true);
                    at = end + 1;
                }
                b':' | b'=' if !quoted && builder.how == How::Value && next == Some(b'~') => {
                    at += 1;
                    flush!();
                    at = self.tilde(raw, at, state, builder);
                }
                _ => {
                    at += 1;
                    continue;
                }
            }
            plain = at;
        }
        at = at.min(bytes.len());
        flush!();
    }

    /// The inside of double quotes from `from` on; gives the byte past the closing quote.
    fn double(
        &mut self,
        raw: &str,
        from: usize,
        state: &mut State,
        builder: &mut Builder,
    ) -> usize {
        let bytes = raw.as_bytes();
        let end = scan::double_end(bytes, from).unwrap_or(bytes.len() + 1);
        let inner = raw.get(from..end - 1).unwrap_or_default();
        // `"$@"` of nothing is nothing, any other quotes are at least an empty word.
        if inner != "$@" {
            builder.open();
        }
        let how = std::mem::replace(&mut builder.how, How::Quoted);
        self.expand_from(inner, 0, true, state, builder);
        builder.how = how;
        end
    }

    /// What begins with `$`; gives the byte past it.
    fn dollar(
        &mut self,
        raw: &str,
        at: usize,
        quoted: bool,
        state: &mut State,
        builder: &mut Builder,
    ) -> usize {
        let bytes = raw.as_bytes();
        match bytes.get(at + 1).copied() {
            Some(b'(') => {
                if bytes.get(at + 2) == Some(&b'(')
                    && let Some(inner) = scan::close_paren(bytes, at + 3)
                    && bytes.get(inner + 1) == Some(&b')')
                {
                    let value = self.arithmetic(raw.get(at + 3..inner).unwrap_or_default(), state);
                    builder.value(&value, quoted);
                    return inner + 2;
                }
                let end = scan::close_paren(bytes, at + 2).unwrap_or(bytes.len());
                let code = raw.get(at + 2..end).unwrap_or_default();
                self.substitute(code, quoted, state, builder);
                end + 1
            }
            Some(b'{') => {
                let end = scan::close_brace(bytes, at + 2).unwrap_or(bytes.len());
                let inner = raw.get(at + 2..end).unwrap_or_default();
                self.parameter(inner, quoted, state, builder);
                end + 1
            }
            Some(b'[') => {
                let end = scan::find(bytes, at + 2, b']').unwrap_or(bytes.len());
                let value = self.arithmetic(raw.get(at + 2..end).unwrap_or_default(), state);
                builder.value(&value, quoted);
                end + 1
            }
            Some(first) if first.is_ascii_alphabetic() || first == b'_' => {
                let rest = bytes[at + 1..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
                    .count();
                let name = raw.get(at + 1..at + 1 + rest).unwrap_or_default();
                let value = state.read(name);
                builder.value(&value, quoted);
                at + 1 + rest
            }
            Some(first) if first.is_ascii_digit() || b"@*#?$!-".contains(&first) => {
                let name = raw.get(at + 1..at + 2).unwrap_or_default();
                self.special(name, quoted, state, builder);
                at + 2
            }
            _ => {
                builder.literal("$", quoted);
                at + 1
            }
        }
    }

    /// `$1`, `$@` and the others that aren't names.
    pub(super) fn special(
        &mut self,
        name: &str,
        quoted: bool,
        state: &State,
        builder: &mut Builder,
    ) {
        match name {
            "@" | "*" => {
                let fields = state.positional.clone();
                if !state.positional_known && fields.is_empty() {
                    builder.value(&Field::unknown(Taint::NONE), quoted);
                    return;
                }
                self.list(&fields, name == "*", quoted, builder);
            }
            _ => {
                let value = state.read(name);
                builder.value(&value, quoted);
            }
        }
    }

    /// Several values: each a field, or all of one joined.
    pub(super) fn list(
        &mut self,
        fields: &[Field],
        joined: bool,
        quoted: bool,
        builder: &mut Builder,
    ) {
        for (count, field) in fields.iter().enumerate() {
            if count > 0 {
                if (joined && quoted) || builder.how == How::Value {
                    let between = builder
                        .ifs
                        .chars()
                        .next()
                        .map(String::from)
                        .unwrap_or_default();
                    builder.literal(&between, quoted);
                } else {
                    builder.end();
                }
            }
            builder.value(field, quoted);
        }
    }

    fn substitute(&mut self, code: &str, quoted: bool, state: &mut State, builder: &mut Builder) {
        let value = match self.capture(code, state).substituted() {
            Out::Known(text) => Field::lit(&text),
            Out::Unknown(taint) => Field::unknown(taint),
        };
        builder.value(&value, quoted);
    }

    /// A tilde at `at`, if a user's home is meant; gives the byte past it.
    fn tilde(&mut self, raw: &str, at: usize, state: &State, builder: &mut Builder) -> usize {
        let Some(rest) = raw.get(at..).and_then(|rest| rest.strip_prefix('~')) else {
            return at;
        };
        let name: &str = rest.split(['/', ':']).next().unwrap_or_default();
        let home = match name {
            "" => state.read("HOME"),
            "+" => state.read("PWD"),
            "-" => state.read("OLDPWD"),
            "root" => Field::lit("/root"),
            name if name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b)) =>
            {
                Field::lit(&format!("/home/{name}"))
            }
            _ => return at,
        };
        builder.value(&home.quoted(), true);
        at + 1 + name.len()
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._-+,:=%@*?#^".contains(&byte)
}

/// A backslash at `at`; gives the byte past what it quotes.
fn escaped(raw: &str, at: usize, quoted: bool, builder: &mut Builder) -> usize {
    let Some(next) = raw.get(at + 1..).and_then(|rest| rest.chars().next()) else {
        builder.literal("\\", true);
        return at + 1;
    };
    if next == '\n' {
        return at + 2;
    }
    if quoted && !matches!(next, '$' | '`' | '"' | '\\') {
        builder.literal("\\", true);
        return at + 1;
    }
    let mut buffer = [0; 4];
    builder.literal(next.encode_utf8(&mut buffer), true);
    at + 1 + next.len_utf8()
}

/// In backticks a backslash quotes only these.
fn unescape_backtick(code: &str, quoted: bool) -> String {
    let mut out = String::with_capacity(code.len());
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('`' | '\\' | '$')) => out.extend(chars.next()),
            ('\\', Some('"')) if quoted => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    out
}
