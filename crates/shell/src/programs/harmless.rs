//! Code in another language that plainly does no more than compute, print and read files it names.
//!
//! Everything else counts as not known. Every name in the code must be on a list, or be a variable that the
//! code sets itself; what opens a file must name it in one literal.

use super::marks::HARMLESS;

/// The longest code that is looked at.
const LONGEST: usize = 600;

/// Calls that open a file for reading, where their first argument is one literal. Elsewhere the same names run
/// what they are given.
const OPENS: [(&str, &[&str]); 2] = [
    ("python", &["open"]),
    ("javascript", &["readFileSync", "require"]),
];
/// Modules that `require` may name; what it makes of them must be on the list, too.
const MODULES: [&str; 4] = ["fs", "path", "node:fs", "node:path"];
/// Second arguments with which a file is only read.
const MODES: [&str; 8] = ["r", "rb", "rt", "utf8", "utf-8", "UTF-8", "latin1", "ascii"];
/// Modules that are imported from the language's own.
const IMPORTS: [&str; 8] = [
    "json", "math", "sys", "platform", "datetime", "time", "re", "string",
];

/// One piece of code outside its text.
#[derive(Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
}

/// The files that code reads, if that is all it does besides computing and printing.
pub(super) fn reads(code: &str, language: &str) -> Option<Vec<String>> {
    if !matches!(language, "python" | "javascript" | "ruby" | "php") || code.len() > LONGEST {
        return None;
    }
    // A string may be code where these are.
    if code.contains(['`', '\\', '$', '#', '%']) || code.contains("__") {
        return None;
    }
    let tokens = tokens(code, language)?;
    if computes_calls(&tokens, language) {
        return None;
    }
    let own = assigned(&tokens);
    let opens = OPENS
        .iter()
        .find(|(name, _)| *name == language)
        .map_or(&[][..], |(_, opens)| opens);
    let mut paths = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        let before = at.checked_sub(1).map(|at| &tokens[at]);
        let is_part = before == Some(&Token::Sign('.'));
        let is_called = tokens.get(at + 1) == Some(&Token::Sign('('));
        if opens.contains(&word.as_str()) {
            paths.extend(opened(word, &tokens[at + 1..])?);
        } else if is_word(before, &["import", "from"]) {
            // Any other may be a file of the folder.
            let names_module = is_word(before, &["from"]) || !is_from(&tokens[..at]);
            let list = if names_module { &IMPORTS[..] } else { HARMLESS };
            if !list.contains(&word.as_str()) {
                return None;
            }
        } else if word.chars().count() == 1 || own.contains(&word.as_str()) && !is_part {
            if is_called {
                return None;
            }
        } else if word == "load" && language == "python" && is_part {
            // `json.load`: of a module that is the language's own.
        } else if !HARMLESS.contains(&word.as_str()) {
            return None;
        }
    }
    Some(paths)
}

/// Whether an import takes names out of a module: `from json import loads`.
fn is_from(before: &[Token]) -> bool {
    matches!(before, [.., Token::Word(from), Token::Word(_), Token::Word(_)] if from == "from")
}

/// Whether what is called or taken may be anything: `x[0](…)`, `f()()`, and in JavaScript a part whose name
/// is computed, for each value leads to a compiler.
fn computes_calls(tokens: &[Token], language: &str) -> bool {
    let calls_value = tokens
        .windows(2)
        .any(|pair| matches!(pair, [Token::Sign(']' | ')'), Token::Sign('(')]));
    let takes_part = tokens.iter().enumerate().any(|(at, token)| {
        let of_value = at > 0
            && matches!(
                tokens[at - 1],
                Token::Word(_) | Token::Text(_) | Token::Sign(']' | ')')
            );
        let named = match tokens.get(at + 1..) {
            // A number isn't kept.
            Some([Token::Sign(']'), ..]) => true,
            Some([Token::Text(name), Token::Sign(']'), ..]) => !matches!(
                name.as_str(),
                "constructor" | "prototype" | "mainModule" | "binding"
            ),
            _ => false,
        };
        *token == Token::Sign('[') && of_value && !named
    });
    calls_value || language == "javascript" && takes_part
}

fn is_word(token: Option<&Token>, words: &[&str]) -> bool {
    matches!(token, Some(Token::Word(word)) if words.contains(&word.as_str()))
}

/// What `open` and its kin read: one literal, and a mode that only reads.
fn opened(word: &str, rest: &[Token]) -> Option<Option<String>> {
    let [Token::Sign('('), Token::Text(path), after @ ..] = rest else {
        return None;
    };
    let reads_only = match after {
        [Token::Sign(')'), ..] => true,
        [Token::Sign(','), Token::Text(mode), Token::Sign(')'), ..] => {
            MODES.contains(&mode.as_str())
        }
        [
            Token::Sign(','),
            Token::Word(name),
            Token::Sign('='),
            Token::Text(_),
            Token::Sign(')'),
            ..,
        ] => name == "encoding",
        _ => false,
    };
    match (reads_only, word) {
        (true, "require") if MODULES.contains(&path.as_str()) => Some(None),
        // Anything else that is required runs.
        (true, "require") => path.ends_with(".json").then(|| Some(path.clone())),
        (true, _) => Some(Some(path.clone())),
        (false, _) => None,
    }
}

