//! Reading calls: what is taken, and what isn't.

use super::*;
use crate::Occurrences;
use proptest::prelude::*;
use serde_json::json;

fn error(tool: &str, arguments: Value) -> String {
    Call::parse(tool, &arguments).unwrap_err().to_string()
}

#[test]
fn g1_what_is_unknown_is_an_error() {
    assert_eq!(error("rm", json!({})), "no tool is named `rm`");
    assert_eq!(error("READ", json!({})), "no tool is named `READ`");
    assert_eq!(
        error("read", json!({"path": "a", "sudo\n": true})),
        "`read` has no argument `sudo `"
    );
    assert_eq!(
        error("bash", json!({"command": "ls", "cwd": "/"})),
        "`bash` has no argument `cwd`"
    );
    // An argument of `grep` that a ranked search doesn't have.
    assert_eq!(
        error("grep", json!({"terms": ["a"], "glob": "*.rs"})),
        "`grep` has no argument `glob`"
    );
}

#[test]
fn types_are_checked_and_null_is_absent() {
    assert_eq!(
        error("read", json!([])),
        "the arguments of `read` must be a JSON object"
    );
    assert_eq!(
        error("read", json!({"path": 7})),
        "the argument `path` must be a string"
    );
    assert_eq!(
        error("read", json!({"path": null})),
        "the argument `path` is missing"
    );
    assert_eq!(
        error("read", json!({"path": "a", "offset": -1})),
        "the argument `offset` must be a whole number that isn't negative"
    );
    assert_eq!(
        error("read", json!({"path": "a", "offset": 0})),
        "the argument `offset` must be at least 1"
    );
    assert_eq!(
        Call::parse("read", &json!({"path": "a", "offset": 3.0, "limit": null})).unwrap(),
        Call::Read {
            path: "a".into(),
            offset: Some(3),
            limit: None
        }
    );
    assert_eq!(
        error("grep", json!({"pattern": "a", "terms": ["b"]})),
        "`pattern` and `terms` can't be given together"
    );
    assert_eq!(
        error("grep", json!({"pattern": "a", "case": "loud"})),
        "the argument `case` must be `smart`, `sensitive` or `insensitive`"
    );
}

#[test]
fn g10_every_argument_has_a_limit() {
    let long = "x".repeat(1 << 20);
    let over = format!("{long}x");
    let half = "x".repeat(1 << 19);
    for (tool, arguments, name) in [
        ("find", json!({"pattern": long}), "pattern"),
        ("grep", json!({"pattern": long}), "pattern"),
        ("grep", json!({"pattern": "a", "glob": long}), "glob"),
        ("grep", json!({"pattern": "a", "context": 21}), "context"),
        ("grep", json!({"pattern": "a", "limit": 1_000_000}), "limit"),
        ("grep", json!({"terms": [long]}), "terms"),
        ("grep", json!({"terms": vec!["a"; 33]}), "terms"),
        ("read", json!({"path": "a", "limit": 2_001}), "limit"),
        ("write", json!({"path": "a", "content": over}), "content"),
        ("edit", json!({"path": "a", "old": "a", "new": over}), "new"),
        (
            "edit",
            json!({"path": "a", "edits": [{"old": half, "new": half}, {"old": "a", "new": ""}]}),
            "edits",
        ),
        (
            "edit",
            json!({"path": "a", "edits": vec![json!({"old": "a", "new": "b"}); 101]}),
            "edits",
        ),
        ("bash", json!({"command": over}), "command"),
        (
            "bash",
            json!({"command": "a", "timeout_seconds": 601}),
            "timeout_seconds",
        ),
        ("git", json!({"op": "log", "rev": long}), "rev"),
        ("git", json!({"op": "log", "limit": 1_001}), "limit"),
        ("git", json!({"op": "diff", "context": 21}), "context"),
        (
            "git",
            json!({"op": "status", "paths": vec!["a"; 65]}),
            "paths",
        ),
        ("exec", json!({"argv": [long, long]}), "argv"),
        (
            "exec",
            json!({"argv": vec!["a"; Limits::ARGUMENTS + 1]}),
            "argv",
        ),
    ] {
        let text = error(tool, arguments);
        assert!(
            text.starts_with(&format!("the argument `{name}` is too large")),
            "{tool}: {text}"
        );
    }
    assert_eq!(
        error("exec", json!({"argv": []})),
        "the argument `argv` is empty"
    );
    assert_eq!(
        error("exec", json!({"argv": ["a\0b"]})),
        "the argument `argv` holds a NUL character"
    );
}

