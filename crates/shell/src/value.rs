//! Abstract values: text of which parts may be unknown.

use std::borrow::Cow;

use crate::limits::MAX_VALUE;

/// Where unknown text comes from, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Taint(u16);

impl Taint {
    pub(crate) const NONE: Self = Self(0);
    /// The content of a secret file or of the environment.
    pub(crate) const SECRET: Self = Self(1);
    /// Bytes from the network.
    pub(crate) const REMOTE: Self = Self(2);
    /// Names of files of the workspace, as git or find list them.
    pub(crate) const INSIDE: Self = Self(4);
    /// A variable whose name says that it holds a credential.
    pub(crate) const NAMED: Self = Self(8);
    /// Text that a shell could run is the output of a network tool that keeps the line open.
    pub(crate) const LINE: Self = Self(16);
    /// Names of files that lie outside.
    pub(crate) const OUTSIDE: Self = Self(64);
    /// Every name of a folder.
    pub(crate) const ALL: Self = Self(128);
    /// Names of files of the workspace among which there are those of secrets.
    pub(crate) const NAMES_SECRET: Self = Self(256);
    /// Names of files that a tool makes again, and no others.
    pub(crate) const GENERATED: Self = Self(1024);
    /// The process id of a job that the line itself started.
    pub(crate) const JOB: Self = Self(512);
    /// A value that nothing bad can be made of: a number, a date.
    pub(crate) const PLAIN: Self = Self(32);

    const PROMISES: u16 = Self::INSIDE.0 | Self::PLAIN.0 | Self::ALL.0 | Self::GENERATED.0;

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both of two things are true of it.
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// One thing is no longer true of it.
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        // What promises harmlessness holds only when both do.
        Self(((self.0 | other.0) & !Self::PROMISES) | (self.0 & other.0 & Self::PROMISES))
    }

    /// Without what promises harmlessness.
    pub(crate) fn risky(self) -> Self {
        Self(self.0 & !Self::PROMISES)
    }
}

/// One part of a word after expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Known text; a pattern is matched in it only where it isn't quoted.
    Lit { text: String, quoted: bool },
    /// A name that matches a pattern.
    Pattern(String),
    /// Text that it may be, and nothing better is known: a default, or what one branch assigned.
    Guess(String),
    /// Anything.
    Unknown(Taint),
}

/// One word after expansion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Field {
    pub(crate) parts: Vec<Part>,
}

impl Field {
    pub(crate) fn lit(text: &str) -> Self {
        Self {
            parts: vec![Part::Lit {
                text: text.to_owned(),
                quoted: true,
            }],
        }
    }

    pub(crate) fn unknown(taint: Taint) -> Self {
        Self {
            parts: vec![Part::Unknown(taint)],
        }
    }

