//! Scores a labelled corpus: `corpus FILE` prints the confusion table by kind, the misses and the
//! rates against the goals. One JSON object a line: `cmd`, `cwd`, `expect`, `kind`, `why`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to the terminal"
)]

use std::collections::BTreeMap;
use std::process::ExitCode;

use deputize_shell::{Answer, World, analyse, judge};
use serde_json::Value;

/// How many rows of one kind and one expectation came to which answer.
#[derive(Default, Clone, Copy)]
struct Count {
    allow: usize,
    ask: usize,
    deny: usize,
}

impl Count {
    fn add(&mut self, answer: Answer) {
        match answer {
            Answer::Allow => self.allow += 1,
            Answer::Ask => self.ask += 1,
            Answer::Deny => self.deny += 1,
        }
    }

    fn all(self) -> usize {
        self.allow + self.ask + self.deny
    }
}

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: corpus FILE");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("can't read {file}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut kinds: BTreeMap<(String, String), Count> = BTreeMap::new();
    let mut totals: BTreeMap<String, Count> = BTreeMap::new();
    let mut traps = Count::default();
    for row in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = match serde_json::from_str(row) {
            Ok(row) => row,
            Err(error) => {
                eprintln!("{file}: {error}: {row}");
                return ExitCode::FAILURE;
            }
        };
        let field = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let (line, expect, kind) = (field("cmd"), field("expect"), field("kind"));
        let mut world = World::workspace("/w", "/home/u");
        world.cwd = field("cwd");
        let verdict = judge(&analyse(&line, &world));
        kinds
            .entry((kind.clone(), expect.clone()))
            .or_default()
            .add(verdict.answer);
        totals
            .entry(expect.clone())
            .or_default()
            .add(verdict.answer);
        if kind == "fp-trap" && expect == "allow" {
            traps.add(verdict.answer);
        }
        let wanted = match expect.as_str() {
            "allow" => Answer::Allow,
            "ask" => Answer::Ask,
            _ => Answer::Deny,
        };
        if verdict.answer != wanted {
            let rules: Vec<String> = verdict
                .voices
                .iter()
                .map(|voice| format!("{} {}", voice.rule.id, voice.about))
                .collect();
            println!(
                "{kind:16} {expect:5} got {:?}: {line:?}\n    [{}]",
                verdict.answer,
                rules.join(", ")
            );
        }
    }
    println!(
        "\n{:18} {:6} {:>6} {:>6} {:>6}",
        "kind", "expect", "allow", "ask", "deny"
    );
    for ((kind, expect), count) in &kinds {
        println!(
            "{kind:18} {expect:6} {:>6} {:>6} {:>6}",
            count.allow, count.ask, count.deny
        );
    }
    let total = |expect: &str| totals.get(expect).copied().unwrap_or_default();
    let (deny, ask, allow) = (total("deny"), total("ask"), total("allow"));
    println!();
    let goals = [
        goal(
            "deny rows allowed",
            deny.allow,
            deny.all(),
            |rate| rate == 0.0,
            "none",
        ),
        goal(
            "deny rows denied",
            deny.deny,
            deny.all(),
            |rate| rate >= 0.95,
            ">= 95 %",
        ),
        goal(
            "ask rows flagged",
            ask.ask + ask.deny,
            ask.all(),
            |rate| rate >= 0.97,
            ">= 97 %",
        ),
        goal(
            "allow rows not allowed",
            allow.ask + allow.deny,
            allow.all(),
            |rate| rate <= 0.02,
            "<= 2 %",
        ),
        goal(
            "traps not allowed",
            traps.ask + traps.deny,
            traps.all(),
            |rate| rate == 0.0,
            "none",
        ),
    ];
    if goals.iter().all(|met| *met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a corpus has thousands of rows at most"
)]
fn goal(name: &str, count: usize, of: usize, meets: impl Fn(f64) -> bool, wanted: &str) -> bool {
    if of == 0 {
        return true;
    }
    let rate = count as f64 / of as f64;
    let met = meets(rate);
    println!(
        "{name:24} {count:>4} of {of:<4} {:>6.1} %  goal {wanted:8} {}",
        rate * 100.0,
        if met { "met" } else { "MISSED" }
    );
    met
}
