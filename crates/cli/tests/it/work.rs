//! A child that works: in a copy, in its boundary, until the check passes (C2, D1, D2, G11).

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::MetadataExt as _;

use deputize_testkit::{
    Missing, OrdinaryUser, OverlayDisk, TestEnv, alive, cage, processes_naming, until,
};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::{
    Played, call, descendants, events, only_run, parsed, refused_code, say, scene, script, texts,
};

/// A project whose test fails, for a fault in one line.
fn broken_project() -> TestEnv {
    let env = scene();
    env.lay(|tree| {
        tree.file("sum.sh", "sum() { echo $(($1 - $2)); }\n")
            .file(
                "test.sh",
                ". ./sum.sh\n[ \"$(sum 2 3)\" = 5 ] || { echo FAIL; exit 1; }\necho passed\n",
            )
            .file("notes.txt", "kept as it is\n");
    });
    env
}

/// Plays these turns in a general run that may use the shell.
#[track_caller]
fn work(env: &TestEnv, turns: Value, options: &[&str]) -> Played {
    let mut arguments: Vec<String> = ["run", "--json", "--allow", "shell", "--model"]
        .map(str::to_owned)
        .into();
    arguments.push(script(env, &json!({ "turns": turns })));
    arguments.extend(options.iter().map(|option| (*option).to_owned()));
    arguments.push("Make the failing test pass.".to_owned());
    let outcome = env.run(arguments);
    let result = parsed(&outcome);
    Played { outcome, result }
}

fn bash(command: &str) -> Value {
    call("bash", json!({ "command": command }))
}

/// What the child was told about its calls, in their order.
fn told(env: &TestEnv) -> Vec<String> {
    let text = fs::read_to_string(only_run(env).join("transcript.json")).unwrap();
    let messages: Vec<Value> = serde_json::from_str(&text).unwrap();
    let results = messages.iter().filter_map(|message| {
        let content = &message["tool_result"]["content"];
        content.as_str().map(str::to_owned)
    });
    results.collect()
}

fn paths(result: &Value) -> Vec<&str> {
    let changes = result["changes"].as_array().unwrap();
    changes
        .iter()
        .map(|change| change["path"].as_str().unwrap())
        .collect()
}

/// Everything in the workspace with its content.
fn snapshot(env: &TestEnv) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![env.workspace()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let content = if path.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap_or_default()
            };
            found.push((path.display().to_string(), content));
        }
    }
    found.sort();
    found
}

/// C2, D1, D2, G11: the child repairs the fault in a copy, the check passes, and the folder is as it
/// was. Nothing is asked on the way.
#[test]
fn the_failing_test_passes_in_a_copy() {
    let env = broken_project();
    let before = snapshot(&env);
    let edit = json!({ "path": "sum.sh", "edits": [{ "old": "$1 - $2", "new": "$1 + $2" }] });
    let turns = json!([
        { "calls": [
            { "name": "read", "arguments": { "path": "sum.sh" } },
            { "name": "bash", "arguments": { "command": "sh test.sh" } },
        ] },
        { "expect": { "contains": ["FAIL", "[exit 1]"] },
          "calls": [{ "name": "edit", "arguments": edit }] },
        { "expect": { "contains": ["edited sum.sh"] },
          "calls": [{ "name": "bash", "arguments": { "command": "sh test.sh" } }] },
        { "expect": { "contains": ["passed", "[exit 0]"] }, "text": "The test passes." },
    ]);
    let played = work(&env, turns, &["--check", "sh test.sh"]);
    played.ended("ok", 0);
    assert_eq!(snapshot(&env), before);
    assert_eq!(paths(&played.result), ["sum.sh"]);
    assert_eq!(played.result["checks"][0]["outcome"], "passed");
    assert_eq!(played.result["usage"]["changed_files"], 1);
    let events = events(&only_run(&env));
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .collect();
    for kind in ["approval", "copy.made", "check", "changes"] {
        assert!(kinds.contains(&kind), "no {kind} among {kinds:?}");
    }
    let rules: Vec<&str> = events
        .iter()
        .filter(|event| event["kind"] == "call.decided")
        .filter_map(|event| event["data"]["rule"].as_str())
        .collect();
    assert!(rules.contains(&"bash.contained"), "{rules:?}");
}

