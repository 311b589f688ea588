//! The definitions of a file: by grammar where there is one, else by the words before a name.

use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::count::{c_function, definition};
use super::language::{Grammar, Place, Rule};
use super::matcher::Hit;

/// The largest file that is parsed: a tree takes tens of bytes for each byte of source.
const MAX_PARSE_BYTES: usize = 512 << 10;

/// The longest that one file may take to parse. Ordinary files take a few milliseconds; only made-up
/// ones come near.
const MAX_PARSE_TIME: Duration = Duration::from_millis(250);

/// The most nodes that are visited in one tree.
const MAX_NODES: usize = 1_000_000;

/// The most definitions that are kept of one file.
const MAX_SYMBOLS: usize = 5_000;

/// The longest name that is shown.
const MAX_NAME_BYTES: usize = 120;

/// A definition.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Symbol {
    /// `fn`, `class`, …
    pub(super) kind: &'static str,
    /// Its name, after that of what holds it: `Store::load`.
    pub(super) name: String,
    /// Where its own name stands.
    pub(super) name_bytes: Range<usize>,
    /// Where the name of what holds it stands.
    pub(super) holder_bytes: Option<Range<usize>>,
    /// All that it spans.
    pub(super) bytes: Range<usize>,
}

/// Finds the definitions of a file, in the order of their beginnings.
pub(super) fn find(name: &str, source: &[u8], hits: &[Hit], deadline: Instant) -> Vec<Symbol> {
    let deadline = deadline.min(Instant::now() + MAX_PARSE_TIME);
    Grammar::for_name(name)
        .filter(|_| source.len() <= MAX_PARSE_BYTES)
        .and_then(|grammar| Some((grammar, parse(grammar, source, deadline)?)))
        .map_or_else(
            || by_keyword(name, source, hits),
            |(grammar, tree)| by_grammar(grammar, &tree, source),
        )
}

/// `None` where the parser gave up or ran out of time.
fn parse(grammar: &Grammar, source: &[u8], deadline: Instant) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&(grammar.language)()).ok()?;
    let mut progress = |_: &ParseState| {
        if Instant::now() > deadline {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut rest = |at: usize, _| source.get(at..).unwrap_or_default();
    parser.parse_with_options(&mut rest, None, Some(options))
}

/// What holds the nodes below a depth.
struct Holder {
    depth: usize,
    name: Range<usize>,
}

/// Walks the tree with a cursor: however deep it is, the stack is not.
fn by_grammar(grammar: &Grammar, tree: &Tree, source: &[u8]) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    let mut holders: Vec<Holder> = Vec::new();
    // The depth from which on nodes are not at the top level.
    let mut inner: Option<usize> = None;
    let mut depth = 0;
    let mut cursor = tree.walk();
    for _ in 0..MAX_NODES {
        let node = cursor.node();
        if symbols.len() == MAX_SYMBOLS {
            break;
        }
        let kind = node.kind();
        let rule = grammar
            .rules
            .iter()
            .find(|rule| rule.node == kind && (rule.place != Place::Top || inner.is_none()));
        if let Some((rule, name)) = rule.and_then(|rule| Some((rule, name_of(rule, node)?))) {
            symbols.push(symbol(rule, node, name.clone(), &holders, source));
            if rule.place == Place::Holder {
                holders.push(Holder { depth, name });
            }
        }
        if inner.is_none() && !grammar.wrappers.contains(&kind) {
            inner = Some(depth);
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            if holders.last().is_some_and(|holder| holder.depth >= depth) {
                holders.pop();
            }
            if inner.is_some_and(|from| from >= depth) {
                inner = None;
            }
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return symbols;
            }
            depth -= 1;
        }
    }
    symbols
}

fn name_of(rule: &Rule, node: Node<'_>) -> Option<Range<usize>> {
    // `mod name;` only points elsewhere.
    if rule.kind == "mod" && node.child_by_field_name("body").is_none() {
        return None;
    }
    let name = node.child_by_field_name(rule.name)?;
    // Of `impl Set<T>`, the name is `Set`.
    let name = name.child_by_field_name("type").unwrap_or(name);
    Some(name.byte_range())
}

fn symbol(
    rule: &Rule,
    node: Node<'_>,
    name: Range<usize>,
    holders: &[Holder],
    source: &[u8],
) -> Symbol {
    let holder = match rule.kind {
        "impl" => None,
        // Go's receiver.
        "method" => node
            .child_by_field_name("receiver")
            .map(|receiver| receiver_type(receiver.byte_range(), source))
            .or_else(|| holders.last().map(|holder| holder.name.clone())),
        _ => holders.last().map(|holder| holder.name.clone()),
    };
    let own = text(source, &name);
    let shown = match &holder {
        Some(holder) => format!("{}::{own}", text(source, holder)),
        None => own,
    };
    Symbol {
        kind: rule.kind,
        name: shown,
        name_bytes: name,
        holder_bytes: holder,
        bytes: node.byte_range(),
    }
}

