//! `deputize audit`: ledgers, receipts, and damage that is found (A1, A2).

use std::fs;
use std::path::{Path, PathBuf};

use deputize_testkit::TestEnv;
use serde_json::{Value, json};

use crate::scene::{call, only_run, parsed, play, project, refused_code, say, scene};

/// A project with one run that looked at a file and answered; its folder and its id.
fn with_a_run() -> (TestEnv, PathBuf, String) {
    let env = project();
    let turns = json!([
        call("read", json!({ "path": "src/limits.rs" })),
        say("See src/limits.rs:4.")
    ]);
    play(&env, turns, &[]).ended("ok", 0);
    let run = only_run(&env);
    let id = run.file_name().unwrap().to_str().unwrap().to_owned();
    (env, run, id)
}

/// A2: a ledger as it was written is intact, by whole id, by either end of it, or all of them.
#[test]
fn a_ledger_as_written_is_intact() {
    let (env, run, id) = with_a_run();
    for typed in [id.as_str(), &id[..12], &id[24..]] {
        let outcome = env.run(["audit", "verify", typed]).expect_code(0);
        assert!(outcome.out().contains("the chain holds"), "{outcome}");
        assert!(
            outcome.out().contains("not a rewrite by the same user"),
            "{outcome}"
        );
    }
    let all = parsed(&env.run(["audit", "verify", "--json"]).expect_code(0));
    assert_eq!(all.as_array().unwrap().len(), 1);
    assert_eq!(all[0]["run"], Value::from(id));
    assert_eq!(all[0]["fault"], Value::Null);
    // The head in the result is the ledger's.
    let result: Value =
        serde_json::from_slice(&fs::read(run.join("result.json")).unwrap()).unwrap();
    assert_eq!(result["receipt"]["ledger"], all[0]["head"]);
    // A copy elsewhere can be checked as a file.
    let copy = env.root().join("copy.jsonl");
    fs::copy(run.join("ledger.jsonl"), &copy).unwrap();
    env.give();
    let _ = env
        .run(["audit", "verify", copy.to_str().unwrap()])
        .expect_code(0);
}

/// A2: one byte that was changed is found, wherever it stands.
#[test]
fn one_changed_byte_is_found() {
    let (env, run, id) = with_a_run();
    let ledger = run.join("ledger.jsonl");
    let whole = fs::read(&ledger).unwrap();
    // A spread of places, the first and the last among them.
    for at in (0..8).map(|step| step * (whole.len() - 2) / 7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&ledger, &bytes).unwrap();
        let outcome = env.run(["audit", "verify", &id]).expect_code(1);
        assert!(outcome.out().contains("BROKEN at "), "byte {at}: {outcome}");
        let report = parsed(&env.run(["audit", "verify", "--json"]).expect_code(1));
        assert_ne!(report[0]["fault"], Value::Null, "byte {at}");
    }
    fs::write(&ledger, &whole).unwrap();
    let _ = env.run(["audit", "verify", &id]).expect_code(0);
}

fn cut(ledger: &Path, bytes: usize) {
    let whole = fs::read(ledger).unwrap();
    fs::write(ledger, &whole[..whole.len() - bytes]).unwrap();
}

/// A2: a torn tail is what a crash leaves, and no damage.
#[test]
fn a_torn_tail_is_no_damage() {
    let (env, run, id) = with_a_run();
    cut(&run.join("ledger.jsonl"), 10);
    let outcome = env.run(["audit", "verify", &id]).expect_code(0);
    assert!(outcome.out().contains("torn tail: "), "{outcome}");
    let shown = env.run(["audit", "show", &id]).expect_code(0);
    assert!(
        shown.out().contains("run.started") && !shown.out().contains("run.finished"),
        "{shown}"
    );
}

/// A2: whole events that were cut off don't show in the chain; a head that was kept elsewhere tells.
#[test]
fn a_kept_head_tells_of_a_cut_or_rewritten_ledger() {
    let (env, run, id) = with_a_run();
    let report = parsed(&env.run(["audit", "verify", &id, "--json"]).expect_code(0));
    let head = report[0]["head"]
        .as_str()
        .map(str::to_owned)
        .unwrap_or_else(|| {
            format!(
                "{}:{}",
                report[0]["head"]["seq"],
                report[0]["head"]["hash"].as_str().unwrap()
            )
        });
    let outcome = env
        .run(["audit", "verify", &id, "--head", &head])
        .expect_code(0);
    assert!(
        outcome.out().contains("the kept head is part of it"),
        "{outcome}"
    );
    let wrong = format!("{}:{}", head.split(':').next().unwrap(), "0".repeat(64));
    let outcome = env
        .run(["audit", "verify", &id, "--head", &wrong])
        .expect_code(1);
    assert!(outcome.out().contains("REWRITTEN"), "{outcome}");
    let ledger = run.join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap();
    let last = text.lines().last().unwrap().len() + 1;
    cut(&ledger, last);
    let _ = env.run(["audit", "verify", &id]).expect_code(0);
    let outcome = env
        .run(["audit", "verify", &id, "--head", &head])
        .expect_code(1);
    assert!(outcome.out().contains("CUT"), "{outcome}");
    for typed in ["x", "1", "1:", ":", "1:xyz"] {
        let outcome = env
            .run(["audit", "verify", &id, "--head", typed])
            .expect_code(2);
        assert_eq!(refused_code(&outcome), "usage", "{typed}");
    }
}

