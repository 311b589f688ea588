//! Bad input of every kind: a clear refusal or an honest result, and nothing lost.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, Instant};

use deputize_testkit::{Outcome, SmallDisk, TestEnv, is_root, odd_names};
use serde_json::{Value, json};

use crate::scene::{call, parsed, play, project, refused_code, runs, say, scene, script, shell};

fn scout(env: &TestEnv, more: &[&str]) -> Outcome {
    let base = ["run", "--model", "scout", "--preset", "read-only"];
    env.run(base.iter().chain(more))
}

/// A result that can't be written is a failure: a script must not take silence for success.
#[test]
fn a_result_that_can_not_be_written_is_a_failure() {
    let env = project();
    let model = script(&env, &json!({ "turns": [say("Lost.")] }));
    let run = [
        "run",
        "--preset",
        "read-only",
        "--quiet",
        "--model",
        &model,
        "Go.",
    ];
    for arguments in [
        &run[..],
        &["doctor", "--json"],
        &["explain", "--tool", "ls"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = env.command(env!("CARGO_BIN_EXE_deputize"));
        let output = command.args(arguments).stdout(full).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(
            told.contains("No space left on device"),
            "{arguments:?}: {told}"
        );
    }
}

/// D1: prompts that are refused, each with its code; escapes in a prompt are fine.
#[test]
fn prompts_that_are_refused() {
    let env = project();
    let long = vec![b'x'; 1 << 20];
    for (prompt, code) in [
        (&b""[..], "prompt_empty"),
        (b" \n\t ", "prompt_empty"),
        (&long, "prompt_too_large"),
        (b"where \xff\xfe is it", "prompt_not_utf8"),
    ] {
        let base = ["run", "--model", "scout", "--preset", "read-only"];
        let outcome = env.call(base).stdin(prompt).run().expect_code(2);
        assert_eq!(refused_code(&outcome), code);
        // The kernel takes no argument of a mebibyte.
        if prompt.len() < 100_000 {
            let arguments = base
                .iter()
                .map(OsStr::new)
                .chain([OsStr::from_bytes(prompt)]);
            let outcome = env.run(arguments).expect_code(2);
            assert_eq!(refused_code(&outcome), code);
        }
    }
    assert!(runs(&env).is_empty());
    let outcome = scout(
        &env,
        &[
            "--json",
            "\u{1b}[31mWhere\u{202e} is the weight limit enforced?\u{7}",
        ],
    )
    .expect_code(0);
    assert!(!outcome.stdout.contains(&0x1b));
    assert_eq!(parsed(&outcome)["status"], "ok");
}

/// N4: questions without a word to look for are answered honestly, and never with made-up evidence.
#[test]
fn questions_that_search_can_not_answer() {
    let env = project();
    for question in ["?", "the of and", "🦀", "\u{200b}", "(((((", "--help", "a"] {
        let outcome = scout(&env, &["--json", "--", question]);
        let result = parsed(&outcome);
        assert!(
            outcome.code().is_some_and(|code| code <= 4),
            "{question}: {outcome}"
        );
        assert!(
            !result["summary"].as_str().unwrap().is_empty(),
            "{question}: {outcome}"
        );
    }
    let empty = scene();
    let result = parsed(&scout(
        &empty,
        &["--json", "Where is the weight limit enforced?"],
    ));
    assert_eq!(result["evidence"], json!([]));
}

/// Full disk: nothing is started, and the error says what to free; nothing is left half-made.
#[test]
fn a_full_disk_starts_nothing() {
    let Some(disk) = SmallDisk::mount(64) else {
        println!("only root can mount a small disk");
        return;
    };
    let env = project();
    fs::create_dir(disk.path().join("deputize")).unwrap();
    fs::write(disk.path().join("ballast"), vec![1; 1 << 20]).unwrap_err();
    let touched = env.workspace().join("touched");
    let full = |arguments: &[&str]| env.call(arguments).env("XDG_STATE_HOME", disk.path()).run();
    let run = full(&[
        "run",
        "--model",
        "scout",
        "--preset",
        "read-only",
        "Where is the weight limit?",
    ])
    .expect_code(1);
    let exec = full(&["exec", "--write", ".", "--", "touch", "touched"]).expect_code(125);
    for outcome in [&run, &exec] {
        let code = refused_code(outcome);
        assert!(
            ["ledger_failed", "state_failed"].contains(&code.as_str()),
            "{outcome}"
        );
        assert!(
            outcome.err().contains("No space left on device"),
            "{outcome}"
        );
        assert!(outcome.err().contains("free space"), "{outcome}");
    }
    assert!(!touched.exists());
    let left = fs::read_dir(disk.path().join("deputize/runs"))
        .map(Iterator::count)
        .unwrap_or(0);
    assert_eq!(left, 0, "folders of runs that never started");
}

/// A disk that fills in the middle: the run ends, its result is printed all the same, and says that
/// the ledger isn't whole.
#[test]
fn a_disk_that_fills_in_the_middle_does_not_take_the_result() {
    let Some(disk) = SmallDisk::mount(256) else {
        println!("only root can mount a small disk");
        return;
    };
    let env = project();
    let turns = json!([
        call("read", json!({ "path": "src/limits.rs" })),
        { "text": "Late.", "delay_ms": 1_500, "calls": [{ "name": "read", "arguments": { "path": "src/lib.rs" } }] },
        say("See src/limits.rs:4."),
    ]);
    let model = script(&env, &json!({ "turns": turns }));
    let mut running = env
        .call(["run", "--preset", "read-only", "--model", &model, "Fill."])
        .env("XDG_STATE_HOME", disk.path())
        .start();
    running.until_said("#1 read ");
    fs::write(disk.path().join("ballast"), vec![1; 1 << 20]).unwrap_err();
    let outcome = running.wait();
    assert!(outcome.out().starts_with("error · scripted"), "{outcome}");
    assert_eq!(outcome.code(), Some(1));
    assert!(outcome.out().contains("ledger"), "{outcome}");
    assert!(
        outcome.out().contains("src/limits.rs"),
        "what was found is lost: {outcome}"
    );
    assert!(outcome.out().contains("this is its only copy"), "{outcome}");
    fs::remove_file(disk.path().join("ballast")).unwrap();
    let verified = env
        .call(["audit", "verify"])
        .env("XDG_STATE_HOME", disk.path())
        .run()
        .expect_code(0);
    assert!(verified.out().contains("the chain holds"), "{verified}");
}

/// A state folder that can't be written is told with its path.
#[test]
fn a_state_folder_without_access() {
    if is_root() {
        println!("root may write everywhere");
        return;
    }
    let env = project();
    for arguments in [
        &[
            "run",
            "--model",
            "scout",
            "--preset",
            "read-only",
            "Where is x?",
        ][..],
        &["exec", "--", "true"],
    ] {
        let outcome = env.call(arguments).env("XDG_STATE_HOME", "/usr").run();
        assert_eq!(refused_code(&outcome), "state_failed");
        assert!(outcome.err().contains("/usr/deputize"), "{outcome}");
    }
}

/// A tree with everything in it that a search could trip over: binary files, a gigabyte, links in
/// circles, pipes that nobody writes to, sockets, odd names, deep folders.
fn hostile(env: &TestEnv) {
    let deep: String = (0..120).map(|_| "deep/").collect();
    env.lay(|tree| {
        tree.small_project()
            .sparse("huge.bin", 1 << 30)
            .sparse("huge.rs", 1 << 30)
            .file("binary.rs", b"weight_limit\0\xff\xfe\0")
            .file("latin1.rs", b"// within_weight_limit \xe9\xe8\n")
            .file("oneline.js", "within_weight_limit;".repeat(200_000))
            .link_loop("around")
            .link("self", "self")
            .link("up", "..")
            .link("root", "/")
            .fifo("pipe")
            .fifo("sub/.gitignore")
            .fifo("sub/.ignore")
            .fifo("sub/pipe.rs")
            .folder("sub2/.gitignore")
            .file("sub3/.gitignore", "*\n!".repeat(50_000))
            .file(format!("{deep}x.rs"), "within_weight_limit\n");
    });
    let odd = env.workspace().join("odd");
    fs::create_dir(&odd).unwrap();
    let _ = odd_names(&odd);
    env.give();
}

/// N4: such a tree is searched within seconds, the answer is found, and no pipe is waited for.
#[test]
fn a_hostile_tree_is_searched_in_bounded_time() {
    let env = scene();
    hostile(&env);
    let started = Instant::now();
    let outcome = scout(&env, &["--json", "Where is the weight limit enforced?"]).expect_code(0);
    assert!(
        started.elapsed() < Duration::from_secs(40),
        "{:?}",
        started.elapsed()
    );
    let result = parsed(&outcome);
    let evidence = result["evidence"].as_array().unwrap();
    assert!(
        evidence
            .iter()
            .any(|piece| piece["path"] == "src/limits.rs"),
        "{outcome}"
    );
}

/// G4: each entry of it is answered for in bounded time, when it is named.
#[test]
fn each_entry_of_a_hostile_tree_is_answered_for() {
    let env = scene();
    hostile(&env);
    let names = [
        "huge.bin",
        "huge.rs",
        "binary.rs",
        "latin1.rs",
        "oneline.js",
        "around",
        "self",
        "up",
        "root",
        "pipe",
        "sub/.gitignore",
        "sub/pipe.rs",
        "sub2/.gitignore",
        "odd",
    ];
    let calls = names.iter().flat_map(|name| {
        [
            call("read", json!({ "path": name })),
            call("grep", json!({ "pattern": "within", "path": name })),
            call("ls", json!({ "path": name })),
        ]
    });
    let whole = [
        call("ls", json!({})),
        call("find", json!({ "pattern": "*" })),
        call(
            "grep",
            json!({ "pattern": "within_weight_limit", "output": "count" }),
        ),
        call("read", json!({ "path": "huge.rs", "offset": 1_000_000 })),
    ];
    let turns: Value = calls.chain(whole).chain([say("Seen.")]).collect();
    let started = Instant::now();
    let played = play(&env, turns, &["--budget", "turns=100"]);
    played.ended("ok", 0);
    assert!(
        started.elapsed() < Duration::from_secs(50),
        "{:?}",
        started.elapsed()
    );
}

/// B8: a command starts in such a tree, too.
#[test]
fn a_command_starts_in_a_hostile_tree() {
    let env = scene();
    hostile(&env);
    for options in [&[][..], &["--write", "."]] {
        let outcome = shell(&env, options, "echo here").expect_code(0);
        assert_eq!(outcome.out(), "here\n");
    }
}
