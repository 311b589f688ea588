//! Whether a command administers Deputize itself: a child that could approve, trust or grant would
//! have no bounds (G6).

use std::ffi::OsStr;
use std::path::Path;

use super::Stop;
use crate::rule;

/// The file name of this program.
const OWN_NAME: &str = "deputize";

/// Whether a program is this one, by its file's name.
pub(crate) fn is_ours(program: &OsStr) -> bool {
    Path::new(program)
        .file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case(OWN_NAME))
}

pub(crate) fn denied() -> Stop {
    Stop::new(
        &rule::ADMIN_DENIED,
        "the command administers Deputize itself",
        "Leave that to a person, outside a boundary",
    )
}

/// Whether a shell command plainly starts this program: as the first word, or as the first one after
/// something that ends a command. What is quoted is an argument. Hidden starts are left to the
/// boundary, in which there is nothing to administer.
pub(crate) fn is_plainly_ours(command: &str) -> bool {
    let mut words = Words::new(command);
    while let Some((word, place)) = words.next() {
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| is_name(name));
        if place == Place::First && is_assignment {
            words.place = Place::First;
        } else if place == Place::First && is_ours(OsStr::new(&word)) {
            return true;
        }
    }
    false
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    Later,
}

/// The words of a command line, quotes taken away, each with its place in its command.
struct Words<'c> {
    rest: std::iter::Peekable<std::str::Chars<'c>>,
    place: Place,
}

impl<'c> Words<'c> {
    fn new(command: &'c str) -> Self {
        Self {
            rest: command.chars().peekable(),
            place: Place::First,
        }
    }

    fn next(&mut self) -> Option<(String, Place)> {
        let mut word = String::new();
        let mut began = false;
        while let Some(letter) = self.rest.next() {
            match letter {
                ' ' | '\t' if began => break,
                ' ' | '\t' => {}
                ';' | '&' | '|' | '\n' | '(' | '{' | '`' => {
                    if began {
                        return Some((word, std::mem::replace(&mut self.place, Place::First)));
                    }
                    self.place = Place::First;
                }
                '#' if !began => while self.rest.next_if(|letter| *letter != '\n').is_some() {},
                '\'' | '"' => {
                    began = true;
                    self.quoted(letter, &mut word);
                }
                '\\' => {
                    began = true;
                    word.extend(self.rest.next().filter(|letter| *letter != '\n'));
                }
                other => {
                    began = true;
                    word.push(other);
                }
            }
        }
        began.then(|| (word, std::mem::replace(&mut self.place, Place::Later)))
    }

    fn quoted(&mut self, quote: char, word: &mut String) {
        while let Some(letter) = self.rest.next() {
            match letter {
                end if end == quote => return,
                '\\' if quote == '"' => word.extend(self.rest.next()),
                other => word.push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g6_plain_starts_of_deputize_are_seen() {
        for command in [
            "deputize approve 1",
            "cd x && deputize run",
            "true;deputize trust .",
            "ls | deputize answer",
            "X=1 Y=2 deputize run",
            "/usr/local/bin/deputize --version",
            "\"deputize\" approve",
            "dep\\utize approve",
            "echo $(deputize approve)",
            "echo `deputize approve`",
            "a\nDeputize approve",
        ] {
            assert!(is_plainly_ours(command), "{command}");
        }
    }

    #[test]
    fn words_about_deputize_are_no_starts() {
        for command in [
            "",
            "grep -r deputize .",
            "echo 'a; deputize approve'",
            "git commit -m \"x && deputize run\"",
            "ls # ; deputize approve",
            "cargo run -p deputize",
            "cat deputize.md; ls",
            "=deputize",
            "'unclosed ; deputize",
        ] {
            assert!(!is_plainly_ours(command), "{command}");
        }
    }
}
