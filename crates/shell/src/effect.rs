//! What a command would do, as data. What that is worth is said elsewhere: see `judge`.

use std::ops::Range;

use crate::place::Target;
use crate::rules::Rule;

/// What a command uses a path for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Its content or its names are read.
    Read,
    /// It is made or changed.
    Write,
    /// It is removed.
    Delete,
    /// It is removed with everything below.
    DeleteTree,
    /// Its mode or owner is changed.
    Attributes,
    /// Modes or owners are changed with everything below.
    AttributesTree,
    /// A link is made to it.
    LinkTo,
    /// It is run, or read as code.
    Execute,
    /// It becomes the working folder.
    Enter,
    /// It, or something below it, goes away: it is moved, or a search removes it. Other effects say
    /// what is lost; this one says to rules about paths what is no longer there.
    Away,
}

/// One thing that a command would do.
#[derive(Debug, Clone)]
pub enum What {
    /// A program runs whose effects are all listed beside this one.
    Run {
        /// Its name.
        program: String,
    },
    /// A path is used.
    Path {
        /// For what.
        role: Role,
        /// Which.
        target: Target,
    },
    /// The network is used.
    Network {
        /// With whom, if it can be told.
        host: Option<String>,
    },
    /// An act that has a rule of its own.
    Act(&'static Rule),
}

/// How sure it is that this happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// It was followed from the line's own words.
    Followed,
    /// A text in the line would do this if it is run as code, which can't be ruled out.
    Possible,
}

/// One effect, with the place in the line that it comes from.
#[derive(Debug, Clone)]
pub struct Effect {
    /// What happens.
    pub what: What,
    /// The bytes of the line that it comes from.
    pub span: Range<usize>,
    /// The command that does it, as found.
    pub by: String,
    /// How sure it is.
    pub certainty: Certainty,
    /// The code that was unwrapped to find it, if it doesn't stand in the line itself.
    pub unwrapped: Option<String>,
    /// The command whose arguments it comes from, as its place in [`Analysis::steps`]. None for what
    /// the shell itself does: redirections and assignments.
    pub step: Option<usize>,
}

/// Whether all of a line was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completeness {
    /// Every part of it was followed.
    Complete,
    /// Something wasn't. What was found still counts, but nothing is proved.
    Partial(Vec<String>),
}

/// One command that was found in a line.
#[derive(Debug, Clone)]
pub struct Step {
    /// How deep it lies in wrappers, substitutions and nested shells.
    pub depth: usize,
    /// Its words, with what is unknown as dots.
    pub words: Vec<String>,
    /// For each word whether it is exactly this text: nothing in it is unknown or a pattern.
    pub literal: Vec<bool>,
    /// The command that runs this one with its own arguments, as its place in the list.
    pub parent: Option<usize>,
    /// The folder that it runs in, if that can be told.
    pub cwd: Option<String>,
    /// Whether it runs as it would if it were the whole line: it is no function of the line's, and the
    /// line sets no variable before it.
    pub plain: bool,
    /// The bytes of the line that it comes from.
    pub span: Range<usize>,
}

/// What a line would do.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// Everything that was found, in the order of the walk.
    pub effects: Vec<Effect>,
    /// Whether that is everything.
    pub completeness: Completeness,
    /// The commands that were found.
    pub steps: Vec<Step>,
}
