//! Runs that write to the folder itself, looked at and taken back (C3, C4).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use deputize_testkit::{SmallDisk, TestEnv, until};
use rustix::process::Signal;
use serde_json::json;

use crate::copies::{ordinary, project, refused, snapshot, well};
use crate::scene::{call, events, only_run, parsed, say, script, texts};

const DIRECT: [&str; 5] = ["run", "--workspace", "direct", "--allow", "shell,write"];

/// A run in the folder itself whose child ran these commands; how it is named.
#[track_caller]
fn after(env: &TestEnv, commands: &str) -> (String, serde_json::Value) {
    let bash = call("bash", json!({ "command": commands }));
    let model = script(env, &json!({ "turns": [bash, say("Done.")] }));
    let mut arguments = DIRECT.to_vec();
    arguments.extend(["--json", "--model", &model, "Do it."]);
    let result = parsed(&env.run(arguments).expect_code(0));
    let run = result["run"].as_str().unwrap();
    (run[run.len() - 8..].to_owned(), result)
}

fn text(env: &TestEnv, path: &str) -> String {
    fs::read_to_string(env.workspace().join(path)).unwrap()
}

/// C4: what commands changed in the folder itself is listed, shown, and taken back as one change; for
/// an ordinary user too.
#[test]
fn what_was_written_directly_is_taken_back() {
    for env in [Some(project()), ordinary()].into_iter().flatten() {
        env.lay(|tree| {
            tree.file("a.txt", "one\n").file("d/x", "x\n");
        });
        let before = snapshot(&env);
        let (run, result) = after(&env, "echo two >> a.txt; rm -r d; mkdir n; echo n > n/new");
        let listed = result["changes"].as_array().unwrap().iter();
        let listed: Vec<_> = listed
            .map(|change| {
                (
                    change["kind"].as_str().unwrap(),
                    change["path"].as_str().unwrap(),
                )
            })
            .collect();
        let expected = [
            ("modified", "a.txt"),
            ("deleted", "d"),
            ("deleted", "d/x"),
            ("created", "n/new"),
        ];
        assert_eq!(listed, expected);
        assert_eq!(text(&env, "a.txt"), "one\ntwo\n");
        let shown = env.run(["diff", &run]).expect_code(0);
        for part in ["+two", "n/new", "All of it is in the folder itself"] {
            assert!(shown.out().contains(part), "no {part:?} in {shown}");
        }
        refused(
            &env.run(["apply", &run, "--yes", "--json"]),
            "written_directly",
        );
        let outcome = env.run(["undo", &run, "--yes"]).expect_code(0);
        assert!(!outcome.out().contains("The copy"), "{outcome}");
        assert_eq!(snapshot(&env), before);
        refused(
            &env.run(["undo", &run, "--yes", "--json"]),
            "nothing_to_undo",
        );
        let kinds: Vec<_> = events(&only_run(&env))
            .into_iter()
            .map(|event| event["kind"].as_str().unwrap().to_owned())
            .collect();
        assert!(
            kinds.ends_with(&["copy.undo_begun".into(), "copy.undone".into()]),
            "{kinds:?}"
        );
    }
}

/// C4: what a killed run wrote is taken back too, also when it was killed in the middle of a command.
#[test]
fn what_a_killed_run_wrote_is_taken_back() {
    let env = project();
    let before = snapshot(&env);
    let bash = call(
        "bash",
        json!({ "command": "echo child > a.txt; rm b.txt; sleep 60" }),
    );
    let model = script(&env, &json!({ "turns": [bash, say("Done.")] }));
    let mut arguments = DIRECT.to_vec();
    arguments.extend(["--json", "--model", &model, "Do it."]);
    let mut running = env.call(arguments).start();
    until("the child writes", || {
        (!env.workspace().join("b.txt").exists()).then_some(())
    });
    let run = only_run(&env);
    let run = run.file_name().unwrap().to_str().unwrap();
    assert_eq!(
        env.run(["diff", run, "--name-only"]).out(),
        "a.txt\nb.txt\n"
    );
    refused(&env.run(["undo", run, "--yes", "--json"]), "run_lives");
    running.signal(Signal::KILL);
    assert!(running.wait().signal().is_some());
    until("the run is over", || {
        let outcome = env.run(["undo", run, "--yes", "--json"]);
        (outcome.code() == Some(0)).then_some(())
    });
    assert_eq!(snapshot(&env), before);
}

/// C4: what a run closed to its owner could be anything: nothing of what was kept goes, not by a sweep
/// either, and the undo does its work once it can be read.
#[test]
fn what_a_run_closed_is_not_given_up() {
    for closing in [
        "chmod 000 d",
        "chmod 000 d/x",
        "mkdir n; echo n > n/n; chmod 000 n",
    ] {
        let Some(env) = ordinary() else { return };
        env.lay(|tree| {
            tree.file("d/x", "precious\n");
        });
        let before = snapshot(&env);
        let (run, result) = after(&env, &format!("echo evil > d/x; {closing}"));
        let warnings = texts(&result["warnings"]).join("\n");
        assert!(warnings.contains("can't be read any more"), "{warnings}");
        refused(
            &env.run(["undo", &run, "--yes", "--json"]),
            "unreadable_now",
        );
        well(&env, &["gc"]);
        for (name, mode) in [("d", 0o755), ("d/x", 0o644), ("n", 0o755)] {
            let path = env.workspace().join(name);
            if path.exists() {
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        well(&env, &["undo", &run, "--yes"]);
        assert_eq!(snapshot(&env), before, "{closing}");
    }
}

/// C4: nothing is kept where nothing was changed, and what was kept goes with a word about what stays.
#[test]
fn what_would_undo_it_is_thrown_away_with_a_word() {
    let env = project();
    let (run, result) = after(&env, "cat a.txt");
    assert_eq!(texts(&result["warnings"]), [""; 0]);
    refused(&env.run(["diff", &run, "--json"]), "no_copy");
    let env = project();
    let (run, _) = after(&env, "echo child > a.txt");
    let outcome = env.run(["discard", &run, "--yes"]).expect_code(0);
    assert!(
        outcome.out().contains("can't be undone any more"),
        "{outcome}"
    );
    assert_eq!(text(&env, "a.txt"), "child\n");
    refused(&env.run(["undo", &run, "--yes", "--json"]), "no_copy");
}

/// C4: a run whose writes couldn't be taken back doesn't write: the disk is too full for what the folder
/// holds.
#[test]
fn without_room_for_what_was_nothing_is_written() {
    let env = project();
    let Some(disk) = SmallDisk::mount(1_024) else {
        return;
    };
    fs::write(env.workspace().join("large"), vec![7; 4 << 20]).unwrap();
    let before = snapshot(&env);
    let bash = call("bash", json!({ "command": "echo child > a.txt" }));
    let model = script(&env, &json!({ "turns": [bash, say("Done.")] }));
    let mut arguments = DIRECT.to_vec();
    arguments.extend(["--json", "--model", &model, "Do it."]);
    let outcome = env.call(arguments).env("XDG_STATE_HOME", disk.path()).run();
    assert_eq!(outcome.code(), Some(1), "{outcome}");
    assert!(outcome.out().contains("No space left"), "{outcome}");
    assert_eq!(snapshot(&env), before);
}
