//! `deputize run`: a question to a read-only child, and what comes back.

use std::fs;

use serde_json::{Value, json};

use crate::scene::{
    call, events, only_run, parsed, play, project, refused_code, runs, say, scene, script, texts,
};

/// The question of the README, for the small project.
const QUESTION: &str = "Where is the weight limit enforced?";

/// N4, D1, D2: the README's command gives a typed answer that says what answered, with evidence that
/// is really there.
#[test]
fn the_question_of_the_readme_is_answered_with_evidence_that_is_there() {
    let env = project();
    let outcome = env
        .run([
            "run",
            "--model",
            "scout",
            "--preset",
            "read-only",
            "--json",
            QUESTION,
        ])
        .expect_code(0);
    let result = parsed(&outcome);
    assert_eq!(result["status"], "ok");
    assert_eq!(result["model"], "scout");
    assert_eq!(result["model_label"], "scout");
    let evidence = result["evidence"].as_array().unwrap();
    assert!(!evidence.is_empty(), "{outcome}");
    for piece in evidence {
        let path = env.workspace().join(piece["path"].as_str().unwrap());
        let text = fs::read_to_string(&path).unwrap();
        let number = usize::try_from(piece["line"].as_u64().unwrap()).unwrap();
        let line = text.lines().nth(number - 1).unwrap();
        let quote = piece["quote"].as_str().unwrap();
        assert!(line.contains(quote.trim()), "{piece}: {line}");
    }
    let places: Vec<&str> = evidence
        .iter()
        .map(|piece| piece["path"].as_str().unwrap())
        .collect();
    assert!(places.contains(&"src/limits.rs"), "{places:?}");
    assert!(
        !places.iter().any(|place| place.starts_with("target")),
        "{places:?}"
    );
}

/// D2, N4: in words, the answer says in its first line that no language model was used, and piped
/// it holds no escape sequence.
#[test]
fn in_words_the_answer_says_first_that_no_language_model_was_used() {
    let env = project();
    let outcome = env
        .run(["run", "--model", "scout", "--preset", "read-only", QUESTION])
        .expect_code(0);
    let first = outcome.out().lines().next().unwrap();
    assert_eq!(first, "ok · code search, no language model was used");
    assert!(outcome.out().contains("\n  src/limits.rs:"), "{outcome}");
    let unwrapped = outcome.out().replace('\n', " ");
    let last = " · boundary namespaces+landlock+seccomp · run ";
    assert!(unwrapped.contains(last), "{outcome}");
    assert!(
        !outcome.stdout.contains(&0x1b) && !outcome.stderr.contains(&0x1b),
        "{outcome}"
    );
    // What happens on the way is told on standard error, a line each.
    let told = outcome.err();
    assert!(
        told.contains(" · read-only · scout (code search, no language model was used) · "),
        "{told}"
    );
    assert!(
        told.contains("\nboundary namespaces+landlock+seccomp\n"),
        "{told}"
    );
    assert!(told.contains("\n#1 grep "), "{told}");
}

/// A1, X2, B4: the receipt goes from what was asked to what was used, with the level and what the
/// self-test saw.
#[test]
fn the_receipt_says_asked_granted_enforced_and_used() {
    let env = project();
    let outcome = env
        .run([
            "run",
            "--model",
            "scout",
            "--preset",
            "read_only",
            "--quiet",
            "--receipt",
            QUESTION,
        ])
        .expect_code(0);
    assert_eq!(outcome.err(), "");
    let text = outcome.out();
    let at = |word: &str| {
        text.find(word)
            .unwrap_or_else(|| panic!("no {word:?}\n{text}"))
    };
    let order = ["asked", "granted", "enforced", "used"].map(|word| at(&format!("\n{word}")));
    assert!(order.is_sorted(), "{text}");
    let kept: Value =
        serde_json::from_slice(&fs::read(only_run(&env).join("result.json")).unwrap()).unwrap();
    let receipt = &kept["receipt"];
    assert_eq!(receipt["asked"]["preset"], "read_only");
    assert_eq!(
        texts(&receipt["granted"]["tools"]),
        ["read", "ls", "find", "grep"]
    );
    assert_eq!(texts(&receipt["granted"]["write"]), [""; 0]);
    assert_eq!(receipt["enforced"]["level"], "namespaces+landlock+seccomp");
    let probes = receipt["enforced"]["self_test"].as_array().unwrap();
    assert_eq!(probes.len(), 4);
    assert!(
        probes.iter().all(|probe| probe["outcome"] == "stopped"),
        "{receipt:#}"
    );
    assert_eq!(receipt["used"]["tool_calls"], kept["usage"]["tool_calls"]);
}

