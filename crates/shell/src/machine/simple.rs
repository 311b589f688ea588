//! Simple commands: assignments, words, and what they come to.

use rable::Node;

use super::compound::raw;
use super::{Machine, State};
use crate::programs;
use crate::rules;
use crate::value::{Field, Part, Taint};
use crate::word::{How, split_words};

/// Builtins whose words are assignments.
const DECLARE: &[&str] = &["export", "declare", "typeset", "local", "readonly", "alias"];

impl Machine<'_> {
    pub(super) fn simple(
        &mut self,
        assignments: &[Node],
        words: &[Node],
        redirects: &[Node],
        state: &mut State,
    ) {
        let first = words.first().map(raw);
        if let Some(first) = first
            && let Some(value) = state.aliases.get(first)
            && !self.calls.iter().any(|open| open == first)
        {
            let rest: Vec<&str> = words.iter().skip(1).map(raw).collect();
            let line = format!("{value} {}", rest.join(" "));
            self.calls.push(first.to_owned());
            self.redirected(redirects, state, |machine, state| {
                machine.inner(&line, state)
            });
            self.calls.pop();
            return;
        }
        let mut argv: Vec<Field> = Vec::with_capacity(words.len());
        let declares = first.is_some_and(|first| DECLARE.contains(&first));
        for word in words {
            let text = raw(word);
            match assignment(text).filter(|_| declares) {
                Some(parts) => argv.push(self.declared(&parts, state)),
                None => argv.extend(self.word(text, state)),
            }
        }
        // Redirections are expanded after the words, and before what is assigned.
        let is_exec = first == Some("exec") && argv.len() == 1;
        if is_exec {
            let before = self.open(redirects, state);
            // Where the output goes from now on, whatever comes is written.
            self.turn();
            let (input, sink) = (state.input.clone(), state.sink);
            self.close(before, state);
            state.input = input;
            state.sink = sink;
            self.ran("exec");
            return;
        }
        let parts: Vec<Assignment<'_>> = assignments
            .iter()
            .filter_map(|node| assignment(raw(node)))
            .collect();
        if parts.len() != assignments.len() {
            self.partial("an assignment that isn't known here");
        }
        if argv.is_empty() {
            for part in &parts {
                self.assign(part, state);
            }
            return self.redirected(redirects, state, |_, _| {});
        }
        let before = (!parts.is_empty()).then(|| state.clone());
        for part in &parts {
            self.assign(part, state);
        }
        self.redirected(redirects, state, |machine, state| {
            let out = machine.call(&argv, state);
            state.output.add(out);
        });
        if let Some(before) = before {
            for part in &parts {
                state.restore(part.name, &before);
            }
            state.sets_variables = before.sets_variables;
        }
    }

    /// Carries out one assignment.
    fn assign(&mut self, part: &Assignment<'_>, state: &mut State) {
        if let Some(index) = part.index {
            let index = self.value(index, state, How::Quoted);
            let value = self.value(part.value, state, How::Value);
            state.set_element(part.name, &index, value);
            return;
        }
        if let Some(list) = part
            .value
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
        {
            let mut fields = if part.appends {
                state.elements(part.name)
            } else {
                Vec::new()
            };
            let mut in_order = true;
            for word in split_words(list) {
                // `[3]=x` in a list is taken as the next element.
                let word = match word
                    .strip_prefix('[')
                    .and_then(|rest| rest.split_once("]="))
                {
                    Some((index, value)) => {
                        self.value(index, state, How::Quoted);
                        in_order &= index.parse() == Ok(fields.len());
                        value
                    }
                    None => word,
                };
                fields.extend(self.word(word, state));
                if fields.len() > 256 {
                    self.partial("a list longer than is followed");
                    break;
                }
            }
            match in_order {
                true => state.assign_list(part.name, fields),
                false => state.assign(part.name, Field::unknown(Taint::NONE)),
            }
            return;
        }
        let value = self.value(part.value, state, How::Value);
        programs::environment(self, part.name, &value, state);
        if part.appends {
            state.append(part.name, value);
        } else {
            state.assign(part.name, value);
        }
    }

    /// A word of `export` and its kin: one field, and the assignment that it is.
    fn declared(&mut self, part: &Assignment<'_>, state: &mut State) -> Field {
        self.assign(part, state);
        if part.index.is_some() || part.value.starts_with('(') {
            return Field::lit(part.name);
        }
        let mut field = Field::lit(&format!("{}=", part.name));
        for value in state.read(part.name).parts {
            field.push(value);
        }
        field
    }

    /// A command whose name isn't known.
    pub(super) fn unknown_name(&mut self, argv: &[Field], state: &mut State) {
        let Some((name, args)) = argv.split_first() else {
            return;
        };
        self.unseen(name.taint());
        if name.has_guess() {
            let mut guessed: Vec<Field> = name
                .guessed()
                .known()
                .map(|text| {
                    let ifs = state.ifs();
                    let separates = |c: char| c.is_whitespace() || ifs.contains(c);
                    text.split(separates)
                        .filter(|word| !word.is_empty())
                        .map(Field::lit)
                        .collect()
                })
                .unwrap_or_default();
            guessed.extend(args.iter().cloned());
            self.suspect_call(&guessed, state);
            return;
        }
        // An unset variable vanishes, and the next word is the command.
        if matches!(name.parts.as_slice(), [Part::Unknown(_)]) {
            self.suspect_call(args, state);
        }
        let forces = args.iter().filter_map(|arg| arg.known()).any(|arg| {
            arg.starts_with('-')
                && !arg.starts_with("--")
                && arg.contains(['r', 'R'])
                && arg.contains('f')
        });
        if forces {
            let mut removal = vec![Field::lit("rm")];
            removal.extend(args.iter().cloned());
            self.suspect_call(&removal, state);
        }
    }

    /// Looks for danger in words that may be a command.
    pub(crate) fn suspect_call(&mut self, argv: &[Field], state: &State) {
        if argv.is_empty() || self.depth > crate::limits::MAX_DEPTH {
            return;
        }
        let mut inside = state.clone();
        self.depth += 1;
        self.possibly(|machine| {
            machine.call(argv, &mut inside);
        });
        self.depth -= 1;
    }

    /// A command whose name is a pattern: whatever program it may match.
    pub(super) fn pattern_name(&mut self, argv: &[Field], state: &mut State) {
        let Some((name, args)) = argv.split_first() else {
            return;
        };
        self.act(&rules::opaque::VALUE);
        let shown = name.shown();
        for program in super::candidates(&shown) {
            let mut call = vec![Field::lit(program)];
            call.extend(args.iter().cloned());
            self.suspect_call(&call, state);
        }
    }
}

/// An assignment in raw text.
pub(super) struct Assignment<'a> {
    pub(super) name: &'a str,
    index: Option<&'a str>,
    appends: bool,
    value: &'a str,
}

fn assignment(text: &str) -> Option<Assignment<'_>> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, rest) = text.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (index, rest) = match rest.strip_prefix('[') {
        Some(after) => {
            let end = after.find("]=").or_else(|| after.find("]+="))?;
            (Some(after.get(..end)?), after.get(end + 1..)?)
        }
        None => (None, rest),
    };
    let (appends, value) = match rest.strip_prefix("+=") {
        Some(value) => (true, value),
        None => (false, rest.strip_prefix('=')?),
    };
    Some(Assignment {
        name,
        index,
        appends,
        value,
    })
}