/// A1: what `show` gives: the list, a run's events, its receipt, each in words and as JSON.
#[test]
fn runs_events_and_receipts_are_shown() {
    let (env, _, id) = with_a_run();
    let list = env.run(["audit", "show"]).expect_code(0);
    assert!(
        list.out().contains(&id[24..])
            && list.out().contains("  ok ")
            && list.out().contains("  read-only "),
        "{list}"
    );
    let rows = parsed(&env.run(["audit", "show", "--json"]).expect_code(0));
    assert_eq!(rows[0]["state"], "ok");
    assert_eq!(
        rows[0]["cwd"],
        Value::from(env.workspace().canonicalize().unwrap().to_str().unwrap())
    );
    let words = env.run(["audit", "show", &id]).expect_code(0);
    let kinds = [
        "run.started",
        "grant",
        "boundary",
        "call.decided",
        "call.finished",
        "run.finished",
    ];
    for kind in kinds {
        assert!(words.out().contains(kind), "no {kind}: {words}");
    }
    let lines = env.run(["audit", "show", &id, "--json"]).expect_code(0);
    let events: Vec<Value> = lines
        .out()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events.first().unwrap()["kind"], "ledger.opened");
    assert_eq!(events.last().unwrap()["kind"], "run.finished");
    assert!(
        (0..)
            .zip(&events)
            .all(|(number, event)| event["seq"] == number)
    );
    let receipt = env.run(["audit", "show", &id, "--receipt"]).expect_code(0);
    assert!(
        receipt.out().contains("namespaces+landlock+seccomp"),
        "{receipt}"
    );
    let receipt = parsed(
        &env.run(["audit", "show", &id, "--receipt", "--json"])
            .expect_code(0),
    );
    assert_eq!(receipt["run"], Value::from(id));
}

/// H7: an id is a piece of hexadecimal and nothing else: no path, no name, no run of another.
#[test]
fn what_is_no_id_is_refused() {
    let (env, run, _) = with_a_run();
    fs::write(
        env.state().join("deputize/ledger.jsonl"),
        fs::read(run.join("ledger.jsonl")).unwrap(),
    )
    .unwrap();
    env.give();
    for typed in ["ffffffffffff", "..", ".", "", "x", "*", "\u{1b}[31m"] {
        for command in ["verify", "show"] {
            let outcome = env.run(["audit", command, typed]).expect_code(2);
            assert_eq!(refused_code(&outcome), "run_not_found", "{typed:?}");
            assert!(!outcome.stderr.contains(&0x1b), "{outcome}");
        }
    }
    for typed in [
        "../..",
        "../ledger",
        "/etc/passwd",
        "../../../../etc/passwd",
    ] {
        let outcome = env.run(["audit", "show", typed]).expect_code(2);
        assert_eq!(refused_code(&outcome), "run_not_found", "{typed}");
    }
}

/// A1: without runs there is nothing to show, which is no error.
#[test]
fn without_runs_there_is_nothing_to_show() {
    let env = scene();
    for command in ["verify", "show"] {
        let outcome = env.run(["audit", command]).expect_code(0);
        assert_eq!(outcome.out(), "There are no runs.\n");
        assert_eq!(
            parsed(&env.run(["audit", command, "--json"]).expect_code(0)),
            json!([])
        );
    }
    assert!(!env.state().exists());
}

/// A2: a file that is no ledger is said to be none.
#[test]
fn what_is_no_ledger_is_broken() {
    let (env, run, id) = with_a_run();
    for bytes in [
        &b"nonsense\n"[..],
        b"{}\n",
        b"\xff\xfe\n",
        &[b'x'; 2 << 20],
        b"\n",
    ] {
        fs::write(run.join("ledger.jsonl"), bytes).unwrap();
        let outcome = env.run(["audit", "verify", &id]);
        // A line that never ends is a torn tail of an empty ledger, or too long: both are told.
        assert!(
            outcome.code() == Some(1) || outcome.out().contains("torn tail"),
            "{outcome}"
        );
        let shown = env.run(["audit", "show", &id]);
        assert!(shown.code().is_some_and(|code| code < 2), "{shown}");
    }
}

/// A2: a ledger that can't be opened keeps nobody from looking at the others, and every line says
/// which run it is about.
#[test]
fn every_ledger_is_verified_whatever_the_others_are_like() {
    let (env, run, id) = with_a_run();
    let _ = env.run(["exec", "--", "true"]).expect_code(0);
    let all = env.run(["audit", "verify"]).expect_code(0);
    assert!(
        all.out().contains(&format!("{id}  the chain holds, ")),
        "{all}"
    );
    assert!(
        all.out().contains("2 intact, 0 broken, 0 not read\n"),
        "{all}"
    );
    fs::remove_file(run.join("ledger.jsonl")).unwrap();
    let all = env.run(["audit", "verify"]).expect_code(1);
    assert!(all.out().contains(&format!("{id}  NOT READ: ")), "{all}");
    assert!(
        all.out().contains("1 intact, 0 broken, 1 not read\n"),
        "{all}"
    );
    let list = env.run(["audit", "show"]).expect_code(0);
    assert!(list.out().contains("unreadable"), "{list}");
}

/// A3: a command has no receipt, which is said as it is.
#[test]
fn a_command_has_no_receipt_and_that_is_said() {
    let env = project();
    let _ = env.run(["exec", "--", "true"]).expect_code(0);
    let run = only_run(&env);
    let id = run.file_name().unwrap().to_str().unwrap();
    let outcome = env.run(["audit", "show", id, "--receipt"]);
    assert!(outcome.err().contains("it is a command's"), "{outcome}");
}
