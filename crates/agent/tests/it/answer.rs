//! D2: what a final text becomes.

use deputize_agent::{Claim, Effect, Finding, Status};
use deputize_model::Stop;

use crate::host::{Host, brief, denied, read, says, turns};

fn host() -> Host {
    Host::start(brief(turns(9)))
}

#[test]
fn evidence_is_looked_up_before_it_is_shown() {
    let mut host = host();
    host.reply(says(
        r#"{"summary": "Limits are in budget.rs", "evidence": [
            {"path": "src/budget.rs", "line": 12, "note": "the type", "quote": "pub struct Budget"},
            {"path": "src/x.rs", "line": 900},
            {"path": "src/moved.rs", "line": 3, "quote": "fn limit"},
            {"path": "README.md"}]}"#,
    ));
    assert!(host.finished().is_none(), "not before it was looked up");
    let claims = host
        .effects
        .iter()
        .find_map(|effect| match effect {
            Effect::CheckEvidence(claims) => Some(claims.clone()),
            _ => None,
        })
        .unwrap();
    assert_eq!(
        claims[0],
        Claim {
            path: "src/budget.rs".to_owned(),
            line: Some(12),
            quote: Some("pub struct Budget".to_owned()),
        }
    );
    host.check(vec![
        Finding::Holds,
        Finding::Fails {
            why: "line does not exist\u{1b}[2J".to_owned(),
        },
        Finding::Moved { line: 30 },
        Finding::Holds,
    ]);
    let result = host.result();
    assert_eq!(result.status, Status::Ok);
    let places: Vec<_> = result
        .evidence
        .iter()
        .map(|e| (e.path.raw(), e.line))
        .collect();
    assert_eq!(
        places,
        [
            ("src/budget.rs", Some(12)),
            ("src/moved.rs", Some(30)),
            ("README.md", None)
        ]
    );
    assert_eq!(
        result.warnings,
        [
            "evidence 2: src/x.rs:900: line does not exist\\u{1b}[2J",
            "evidence 3: src/moved.rs:3: the quote is on line 30",
        ]
    );
}

#[test]
fn fewer_findings_than_claims_are_no_proof() {
    let mut host = host();
    host.reply(says("See src/a.rs:1 and src/b.rs:2."));
    host.check(vec![Finding::Holds]);
    assert_eq!(host.result().evidence.len(), 1);
    assert_eq!(
        host.result().warnings,
        ["evidence 2: src/b.rs:2: could not be looked up"]
    );
}

/// A name with a number in prose that is no file says nothing about the child.
#[test]
fn mentions_that_are_no_files_are_dropped_quietly() {
    let mut host = host();
    host.reply(says("It listens on example.org:443."));
    host.check(vec![Finding::Fails {
        why: "no such file".to_owned(),
    }]);
    let result = host.result();
    assert_eq!((result.status, result.evidence.len()), (Status::Ok, 0));
    assert_eq!(result.warnings, Vec::<String>::new());
}

#[test]
fn nothing_empty_is_ok() {
    for text in ["", " \n\t "] {
        let mut host = host();
        host.reply(says(text));
        let result = host.result();
        assert_eq!(result.status, Status::Error);
        assert_eq!(result.warnings[0], "empty_result: the final text is empty");
    }
    // A JSON object with an empty summary is empty too.
    let mut host = host();
    host.reply(says(r#"{"summary": " "}"#));
    assert_eq!(host.result().status, Status::Error);
}

#[test]
fn an_empty_end_salvages_what_was_written_before() {
    let mut host = host();
    let mut turn = read(1);
    turn.text = "The limit is in src/1.rs:4.".to_owned();
    host.reply(turn);
    host.answer("4\tlimit");
    host.reply(says(""));
    assert_eq!(host.claims(), ["src/1.rs:4"]);
    host.check(vec![Finding::Holds]);
    let result = host.result();
    assert_eq!(result.status, Status::Error);
    assert_eq!(
        result.summary.raw(),
        "The run ended before it wrote an answer (empty_result). Beside its last calls it wrote: \
         \"The limit is in src/1.rs:4.\""
    );
    assert_eq!(result.evidence.len(), 1);
}

#[test]
fn a_cut_answer_is_said() {
    let mut host = host();
    let mut turn = says("The limit is");
    turn.stop = Stop::Length;
    host.reply(turn);
    assert_eq!(host.result().status, Status::Ok);
    assert_eq!(
        host.result().warnings,
        ["answer: cut short at the limit of output tokens"]
    );
}

/// The rules of `blocked`, one row each.
#[test]
fn blocked_is_what_was_refused_and_said() {
    #[derive(Clone, Copy)]
    enum Did {
        Nothing,
        WasRefused,
        WasRefusedAndRead,
    }
    let says_blocked = r#"{"summary": "s", "blocked": true}"#;
    for (did, text, status) in [
        (Did::Nothing, "answer", Status::Ok),
        (Did::Nothing, says_blocked, Status::Error),
        (Did::WasRefused, "answer", Status::Blocked),
        (Did::WasRefused, says_blocked, Status::Blocked),
        (Did::WasRefusedAndRead, "answer", Status::Ok),
        (Did::WasRefusedAndRead, says_blocked, Status::Blocked),
        (Did::WasRefusedAndRead, "I was blocked", Status::Ok),
    ] {
        let mut host = host();
        if !matches!(did, Did::Nothing) {
            host.reply(read(1));
            host.decide(denied("outside the workspace"));
        }
        if matches!(did, Did::WasRefusedAndRead) {
            host.reply(read(2));
            host.answer("x");
        }
        host.reply(says(text));
        let result = host.result();
        assert_eq!(result.status, status, "{text}");
        assert_eq!(result.blocked.is_some(), !matches!(did, Did::Nothing));
    }
}

/// D2: the names of the fields are a promise to every reader.
#[test]
fn the_object_has_stable_names() {
    let mut host = host();
    host.reply(read(1));
    host.decide(denied("outside the workspace"));
    host.reply(says(
        r#"{"summary": "s", "evidence": [{"path": "a", "line": 1, "note": "n", "quote": "q"}]}"#,
    ));
    host.check(vec![Finding::Holds]);
    let json = serde_json::to_value(host.result()).unwrap();
    insta::assert_snapshot!(deputize_ledger::canonical(&json), @r#"{"blocked":{"details":[{"call":1,"message":"outside the workspace","rule":"outside-root","tool":"read"}],"reason":"one call was refused"},"changes":[],"checks":[],"evidence":[{"line":1,"note":"n","path":"a","quote":"q"}],"model":"script","model_label":"scripted","receipt":null,"run":"run-1","status":"ok","summary":"s","usage":{"cached_input_tokens":0,"changed_files":0,"commands":0,"cost_micros":null,"exhausted":null,"input_tokens":20,"limits":{"changed_files":null,"commands":null,"cost_micros":null,"idle_seconds":null,"output_bytes":null,"tokens":null,"tool_calls":null,"turns":9,"wall_seconds":null},"output_bytes":83,"output_tokens":10,"refused_calls":1,"tool_calls":1,"turns":2,"wall_ms":0},"warnings":[]}"#);
    let back: deputize_agent::RunResult = serde_json::from_value(json).unwrap();
    assert_eq!(&back, host.result());
}
