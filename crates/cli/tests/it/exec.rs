//! `deputize exec`: codes, streams, environment and folder of one command in a boundary.

use std::fs;

use rustix::process::Signal;

use crate::scene::{beside, events, only_run, project, refused_code, runs, scene, shell};

/// B8, H1: the command's own status is returned, 128+N for a signal; nothing of ours is printed.
#[test]
fn the_commands_own_status_is_returned() {
    let env = scene();
    for code in [0, 1, 3, 77, 255] {
        let outcome = shell(&env, &[], &format!("exit {code}")).expect_code(code);
        assert_eq!((outcome.out(), outcome.err()), ("", ""));
    }
    for (signal, code) in [("TERM", 143), ("KILL", 137), ("SEGV", 139), ("HUP", 129)] {
        let outcome = shell(&env, &[], &format!("kill -{signal} $$")).expect_code(code);
        assert_eq!((outcome.out(), outcome.err()), ("", ""), "{signal}");
    }
}

/// B8, H1: 127 for what isn't there, 126 for what can't be executed, 125 for a failure of our own.
#[test]
fn codes_tell_whose_failure_it_is() {
    let env = project();
    env.lay(|tree| {
        tree.file("plain.txt", "text\n")
            .program("bad", "#!/nowhere/interpreter\n")
            .folder("folder");
    });
    for program in ["no-such-program", "./missing", "/nowhere/x"] {
        let outcome = env.run(["exec", "--", program]).expect_code(127);
        assert!(outcome.err().contains("there is no program"), "{outcome}");
    }
    for program in ["./plain.txt", "./folder"] {
        let outcome = env.run(["exec", "--", program]).expect_code(126);
        assert!(outcome.err().contains("can't be executed"), "{outcome}");
    }
    let outcome = env.run(["exec", "--", ""]).expect_code(126);
    assert_eq!(refused_code(&outcome), "command_missing");
    let outcome = env
        .run(["exec", "--workdir", "nowhere", "--", "true"])
        .expect_code(126);
    assert_eq!(refused_code(&outcome), "folder_missing");
    // Where there can be no state, nothing is run.
    let no_folder = env.root().join("file");
    fs::write(&no_folder, "").unwrap();
    env.give();
    let outcome = env
        .call(["exec", "--", "touch", "/tmp/x"])
        .env("XDG_STATE_HOME", &no_folder)
        .run()
        .expect_code(125);
    assert_eq!(refused_code(&outcome), "state_failed");
}

/// G6: administering Deputize is denied under any name, before anything is run.
#[test]
fn administering_deputize_is_refused() {
    let env = project();
    let program = env!("CARGO_BIN_EXE_deputize");
    env.lay(|tree| {
        tree.link("harmless", program);
    });
    for name in ["deputize", program, "./harmless"] {
        let outcome = env.run(["exec", "--", name, "run", "x"]).expect_code(126);
        assert_eq!(refused_code(&outcome), "gate_denied", "{name}");
        assert!(outcome.err().contains("administers Deputize"), "{outcome}");
    }
}

/// S10: the environment is built anew: names on the list, and nothing else of the person's.
#[test]
fn the_environment_holds_only_what_is_on_the_list() {
    let env = scene();
    let run = |options: &[&str]| {
        let mut arguments = vec!["exec"];
        arguments.extend(options);
        arguments.extend(["--", "/usr/bin/env", "-0"]);
        let outcome = env
            .call(arguments)
            .env("OPENAI_API_KEY", "sk-none")
            .env("PI_SESSION_ID", "1")
            .env("LD_PRELOAD", "/nowhere.so")
            .env("BASH_ENV", "/nowhere")
            .env("MINE", "my\nvalue")
            .env("TZ", "UTC")
            .run()
            .expect_code(0);
        let variables: Vec<(String, String)> = outcome
            .out()
            .split_terminator('\0')
            .map(|line| line.split_once('=').unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        variables
    };
    let mut plain = run(&[]);
    plain.sort();
    let names: Vec<&str> = plain.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["HOME", "LANG", "PATH", "TERM", "TMPDIR", "TZ"]);
    let value = |name: &str| &plain.iter().find(|(known, _)| known == name).unwrap().1;
    assert_eq!(value("PATH"), "/usr/local/bin:/usr/bin:/bin");
    assert_eq!(value("TMPDIR"), "/tmp");
    let more = run(&["--env", "MINE", "--env", "OTHER=a=b", "--env", "LANG=xx"]);
    for (name, value) in [("MINE", "my\nvalue"), ("OTHER", "a=b"), ("LANG", "xx")] {
        let found: Vec<&str> = more
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .collect();
        assert_eq!(found, [value], "{name}");
    }
    let outcome = env.run(["exec", "--env", "NOT_SET", "--", "true"]);
    assert_eq!(outcome.code(), Some(126), "{outcome}");
    assert!(
        outcome.err().contains("`NOT_SET` is not set here"),
        "{outcome}"
    );
}

