//! Redirections: what is opened, and what flows where.

use rable::{Node, NodeKind};

use super::compound::raw;
use super::{Machine, Sink, State};
use crate::effect::Role;
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Taint};
use crate::word::How;

/// Where the output of a command goes that is redirected.
enum Goes {
    Caller,
    File(String),
    Nowhere,
}

/// What was before the redirections.
pub(super) struct Before {
    input: Option<Out>,
    output: Out,
    sink: Sink,
    goes: Goes,
}

impl Machine<'_> {
    /// Runs a part of the walk with redirections in force.
    pub(super) fn redirected(
        &mut self,
        redirects: &[Node],
        state: &mut State,
        walk: impl FnOnce(&mut Self, &mut State),
    ) {
        if redirects.is_empty() {
            return walk(self, state);
        }
        let before = self.open(redirects, state);
        walk(self, state);
        self.close(before, state);
    }

    pub(super) fn open(&mut self, redirects: &[Node], state: &mut State) -> Before {
        let mut before = Before {
            input: state.input.clone(),
            output: std::mem::replace(&mut state.output, Out::empty()),
            sink: state.sink,
            goes: Goes::Caller,
        };
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::HereDoc {
                    content,
                    quoted,
                    fd,
                    ..
                } => {
                    let text = if *quoted {
                        Field::lit(content)
                    } else {
                        self.value(content, state, How::Quoted)
                    };
                    if *fd <= 0 {
                        state.input = Some(as_input(&text));
                    }
                }
                NodeKind::Redirect { op, target, fd, .. } => {
                    self.redirect(op, raw(target), *fd, &mut before, state);
                }
                _ => self.partial("a redirection that isn't known here"),
            }
        }
        before
    }

    pub(super) fn close(&mut self, before: Before, state: &mut State) {
        let out = std::mem::replace(&mut state.output, before.output);
        if state.sink == Sink::Line && out.taint().has(Taint::SECRET) {
            self.act(&rules::secret::UPLOAD);
        }
        match before.goes {
            Goes::Caller => state.output.add(out),
            Goes::File(path) => {
                self.given(&path, &out, state);
                let content = state.files.entry(path).or_insert_with(Out::empty);
                content.add(out);
            }
            Goes::Nowhere => {}
        }
        state.input = before.input;
        state.sink = before.sink;
    }

    fn redirect(
        &mut self,
        op: &str,
        target: &str,
        fd: i32,
        before: &mut Before,
        state: &mut State,
    ) {
        if !is_target(target) {
            // The parser takes what comes next for the word that isn't there.
            self.partial("a redirection to nothing");
            self.act(&rules::opaque::SYNTAX);
            return;
        }
        if op == "<<<" {
            let value = self.value(target, state, How::Value);
            if fd <= 0 {
                let mut out = as_input(&value);
                out.add(Out::Known("\n".to_owned()));
                state.input = Some(out);
            }
            return;
        }
        let fields = self.word(target, state);
        let [field] = fields.as_slice() else {
            self.partial("a redirection to several words");
            return;
        };
        let text = field.known().map(|text| text.into_owned());
        if let ("<&" | ">&", Some(text)) = (op, text.as_deref())
            && (text == "-" || text.trim_end_matches('-').parse::<i32>().is_ok())
        {
            self.duplicate(op, text.trim_end_matches('-'), fd, before, state);
            return;
        }
        let reads = matches!(op, "<" | "<&");
        let writes_output = !reads && (fd < 0 && op != "<>" || fd == 1);
        let target = self.target(field, state);
        if target.place == Place::Connection {
            self.connection(field);
            if fd > 2 {
                state.lines.insert(fd);
            }
            if fd == 0 || reads || op == "<>" {
                state.input = Some(Out::Unknown(Taint::LINE));
            }
            if writes_output {
                state.sink = Sink::Line;
            }
            if op.contains('&') && writes_output {
                state.lines.insert(1);
            }
            return;
        }
        if reads {
            let content = self.read_file(field, state);
            if fd <= 0 {
                state.input = Some(content);
            }
            return;
        }
        let appends = op.contains(">>");
        let was_held = target
            .path
            .as_deref()
            .is_some_and(|path| self.is_held(path));
        self.path(Role::Write, field, state);
        // What is appended to may hold anything before.
        if let Some(path) = target.path.as_deref().filter(|_| was_held || !appends) {
            self.hold(path);
        }
        if op == "<>" && fd <= 0 {
            state.input = Some(self.content(&target.path, state));
        }
        if writes_output {
            state.sink = Sink::Caller;
            before.goes = match target.path {
                Some(path)
                    if target.place != Place::Stream || state.readers.contains_key(&path) =>
                {
                    if !appends {
                        state.files.insert(path.clone(), Out::empty());
                    }
                    Goes::File(path)
                }
                Some(path) if path == "/dev/stdout" || path == "/dev/fd/1" => Goes::Caller,
                _ => Goes::Nowhere,
            };
        }
    }

    fn duplicate(&mut self, op: &str, from: &str, fd: i32, before: &mut Before, state: &mut State) {
        let from = from.parse::<i32>().unwrap_or(-1);
        let is_line = state.lines.contains(&from)
            || (from == 1 && state.sink == Sink::Line)
            || (from == 0
                && state
                    .input
                    .as_ref()
                    .is_some_and(|input| input.taint().has(Taint::LINE)));
        let to = if fd >= 0 { fd } else { i32::from(op == ">&") };
        if is_line {
            match to {
                0 => state.input = Some(Out::Unknown(Taint::LINE)),
                1 => state.sink = Sink::Line,
                2 => {}
                other => {
                    state.lines.insert(other);
                }
            }
        } else if to == 1 && from != 1 {
            before.goes = Goes::Nowhere;
        }
    }

    /// A path that is a connection: `/dev/tcp/host/port`.
    fn connection(&mut self, field: &Field) {
        if field.taint().has(Taint::SECRET) {
            self.act(&rules::secret::UPLOAD);
        }
        let text = field.shown();
        let host = text.split('/').nth(3).map(str::to_owned);
        self.network(host);
    }

    /// Notes that a file is read; gives what is known of its content.
    pub(crate) fn read_file(&mut self, field: &Field, state: &State) -> Out {
        let target = self.path(Role::Read, field, state);
        match target.place {
            Place::Secret | Place::SecretInside => Out::Unknown(Taint::SECRET),
            Place::Stream
                if target
                    .path
                    .as_ref()
                    .is_some_and(|path| state.files.contains_key(path)) =>
            {
                self.content(&target.path, state)
            }
            Place::Stream => match target.path.as_deref() {
                Some("/dev/stdin" | "/dev/fd/0") => {
                    state.input.clone().unwrap_or(Out::Unknown(Taint::NONE))
                }
                Some("/dev/null") => Out::empty(),
                _ => Out::Unknown(Taint::NONE),
            },
            _ => self.content(&target.path, state),
        }
    }

    /// `<(…)` and `>(…)`: gives the name of the file that stands for it.
    pub(crate) fn process_substitution(
        &mut self,
        code: &str,
        reads: bool,
        state: &mut State,
    ) -> String {
        let out = if reads {
            self.capture(code, state)
        } else {
            Out::empty()
        };
        // Each gets a name of its own, below a folder that counts as a stream.
        let name = format!("/dev/fd/{}", 63 + state.files.len() + state.readers.len());
        if reads {
            state.files.insert(name.clone(), out);
        } else {
            // What it is given is known when the command has run, if at all.
            let mut inside = state.clone();
            inside.input = Some(Out::Unknown(Taint::NONE));
            inside.output = Out::empty();
            self.inner(code, &mut inside);
            state.readers.insert(name.clone(), code.to_owned());
        }
        name
    }

    /// Something is written to a name that code reads.
    pub(crate) fn given(&mut self, name: &str, out: &Out, state: &State) {
        if let Out::Known(text) = out
            && matches!(
                crate::place::place_of(name, self.world),
                Place::Protected(_) | Place::Startup
            )
            && runs_remote(text)
        {
            self.act(&rules::persistence::PLANTED);
        }
        if let Some(code) = state.readers.get(name) {
            let code = code.clone();
            let mut inside = state.clone();
            inside.readers.clear();
            inside.input = Some(out.clone());
            inside.output = Out::empty();
            self.inner(&code, &mut inside);
        }
    }
}

fn as_input(value: &Field) -> Out {
    match value.known() {
        Some(text) => Out::Known(text.into_owned()),
        None => Out::Unknown(value.taint()),
    }
}

/// Whether text that is to run later, as code or as a setting, fetches code and runs it.
pub(crate) fn runs_remote(text: &str) -> bool {
    let shells = [
        "sh", "bash", "zsh", "dash", "python", "python3", "node", "perl", "ruby",
    ];
    let mut fetches = false;
    for piece in text.split(['|', '\n']) {
        let words = piece.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&'));
        let mut words = words.filter(|word| !word.is_empty() && *word != "sudo");
        let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
        if fetches
            && words
                .clone()
                .next()
                .is_some_and(|word| shells.contains(&name(word).as_str()))
        {
            return true;
        }
        fetches = words.any(|word| matches!(name(word).as_str(), "curl" | "wget"));
    }
    false
}

/// Whether a redirection's word is one, and no operator or end of line.
fn is_target(word: &str) -> bool {
    let mut chars = word.chars();
    match chars.next() {
        None => false,
        Some('<' | '>') => chars.next() == Some('('),
        Some(first) => !first.is_whitespace() && !";&|()".contains(first),
    }
}
