//! What a shell command line would do (G5, G6, G10): typed effects, and a judgement of them.
//!
//! [`analyse`] parses a line with a real grammar and walks it: every command, path, redirection,
//! substitution and wrapper, with variables, functions and folders followed as far as they are known.
//! It gives [`Effect`]s. [`judge`] says what they are worth to an unconfined agent of a workspace; a
//! caller that knows a mode, a grant or a boundary judges the same effects by its own table.
//!
//! # Invariants
//! - Pure: no file, clock, environment or network is touched, and nothing is run.
//! - `allow` comes only of a complete walk in which every program is known and every effect harmless.
//! - `deny` comes of one reachable literal, also when the rest isn't understood.
//! - Any error and any limit is at most `ask`.
//! - Any text ends in bounded time and memory; see [`limits`].
//!
//! # Trust
//! The line is hostile: a model wrote it, perhaps with the words of somebody else. It lies behind a
//! wall of its own so that it can be measured and fuzzed alone.

mod effect;
mod glob;
mod judge;
pub mod limits;
mod machine;
mod names;
mod options;
mod place;
mod programs;
pub mod rules;
mod second;
mod value;
mod word;
mod world;

pub use effect::{Analysis, Certainty, Completeness, Effect, Role, Step, What};
pub use judge::{Verdict, Voice, answer, doubted, judge, rule};
pub use place::{Place, Target, land};
pub use rules::{Answer, Class, Rule};
#[cfg(feature = "second-opinion")]
pub use second::second_opinion;
pub use second::{Opinion, first_opinion};
pub use world::{User, World};

/// What a line would do in a world.
#[must_use]
pub fn analyse(line: &str, world: &World) -> Analysis {
    machine::analyse(line, world)
}