/// D2: the object that `--json` prints, and nothing beside it.
#[test]
fn json_is_the_result_object() {
    let env = project();
    let answer = json!({
        "summary": "It is 31.5 kg.",
        "evidence": [{ "path": "src/limits.rs", "line": 4, "note": "the limit", "quote": "31_500" }],
    });
    let turns = json!([
        call("read", json!({ "path": "src/limits.rs" })),
        say(&answer.to_string())
    ]);
    let played = play(&env, turns, &[]);
    played.ended("ok", 0);
    assert_eq!(played.outcome.err(), "");
    let mut result = played.result;
    let receipt = result["receipt"].take();
    let mut keys: Vec<&String> = receipt.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        ["asked", "enforced", "granted", "ledger", "run", "used"]
    );
    result["model"] = "script:FILE".into();
    let text = format!("{:#}", sorted(result));
    let text = text.replace(receipt["run"].as_str().unwrap(), "[RUN]");
    insta::assert_snapshot!(env.redact(&text), @r#"
    {
      "changes": [],
      "checks": [],
      "evidence": [
        {
          "line": 4,
          "note": "the limit",
          "path": "src/limits.rs",
          "quote": "31_500"
        }
      ],
      "model": "script:FILE",
      "model_label": "scripted",
      "receipt": null,
      "run": "[RUN]",
      "status": "ok",
      "summary": "It is 31.5 kg.",
      "usage": {
        "cached_input_tokens": 0,
        "changed_files": 0,
        "commands": 0,
        "cost_micros": null,
        "exhausted": null,
        "input_tokens": 0,
        "limits": {
          "changed_files": 0,
          "commands": 0,
          "cost_micros": 500000,
          "idle_seconds": 120,
          "output_bytes": 1048576,
          "tokens": 500000,
          "tool_calls": 100,
          "turns": 30,
          "wall_seconds": 600
        },
        "output_bytes": 111,
        "output_tokens": 0,
        "refused_calls": 0,
        "tool_calls": 1,
        "turns": 2,
        "wall_ms":"[TIME]"
      },
      "warnings": []
    }
    "#);
}

/// The same value with its keys in order: other crates choose whether objects keep theirs.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            let fields = fields.into_iter();
            Value::Object(fields.map(|(key, value)| (key, sorted(value))).collect())
        }
        other => other,
    }
}

/// D1: the prompt comes from standard input, where it isn't given or is `-`.
#[test]
fn the_prompt_is_read_from_standard_input() {
    let env = project();
    let model = script(&env, &json!({ "turns": [say("Heard.")] }));
    for dash in [&["-"][..], &[]] {
        let arguments = ["run", "--preset", "read-only", "--json", "--model", &model];
        let outcome = env
            .call(arguments.iter().chain(dash))
            .stdin("Find the weight limit, said the pipe.\n")
            .run()
            .expect_code(0);
        assert_eq!(parsed(&outcome)["summary"], "Heard.");
    }
    for run in runs(&env) {
        let transcript = fs::read_to_string(run.join("transcript.json")).unwrap();
        assert!(transcript.contains("said the pipe"), "{transcript}");
    }
}

