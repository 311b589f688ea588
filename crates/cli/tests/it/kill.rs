//! The program is killed in the middle: nothing is left running, and what was written holds (B5, A2).

use std::fs;
use std::path::Path;

use deputize_testkit::{Tree, alive, processes_naming, until};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::{call, descendants, events, only_run, parsed, project, say, scene, script};

/// B5, A2: kill -9 in the middle of a run: no process is left, the ledger is intact or torn at its
/// end, and the run is known as one whose host was lost.
#[test]
fn a_killed_run_leaves_no_process_and_an_intact_ledger() {
    let env = project();
    let turns = json!([
        call("read", json!({ "path": "src/limits.rs" })),
        { "text": "never said", "delay_ms": 3_600_000 },
    ]);
    let model = script(&env, &json!({ "turns": turns }));
    let mut running = env
        .call(["run", "--preset", "read-only", "--model", &model, "Wait."])
        .start();
    running.until_said("#1 read ");
    let run = only_run(&env);
    until("the call has ended", || {
        events(&run)
            .iter()
            .any(|event| event["kind"] == "call.finished")
            .then_some(())
    });
    let id = run.file_name().unwrap().to_str().unwrap().to_owned();
    let state = |expected: &str| {
        let rows = parsed(&env.run(["audit", "show", "--json"]).expect_code(0));
        assert_eq!(rows[0]["state"], Value::from(expected));
    };
    state("running");
    let below = descendants(running.id());
    assert!(below.len() >= 2, "no boundary stands: {below:?}");
    running.signal(Signal::KILL);
    let outcome = running.wait();
    assert_eq!(outcome.signal(), Some(9));
    assert!(!outcome.streams_held, "something outlived it");
    until("everything below it is gone", || {
        below.iter().all(|id| !alive(*id)).then_some(())
    });
    let verified = env.run(["audit", "verify", &id]).expect_code(0);
    assert!(verified.out().contains("the chain holds"), "{verified}");
    state("host_lost");
    let receipt = env.run(["audit", "show", &id, "--receipt"]).expect_code(2);
    assert!(
        receipt
            .err()
            .contains("its supervisor ended before it had one"),
        "{receipt}"
    );
    // The next run isn't disturbed by what is left.
    let model = script(&env, &json!({ "turns": [say("On.")] }));
    let _ = env
        .run(["run", "--preset", "read-only", "--model", &model, "Go."])
        .expect_code(0);
}

/// B5: kill -9 of `exec` ends the whole tree, whatever it does to stay.
#[test]
fn a_killed_command_takes_its_whole_tree_along() {
    let env = scene();
    let mark = format!("54324.{}", std::process::id());
    let script = format!(
        "trap '' TERM HUP INT; (setsid sleep {mark} &); (setsid sh -c 'trap \"\" TERM; sleep {mark}; true' &); nohup sleep {mark} & \
         while [ $(cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -cx {mark}) -lt 3 ]; do sleep 0.02; done; echo ready; sleep {mark}"
    );
    let mut running = env.call(["exec", "--", "sh", "-c", &script]).start();
    running.until_said("ready");
    assert!(processes_naming(&mark).len() >= 4);
    running.signal(Signal::KILL);
    let outcome = running.wait();
    assert_eq!(outcome.signal(), Some(9));
    until("the tree is gone", || {
        processes_naming(&mark)
            .iter()
            .all(|id| !alive(*id))
            .then_some(())
    });
}

/// B5: TERM ends a run in order: with a result, a code and a whole ledger.
#[test]
fn a_terminated_run_still_has_a_result() {
    let env = project();
    let turns = json!([
        call("read", json!({ "path": "src/limits.rs" })),
        { "text": "never said", "delay_ms": 3_600_000 },
    ]);
    let model = script(&env, &json!({ "turns": turns }));
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut running = env
            .call(["run", "--preset", "read-only", "--model", &model, "Wait."])
            .start();
        running.until_said("#1 read ").signal(signal);
        let outcome = running.wait().expect_code(130);
        assert!(
            outcome
                .out()
                .starts_with("cancelled · scripted, no language model\n"),
            "{outcome}"
        );
        assert!(!outcome.streams_held);
    }
    let all = env.run(["audit", "verify"]).expect_code(0);
    assert!(!all.out().contains("torn"), "{all}");
    let rows = parsed(&env.run(["audit", "show", "--json"]).expect_code(0));
    assert!(
        rows.as_array()
            .unwrap()
            .iter()
            .all(|row| row["state"] == "cancelled"),
        "{rows}"
    );
}

/// S12: a result that nobody reads any more ends the program quietly, and is kept.
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let env = project();
    let model = script(&env, &json!({ "turns": [say("Nobody reads this.")] }));
    let mut command = env.command(env!("CARGO_BIN_EXE_deputize"));
    let mut child = command
        .args([
            "run",
            "--preset",
            "read-only",
            "--quiet",
            "--model",
            &model,
            "Go.",
        ])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(only_run(&env).join("result.json").exists());
}

/// B5, A2: nothing of a run is left before a word about its end is written: while the writing of the
/// transcript is held up, the processes are gone, and neither ledger nor result knows of an end.
#[test]
fn the_end_is_written_when_the_processes_are_gone() {
    let env = project();
    let turns = json!([
        call("read", json!({ "path": "src/limits.rs" })),
        { "text": "never said", "delay_ms": 3_600_000 },
    ]);
    let model = script(&env, &json!({ "turns": turns }));
    let mut running = env
        .call(["run", "--preset", "read-only", "--model", &model, "Wait."])
        .start();
    running.until_said("#1 read ");
    let run = only_run(&env);
    assert!(descendants(running.id()).len() >= 2);
    // Opening a pipe for writing waits until somebody reads from it.
    let pipe = run.join("transcript.json.draft");
    Tree::at(&run).fifo("transcript.json.draft");
    env.give();
    running.signal(Signal::TERM);
    until("everything below it is gone", || {
        descendants(running.id()).is_empty().then_some(())
    });
    assert!(alive(running.id()));
    let ends = |run: &Path| {
        events(run)
            .iter()
            .filter(|event| event["kind"] == "run.finished")
            .count()
    };
    assert_eq!(ends(&run), 0);
    assert!(!run.join("result.json").exists());
    let _ = fs::read(&pipe).unwrap();
    let _ = running.wait().expect_code(130);
    assert_eq!(ends(&run), 1);
    assert!(run.join("result.json").exists());
}
