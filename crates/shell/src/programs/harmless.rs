//! Code in another language that plainly does no more than compute, print and read files it names.
//!
//! Everything else counts as not known. The grammar is tiny on purpose: every name in the code must be on a
//! list, or be a variable that the code set before; what opens a file names it in one literal; and what could
//! hide code from a scanner of texts (comments, long strings, regular expressions) isn't allowed at all.

use super::marks::HARMLESS;

/// The longest code that is looked at.
const LONGEST: usize = 600;

/// Calls that open a file for reading, where their first argument is one literal. Elsewhere the same names run
/// what they are given.
const OPENS: [(&str, &[&str]); 2] = [
    ("python", &["open"]),
    ("javascript", &["readFileSync", "require"]),
];
/// Modules that `require` may name; what is taken from them must be on the list, too.
const MODULES: [&str; 4] = ["fs", "path", "node:fs", "node:path"];
/// Second arguments with which a file is only read.
const MODES: [&str; 8] = ["r", "rb", "rt", "utf8", "utf-8", "UTF-8", "latin1", "ascii"];
/// Modules of Python's own. A file of the folder comes before `json`: see the design.
const IMPORTS: [&str; 4] = ["json", "math", "sys", "time"];
/// What may be taken from `process`.
const OF_PROCESS: [&str; 4] = ["version", "versions", "arch", "platform"];
/// All that Ruby and PHP may say: their words call without brackets.
const PRINTS: [&str; 8] = [
    "puts",
    "print",
    "echo",
    "say",
    "p",
    "RUBY_VERSION",
    "PHP_VERSION",
    "phpversion",
];
/// Names that are never a variable's: an assignment elsewhere doesn't make them one.
const BUILTINS: &str = "exec eval compile open input getattr setattr delattr vars globals locals dir breakpoint exit \
    quit help memoryview object super property staticmethod classmethod callable import require process global \
    globalThis window self this module exports arguments Function Reflect Proxy Object setTimeout setInterval \
    setImmediate queueMicrotask fetch Deno Bun WebAssembly Worker system spawn load builtins os subprocess";

/// One piece of code outside its text.
#[derive(Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
}

/// Whether an interpreter is called with its code and nothing else: other options load code, or write.
pub(super) fn is_plain_call(name: &str, language: &str, args: &[String]) -> bool {
    let (names, codes, plain): (&[&str], &[&str], &[&str]) = match language {
        "python" => (
            &["python", "python3", "python2"],
            &["-c"],
            &["-I", "-B", "-u", "-E", "-s"],
        ),
        "javascript" => (
            &["node", "nodejs"],
            &["-e", "--eval", "-p", "--print", "-pe"],
            &[],
        ),
        "ruby" => (&["ruby"], &["-e"], &[]),
        "php" => (&["php"], &["-r"], &[]),
        _ => return false,
    };
    let name = match name.split_once('.') {
        Some((name, version)) if version.chars().all(|c| c.is_ascii_digit()) => name,
        _ => name,
    };
    let rest: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .skip_while(|arg| plain.contains(arg))
        .collect();
    let fits = match rest.as_slice() {
        [] | ["-"] => true,
        [option, _] => codes.contains(option),
        _ => false,
    };
    names.contains(&name) && fits
}

/// The files that code reads, if that is all it does besides computing and printing.
pub(super) fn reads(code: &str, language: &str) -> Option<Vec<String>> {
    if !matches!(language, "python" | "javascript" | "ruby" | "php") || code.len() > LONGEST {
        return None;
    }
    // A string may be code where these are, and a comment or a long string hides where a string ends.
    let hides = [
        "__", "'''", "\"\"\"", "<!--", "-->", "<<", "?>", "?'", "?\"",
    ];
    let signs: &[char] = match language {
        "python" => &['`', '$'],
        "javascript" => &['`', '$', '#'],
        _ => &['`', '$', '#', '%', '\\'],
    };
    if code.contains(signs) || hides.iter().any(|sign| code.contains(sign)) {
        return None;
    }
    let tokens = tokens(code, language)?;
    if language != "python" && tokens.contains(&Token::Sign('/')) || computes_calls(&tokens) {
        return None;
    }
    match language {
        "python" | "javascript" => followed(&tokens, language),
        _ => prints(&tokens).then(Vec::new),
    }
}

/// Whether there is nothing but literals, numbers and what prints them.
fn prints(tokens: &[Token]) -> bool {
    tokens.iter().enumerate().all(|(at, token)| match token {
        Token::Word(word) => PRINTS.contains(&word.as_str()),
        Token::Text(_) => !matches!(tokens.get(at + 1), Some(Token::Sign('(' | '['))),
        Token::Sign(sign) => "+-*.,;()".contains(*sign),
    })
}