/// The last word in `(s *Store)`.
fn receiver_type(receiver: Range<usize>, source: &[u8]) -> Range<usize> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let bytes = source.get(receiver.clone()).unwrap_or_default();
    // `(s *Set[T])`: the type's parameters are no part of its name.
    let bytes = bytes.split(|byte| *byte == b'[').next().unwrap_or_default();
    let end = bytes.iter().rposition(is_name).map_or(0, |last| last + 1);
    let length = bytes[..end]
        .iter()
        .rev()
        .take_while(|byte| is_name(byte))
        .count();
    receiver.start + end - length..receiver.start + end
}

fn text(source: &[u8], range: &Range<usize>) -> String {
    let bytes = source.get(range.clone()).unwrap_or_default();
    let bytes = &bytes[..bytes.len().min(MAX_NAME_BYTES)];
    String::from_utf8_lossy(bytes).into_owned()
}

/// The definitions whose names were hit, each spanning its own line.
fn by_keyword(name: &str, source: &[u8], hits: &[Hit]) -> Vec<Symbol> {
    let like_c = [".c", ".h", ".cc", ".cpp", ".hpp", ".cxx"]
        .iter()
        .any(|end| name.ends_with(end));
    let mut symbols: Vec<Symbol> = Vec::new();
    for hit in hits {
        let by_shape = || c_function(source, hit.start).filter(|_| like_c);
        let Some(found) = definition(source, hit.start).or_else(by_shape) else {
            continue;
        };
        let offset = found.name.as_ptr() as usize - source.as_ptr() as usize;
        let name_bytes = offset..offset + found.name.len();
        if symbols
            .iter()
            .rev()
            .take(4)
            .any(|other| other.name_bytes == name_bytes)
        {
            continue;
        }
        if symbols.len() == MAX_SYMBOLS {
            break;
        }
        symbols.push(Symbol {
            kind: found.keyword,
            name: text(source, &name_bytes),
            bytes: name_bytes.clone(),
            name_bytes,
            holder_bytes: None,
        });
    }
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(file: &str, source: &str) -> Vec<String> {
        find(
            file,
            source.as_bytes(),
            &[],
            Instant::now() + MAX_PARSE_TIME,
        )
        .into_iter()
        .map(|symbol| format!("{} {}", symbol.kind, symbol.name))
        .collect()
    }

    #[test]
    fn rust_definitions() {
        let source = "mod other;\nconst A: u8 = 1;\nstruct B<T>(T);\nimpl<T> B<T> { fn c(&self) { fn d() {} } }\n\
                      trait E { fn f(); }\nmacro_rules! g { () => {} }\nmod tests { fn h() {} }\n";
        assert_eq!(
            names("a.rs", source),
            [
                "const A",
                "struct B",
                "impl B",
                "fn B::c",
                "fn B::d",
                "trait E",
                "fn E::f",
                "macro g",
                "mod tests",
                "fn h"
            ]
        );
    }

    #[test]
    fn python_definitions() {
        let source = "LIMIT = 3\nclass A:\n  x = 1\n  def b(self):\n    y = 2\ndef c(): pass\n";
        assert_eq!(
            names("a.py", source),
            ["variable LIMIT", "class A", "def A::b", "def c"]
        );
    }

    #[test]
    fn go_definitions() {
        let source = "package a\nconst L = 1\ntype B struct{}\nfunc (b *B) C() { const m = 1 }\nfunc (s *Set[T]) E() {}\nfunc D() {}\n";
        assert_eq!(
            names("a.go", source),
            [
                "const L",
                "type B",
                "method B::C",
                "method Set::E",
                "func D"
            ]
        );
    }

    #[test]
    fn typescript_definitions() {
        let source = "export const a = () => { const inner = 1 };\nexport class B { c() {} }\ninterface D { e(): void }\n\
                      export default function f() {}\ntype G = string;\n";
        assert_eq!(
            names("a.ts", source),
            [
                "const a",
                "class B",
                "method B::c",
                "interface D",
                "method D::e",
                "function f",
                "type G"
            ]
        );
    }

    /// G10: a hostile source costs bounded time and no stack.
    #[test]
    fn hostile_sources_are_survived() {
        let deep = "(".repeat(200_000);
        let blocks = "{".repeat(MAX_PARSE_BYTES);
        let junk: Vec<u8> = (0..400_000_u32).map(|n| (n * 31 % 251) as u8).collect();
        let start = Instant::now();
        for name in ["a.rs", "a.py", "a.go", "a.ts"] {
            for source in [deep.as_bytes(), blocks.as_bytes(), &junk] {
                find(name, source, &[], Instant::now() + Duration::from_secs(60));
            }
        }
        // Twelve files at 250 ms each, and as much again for what the clock doesn't see.
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{:?}",
            start.elapsed()
        );
    }
}
