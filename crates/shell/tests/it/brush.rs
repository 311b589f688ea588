//! brush-parser as an oracle: another grammar of bash, by other people. Every command that it sees in a
//! line of the corpora is one that our walk found, or the line isn't allowed.

use std::collections::BTreeSet;

use brush_parser::ast::{
    Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList,
    IoFileRedirectTarget, IoRedirect, Pipeline, Word,
};
use brush_parser::word::{WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions, word};
use deputize_shell::{Answer, analyse, judge};

use crate::{own_corpus, world};

/// Lines that are allowed although brush sees a command which our walk didn't run, each with its reason.
const EXPLAINED: &[(&str, &str)] = &[
    (
        "exec 3< a",
        "without a command `exec` only opens a descriptor, which is an effect of its own",
    ),
    ("exec 3> log; echo x >&3", "the same"),
];

/// How deep substitutions are followed: as deep as any line of a corpus nests them.
const DEEPEST: usize = 8;

/// The names of simple commands that brush sees, those that are literal.
fn names(text: &str, depth: usize) -> Option<BTreeSet<String>> {
    let options = ParserOptions::default();
    let mut parser = Parser::new(text.as_bytes(), &options);
    let program = parser.parse_program().ok()?;
    let mut seen = Seen {
        names: BTreeSet::new(),
        options,
        depth,
    };
    for list in &program.complete_commands {
        seen.list(list);
    }
    Some(seen.names)
}

struct Seen {
    names: BTreeSet<String>,
    options: ParserOptions,
    depth: usize,
}

impl Seen {
    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            for (_, pipeline) in &item.0 {
                self.pipeline(pipeline);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        for command in &pipeline.seq {
            self.command(command);
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => {
                let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
                let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
                for item in prefix.chain(suffix) {
                    self.item(item);
                }
                if let Some(name) = &simple.word_or_name {
                    self.word(name);
                    self.names.extend(self.literal(name));
                }
            }
            Command::Compound(compound, redirects) => {
                self.compound(compound);
                for redirect in redirects.iter().flat_map(|list| &list.0) {
                    self.redirect(redirect);
                }
            }
            // What isn't called isn't run; a call of it has its name.
            Command::Function(_) | Command::ExtendedTest(..) => {}
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(_) => {}
            CompoundCommand::ArithmeticForClause(clause) => self.list(&clause.body.list),
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                for word in clause.values.iter().flatten() {
                    self.word(word);
                }
                self.list(&clause.body.list);
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value);
                for list in clause.cases.iter().filter_map(|case| case.cmd.as_ref()) {
                    self.list(list);
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.list(list));
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Coprocess(coprocess) => self.command(&coprocess.body),
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::IoRedirect(redirect) => self.redirect(redirect),
            Item::Word(word) | Item::AssignmentWord(_, word) => self.word(word),
            Item::ProcessSubstitution(_, subshell) => self.list(&subshell.list),
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, subshell)) => {
                self.list(&subshell.list);
            }
            IoRedirect::File(_, _, IoFileRedirectTarget::Filename(word))
            | IoRedirect::HereString(_, word)
            | IoRedirect::OutputAndError(word, _) => self.word(word),
            IoRedirect::HereDocument(_, document) if document.requires_expansion => {
                let pieces = word::parse_heredoc(&document.doc.value, &self.options);
                self.pieces(&pieces.unwrap_or_default());
            }
            IoRedirect::File(..) | IoRedirect::HereDocument(..) => {}
        }
    }

    fn word(&mut self, word: &Word) {
        let pieces = word::parse(&word.value, &self.options).unwrap_or_default();
        self.pieces(&pieces);
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource]) {
        for piece in pieces {
            match &piece.piece {
                WordPiece::DoubleQuotedSequence(inner)
                | WordPiece::GettextDoubleQuotedSequence(inner) => self.pieces(inner),
                WordPiece::CommandSubstitution(text)
                | WordPiece::BackquotedCommandSubstitution(text)
                    if self.depth < DEEPEST =>
                {
                    self.names
                        .extend(names(text, self.depth + 1).into_iter().flatten());
                }
                _ => {}
            }
        }
    }

    /// The text of a word in which nothing is expanded.
    fn literal(&self, word: &Word) -> Option<String> {
        let pieces = word::parse(&word.value, &self.options).ok()?;
        let text = text(&pieces)?;
        // Braces and patterns make other words of it.
        (!text.contains(['{', '*', '?', '['])).then_some(text)
    }
}

fn text(pieces: &[WordPieceWithSource]) -> Option<String> {
    let parts = pieces.iter().map(|piece| match &piece.piece {
        WordPiece::Text(text) | WordPiece::SingleQuotedText(text) => Some(text.clone()),
        WordPiece::EscapeSequence(text) => text.strip_prefix('\\').map(str::to_owned),
        WordPiece::DoubleQuotedSequence(inner) => text(inner),
        _ => None,
    });
    parts.collect()
}

fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

/// G5: what another parser sees, we have seen, wherever we allow.
#[test]
fn every_command_that_brush_sees_was_found() {
    let (mut parsed, mut allowed) = (0, 0);
    let mut missed: Vec<(String, Vec<String>)> = Vec::new();
    for (line, ..) in own_corpus() {
        let Some(names) = names(&line, 0) else {
            continue;
        };
        parsed += 1;
        let analysis = analyse(&line, &world());
        if judge(&analysis).answer != Answer::Allow {
            continue;
        }
        allowed += 1;
        let found: BTreeSet<&str> = analysis
            .steps
            .iter()
            .filter_map(|step| step.words.first())
            .map(|name| base(name))
            .collect();
        let unseen: Vec<String> = names
            .into_iter()
            .filter(|name| !found.contains(base(name)))
            .collect();
        let explained = EXPLAINED.iter().any(|(known, _)| *known == line);
        if !unseen.is_empty() && !explained {
            missed.push((line, unseen));
        }
    }
    assert!(
        parsed > 3_500 && allowed > 600,
        "{parsed} parsed, {allowed} allowed"
    );
    assert!(missed.is_empty(), "{missed:#?}");
}

/// The oracle sees what it should: a test that finds nothing would prove nothing.
#[test]
fn brush_sees_commands_wherever_they_stand() {
    let line =
        "a | \"b\" && c; d \"$(e)\" <(f) `g` & { h; }; (i); if j; then k; fi; x=$(l) m > $(n)";
    let found = names(line, 0).unwrap();
    assert_eq!(found.into_iter().collect::<String>(), "abcdefghijklmn");
}
