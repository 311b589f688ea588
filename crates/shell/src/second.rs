//! A second opinion on what commands a line holds, by another parser.
//!
//! That parser is C code: with the feature `second-opinion` it is compiled in, and it runs where a
//! crash harms nobody. Its word can only take an `allow` back.

use std::collections::BTreeSet;

use rable::{Node, NodeKind};

use crate::machine::prescan;
use crate::word::close_paren;

/// What another parser sees in a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opinion {
    /// Whether it found an error.
    pub error: bool,
    /// The names of the commands that it found, as they are spelled.
    pub names: BTreeSet<String>,
}

impl Opinion {
    /// Whether it agrees with what our parser sees.
    #[must_use]
    pub fn agrees(&self, line: &str) -> bool {
        let Some(mut ours) = first_opinion(line) else {
            return false;
        };
        // A command to us, and a bracket of the grammar to the other.
        ours.remove("[");
        !self.error
            && ours
                .iter()
                .eq(self.names.iter().filter(|name| *name != "["))
    }
}

/// The names of the commands that our parser sees, as they are spelled; `None`: it sees an error, or the
/// line is longer or more nested than is parsed.
#[must_use]
pub fn first_opinion(line: &str) -> Option<BTreeSet<String>> {
    let nodes = prescan::check(line).ok()?.parse()?;
    let mut names = BTreeSet::new();
    for node in &nodes {
        walk(node, &mut names, 0);
    }
    Some(names)
}

fn walk(node: &Node, names: &mut BTreeSet<String>, depth: usize) {
    if depth > crate::limits::MAX_COMPOUND * 2 {
        return;
    }
    let mut each = |nodes: &[Node]| {
        for node in nodes {
            walk(node, names, depth + 1);
        }
    };
    match &node.kind {
        NodeKind::Command {
            assignments,
            words,
            redirects,
        } => {
            each(assignments);
            each(words);
            each(redirects);
            // The other grammar has a node of its own for `[`, and gives it no name.
            if let Some(NodeKind::Word { value, .. }) = words.first().map(|word| &word.kind)
                && value != "["
            {
                names.insert(value.clone());
            }
        }
        NodeKind::Word { parts, .. } => each(parts),
        NodeKind::Pipeline { commands, .. } => each(commands),
        NodeKind::List { .. } => {
            for (command, _) in crate::machine::flat(node) {
                walk(command, names, depth + 1);
            }
        }
        NodeKind::If {
            condition,
            then_body,
            else_body,
            redirects,
        } => {
            each(redirects);
            for body in [Some(condition), Some(then_body), else_body.as_ref()]
                .into_iter()
                .flatten()
            {
                walk(body, names, depth + 1);
            }
        }
        NodeKind::While {
            condition,
            body,
            redirects,
        }
        | NodeKind::Until {
            condition,
            body,
            redirects,
        } => {
            each(redirects);
            walk(condition, names, depth + 1);
            walk(body, names, depth + 1);
        }
        NodeKind::For {
            words,
            body,
            redirects,
            ..
        }
        | NodeKind::Select {
            words,
            body,
            redirects,
            ..
        } => {
            each(words.as_deref().unwrap_or_default());
            each(redirects);
            walk(body, names, depth + 1);
        }
        NodeKind::ForArith { body, .. } | NodeKind::Function { body, .. } => {
            walk(body, names, depth + 1)
        }
        NodeKind::Case { word, patterns, .. } => {
            walk(word, names, depth + 1);
            for body in patterns.iter().filter_map(|pattern| pattern.body.as_ref()) {
                walk(body, names, depth + 1);
            }
        }
        NodeKind::Subshell { body, redirects } | NodeKind::BraceGroup { body, redirects } => {
            each(redirects);
            walk(body, names, depth + 1);
        }
        NodeKind::Coproc { command, .. }
        | NodeKind::CommandSubstitution { command, .. }
        | NodeKind::ProcessSubstitution { command, .. } => walk(command, names, depth + 1),
        NodeKind::Redirect { target, .. } => walk(target, names, depth + 1),
        NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => {
            walk(pipeline, names, depth + 1)
        }
        NodeKind::Array { elements } => each(elements),
        NodeKind::ConditionalExpr { body, redirects } => {
            each(redirects);
            walk(body, names, depth + 1);
        }
        NodeKind::UnaryTest { operand, .. } | NodeKind::CondNot { operand } => {
            walk(operand, names, depth + 1);
        }
        NodeKind::BinaryTest { left, right, .. }
        | NodeKind::CondAnd { left, right }
        | NodeKind::CondOr { left, right } => {
            walk(left, names, depth + 1);
            walk(right, names, depth + 1);
        }
        NodeKind::CondParen { inner } => walk(inner, names, depth + 1),
        // Our parser leaves these as they are.
        NodeKind::CondTerm { value, .. } => substituted(value, names, depth + 1),
        NodeKind::HereDoc {
            content,
            quoted: false,
            ..
        } => substituted(content, names, depth + 1),
        _ => {}
    }
}