fn followed(tokens: &[Token], language: &str) -> Option<Vec<String>> {
    let opens = OPENS
        .iter()
        .find(|(name, _)| *name == language)
        .map_or(&[][..], |(_, opens)| opens);
    // Of a module each part may be anything; of what was parsed it is data.
    let takes_modules = language == "python"
        || tokens
            .iter()
            .any(|token| matches!(token, Token::Text(text) if MODULES.contains(&text.as_str())));
    let mut own: Vec<&str> = Vec::new();
    let mut paths = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &tokens[at]);
        let next = tokens.get(at + 1);
        let word = match token {
            Token::Word(word) => word.as_str(),
            // A part by its name in a text: of a module, it may be anything.
            Token::Text(name) if language == "javascript" && before == Some(&Token::Sign('[')) => {
                let of_value = at > 1
                    && matches!(
                        tokens[at - 2],
                        Token::Word(_) | Token::Text(_) | Token::Sign(']' | ')')
                    );
                let is_known = HARMLESS.contains(&name.as_str())
                    || !takes_modules && !matches!(name.as_str(), "constructor" | "prototype");
                if of_value && !(is_known && next == Some(&Token::Sign(']'))) {
                    return None;
                }
                continue;
            }
            Token::Sign('[') if language == "javascript" => {
                let of_value = matches!(
                    before,
                    Some(Token::Word(_) | Token::Text(_) | Token::Sign(']' | ')'))
                );
                // A number isn't kept.
                if of_value && !matches!(next, Some(Token::Text(_) | Token::Sign(']'))) {
                    return None;
                }
                continue;
            }
            _ => continue,
        };
        let is_part = before == Some(&Token::Sign('.'));
        let is_called = next == Some(&Token::Sign('('));
        if opens.contains(&word) && (!is_part || word == "readFileSync") {
            paths.extend(opened(word, &tokens[at + 1..])?);
        } else if word == "import" && language == "python" && !is_part {
            let names = tokens[at + 1..]
                .iter()
                .take_while(|token| **token != Token::Sign(';'));
            for token in names {
                if *token != Token::Sign(',') && !is_word(Some(token), &IMPORTS) {
                    return None;
                }
            }
        } else if matches!(word, "import" | "from" | "with") && language != "python"
            || word == "from"
        {
            return None;
        } else if word == "process" {
            let part = tokens.get(at + 2);
            if next != Some(&Token::Sign('.')) || !is_word(part, &OF_PROCESS) {
                return None;
            }
        } else if !is_part && sets(before, next, tokens.get(at + 2)) {
            if BUILTINS.split(' ').any(|builtin| builtin == word) {
                return None;
            }
            own.push(word);
        } else if own.contains(&word) && !is_part || word.chars().count() == 1 {
            if is_called {
                return None;
            }
        } else if is_part
            && !takes_modules
            && !is_called
            && !matches!(word, "constructor" | "prototype")
        {
            // A part of what the code made or read.
        } else if word == "load" && language == "python" && is_part {
            // `json.load`: of a module that is the language's own.
        } else if !HARMLESS.contains(&word) {
            return None;
        }
    }
    Some(paths)
}

/// Whether a name is given a value here: at the beginning of a statement, or by a word that says so.
fn sets(before: Option<&Token>, next: Option<&Token>, second: Option<&Token>) -> bool {
    let begins = matches!(before, None | Some(Token::Sign(';' | ':')));
    let declared = is_word(before, &["as", "for", "const", "let", "var"]);
    let assigns =
        next == Some(&Token::Sign('=')) && !matches!(second, Some(Token::Sign('=' | '~' | '>')));
    begins && assigns || declared
}

/// Whether what is called may be anything: `x[0](…)`, `f()()`, `"f"()`.
fn computes_calls(tokens: &[Token]) -> bool {
    tokens.windows(2).any(|pair| {
        matches!(
            pair,
            [Token::Sign(']' | ')') | Token::Text(_), Token::Sign('(')]
        )
    })
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
        (true, "require") if path.starts_with("./") && path.ends_with(".json") => {
            Some(Some(path.clone()))
        }
        // Anything else that is required runs.
        (true, "require") => None,
        (true, _) => Some(Some(path.clone())),
        (false, _) => None,
    }
}