/// B8: streams are the command's own: input passes through, bytes come out as they were, and many
/// arguments are passed whole.
#[test]
fn streams_and_arguments_pass_unchanged() {
    let env = scene();
    let bytes: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    let outcome = env
        .call(["exec", "--", "cat"])
        .stdin(bytes.clone())
        .run()
        .expect_code(0);
    assert!(
        outcome.stdout == bytes,
        "{} bytes came back",
        outcome.stdout.len()
    );
    let outcome = env
        .call(["exec", "--", "sh", "-c", "cat >&2; echo out"])
        .stdin("in\n")
        .run()
        .expect_code(0);
    assert_eq!((outcome.out(), outcome.err()), ("out\n", "in\n"));
    let count: usize = 10_000;
    let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    let outcome = env.run(
        ["exec", "--", "/usr/bin/printf", "%s\\n"]
            .into_iter()
            .chain(numbers.iter().map(String::as_str)),
    );
    assert_eq!(outcome.out().lines().count(), count, "{outcome}");
}

/// B8: odd arguments arrive as they were typed.
#[test]
fn odd_arguments_arrive_as_they_were() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let env = scene();
    let odd: [&[u8]; 7] = [
        b"",
        b" ",
        b"a\nb",
        b"\xff\xfe",
        b"$(touch x)",
        b"--",
        b"--write",
    ];
    let arguments = ["exec", "--", "/usr/bin/printf", "[%s]"]
        .iter()
        .map(|text| OsStr::new(*text));
    let outcome = env
        .run(arguments.chain(odd.iter().map(|bytes| OsStr::from_bytes(bytes))))
        .expect_code(0);
    let expected = [&b"[][ ][a\nb][\xff\xfe][$(touch x)][--][--write]"[..]].concat();
    assert_eq!(outcome.stdout, expected);
}

/// B8: a dry run shows what would be, and runs nothing.
#[test]
fn a_dry_run_runs_nothing() {
    let env = project();
    let workspace = env.workspace();
    let touch = ["--write", ".", "--dry-run", "--env", "MINE=1"];
    let outcome = shell(&env, &touch, "touch pwned").expect_code(0);
    let text = env.redact(outcome.out());
    for row in [
        "Would run the command; nothing was run.",
        "  writes    [WORKSPACE] (the folder itself, at once)\n",
        "  env       HOME, ",
        "MINE",
        "    protected_paths  read-only mounts",
    ] {
        assert!(text.contains(row), "no {row:?} in\n{text}");
    }
    assert!(!workspace.join("pwned").exists() && !env.state().exists());
}

/// A1: the ledger of a command: what was granted, run by which rule, and how it ended.
#[test]
fn a_command_has_a_ledger() {
    let env = project();
    let _ = shell(&env, &[], "exit 7").expect_code(7);
    let run = only_run(&env);
    let events = events(&run);
    let find = |kind: &str| &events.iter().find(|event| event["kind"] == kind).unwrap()["data"];
    assert_eq!(find("call.decided")["rule"], "exec.contained");
    assert_eq!(find("call.finished")["call"], 1);
    assert_eq!(find("run.finished")["status"], "error");
    let id = run.file_name().unwrap().to_str().unwrap();
    let _ = env.run(["audit", "verify", id]).expect_code(0);
}

/// B8: `--json` tells the outcome on standard error, where it can't be taken for the command's own.
#[test]
fn json_tells_the_outcome_on_standard_error() {
    let env = scene();
    let outcome = shell(&env, &["--json"], "echo mine; exit 5").expect_code(5);
    assert_eq!(outcome.out(), "mine\n");
    let told: serde_json::Value = serde_json::from_str(outcome.err()).unwrap();
    assert_eq!(told["exit_code"], 5);
    assert_eq!(told["end"]["exited"], 5);
    assert_eq!(told["level"], "namespaces+landlock+seccomp");
    assert!(told["self_test"].is_object(), "{told}");
    let refused = env
        .run(["exec", "--json", "--workdir", "/", "--", "true"])
        .expect_code(126);
    let told: serde_json::Value = serde_json::from_str(refused.err()).unwrap();
    assert_eq!(told["error"]["code"], "root_is_everything");
}

/// B8: what isn't there yet is refused as that.
#[test]
fn what_is_not_available_is_refused() {
    let env = scene();
    let outcome = env
        .run(["exec", "--host", "example.org", "--", "true"])
        .expect_code(126);
    assert_eq!(refused_code(&outcome), "not_available");
    for options in [
        ["--secret", "wishes"],
        ["--limit", "memory=-1"],
        ["--limit", "wishes=3"],
    ] {
        let outcome = env
            .run(["exec", options[0], options[1], "--", "true"])
            .expect_code(126);
        assert_eq!(refused_code(&outcome), "usage", "{options:?}");
    }
    assert!(runs(&env).is_empty());
}