/// D1, D2: who claims success with a failing check isn't believed, and is told so while its budget
/// lasts.
#[test]
fn a_claim_with_a_failing_check_is_an_error() {
    let env = broken_project();
    let turns = json!([
        say("Done, the test passes."),
        say("Really, it does."),
        say("Believe me."),
        say("I said so."),
    ]);
    let played = work(&env, turns, &["--check", "sh test.sh"]);
    played.ended("error", 1);
    let checks = played.result["checks"].as_array().unwrap();
    assert!(checks.len() >= 2, "{checks:?}");
    for check in checks {
        assert_eq!(check["outcome"], json!({ "failed": 1 }), "{check}");
        assert!(check["output"].as_str().unwrap().contains("FAIL"));
    }
    assert!(
        played.warnings().contains("contradiction"),
        "{}",
        played.warnings()
    );
}

/// D1: what a child leaves beside its work (in its home, among temporary files, in shared memory)
/// doesn't decide about its check; what it did in the copy does.
#[test]
fn a_check_runs_where_nothing_but_the_work_is() {
    let env = broken_project();
    let turns = json!([
        bash("echo x > ~/left; echo x > /tmp/left; echo x > /dev/shm/left; echo kept > done.txt"),
        say("Done."),
    ]);
    let check = "ls -A ~ /tmp /dev/shm; test ! -e ~/left && test ! -e /tmp/left && \
                 test ! -e /dev/shm/left && grep -q kept done.txt";
    let played = work(&env, turns, &["--check", check]);
    played.ended("ok", 0);
    assert_eq!(paths(&played.result), ["done.txt"]);
}

/// S2, G4: a further root that is replaced after it was named isn't shown: not another folder, and not
/// what a link in its place leads to.
#[test]
fn a_root_that_was_replaced_is_not_shown() {
    let env = broken_project();
    let (named, secret) = (env.root().join("named"), env.root().join("secret"));
    for folder in [&named, &secret] {
        fs::create_dir(folder).unwrap();
    }
    fs::write(secret.join("key"), "SECRET\n").unwrap();
    env.give();
    let read = format!("cat {}/key", named.display());
    let turns = json!([
        { "calls": [{ "name": "bash", "arguments": { "command": read } }], "delay_ms": 1500 },
        say("Read."),
    ]);
    let model = script(&env, &json!({ "turns": turns }));
    let root = named.display().to_string();
    let mut running = env
        .call([
            "run",
            "--allow",
            "shell,outside",
            "--read",
            &root,
            "--model",
            &model,
            "Go.",
        ])
        .start();
    running.until_said("run ");
    // Moved aside, not removed: a number that is free again may name the link that comes next.
    fs::rename(&named, env.root().join("aside")).unwrap();
    std::os::unix::fs::symlink(&secret, &named).unwrap();
    let outcome = running.wait();
    let transcript = fs::read_to_string(only_run(&env).join("transcript.json")).unwrap();
    assert!(!transcript.contains("SECRET"), "{transcript}");
    assert_eq!(outcome.code(), Some(1), "{outcome} {transcript}");
    let said = outcome.unwrapped();
    assert!(said.contains("it was replaced"), "{outcome}");
}

/// B1, C2: whatever a child deletes, the folder is as it was.
#[test]
fn a_child_that_deletes_everything_deletes_nothing() {
    let env = broken_project();
    let before = snapshot(&env);
    let turns = json!([bash("rm -rf ./* ~/* /tmp/* /*; ls"), say("All gone.")]);
    let played = work(&env, turns, &[]);
    played.ended("ok", 0);
    assert_eq!(snapshot(&env), before);
    assert_eq!(paths(&played.result), ["notes.txt", "sum.sh", "test.sh"]);
    let kinds = played.result["changes"].as_array().unwrap();
    assert!(kinds.iter().all(|change| change["kind"] == "deleted"));
}