/// Names that the code gives to values.
fn assigned(tokens: &[Token]) -> Vec<&str> {
    let names = tokens.iter().enumerate().filter_map(|(at, token)| {
        let Token::Word(word) = token else {
            return None;
        };
        let (before, next, second) = (
            at.checked_sub(1).map(|at| &tokens[at]),
            tokens.get(at + 1),
            tokens.get(at + 2),
        );
        let set = next == Some(&Token::Sign('=')) && second != Some(&Token::Sign('='));
        let declared = is_word(before, &["as", "for", "const", "let", "var"]);
        // An import's other name is that of a module.
        let imports = tokens[..at]
            .iter()
            .rev()
            .take(4)
            .any(|token| is_word(Some(token), &["import"]));
        ((set || declared) && before != Some(&Token::Sign('.')) && !imports)
            .then_some(word.as_str())
    });
    names.collect()
}

/// Words, texts and signs; `None` where a text isn't closed. What is code in a text is code.
fn tokens(code: &str, language: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = code.chars().peekable();
    let mut word = String::new();
    while let Some(c) = rest.next() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        let formats =
            language == "python" && word.contains(['f', 'F', 't', 'T']) && word.len() <= 2;
        let prefixes = matches!(c, '\'' | '"') && language == "python" && word.len() <= 2;
        if !word.is_empty() && !prefixes && !word.starts_with(|c: char| c.is_ascii_digit()) {
            tokens.push(Token::Word(std::mem::take(&mut word)));
        }
        word.clear();
        if !matches!(c, '\'' | '"') {
            if !c.is_whitespace() {
                tokens.push(Token::Sign(c));
            }
            continue;
        }
        let mut text = String::new();
        loop {
            match rest.next()? {
                end if end == c => break,
                other => text.push(other),
            }
        }
        // A formatted text holds expressions.
        if prefixes && formats && text.contains('{') {
            tokens.extend(self::tokens(&braced(&text), language)?);
        } else {
            tokens.push(Token::Text(text));
        }
    }
    if !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()) {
        tokens.push(Token::Word(word));
    }
    Some(tokens)
}

/// What stands in the braces of a formatted text.
fn braced(text: &str) -> String {
    let pieces = text.split('{').skip(1);
    pieces
        .map(|piece| format!("({}) ", piece.split('}').next().unwrap_or_default()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str, language: &str) -> Option<Vec<String>> {
        reads(code, language)
    }

    #[test]
    fn computing_printing_and_reading_is_all() {
        let none = Some(Vec::new());
        for code in [
            "print(1 + 2)",
            "x = 3\nprint(x * 2)",
            "print(f'{len([1])} items')",
        ] {
            assert_eq!(found(code, "python"), none, "{code}");
        }
        let package = Some(vec!["package.json".to_owned()]);
        for code in [
            "import json\nd = json.load(open(\"package.json\"))\nprint(d[\"version\"])",
            "import json\nwith open('package.json', encoding='utf-8') as file:\n  print(json.load(file))",
        ] {
            assert_eq!(found(code, "python"), package, "{code}");
        }
        for code in [
            "console.log('DROP TABLE users'.toLowerCase())",
            "const pkg = 1; console.log(pkg)",
        ] {
            assert_eq!(found(code, "javascript"), none, "{code}");
        }
        for code in [
            "JSON.parse(require('fs').readFileSync('package.json','utf8')).version",
            "require('./package.json').version"
                .replace("./", "")
                .as_str(),
        ] {
            assert_eq!(found(code, "javascript"), package, "{code}");
        }
    }

    #[test]
    fn whatever_else_there_is_is_not_known() {
        for code in [
            "print(f\"{open(chr(120),chr(119))}\")",
            "print(f'{exit()}')",
            "open('x', 'w')",
            "open('a' + 'b')",
            "open(name)",
            "import a",
            "import os as json",
            "import sys as s\ns.modules",
            "modules = 0; system = 0; sys.modules['os'].system('x')",
            "e = eval; e('1')",
            "from shutil import x",
            "x = open; x('a', 'w')",
            "print(open('x').__class__)",
            "[print][0]('x')",
            "import sys; sys.path = ['x']; import string",
        ] {
            assert_eq!(found(code, "python"), None, "{code}");
        }
        for code in [
            "open('| ls')",
            "load('./x.rb')",
            "puts open('x')",
            "require('x.json')",
        ] {
            assert_eq!(found(code, "ruby"), None, "{code}");
        }
        for code in [
            "require('child_process').execSync('ls')",
            "require('./setup')",
            "require('fs').writeFileSync('a', 'b')",
            "process.exit(1)",
            "let f = require; f('x')",
            "[]['filter']['constructor']('return process')()",
            "f = []['filter']['constructor']; f('return 1')",
            "[]['fil' + 'ter']['con' + 'structor']",
            "require('fs')['write' + 'FileSync']('a', 'b')",
            "require('fs')['writeFileSync']('a', 'b')",
        ] {
            assert_eq!(found(code, "javascript"), None, "{code}");
        }
    }
}