/// What is substituted in raw text.
fn substituted(text: &str, names: &mut BTreeSet<String>, depth: usize) {
    let mut rest = text;
    while let Some(at) = rest.find("$(") {
        rest = rest.get(at + 2..).unwrap_or_default();
        if rest.starts_with('(') {
            continue;
        }
        let Some(end) = close_paren(rest.as_bytes(), 0) else {
            return;
        };
        let code = rest.get(..end).unwrap_or_default();
        let nodes = prescan::check(code).ok().and_then(prescan::Checked::parse);
        for node in nodes.iter().flatten() {
            walk(node, names, depth + 1);
        }
        rest = rest.get(end..).unwrap_or_default();
    }
}

/// The name of the command that `time` is said before.
#[cfg(feature = "second-opinion")]
fn timed<'l>(name: tree_sitter::Node<'_>, line: &'l str) -> Option<&'l str> {
    let mut next = name.next_sibling()?;
    if line.get(next.byte_range())? == "-p" {
        next = next.next_sibling()?;
    }
    line.get(next.byte_range())
}

/// Bytes that the other parser is given at a time.
#[cfg(feature = "second-opinion")]
const CHUNK: usize = 128;

/// How often it may be given each byte of a line, besides those of a short one: where it meets errors it looks
/// at the rest of the line again and again.
#[cfg(feature = "second-opinion")]
const LOOKS: usize = 24;

/// What tree-sitter's grammar sees in a line; `None`: it can't be asked, the line is longer or more nested than
/// is parsed, or it takes too much looking.
#[cfg(feature = "second-opinion")]
#[must_use]
pub fn second_opinion(line: &str) -> Option<Opinion> {
    prescan::check(line).ok()?;
    let mut parser = tree_sitter::Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    let bytes = line.as_bytes();
    let mut left = 256 + bytes.len() / CHUNK * LOOKS;
    let mut read = |at: usize, _| {
        left = left.saturating_sub(1);
        match bytes.get(at..) {
            Some(rest) if left > 0 => &rest[..rest.len().min(CHUNK)],
            _ => &[],
        }
    };
    let tree = parser.parse_with_options(&mut read, None, None)?;
    if left == 0 {
        return None;
    }
    let mut opinion = Opinion {
        error: tree.root_node().has_error(),
        names: BTreeSet::new(),
    };
    let mut cursor = tree.walk();
    // Depth first, without recursion: the tree is as deep as the line says.
    loop {
        let node = cursor.node();
        if node.kind() == "command_name"
            && let Some(text) = line.get(node.byte_range())
        {
            opinion.names.insert(match text {
                // A word of the grammar to us, and a command to the other.
                "time" => timed(node, line).unwrap_or(text).to_owned(),
                text => text.to_owned(),
            });
        }
        // Commands with a grammar of their own: their name is the first word.
        if matches!(node.kind(), "declaration_command" | "unset_command")
            && let Some(text) = node.child(0).and_then(|name| line.get(name.byte_range()))
        {
            opinion.names.insert(text.to_owned());
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Some(opinion);
            }
        }
    }
}