/// S4, S12: a dry run shows the grant and the boundary and starts nothing: not even a folder is left.
#[test]
fn a_dry_run_shows_the_grant_and_starts_nothing() {
    let env = project();
    let base = [
        "run",
        "--model",
        "scout",
        "--preset",
        "read-only",
        "--dry-run",
    ];
    let outcome = env.run(base.iter().chain(&[QUESTION])).expect_code(0);
    let text = env.redact(outcome.out());
    assert!(
        text.starts_with("Would start a child; nothing was started.\n"),
        "{text}"
    );
    for row in [
        "  model     scout (code search, no language model was used)\n",
        "  preset    read-only (mode explore)\n",
        "  folder    [WORKSPACE]\n",
        "  tools     read, ls, find, grep\n",
        "  reads     [WORKSPACE]\n",
        "  writes    none\n",
        "  hosts     none\n",
        "turns 30, tool_calls 100, commands 0, wall_seconds 600",
        "  boundary  namespaces+landlock+seccomp (planned",
        "  question  none",
    ] {
        assert!(text.contains(row), "no {row:?} in\n{text}");
    }
    let outcome = env
        .run(base.iter().chain(&["--json", QUESTION]))
        .expect_code(0);
    let plan = parsed(&outcome);
    assert_eq!(plan["status"], "planned");
    assert_eq!(plan["question"], Value::Null);
    assert_eq!(plan["boundary"]["level"], "namespaces+landlock+seccomp");
    assert!(!env.state().exists(), "a dry run left something behind");
}

/// D3, S4: presets that write need a person's yes, in either spelling, and the default is one of them;
/// what never was is unknown. Nothing is started.
#[test]
fn presets_that_write_need_a_yes() {
    let env = project();
    for (preset, code) in [
        ("general", "confirmation_needed"),
        ("workspace-write", "confirmation_needed"),
        ("workspace_write", "confirmation_needed"),
        ("full_parent_tools", "parent_missing"),
        ("root", "unknown_preset"),
        ("exec", "unknown_preset"),
        ("", "unknown_preset"),
    ] {
        let outcome = env
            .run(["run", "--model", "scout", "--preset", preset, QUESTION])
            .expect_code(2);
        assert_eq!(refused_code(&outcome), code, "{preset}");
    }
    let outcome = env
        .run(["run", "--model", "scout", QUESTION])
        .expect_code(2);
    assert_eq!(refused_code(&outcome), "confirmation_needed");
    assert!(runs(&env).is_empty());
}

/// N4, D6: without a model there is `no_model` with the fixes, and none stands in silently.
#[test]
fn models_that_are_not_there() {
    let env = project();
    let run = |model: &[&str]| {
        let arguments = ["run", "--preset", "read-only", QUESTION];
        env.run(arguments.iter().chain(model)).expect_code(2)
    };
    let outcome = run(&[]);
    assert_eq!(refused_code(&outcome), "no_model");
    assert!(outcome.err().contains("--model scout"), "{outcome}");
    for (model, code) in [
        ("anthropic:claude", "key_missing"),
        ("other:llama3", "provider_unknown"),
        ("gpt", "model_name"),
        ("script:/nowhere", "model_script"),
        ("script:/dev/null", "model_script"),
    ] {
        assert_eq!(refused_code(&run(&["--model", model])), code, "{model}");
    }
    let json = run(&["--model", "gpt", "--json"]);
    assert_eq!(json.err(), "");
    let object = parsed(&json);
    assert_eq!(object["status"], "refused");
    for key in ["code", "field", "reason", "fix"] {
        assert!(
            object["error"][key]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{object}"
        );
    }
    assert!(runs(&env).is_empty());
}

/// D2: an empty final text is an error, never ok.
#[test]
fn an_empty_final_text_is_an_error() {
    let env = project();
    for last in [json!({ "stop": "finished" }), say(" \n\t")] {
        let played = play(&env, json!([call("ls", json!({})), last]), &[]);
        played.ended("error", 1);
        assert!(
            played.warnings().contains("empty_result"),
            "{}",
            played.outcome
        );
    }
}