/// B1, G4: neither a tool nor a command writes outside the workspace.
#[test]
fn nothing_is_written_outside() {
    let env = broken_project();
    let outside = env.root().join("outside");
    fs::write(&outside, "mine").unwrap();
    env.give();
    let path = outside.display().to_string();
    let turns = json!([
        call("write", json!({ "path": path, "content": "theirs" })),
        call(
            "write",
            json!({ "path": "../outside", "content": "theirs" })
        ),
        call("write", json!({ "path": "~/.bashrc", "content": "theirs" })),
        bash(&format!(
            "echo theirs > {path}; ln -s {path} way; echo theirs > way; echo theirs > ~/.bashrc"
        )),
        say("Tried."),
    ]);
    let played = work(&env, turns, &[]);
    assert_eq!(played.refused_by().len(), 3, "{}", played.outcome);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
    assert!(!env.home().join(".bashrc").exists());
    let change = &played.result["changes"][0];
    assert_eq!(change["path"], "way");
    let kept = change["kept_back"].as_str().unwrap();
    assert!(kept.starts_with("never applied"), "{kept}");
}

/// D4, P13: a command that doesn't end is ended with all that it started; a flood of output is bounded
/// and says what is missing.
#[test]
fn commands_end_and_their_output_is_bounded() {
    let env = broken_project();
    let mark = format!("83521.{}", std::process::id());
    let stubborn = format!("trap '' TERM; (setsid sleep {mark} &) ; sleep {mark}");
    let turns = json!([
        call("bash", json!({ "command": stubborn, "timeout_seconds": 1 })),
        bash("echo first; yes | head -c 300000000; echo last; exit 4"),
        bash("head -c 3000000000 /dev/zero > big; ls -s big | head -c 4"),
        say("Done."),
    ]);
    let played = work(&env, turns, &[]);
    let told = told(&env);
    assert!(told[0].contains("ended after 1 s"), "{}", told[0]);
    assert!(processes_naming(&mark).is_empty());
    assert!(told[1].len() < 60_000);
    for part in ["first", "bytes left out here", "last", "[exit 4]"] {
        assert!(told[1].contains(part), "{part}");
    }
    // The largest file is limited; the child is told by its shell.
    assert!(
        told[2].contains("size limit") || told[2].contains("too large"),
        "{}",
        told[2]
    );
    played.ended("ok", 0);
}

/// N1, B2: a command reaches no network, not even the loopback outside.
#[test]
fn a_command_has_no_network() {
    let env = broken_project();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let program =
        format!("python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 2)\"");
    let _ = work(&env, json!([bash(&program), say("Done.")]), &[]);
    assert!(told(&env)[0].contains("refused"), "{:?}", told(&env));
    assert!(listener.accept().is_err());
}

/// D2: an empty answer is an error; D7: a loop is ended.
#[test]
fn a_model_that_says_nothing_or_loops_is_ended() {
    let env = broken_project();
    work(&env, json!([{ "text": "", "stop": "finished" }]), &[]).ended("error", 1);
    let document = json!({ "repeat_last": true, "turns": [bash("true; echo same")] });
    let model = script(&env, &document);
    let outcome = env.run([
        "run",
        "--json",
        "--allow",
        "shell",
        "--budget",
        "commands=6",
        "--model",
        &model,
        "Go.",
    ]);
    let result = parsed(&outcome);
    assert_eq!(result["status"], "error", "{result:#}");
    assert_eq!(result["usage"]["commands"], 2);
}

/// D4: files that are changed count, and too many of them end the run; what they hold is kept.
#[test]
fn changed_files_are_counted() {
    let env = broken_project();
    let turns = json!([
        bash("for n in 1 2 3 4 5 6 7 8; do echo $n > f$n; done"),
        bash("echo more > g"),
        say("Done."),
    ]);
    let played = work(&env, turns, &["--budget", "changed_files=5"]);
    played.ended("budget_exhausted", 4);
    assert_eq!(played.result["usage"]["exhausted"], "changed_files");
    assert_eq!(paths(&played.result).len(), 8);
}

