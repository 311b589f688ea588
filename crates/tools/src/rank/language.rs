//! The languages whose definitions are found by grammar, as data.

use tree_sitter::Language;

/// One language.
pub(super) struct Grammar {
    /// The parser's tables.
    pub(super) language: fn() -> Language,
    /// Which nodes define something.
    pub(super) rules: &'static [Rule],
    /// Nodes that may stand between a top-level definition and the root.
    pub(super) wrappers: &'static [&'static str],
}

/// A kind of node that defines something.
pub(super) struct Rule {
    pub(super) node: &'static str,
    /// What people call it.
    pub(super) kind: &'static str,
    /// The field that holds the name.
    pub(super) name: &'static str,
    pub(super) place: Place,
}

/// Where a definition counts, and what it does to those inside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Anywhere.
    Anywhere,
    /// At the top level only: a constant there is a definition, in a body it is a detail.
    Top,
    /// Anywhere, and its name goes before the names of what it holds.
    Holder,
}

impl Grammar {
    /// The grammar for a file's name.
    pub(super) fn for_name(name: &str) -> Option<&'static Self> {
        let (_, extension) = name.rsplit_once('.')?;
        match extension {
            "rs" => Some(&RUST),
            "py" | "pyi" => Some(&PYTHON),
            "go" => Some(&GO),
            // The TSX grammar reads JavaScript and JSX too; type assertions in angle brackets, which
            // it doesn't, cost a symbol at worst.
            "ts" | "tsx" | "mts" | "cts" | "js" | "jsx" | "mjs" | "cjs" => Some(&TSX),
            _ => None,
        }
    }
}

const fn rule(node: &'static str, kind: &'static str, name: &'static str, place: Place) -> Rule {
    Rule {
        node,
        kind,
        name,
        place,
    }
}

use Place::{Anywhere, Holder, Top};

static RUST: Grammar = Grammar {
    language: || tree_sitter_rust::LANGUAGE.into(),
    rules: &[
        rule("function_item", "fn", "name", Anywhere),
        rule("function_signature_item", "fn", "name", Anywhere),
        rule("struct_item", "struct", "name", Anywhere),
        rule("enum_item", "enum", "name", Anywhere),
        rule("union_item", "union", "name", Anywhere),
        rule("type_item", "type", "name", Anywhere),
        rule("const_item", "const", "name", Anywhere),
        rule("static_item", "static", "name", Anywhere),
        rule("macro_definition", "macro", "name", Anywhere),
        rule("trait_item", "trait", "name", Holder),
        rule("impl_item", "impl", "type", Holder),
        rule("mod_item", "mod", "name", Anywhere),
    ],
    wrappers: &["source_file"],
};

static PYTHON: Grammar = Grammar {
    language: || tree_sitter_python::LANGUAGE.into(),
    rules: &[
        rule("function_definition", "def", "name", Anywhere),
        rule("class_definition", "class", "name", Holder),
        rule("assignment", "variable", "left", Top),
    ],
    wrappers: &["module", "expression_statement"],
};

static GO: Grammar = Grammar {
    language: || tree_sitter_go::LANGUAGE.into(),
    rules: &[
        rule("function_declaration", "func", "name", Anywhere),
        rule("method_declaration", "method", "name", Anywhere),
        rule("type_spec", "type", "name", Anywhere),
        rule("type_alias", "type", "name", Anywhere),
        rule("const_spec", "const", "name", Top),
        rule("var_spec", "var", "name", Top),
    ],
    wrappers: &[
        "source_file",
        "const_declaration",
        "var_declaration",
        "var_spec_list",
    ],
};

static TSX: Grammar = Grammar {
    language: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    rules: &[
        rule("function_declaration", "function", "name", Anywhere),
        rule(
            "generator_function_declaration",
            "function",
            "name",
            Anywhere,
        ),
        rule("function_signature", "function", "name", Anywhere),
        rule("class_declaration", "class", "name", Holder),
        rule("abstract_class_declaration", "class", "name", Holder),
        rule("interface_declaration", "interface", "name", Holder),
        rule("type_alias_declaration", "type", "name", Anywhere),
        rule("enum_declaration", "enum", "name", Anywhere),
        rule("internal_module", "namespace", "name", Holder),
        rule("method_definition", "method", "name", Anywhere),
        rule("method_signature", "method", "name", Anywhere),
        rule("abstract_method_signature", "method", "name", Anywhere),
        rule("variable_declarator", "const", "name", Top),
    ],
    wrappers: &[
        "program",
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
    ],
};
