//! The scout, turn by turn.

use deputize_model::{Message, Scout, Stop, ToolOutcome, ToolSpec, Turn, TurnRequest};
use serde_json::{Value, json};

use crate::{request, turn_of};

/// The form of ranked search, as the tool's own test pins it.
const SAMPLE: &str = include_str!("../../../tools/src/rank/sample.jsonl");

const QUESTION: &str = "Where is the store loaded?";

fn ask(messages: Vec<Message>, tools: &[&str]) -> Turn {
    let tools = tools.iter().map(|name| ToolSpec {
        name: (*name).to_owned(),
        description: String::new(),
        parameters: Value::Null,
    });
    let request = TurnRequest {
        tools: tools.collect(),
        ..request(messages)
    };
    turn_of(&Scout::new(), &request).unwrap()
}

/// Plays a conversation to its end: `answer` plays the tools. Gives the turns.
fn play(prompt: &str, answer: impl Fn(&str, &Value) -> (String, ToolOutcome)) -> Vec<Turn> {
    let mut messages = vec![Message::User(prompt.to_owned())];
    let mut turns = Vec::new();
    while turns.len() < 10 {
        let turn = ask(messages.clone(), &["read", "ls", "find", "grep"]);
        turns.push(turn.clone());
        if turn.calls.is_empty() {
            break;
        }
        messages.push(Message::Assistant {
            text: turn.text,
            calls: turn.calls.clone(),
            opaque: None,
        });
        for call in turn.calls {
            let (content, outcome) = answer(&call.name, &call.arguments);
            messages.push(Message::ToolResult {
                id: call.id,
                content,
                outcome,
            });
        }
    }
    turns
}

fn store(name: &str, arguments: &Value) -> (String, ToolOutcome) {
    let content = match (name, arguments["path"].as_str()) {
        ("grep", _) => SAMPLE.to_owned(),
        ("read", Some("src/store.rs")) => {
            "    38\t\n    39\t/// Loads it. From disk.\n    40\tpub fn load(\n".to_owned()
        }
        ("read", Some("README.md")) => "     1\t# Store\n".to_owned(),
        // The line has changed since the search.
        _ => "     7\tfn other(\n".to_owned(),
    };
    (content, ToolOutcome::Answered)
}

fn result(turn: &Turn) -> (String, Vec<Value>) {
    let value: Value = serde_json::from_str(&turn.text).unwrap();
    let summary = value["summary"].as_str().unwrap().to_owned();
    (summary, value["evidence"].as_array().unwrap().clone())
}

/// N4: search, read, answer; with evidence that stands where it says.
#[test]
fn it_searches_reads_and_answers_with_evidence() {
    let turns = play(QUESTION, store);
    assert_eq!(turns.len(), 3);
    assert_eq!(turns[0].stop, Stop::ToolCalls);
    assert_eq!(turns[0].calls[0].name, "grep");
    assert_eq!(
        turns[0].calls[0].arguments["terms"],
        json!(["store", "loaded^0.7", "store loaded^0.4"])
    );
    let read = &turns[1].calls[0];
    assert_eq!(read.name, "read");
    assert_eq!(read.arguments["path"], "src/store.rs");
    let (first, count) = (&read.arguments["offset"], &read.arguments["limit"]);
    assert!(first.as_u64() <= Some(40) && first.as_u64() > Some(0));
    assert!(first.as_u64().unwrap() + count.as_u64().unwrap() > 40);

    let (summary, evidence) = result(&turns[2]);
    assert_eq!(turns[2].stop, Stop::Finished);
    assert_eq!(
        evidence[0],
        json!({
            "path": "src/store.rs",
            "line": 40,
            "note": "fn `Store::load`, matches `store`, `load`; its comment: Loads it.",
            "quote": "pub fn load(",
        })
    );
    assert_eq!(
        evidence.len(),
        2,
        "the place that changed is gone: {evidence:?}"
    );
    assert_eq!(evidence[1]["path"], "README.md");
    assert!(summary.contains("17 of 120 files matched"), "{summary}");
}

/// N4: it says that no language model was used, first, whatever comes of it.
#[test]
fn every_answer_says_what_it_is() {
    let nothing = |_: &str, _: &Value| {
        let content = r#"{"files_searched":5,"files_matched":0,"terms":{"zebra":0}}"#;
        (content.to_owned(), ToolOutcome::Answered)
    };
    let refused = |_: &str, _: &Value| ("denied".to_owned(), ToolOutcome::Refused);
    let empty = |_: &str, _: &Value| (String::new(), ToolOutcome::Answered);
    for turns in [
        play(QUESTION, store),
        play("zebra?", nothing),
        play(QUESTION, refused),
        play(QUESTION, empty),
        play("Where is it?", store),
        play("", store),
    ] {
        let last = turns.last().unwrap();
        let (summary, _) = result(last);
        let first = summary.split('.').next().unwrap();
        assert!(first.contains("no language model was used"), "{summary}");
        assert_eq!(last.model, "scout");
        assert_eq!(last.usage.counted(), 0);
    }
}