/// B5: a run that is interrupted, or killed, in the middle of a command leaves no process; the copy
/// and the folder hold what they held.
#[test]
fn no_process_outlives_a_run_that_ends_in_a_command() {
    for signal in [Signal::INT, Signal::KILL] {
        let env = broken_project();
        let before = snapshot(&env);
        let mark = format!("73{}.{}", signal.as_raw(), std::process::id());
        let command =
            format!("echo kept > kept; (setsid sleep {mark} &); trap '' INT TERM; sleep {mark}");
        let model = script(&env, &json!({ "turns": [bash(&command), say("Never.")] }));
        let mut running = env
            .call(["run", "--allow", "shell", "--model", &model, "Wait."])
            .start();
        until("both sleep", || {
            (processes_naming(&mark).len() >= 2).then_some(())
        });
        let below = descendants(running.id());
        running.signal(signal);
        let outcome = running.wait();
        assert!(!outcome.streams_held, "something outlived it");
        until("everything is gone", || {
            below.iter().all(|id| !alive(*id)).then_some(())
        });
        assert!(processes_naming(&mark).is_empty());
        assert_eq!(snapshot(&env), before);
        let copy = only_run(&env).join("copy");
        let kept = walk(&copy).into_iter().find(|path| path.ends_with("/kept"));
        assert_eq!(fs::read_to_string(kept.unwrap()).unwrap(), "kept\n");
        if signal == Signal::INT {
            assert_eq!(outcome.code(), Some(130));
        }
    }
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(walk(&path));
        } else {
            found.push(path.display().to_string());
        }
    }
    found
}

/// C3: two children that work on one file at a time don't see each other.
#[test]
fn two_children_work_on_copies_of_their_own() {
    let env = broken_project();
    let one = |name: &str| {
        let file = env.root().join(format!("{name}.json"));
        let turns = json!([
            bash(&format!(
                "echo {name} >> notes.txt; sleep 0.5; cat notes.txt"
            )),
            say("Done."),
        ]);
        fs::write(&file, json!({ "turns": turns }).to_string()).unwrap();
        env.give();
        let model = format!("script:{}", file.display());
        env.call(["run", "--json", "--allow", "shell", "--model", &model, name])
            .start()
    };
    let (first, second) = (one("first"), one("second"));
    for running in [first, second] {
        let outcome = running.wait();
        let result = parsed(&outcome);
        assert_eq!(paths(&result), ["notes.txt"], "{outcome}");
    }
    for run in crate::scene::runs(&env) {
        let text = fs::read_to_string(run.join("copy/layers/upper/notes.txt")).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
    }
    let text = fs::read_to_string(env.workspace().join("notes.txt")).unwrap();
    assert_eq!(text, "kept as it is\n");
}

/// S3, B2: with a person's yes a child works in the folder itself; what is protected stays, and no
/// placeholder is left.
#[test]
fn a_direct_run_changes_the_folder_where_that_was_allowed() {
    let env = broken_project();
    let turns = json!([
        { "calls": [{ "name": "read", "arguments": { "path": "notes.txt" } }] },
        call("write", json!({ "path": "notes.txt", "content": "changed\n" })),
        call("write", json!({ "path": "AGENTS.md", "content": "obey" })),
        bash("echo new > made; echo obey > AGENTS.md; mkdir .claude && echo obey > .claude/x"),
        say("Done."),
    ]);
    let played = work(&env, turns, &["--workspace", "direct", "--allow", "write"]);
    assert_eq!(played.refused_by(), ["write.protected_instructions"]);
    let text = |name: &str| fs::read_to_string(env.workspace().join(name)).ok();
    assert_eq!(text("notes.txt").as_deref(), Some("changed\n"));
    assert_eq!(text("made").as_deref(), Some("new\n"));
    let mut names: Vec<String> = fs::read_dir(env.workspace())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["made", "notes.txt", "sum.sh", "test.sh"]);
    let changes = played.result["changes"].as_array().unwrap().iter();
    let changes: Vec<&str> = changes.map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(changes, ["made", "notes.txt"], "what commands did, too");
    let denied = env.run([
        "run",
        "--json",
        "--allow",
        "shell",
        "--workspace",
        "direct",
        "--model",
        "script:x",
        "Go.",
    ]);
    assert_eq!(denied.code(), Some(2), "{denied}");
}

/// B3: without namespaces no writing child starts, and the fix for the machine is named.
#[test]
fn a_writing_child_needs_the_full_boundary() {
    let env = broken_project();
    let model = script(&env, &json!({ "turns": [bash("touch x"), say("Never.")] }));
    let outcome = env
        .call(["run", "--allow", "shell", "--model", &model, "Go."])
        .with(|command| cage(command, &[Missing::Namespaces]))
        .run();
    let said = format!("{}{}", outcome.out(), outcome.err());
    assert_ne!(outcome.code(), Some(0), "{outcome}");
    assert!(
        said.contains("landlock+seccomp") || said.contains("namespaces"),
        "{outcome}"
    );
}