/// Words, texts and signs, with `;` for the end of a line; `None` where a text isn't closed. What is code in a
/// text is code.
fn tokens(code: &str, language: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = code.chars();
    let mut word = String::new();
    while let Some(c) = rest.next() {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        // Letters that look like others are read as those.
        if !c.is_ascii() || c == '\\' {
            return None;
        }
        if c == '#' && language == "python" {
            rest.by_ref().find(|c| *c == '\n');
            if !word.is_empty() {
                tokens.push(Token::Word(std::mem::take(&mut word)));
            }
            tokens.push(Token::Sign(';'));
            continue;
        }
        let quotes = matches!(c, '\'' | '"');
        let prefixes = quotes && language == "python" && word.len() <= 2;
        let formats = prefixes && word.contains(['f', 'F', 't', 'T']);
        if !word.is_empty() && !prefixes && !word.starts_with(|c: char| c.is_ascii_digit()) {
            tokens.push(Token::Word(word.clone()));
        }
        word.clear();
        if !quotes {
            match c {
                '\n' | '\r' => tokens.push(Token::Sign(';')),
                c if c.is_whitespace() => {}
                c => tokens.push(Token::Sign(c)),
            }
            continue;
        }
        let mut text = String::new();
        loop {
            match rest.next()? {
                end if end == c => break,
                // Others name a character by its number.
                '\\' => match rest.next()? {
                    escaped if !formats && "ntr\\'\"".contains(escaped) => text.push(' '),
                    _ => return None,
                },
                other => text.push(other),
            }
        }
        // A formatted text holds expressions.
        if formats && text.contains('{') {
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
            "# it's\nprint(7 % 3)",
            "print('\\n'.join(sorted(['a'], key=len)))",
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
        let code = "JSON.parse(require('fs').readFileSync('package.json','utf8')).version";
        assert_eq!(found(code, "javascript"), package);
        for code in [
            "require('./package.json').scripts",
            "Object.keys(require(\"./package.json\").scripts)",
        ] {
            let own = Some(vec!["./package.json".to_owned()]);
            assert_eq!(found(code, "javascript"), own, "{code}");
        }
        assert_eq!(found("puts 'rm -rf /'", "ruby"), none);
        assert_eq!(found("echo 1 + 2;", "php"), none);
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
            "x='''a's'''; import os; os.system(\"ls\"); y='''a's'''",
            "print(list(map(exec, ['1']))); exec = 1",
            "exec = exec; e = list(map(exec, ['1']))",
            "print(max(['1'], key=exec)); exec = 1",
            "import json; json.loads('1', object_hook=exec)",
            "eval == 1 or (eval = 1)",
            "ｅxec = 1; list(map(ｅxec, ['1']))",
            "import json, x",
            "from . import json",
            "import json.x",
            "x = '\\x41'",
            "print(1) \\\nimport os",
            "x# '\n = 1; import os # '",
        ] {
            assert_eq!(found(code, "python"), None, "{code}");
        }
        for code in [
            "open('| ls')",
            "load('./x.rb')",
            "puts open('x')",
            "require('x.json')",
            "require('../x.json')",
            "'x'.replace('x', require('fs').unlinkSync)",
            "[].constructor",
            "['\\x63onstructor']",
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
            "// '\nrequire('child_process').execSync('ls') // '",
            "x = /'/; process.exit(); y = /'/",
            "['1+1'].map(eval); var eval",
            "with(require('fs')) ['x'].map(unlinkSync); unlinkSync = 0",
            "let {unlinkSync = 0} = require('fs'); ['x'].map(unlinkSync)",
            "['x', 'y'].sort(require('fs')['unlinkSync'])",
            "process['env']['X']",
            "process['kill']",
            "import('./evil.mjs')",
            "require('x.json')",
        ] {
            assert_eq!(found(code, "javascript"), None, "{code}");
        }
    }

    #[test]
    fn other_options_load_code() {
        let plain = |line: &str, language: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            is_plain_call(&words[0], language, &words[1..])
        };
        assert!(plain("python3 -c 1", "python") && plain("python3.12 -I -B -c 1", "python"));
        assert!(plain("node -p 1", "javascript") && plain("python3 -", "python"));
        for (line, language) in [
            ("node -r ./x.js -e 1", "javascript"),
            ("node -p 1 -r ./x.js", "javascript"),
            ("node --import=./x.js -e 1", "javascript"),
            ("python3 -mx -c 1", "python"),
            ("python3 -Xc -c 1", "python"),
            ("python3 -c 1 a", "python"),
            ("ipython -c 1", "python"),
            ("tsx -e 1", "javascript"),
            ("ruby -r./x -e 1", "ruby"),
        ] {
            assert!(!plain(line, language), "{line}");
        }
    }
}
