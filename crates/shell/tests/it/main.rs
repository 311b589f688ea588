//! What the analysis of command lines promises, one topic a file.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod brush;
mod corpus;
mod hostile;
mod laws;
mod rules;
mod second;

use deputize_shell::{Answer, Verdict, World, analyse, judge};

/// The world that the corpora are labelled for.
fn world() -> World {
    World::workspace("/w", "/home/u")
}

fn verdict(line: &str) -> Verdict {
    judge(&analyse(line, &world()))
}

fn answer(line: &str) -> Answer {
    verdict(line).answer
}

/// The lines of our own corpora with what is expected of them: those with their incidents, and a
/// wide net of spellings.
fn own_corpus() -> Vec<(String, Answer, String)> {
    include_str!("../../corpus/own.jsonl")
        .lines()
        .chain(include_str!("../../corpus/wide.jsonl").lines())
        .chain(include_str!("../../corpus/hard.jsonl").lines())
        .chain(include_str!("../../corpus/field.jsonl").lines())
        .map(|row| {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            let expect = match text("expect").as_str() {
                "allow" => Answer::Allow,
                "ask" => Answer::Ask,
                "deny" => Answer::Deny,
                other => panic!("{other} is no answer"),
            };
            (text("cmd"), expect, text("kind"))
        })
        .collect()
}

/// A file that isn't listed above would never run.
#[test]
fn every_file_is_listed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let main = std::fs::read_to_string(format!("{folder}/main.rs")).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || main.contains(&format!("mod {module};")),
            "{name}"
        );
    }
}
