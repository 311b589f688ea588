//! Lists, pipelines, branches, loops and functions.

use std::rc::Rc;

use rable::{ListOperator, Node, NodeKind};

use super::{Machine, State};
use crate::limits::{MAX_COMPOUND, MAX_LOOPS, MAX_OPERATORS};
use crate::rules;
use crate::value::{Field, Out, Part, Taint};
use crate::word::How;

/// How often the body of a loop is walked to see what it changes in the end.
const MAX_ROUNDS: usize = 5;

impl Machine<'_> {
    pub(super) fn node(&mut self, node: &Node, state: &mut State) {
        if self.nesting > MAX_COMPOUND {
            self.limit("compounds deeper than are followed");
            return;
        }
        if !self.step() {
            return;
        }
        self.nesting += 1;
        self.kind(node, state);
        self.nesting -= 1;
    }

    fn kind(&mut self, node: &Node, state: &mut State) {
        match &node.kind {
            NodeKind::Command {
                assignments,
                words,
                redirects,
            } => {
                self.locate(node);
                self.simple(assignments, words, redirects, state);
            }
            NodeKind::Pipeline { commands, .. } => self.pipeline(commands, state),
            NodeKind::List { .. } => self.list_of(&flat(node), state),
            NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => {
                self.node(pipeline, state);
            }
            NodeKind::If {
                condition,
                then_body,
                else_body,
                redirects,
            } => self.redirected(redirects, state, |machine, state| {
                machine.node(condition, state);
                let mut other = state.clone();
                other.output = Out::empty();
                machine.node(then_body, state);
                if let Some(body) = else_body {
                    machine.node(body, &mut other);
                }
                state.join(&other);
            }),
            NodeKind::While {
                condition,
                body,
                redirects,
            }
            | NodeKind::Until {
                condition,
                body,
                redirects,
            } => self.redirected(redirects, state, |machine, state| {
                machine.repeat(condition, body, state);
            }),
            NodeKind::For {
                var,
                words,
                body,
                redirects,
            }
            | NodeKind::Select {
                var,
                words,
                body,
                redirects,
            } => {
                self.locate(node);
                let values = match words {
                    Some(words) => words
                        .iter()
                        .flat_map(|word| self.word(raw(word), state))
                        .collect(),
                    None => state.positional.clone(),
                };
                self.redirected(redirects, state, |machine, state| {
                    machine.each(var, &values, body, state);
                });
            }
            NodeKind::ForArith {
                init,
                cond,
                incr,
                body,
                redirects,
            } => self.redirected(redirects, state, |machine, state| {
                machine.arithmetic(init, state);
                for name in [init, cond, incr] {
                    if let Some(name) = name
                        .split(|c: char| !c.is_alphanumeric() && c != '_')
                        .next()
                    {
                        state.assign(name, Field::unknown(Taint::PLAIN));
                    }
                }
                machine.arithmetic(cond, state);
                machine.arithmetic(incr, state);
                machine.rounds(state, |machine, state| machine.node(body, state));
            }),
            NodeKind::Case {
                word,
                patterns,
                redirects,
            } => {
                let subject = self.value(raw(word), state, How::Value);
                self.redirected(redirects, state, |machine, state| {
                    let before = state.clone();
                    for clause in patterns {
                        for pattern in &clause.patterns {
                            machine.value(raw(pattern), state, How::Value);
                        }
                        if let Some(body) = &clause.body {
                            let mut branch = before.clone();
                            branch.output = Out::empty();
                            machine.node(body, &mut branch);
                            state.join(&branch);
                        }
                    }
                });
                drop(subject);
            }
            NodeKind::Function { name, body } => {
                state
                    .functions
                    .insert(name.clone(), Rc::new((**body).clone()));
            }
            NodeKind::Subshell { body, redirects } => {
                let mut inside = state.clone();
                inside.output = Out::empty();
                self.redirected(redirects, &mut inside, |machine, inside| {
                    machine.node(body, inside);
                });
                state.output.add(inside.output);
                state.files = inside.files;
                state.links = inside.links;
            }
            NodeKind::BraceGroup { body, redirects } => {
                self.redirected(redirects, state, |machine, state| machine.node(body, state));
            }
            NodeKind::Coproc { command, .. } => {
                let mut inside = state.clone();
                self.beside += 1;
                self.node(command, &mut inside);
                self.beside -= 1;
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.redirected(redirects, state, |machine, state| {
                    machine.condition(body, state)
                });
            }
            NodeKind::ArithmeticCommand {
                raw_content,
                redirects,
                ..
            } => self.redirected(redirects, state, |machine, state| {
                machine.arithmetic(raw_content, state);
            }),
            NodeKind::Empty | NodeKind::Comment { .. } => {}
            _ => self.partial("a construct that isn't known here"),
        }
    }

    fn list_of(&mut self, items: &[(&Node, Option<ListOperator>)], state: &mut State) {
        let mut before = None;
        for (command, operator) in items {
            let (command, operator) = (*command, *operator);
            match (before, operator) {
                (_, Some(ListOperator::Background)) => {
                    let mut beside = state.clone();
                    self.beside += 1;
                    self.node(command, &mut beside);
                    self.beside -= 1;
                    state.files = beside.files;
                }
                (Some(ListOperator::And | ListOperator::Or), _) if !ends(command) => {
                    let skipped = state.clone();
                    self.node(command, state);
                    // What a chain went through is known in the chain; afterwards it may not have been.
                    if !matches!(operator, Some(ListOperator::And)) {
                        let mut other = skipped;
                        other.output = Out::empty();
                        if before == Some(ListOperator::Or) {
                            std::mem::swap(state, &mut other);
                            std::mem::swap(&mut state.output, &mut other.output);
                        }
                        let cwd = if before == Some(ListOperator::And) {
                            state.cwd.clone()
                        } else {
                            None
                        };
                        state.join(&other);
                        // After `cd x && y` the folder is taken to be the new one.
                        if cwd.is_some() {
                            state.cwd = cwd;
                        }
                    }
                }
                _ => self.node(command, state),
            }
            before = operator;
        }
    }

    fn pipeline(&mut self, commands: &[Node], state: &mut State) {
        let mut input = state.input.clone();
        let last = commands.len().saturating_sub(1);
        self.beside += 1;
        for (at, command) in commands.iter().enumerate() {
            let mut stage = state.clone();
            stage.input = input.take();
            stage.output = Out::empty();
            self.node(command, &mut stage);
            state.files.append(&mut stage.files);
            if at == last {
                state.output.add(stage.output);
            } else {
                input = Some(stage.output);
            }
        }
        self.beside -= 1;
    }

    /// A loop over words: known ones are walked one by one.
    fn each(&mut self, var: &str, values: &[Field], body: &Node, state: &mut State) {
        if values.len() > MAX_LOOPS {
            self.partial("a loop over more words than are followed");
        }
        let each = |machine: &mut Self, state: &mut State| {
            for value in values.iter().take(MAX_LOOPS) {
                state.assign(var, as_name(value));
                machine.node(body, state);
            }
            if values.is_empty() {
                state.assign(var, Field::unknown(Taint::NONE));
                machine.node(body, state);
            }
        };
        // How many words there are is only known where all of them are.
        match values
            .iter()
            .all(|value| value.known().is_some() && !value.has_glob())
            && !values.is_empty()
        {
            true => each(self, state),
            false => self.rounds(state, each),
        }
    }

    /// What runs any number of times: walked until the rounds change nothing more. What they change is only
    /// a guess afterwards, for there may have been none.
    fn rounds(&mut self, state: &mut State, mut walk: impl FnMut(&mut Self, &mut State)) {
        let mut before = state.clone();
        before.output = Out::empty();
        let mut changed = None;
        for round in 0.. {
            walk(self, state);
            let now = Some(state.changed_since(&before));
            if round > 0 && changed == now {
                break;
            }
            if round >= MAX_ROUNDS {
                self.partial("a loop that changes more each time than is followed");
                break;
            }
            changed = now;
        }
        state.join(&before);
    }

    /// A loop with a condition.
    fn repeat(&mut self, condition: &Node, body: &Node, state: &mut State) {
        let known_input = matches!(&state.input, Some(Out::Known(_)));
        if known_input {
            for _ in 0..MAX_LOOPS {
                self.node(condition, state);
                self.node(body, state);
                match &state.input {
                    Some(Out::Known(rest)) if !rest.is_empty() => {}
                    _ => return,
                }
            }
            self.partial("a loop longer than is followed");
            return;
        }
        self.rounds(state, |machine, state| {
            machine.node(condition, state);
            machine.node(body, state);
        });
    }

    /// `[[ … ]]`: nothing runs but what is substituted.
    fn condition(&mut self, node: &Node, state: &mut State) {
        if !self.step() || self.nesting > MAX_COMPOUND + MAX_OPERATORS {
            self.partial("a condition longer than is followed");
            return;
        }
        self.nesting += 1;
        self.condition_kind(node, state);
        self.nesting -= 1;
    }

    fn condition_kind(&mut self, node: &Node, state: &mut State) {
        match &node.kind {
            NodeKind::UnaryTest { op, operand } => {
                self.condition(operand, state);
                if op == "-v"
                    && let NodeKind::CondTerm { value, .. } | NodeKind::Word { value, .. } =
                        &operand.kind
                {
                    let value = self.value(value, state, How::Value);
                    self.subscripted(&value, state);
                }
            }
            NodeKind::BinaryTest { op, left, right } => {
                for side in [left, right] {
                    self.condition(side, state);
                    // These compare numbers, and evaluate their sides as arithmetic.
                    if matches!(op.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") {
                        let value = self.value(raw(side), state, How::Value);
                        self.subscripted(&value, state);
                    }
                }
            }
            NodeKind::CondAnd { left, right } | NodeKind::CondOr { left, right } => {
                self.condition(left, state);
                self.condition(right, state);
            }
            NodeKind::CondNot { operand } => self.condition(operand, state),
            NodeKind::CondParen { inner } => self.condition(inner, state),
            NodeKind::CondTerm { value, .. } | NodeKind::Word { value, .. } => {
                self.value(value, state, How::Value);
            }
            _ => self.partial("a condition that isn't known here"),
        }
    }

    /// A name with a subscript is evaluated where a name is expected, and can run commands.
    pub(crate) fn subscripted(&mut self, field: &Field, state: &mut State) {
        let guessed = field.has_guess().then(|| field.guessed());
        let field = guessed.as_ref().unwrap_or(field);
        if let Some(text) = field.known()
            && text.contains('[')
            && (text.contains("$(") || text.contains('`'))
        {
            let text = text.into_owned();
            self.value(&text, state, How::Quoted);
        }
    }

    /// Runs a function that the line defined.
    pub(super) fn function(
        &mut self,
        name: &str,
        body: &Rc<Node>,
        args: &[Field],
        state: &mut State,
    ) {
        // A function that is defined anew under the same name is another.
        let name = format!("{name} {:p}", Rc::as_ptr(body));
        if self.calls.contains(&name) {
            self.act(if self.beside > 0 {
                &rules::destructive::FORK_BOMB
            } else {
                &rules::opaque::PART
            });
            return;
        }
        if self.calls.len() > 16 {
            self.limit("functions deeper than are followed");
            return;
        }
        self.calls.push(name);
        let before = std::mem::replace(&mut state.positional, args.to_vec());
        let known = std::mem::replace(&mut state.positional_known, true);
        let mut at_first = state.clone();
        at_first.output = Out::empty();
        let left = self.left;
        self.locals.push(Vec::new());
        self.node(body, state);
        for name in self.locals.pop().unwrap_or_default() {
            state.restore(&name, &at_first);
        }
        // What stands behind a way out may not have run.
        if self.left != left {
            state.join(&at_first);
        }
        state.positional = before;
        state.positional_known = known;
        self.calls.pop();
    }
}