    /// The text, when all of it is known.
    pub(crate) fn known(&self) -> Option<Cow<'_, str>> {
        match self.parts.as_slice() {
            [] => Some(Cow::Borrowed("")),
            [Part::Lit { text, .. }] => Some(Cow::Borrowed(text)),
            parts => {
                let mut all = String::new();
                for part in parts {
                    match part {
                        Part::Lit { text, .. } => all.push_str(text),
                        _ => return None,
                    }
                }
                Some(Cow::Owned(all))
            }
        }
    }

    /// The text that it may be, when there is one.
    pub(crate) fn guess(&self) -> Option<String> {
        let mut all = String::new();
        for part in &self.parts {
            match part {
                Part::Lit { text, .. } | Part::Guess(text) => all.push_str(text),
                Part::Pattern(_) | Part::Unknown(_) => return None,
            }
        }
        Some(all)
    }

    /// The same with what it may be taken for known.
    pub(crate) fn guessed(&self) -> Self {
        let mut all = Self::default();
        for part in &self.parts {
            all.push(match part {
                Part::Guess(text) => Part::Lit {
                    text: text.clone(),
                    quoted: true,
                },
                other => other.clone(),
            });
        }
        all
    }

    pub(crate) fn has_guess(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Guess(_)))
    }

    /// The known text that it begins with.
    pub(crate) fn prefix(&self) -> String {
        let mut all = String::new();
        for part in &self.parts {
            match part {
                Part::Lit { text, .. } => all.push_str(text),
                _ => break,
            }
        }
        all
    }

    pub(crate) fn taint(&self) -> Taint {
        let mut taints = self.parts.iter().filter_map(|part| match part {
            Part::Unknown(taint) => Some(*taint),
            _ => None,
        });
        let first = taints.next().unwrap_or(Taint::NONE);
        taints.fold(first, Taint::and)
    }

    pub(crate) fn has_unknown(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Unknown(_)))
    }

    /// Whether a pattern could be matched in it.
    pub(crate) fn has_glob(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Lit {
                text,
                quoted: false,
            } => is_glob(text),
            Part::Pattern(_) => true,
            _ => false,
        })
    }

    pub(crate) fn push(&mut self, part: Part) {
        if let (
            Some(Part::Lit { text, quoted }),
            Part::Lit {
                text: more,
                quoted: same,
            },
        ) = (self.parts.last_mut(), &part)
            && quoted == same
        {
            text.push_str(more);
            return;
        }
        self.parts.push(part);
    }

    /// The same value where nothing is split or matched any more.
    pub(crate) fn quoted(mut self) -> Self {
        for part in &mut self.parts {
            if let Part::Lit { quoted, .. } = part {
                *quoted = true;
            }
        }
        self
    }

    /// What follows the first `count` bytes, which are known.
    pub(crate) fn after(&self, count: usize) -> Self {
        let mut left = count;
        let mut rest = Self::default();
        for part in &self.parts {
            match part {
                Part::Lit { text, quoted } if left > 0 => {
                    let cut = left.min(text.len());
                    left -= cut;
                    if let Some(more) = text.get(cut..)
                        && !more.is_empty()
                    {
                        rest.push(Part::Lit {
                            text: more.to_owned(),
                            quoted: *quoted,
                        });
                    }
                }
                other => rest.push(other.clone()),
            }
        }
        rest
    }

    /// How much memory it takes, about.
    pub(crate) fn size(&self) -> usize {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Lit { text, .. } | Part::Pattern(text) | Part::Guess(text) => text.len() + 8,
                Part::Unknown(_) => 8,
            })
            .sum()
    }

    /// The same, of which something is no longer true.
    pub(crate) fn without(mut self, taint: Taint) -> Self {
        for part in &mut self.parts {
            if let Part::Unknown(of) = part {
                *of = of.without(taint);
            }
        }
        self
    }

    /// For people: unknown parts are dots.
    pub(crate) fn shown(&self) -> String {
        let mut all = String::new();
        for part in &self.parts {
            match part {
                Part::Lit { text, .. } | Part::Pattern(text) | Part::Guess(text) => {
                    all.push_str(text);
                }
                Part::Unknown(_) => all.push('…'),
            }
        }
        all
    }
}

/// A bracket alone, as the command `[` is, is no pattern.
fn is_glob(text: &str) -> bool {
    text.contains(['*', '?'])
        || text.contains("!(")
        || text
            .split_once('[')
            .is_some_and(|(_, rest)| rest.contains(']'))
}

/// What a command writes to its output, or reads from its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Out {
    Known(String),
    Unknown(Taint),
}

impl Out {
    pub(crate) fn empty() -> Self {
        Self::Known(String::new())
    }

    pub(crate) fn taint(&self) -> Taint {
        match self {
            Self::Known(_) => Taint::NONE,
            Self::Unknown(taint) => *taint,
        }
    }

    pub(crate) fn add(&mut self, more: Self) {
        match (&mut *self, more) {
            (Self::Known(text), Self::Known(more)) if text.len() + more.len() <= MAX_VALUE => {
                text.push_str(&more);
            }
            (Self::Known(text), more) if text.is_empty() => *self = more,
            (Self::Unknown(_), Self::Known(more)) if more.is_empty() => {}
            (before, more) => {
                let taint = match (&before, &more) {
                    (Self::Unknown(a), Self::Unknown(b)) => a.and(*b),
                    (Self::Unknown(a), _) | (_, Self::Unknown(a)) => a.risky(),
                    _ => Taint::NONE,
                };
                *before = Self::Unknown(taint);
            }
        }
    }

    /// As a command substitution sees it: without the newlines at the end.
    pub(crate) fn substituted(self) -> Self {
        match self {
            Self::Known(text) => Self::Known(text.trim_end_matches('\n').replace('\0', "")),
            unknown => unknown,
        }
    }
}