/// P13: TERM reaches the command, which may end in its own way.
#[test]
fn a_signal_is_passed_on_to_the_command() {
    let env = scene();
    for (signal, name) in [
        (Signal::TERM, "TERM"),
        (Signal::INT, "INT"),
        (Signal::HUP, "HUP"),
    ] {
        let script =
            format!("trap 'echo heard; exit 9' {name}; echo ready; while :; do sleep 0.05; done");
        let mut running = env.call(["exec", "--", "sh", "-c", &script]).start();
        running.until_said("ready").signal(signal);
        let outcome = running.wait().expect_code(9);
        assert_eq!(outcome.out(), "ready\nheard\n", "{name}");
    }
    let mut running = env
        .call(["exec", "--", "sh", "-c", "echo ready; exec sleep 100"])
        .start();
    running.until_said("ready").signal(Signal::TERM);
    let _ = running.wait().expect_code(143);
}

/// B8: `--read` shows a further folder or file, read-only; the folder beside it stays hidden.
#[test]
fn further_folders_can_be_read() {
    let env = project();
    for name in ["shown", "hidden"] {
        fs::write(beside(&env, name).join("x"), name).unwrap();
    }
    env.give();
    let script = "cat ../shown/x; cat ../hidden/x; echo y > ../shown/y; ls ..";
    let outcome = shell(&env, &["--read", "../shown"], script).expect_code(0);
    assert_eq!(outcome.out(), "shownhome\nshown\nworkspace\n", "{outcome}");
    let outcome = shell(
        &env,
        &["--read", "../shown/x"],
        "cat ../shown/x; ls ../shown",
    )
    .expect_code(0);
    assert_eq!(outcome.out(), "shownx\n", "{outcome}");
    for (path, code) in [
        ("..", "root_is_home"),
        ("/", "root_is_everything"),
        ("../nowhere", "folder_missing"),
    ] {
        let outcome = shell(&env, &["--read", path], "true").expect_code(126);
        assert_eq!(refused_code(&outcome), code, "{path}");
    }
    assert!(!env.root().join("shown/y").exists());
}

/// B8: commands that are started at the same moment all start: no start depends on who is first.
#[test]
fn starts_that_come_together_all_succeed() {
    let env = scene();
    std::thread::scope(|scope| {
        let starters: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let outcome = env.run(["exec", "--", "true"]).expect_code(0);
                        assert_eq!(outcome.err(), "");
                    }
                })
            })
            .collect();
        for starter in starters {
            starter.join().unwrap();
        }
    });
    let _ = env.run(["audit", "verify"]).expect_code(0);
}

/// H1: a call that can't be understood is a failure of ours, which no command's own status is.
#[test]
fn a_call_that_is_not_understood_is_told_apart_from_the_commands_status() {
    let env = scene();
    for arguments in [&["exec", "--no-such-option", "--", "true"][..], &["exec"]] {
        let outcome = env.run(arguments).expect_code(125);
        assert!(outcome.err().contains("Usage: "), "{outcome}");
    }
    let _ = env.run(["exec", "--help"]).expect_code(0);
}

/// S10: descriptors that the caller happened to hold open don't reach the command; mask and signals
/// are as a shell leaves them.
#[test]
fn descriptors_of_the_caller_do_not_reach_the_command() {
    let env = project();
    fs::write(env.root().join("held"), "held").unwrap();
    env.give();
    let program = env!("CARGO_BIN_EXE_deputize");
    let run = |script: String| env.command("sh").args(["-c", &script]).output().unwrap();
    let output = run(format!("exec 9<../held; {program} exec -- sh -c 'cat <&9'"));
    assert!(
        !String::from_utf8_lossy(&output.stdout).contains("held"),
        "{output:?}"
    );
    assert!(!output.status.success());
    let output = run(format!("umask 027; {program} exec -- sh -c umask"));
    assert_eq!(output.stdout, b"0027\n");
    let output = run(format!(
        "{{ {program} exec -- sh -c 'while echo y; do :; done' 2>&1; echo $? >&2; }} | head -1"
    ));
    assert_eq!(output.stderr, b"141\n", "{output:?}");
    for closed in ["<&-", ">&-", "2>&-"] {
        let output = run(format!("{program} exec -- true {closed}"));
        assert!(output.status.success(), "{closed}: {output:?}");
    }
}

/// S2: a folder that the boundary can't show as it is, is refused before anything starts.
#[test]
fn folders_of_the_kernel_are_refused() {
    let env = scene();
    for folder in ["/proc", "/sys", "/dev"] {
        let outcome = env
            .run(["exec", "--workdir", folder, "--", "true"])
            .expect_code(126);
        assert!(refused_code(&outcome).starts_with("root_is_"), "{outcome}");
    }
    assert!(runs(&env).is_empty());
}