#[test]
fn nothing_found_is_no_evidence_and_says_what_was_searched() {
    let turns = play("Where is frobnicate?", |_, _| {
        let content = r#"{"files_searched":5,"files_matched":0,"terms":{"frobnicate":0}}"#;
        (content.to_owned(), ToolOutcome::Answered)
    });
    let (summary, evidence) = result(turns.last().unwrap());
    assert!(evidence.is_empty());
    assert!(
        summary.contains("`frobnicate`") && summary.contains("5 files"),
        "{summary}"
    );
}

#[test]
fn a_lost_search_is_not_reported_as_an_empty_one() {
    for outcome in [ToolOutcome::Refused, ToolOutcome::Failed] {
        let turns = play(QUESTION, |_, _| ("no".to_owned(), outcome));
        let (summary, evidence) = result(turns.last().unwrap());
        assert!(summary.contains("did not run or failed"), "{summary}");
        assert!(evidence.is_empty());
    }
}

/// D5: a tool-less turn answers with what there is, at any point.
#[test]
fn without_tools_it_answers_at_once() {
    let start = vec![Message::User(QUESTION.to_owned())];
    let first = ask(start.clone(), &["grep", "read"]);
    let (summary, evidence) = result(&ask(start.clone(), &[]));
    assert!(summary.contains("no turn left"), "{summary}");
    assert!(evidence.is_empty());

    let mut searched = start;
    searched.push(Message::Assistant {
        text: first.text,
        calls: first.calls.clone(),
        opaque: None,
    });
    searched.push(Message::ToolResult {
        id: first.calls[0].id.clone(),
        content: SAMPLE.to_owned(),
        outcome: ToolOutcome::Answered,
    });
    searched.push(Message::User("wrap up now".to_owned()));
    let (_, evidence) = result(&ask(searched, &[]));
    assert_eq!(evidence.len(), 3);
    assert_eq!(evidence[1]["path"], "src/a \"b\".rs");
}

#[test]
fn the_same_conversation_gives_the_same_turn() {
    let start = vec![Message::User(QUESTION.to_owned())];
    assert_eq!(ask(start.clone(), &["grep"]), ask(start, &["grep"]));
}

#[test]
fn a_file_that_the_question_names_is_read_too() {
    let turns = play("What does src/store.rs load?", store);
    let named: Vec<&Value> = turns[0]
        .calls
        .iter()
        .filter(|call| call.name == "read")
        .map(|call| &call.arguments["path"])
        .collect();
    assert_eq!(named, ["src/store.rs"]);
    let (_, evidence) = result(turns.last().unwrap());
    let note = "the question names this file";
    assert!(
        evidence
            .iter()
            .any(|e| e["note"] == note && e["path"] == "src/store.rs")
    );
}

/// What an example in a manual repeats of the question is about the question.
#[test]
fn places_that_repeat_the_question_are_left_out() {
    let turns = play(QUESTION, |name, _| {
        let line = json!({"path": "README.md", "line": 3, "matched": ["store"],
                          "text": "run \"Where is the store loaded?\""});
        let content = match name {
            "grep" => format!("{SAMPLE}{line}\n"),
            _ => String::from("run \"Where is the store loaded?\" pub fn load( # Store"),
        };
        (content, ToolOutcome::Answered)
    });
    let (summary, evidence) = result(turns.last().unwrap());
    assert_eq!(evidence.len(), 3, "{evidence:?}");
    assert!(!summary.contains("README.md:3"));
}

/// D8: a hostile tree can't smuggle escapes into the summary, nor make the scout fail.
#[test]
fn hostile_results_are_escaped_and_survived() {
    let turns = play(QUESTION, |_, _| {
        let line = json!({"path": "a\u{1b}[31m\n\u{202e}b", "line": u64::MAX, "kind": "\u{1b}",
                          "name": "\u{202e}", "matched": ["\u{7}"], "text": "x"});
        let content = format!(
            "not json\n{line}\n{{\"path\":1}}\n[[[[\n{}\n",
            "{".repeat(10_000)
        );
        (content, ToolOutcome::Answered)
    });
    let (summary, _) = result(turns.last().unwrap());
    let shown = deputize_authority::Untrusted::new(&summary).shown();
    assert_eq!(shown, summary, "nothing was left to escape");
}