/// D2: a model that fails is an error that names its code; what the run had is kept.
#[test]
fn a_model_that_fails_is_an_error_with_what_there_was() {
    let env = project();
    for code in ["unavailable", "refused", "malformed", "cut"] {
        let error = json!({ "error": { "code": code, "message": "no\u{1b}[31m luck" } });
        let turns = json!([call("read", json!({ "path": "src/limits.rs" })), error]);
        let played = play(&env, turns, &[]);
        played.ended("error", 1);
        assert!(
            !played.result["evidence"].as_array().unwrap().is_empty(),
            "{code}"
        );
        assert!(played.warnings().contains("luck"), "{}", played.outcome);
    }
}

/// D2: evidence that isn't there is dropped with a warning, a line that is wrong is put right.
#[test]
fn evidence_is_looked_up_before_anybody_sees_it() {
    let env = project();
    let answer = json!({
        "summary": "Four claims, of which two hold.",
        "evidence": [
            { "path": "src/limits.rs", "line": 4, "quote": "MAX_WEIGHT" },
            { "path": "src/limits.rs", "line": 5, "quote": "pub const MAX_WEIGHT" },
            { "path": "src/limits.rs", "line": 4, "quote": "nobody wrote this" },
            { "path": "src/nowhere.rs", "line": 1 },
            { "path": "src/limits.rs", "line": 4000 },
            { "path": "../workspace-of-another/x", "line": 1 },
            { "path": "/etc/passwd", "line": 1, "quote": "root" },
            { "path": ".env", "line": 1, "quote": "PARCEL_TOKEN" },
        ],
    });
    let played = play(&env, json!([say(&answer.to_string())]), &[]);
    played.ended("ok", 0);
    let kept: Vec<(&str, u64)> = played.result["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .map(|piece| {
            (
                piece["path"].as_str().unwrap(),
                piece["line"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(kept, [("src/limits.rs", 4), ("src/limits.rs", 4)]);
    let warnings = played.warnings();
    assert!(
        warnings.contains("evidence 2: src/limits.rs:5: the quote is on line 4"),
        "{warnings}"
    );
    for number in 3..=8 {
        assert!(
            warnings.contains(&format!("evidence {number}: ")),
            "{number}\n{warnings}"
        );
    }
}

/// A1: the ledger tells the run's whole story, each call with verdict, rule and outcome.
#[test]
fn the_ledger_holds_the_story_of_a_run() {
    let env = project();
    let turns = json!([
        call("read", json!({ "path": "src/lib.rs" })),
        call("bash", json!({ "command": "true" })),
        say("Done."),
    ]);
    play(&env, turns, &[]).ended("ok", 0);
    let events = events(&only_run(&env));
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "ledger.opened",
            "run.started",
            "grant",
            "model.turn",
            "boundary",
            "call.decided",
            "call.finished",
            "model.turn",
            "call.decided",
            "model.turn",
            "run.finished",
        ]
    );
    let decided: Vec<(&str, &str)> = events
        .iter()
        .filter(|event| event["kind"] == "call.decided")
        .map(|event| {
            (
                event["data"]["verdict"].as_str().unwrap(),
                event["data"]["rule"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        decided,
        [("allow", "read.allowed"), ("deny", "tool.not_granted")]
    );
}

/// D1: help and version are no errors; a call without anything shows the help and is one.
#[test]
fn help_and_version() {
    let env = scene();
    let help = env.run(["--help"]).expect_code(0);
    for command in ["run", "exec", "doctor", "audit", "explain", "completions"] {
        assert!(help.out().contains(&format!("\n  {command}")), "{help}");
    }
    let version = env.run(["--version"]).expect_code(0);
    assert_eq!(
        version.out(),
        concat!("deputize ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let _ = env.run([""; 0]).expect_code(2);
    let run = env.run(["run", "--help"]).expect_code(0);
    assert!(run.out().contains("4 budget exhausted"), "{run}");
    let _ = env.run(["run", "--no-such-option"]).expect_code(2);
}