fn edits(arguments: Value) -> Result<Vec<(String, String, Occurrences)>, String> {
    match Call::parse("edit", &arguments) {
        Ok(Call::Edit { edits, .. }) => Ok(edits
            .into_iter()
            .map(|edit| (edit.old, edit.new, edit.occurrences))
            .collect()),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn edits_are_taken_in_the_spellings_that_models_know() {
    let one = |all| vec![("a".to_owned(), "b".to_owned(), all)];
    for (arguments, occurrences) in [
        (
            json!({"path": "f", "edits": [{"old": "a", "new": "b"}]}),
            Occurrences::One,
        ),
        (
            json!({"path": "f", "edits": [{"oldText": "a", "newText": "b"}]}),
            Occurrences::One,
        ),
        (
            json!({"file_path": "f", "old_string": "a", "new_string": "b"}),
            Occurrences::One,
        ),
        (
            json!({"path": "f", "oldText": "a", "newText": "b"}),
            Occurrences::One,
        ),
        (
            json!({"path": "f", "old": "a", "new": "b", "all": true}),
            Occurrences::All,
        ),
        (
            json!({"file_path": "f", "old_string": "a", "new_string": "b", "replace_all": true}),
            Occurrences::All,
        ),
    ] {
        assert_eq!(edits(arguments), Ok(one(occurrences)));
    }
    for (arguments, error) in [
        (json!({"path": "f"}), "the argument `edits` is missing"),
        (
            json!({"path": "f", "edits": []}),
            "the argument `edits` is empty",
        ),
        (
            json!({"path": "f", "edits": "[]"}),
            "the argument `edits` must be a list",
        ),
        (
            json!({"path": "f", "edits": [1]}),
            "the argument `edits` must be a list of objects",
        ),
        (
            json!({"path": "f", "edits": [{"old": "a"}]}),
            "the argument `new` is missing",
        ),
        (
            json!({"path": "f", "edits": [{"old": "", "new": "b"}]}),
            "the argument `old` is empty",
        ),
        (
            json!({"path": "f", "edits": [{"old": "a", "new": "b", "regex": true}]}),
            "`edit` has no argument `regex`",
        ),
        (
            json!({"path": "f", "edits": [{"old": "a", "oldText": "a", "new": "b"}]}),
            "`old` and `oldText` can't be given together",
        ),
        (
            json!({"path": "f", "edits": [{"old": "a", "new": "b"}], "old": "a"}),
            "`edit` has no argument `old`",
        ),
        (
            json!({"path": "f", "file_path": "g", "old": "a", "new": "b"}),
            "`path` and `file_path` can't be given together",
        ),
    ] {
        assert_eq!(edits(arguments), Err(error.to_owned()));
    }
}

/// A revision is never an option and never names a path that nobody judged.
#[test]
fn g1_a_look_at_a_repository_is_strictly_read() {
    for (arguments, name) in [
        (json!({}), "op"),
        (json!({"op": "push"}), "op"),
        (json!({"op": "log", "rev": "--output=/etc/passwd"}), "rev"),
        (json!({"op": "diff", "rev": "-O/x"}), "rev"),
        (json!({"op": "show", "rev": "HEAD:.env"}), "rev"),
        (json!({"op": "show", "rev": "a\nb"}), "rev"),
        (json!({"op": "show", "rev": "a..b"}), "rev"),
        (json!({"op": "blame", "path": "a", "rev": "^a"}), "rev"),
        (json!({"op": "show", "rev": ""}), "rev"),
        (json!({"op": "blame"}), "path"),
        (json!({"op": "blame", "path": "a", "start": 0}), "start"),
        (
            json!({"op": "blame", "path": "a", "start": 5, "end": 4}),
            "end",
        ),
        (json!({"op": "diff", "output": "summary"}), "output"),
        (json!({"op": "diff", "staged": "yes"}), "staged"),
    ] {
        let error = error("git", arguments);
        assert!(error.contains(&format!("`{name}`")), "{name}: {error}");
    }
    assert_eq!(
        error("git", json!({"op": "status", "rev": "HEAD"})),
        "`git` has no argument `rev`"
    );
    assert_eq!(
        error("git", json!({"op": "log", "path": "a", "paths": ["b"]})),
        "`path` and `paths` can't be given together"
    );
    let call = Call::parse(
        "git",
        &json!({"op": "log", "rev": "v1..HEAD@{2 days ago}", "path": "a"}),
    );
    assert_eq!(call.unwrap().tool(), Tool::Git);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(argument_name(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn argument_name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "path",
            "offset",
            "limit",
            "pattern",
            "glob",
            "terms",
            "case",
            "literal",
            "context",
            "output",
            "argv",
            "cwd",
            "env",
            "content",
            "edits",
            "old",
            "oldText",
            "new_string",
            "all",
            "command",
            "timeout_seconds",
            "op",
            "rev",
            "paths",
            "staged",
            "start",
            "end",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn g10_parsing_never_panics(
        tool in prop_oneof![
            prop::sample::select(Tool::ALL.to_vec()).prop_map(|tool| tool.name().to_owned()),
            any::<String>(),
        ],
        arguments in json_value(),
    ) {
        let _ = Call::parse(&tool, &arguments);
    }

    #[test]
    fn what_parses_survives_the_trip(
        tool in prop::sample::select(Tool::ALL.to_vec()),
        arguments in json_value(),
    ) {
        if let Ok(call) = Call::parse(tool.name(), &arguments) {
            let bytes = serde_json::to_vec(&call).unwrap();
            prop_assert_eq!(serde_json::from_slice::<Call>(&bytes).unwrap(), call);
        }
    }
}
