//! The rules about command lines with their examples, run.

use deputize_shell::{Rule, World, analyse, judge, rules};
use serde::Serialize;

/// An example that a rule doesn't keep to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The rule.
    pub rule: &'static str,
    /// The line.
    pub example: &'static str,
    /// What the rule should have done.
    pub expected: Expected,
}

/// What an example says about its rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// It speaks about the line.
    Match,
    /// It doesn't.
    Spare,
}

/// Every example with its rule.
pub fn examples() -> impl Iterator<Item = (&'static Rule, &'static str, Expected)> {
    rules::all().flat_map(|rule| {
        let matches = rule.matches.iter().map(|line| (*line, Expected::Match));
        let spares = rule.spares.iter().map(|line| (*line, Expected::Spare));
        matches
            .chain(spares)
            .map(move |(line, expected)| (rule, line, expected))
    })
}

/// The examples that fail, in the workspace `/w` of an ordinary user at home in `/home/u`.
#[must_use]
pub fn failing() -> Vec<Failed> {
    let world = World::workspace("/w", "/home/u");
    let fails = |(rule, line, expected): &(&'static Rule, &'static str, Expected)| {
        let verdict = judge(&analyse(line, &world));
        let speaks = verdict.voices.iter().any(|voice| voice.rule == *rule);
        speaks != (*expected == Expected::Match)
    };
    examples()
        .filter(fails)
        .map(|(rule, example, expected)| Failed {
            rule: rule.id,
            example,
            expected,
        })
        .collect()
}
