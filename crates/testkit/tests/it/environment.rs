//! The environment that the program is run in.

use std::time::{Duration, Instant};

use deputize_testkit::{OrdinaryUser, SmallDisk, TestEnv, alive, is_root, processes_naming, until};
use rustix::process::Signal;

/// S10: a test that sees the machine's own variables would pass here and fail elsewhere.
#[test]
fn nothing_of_the_machine_is_in_it() {
    let env = TestEnv::new("/usr/bin/env");
    let outcome = env.run([""; 0]).expect_code(0);
    let mut names: Vec<&str> = outcome
        .out()
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "HOME",
            "LANG",
            "OLLAMA_HOST",
            "PATH",
            "TERM",
            "TMPDIR",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_RUNTIME_DIR",
            "XDG_STATE_HOME"
        ]
    );
}

#[test]
fn input_output_status_and_folder_are_those_that_were_asked_for() {
    let env = TestEnv::new("/bin/sh");
    env.lay(|tree| {
        tree.file("here", "from the workspace\n");
    });
    let outcome = env
        .call(["-c", "cat; cat here; echo \"$X\" >&2; exit 3"])
        .stdin("from the test\n")
        .env("X", "a variable")
        .run()
        .expect_code(3);
    assert_eq!(outcome.out(), "from the test\nfrom the workspace\n");
    assert_eq!(outcome.err(), "a variable\n");
    assert_eq!(
        outcome.snapshot(),
        "exit status: 3\n--- stdout\nfrom the test\nfrom the workspace\n--- stderr\na variable\n"
    );
}

#[test]
fn a_signal_reaches_the_program_and_is_seen() {
    let env = TestEnv::new("/bin/sh");
    let mut running = env
        .call(["-c", "echo ready; while :; do sleep 0.1; done"])
        .start();
    running.until_said("ready").signal(Signal::TERM);
    let outcome = running.wait();
    assert_eq!((outcome.code(), outcome.signal()), (None, Some(15)));
}

#[test]
fn a_program_that_runs_too_long_is_killed_and_fails_the_test() {
    let env = TestEnv::new("/bin/sleep");
    let running = env
        .call(["86.7531"])
        .within(Duration::from_millis(50))
        .start();
    let id = running.id();
    assert!(alive(id));
    let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = running.wait();
    }));
    assert!(waited.is_err());
    assert!(!alive(id));
    assert_eq!(processes_naming("86.7531"), [0; 0]);
}

/// B5: the program that leaves a process behind is found out by the stream that it holds.
#[test]
fn a_process_left_behind_is_noticed() {
    let env = TestEnv::new("/bin/sh");
    let started = Instant::now();
    let outcome = env.run(["-c", "sleep 86.7532 & echo $!"]).expect_code(0);
    assert!(outcome.streams_held);
    assert!(started.elapsed() < Duration::from_secs(50));
    let left = outcome.out().trim().to_owned();
    let ended = std::process::Command::new("kill")
        .arg(&left)
        .status()
        .unwrap();
    assert!(ended.success());
    until("the sleeper is gone", || {
        processes_naming("86.7532").is_empty().then_some(())
    });
}

#[test]
fn root_can_run_it_as_somebody_else_and_nobody_else_can() {
    let Some(user) = OrdinaryUser::for_root() else {
        assert!(!is_root());
        return;
    };
    let env = TestEnv::for_user("/bin/sh", user);
    env.lay(|tree| {
        tree.file("own", "");
    });
    let script = "id -u; id -G; : > own && : > \"$HOME/x\" && ls /root 2>&1 >/dev/null | wc -l";
    let outcome = env.run(["-c", script]).expect_code(0);
    let id = user.id();
    assert_eq!(outcome.out(), format!("{id}\n{id}\n1\n"));
}

#[test]
fn a_small_disk_is_soon_full() {
    let Some(disk) = SmallDisk::mount(64) else {
        assert!(!is_root());
        return;
    };
    let error = std::fs::write(disk.path().join("x"), vec![0; 1 << 20]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}