/// The commands of a list, each with the operator behind it.
///
/// The parser gives a list as pairs, the left one in the other, so a long line is a deep tree: it is
/// taken apart without recursion. What runs beside the rest as a whole stays a whole.
pub(crate) fn flat(list: &Node) -> Vec<(&Node, Option<ListOperator>)> {
    let mut out = Vec::new();
    let (mut node, mut behind) = (list, None);
    while let NodeKind::List { items } = &node.kind
        && let Some((first, rest)) = items.split_first()
        && (behind != Some(ListOperator::Background) || first.operator == behind)
    {
        for item in rest.iter().rev() {
            out.push((&item.command, item.operator.or(behind)));
            behind = None;
        }
        behind = first.operator.or(behind);
        node = &first.command;
    }
    out.push((node, behind));
    out.reverse();
    out
}

/// Whether a command of a chain leaves: what comes after it is only reached without it.
fn ends(node: &Node) -> bool {
    let NodeKind::Command { words, .. } = &node.kind else {
        return false;
    };
    words
        .first()
        .is_some_and(|word| matches!(raw(word), "exit" | "return" | "break" | "continue"))
}

/// The raw text of a word.
pub(super) fn raw(node: &Node) -> &str {
    match &node.kind {
        NodeKind::Word { value, .. } | NodeKind::CondTerm { value, .. } => value,
        _ => "",
    }
}

/// The value that a loop gives its variable: a name, where a pattern stood.
fn as_name(value: &Field) -> Field {
    if !value.has_glob() {
        return value.clone();
    }
    let mut name = Field::default();
    for part in &value.parts {
        name.push(match part {
            Part::Lit {
                text,
                quoted: false,
            } if text.contains(['*', '?', '[']) => Part::Pattern(text.clone()),
            other => other.clone(),
        });
    }
    name
}