/// D3: a child of `read-only-git` sees the history and changes nothing.
#[test]
fn a_child_that_looks_at_the_history() {
    let env = broken_project();
    let git = |arguments: &[&str]| {
        let mut command = env.command("git");
        command.args(arguments).current_dir(env.workspace());
        assert!(command.status().unwrap().success());
    };
    git(&["init", "-q", "-b", "main", "."]);
    git(&["add", "."]);
    let identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
    git(&[&identity[..], &["commit", "-q", "-m", "the first of all"]].concat());
    fs::write(env.workspace().join("notes.txt"), "changed since\n").unwrap();
    env.give();
    let turns = json!([
        call("git", json!({ "op": "log" })),
        call("git", json!({ "op": "diff" })),
        call("git", json!({ "op": "status" })),
        call("bash", json!({ "command": "true" })),
        call("write", json!({ "path": "x", "content": "" })),
        say("Seen."),
    ]);
    let model = script(&env, &json!({ "turns": turns }));
    let outcome = env.run([
        "run",
        "--json",
        "--preset",
        "read-only-git",
        "--model",
        &model,
        "Look.",
    ]);
    let result = parsed(&outcome);
    let told = told(&env);
    assert!(told[0].contains("the first of all"), "{}", told[0]);
    assert!(told[1].contains("+changed since"), "{}", told[1]);
    assert!(told[2].contains("notes.txt"), "{}", told[2]);
    assert_eq!(result["blocked"]["details"].as_array().unwrap().len(), 2);
    assert_eq!(result["changes"], json!([]));
    assert!(texts(&result["warnings"]).is_empty(), "{result:#}");
}

/// S3, S4: what a child may do needs a yes, and without anybody to ask there is none.
#[test]
fn without_a_yes_no_writing_child_starts() {
    let env = broken_project();
    let model = script(&env, &json!({ "turns": [say("Never.")] }));
    let outcome = env.run(["run", "--model", &model, "Go."]).expect_code(2);
    assert_eq!(refused_code(&outcome), "confirmation_needed");
    assert!(crate::scene::runs(&env).is_empty());
}

/// C2: where the state lies on an overlay, as in most containers, the folder is copied whole, and the
/// run says so; the child works as it does elsewhere. Root, whose copies need their owner mapped, is
/// told what to do.
#[test]
fn without_an_overlay_the_folder_is_copied_and_that_is_said() {
    let (Some(disk), Some(user)) = (OverlayDisk::mount(), OrdinaryUser::for_root()) else {
        println!("only root can mount such a disk");
        return;
    };
    let turns = json!([
        bash("echo new > made; rm notes.txt; sh test.sh"),
        say("Done.")
    ]);
    let run = |env: &TestEnv, state: &str| {
        env.lay(|tree| {
            tree.file("test.sh", "echo tested\n")
                .file("notes.txt", "kept\n");
        });
        let state = disk.path().join(state);
        fs::create_dir(&state).unwrap();
        if env.root().metadata().unwrap().uid() != 0 {
            user.give(&state);
        }
        let before = snapshot(env);
        let model = script(env, &json!({ "turns": turns }));
        let outcome = env
            .call(["run", "--allow", "shell", "--model", &model, "Go."])
            .env("XDG_STATE_HOME", &state)
            .run();
        assert_eq!(snapshot(env), before);
        outcome
    };
    let env = TestEnv::for_user(env!("CARGO_BIN_EXE_deputize"), user);
    let outcome = run(&env, "theirs").expect_code(0);
    assert!(
        outcome.err().contains("the folder was copied whole"),
        "{outcome}"
    );
    for change in ["+ made", "- notes.txt"] {
        assert!(outcome.out().contains(change), "{outcome}");
    }
    let outcome = run(&scene(), "roots").expect_code(1);
    let fix = "set XDG_STATE_HOME to a folder";
    assert!(outcome.unwrapped().contains(fix), "{outcome}");
}
