//! What a person does with a child's copy: diff, apply, undo, discard, gc (C2, C3, C4).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use deputize_testkit::{OrdinaryUser, Outcome, Size, Terminal, TestEnv, until};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::{call, events, only_run, parsed, runs, say, scene, script};

/// A folder, and a run in it whose child ran these commands in its copy.
#[track_caller]
fn after(env: &TestEnv, commands: &str) -> String {
    let bash = call("bash", json!({ "command": commands }));
    let model = script(env, &json!({ "turns": [bash, say("Done.")] }));
    let arguments = [
        "run",
        "--json",
        "--allow",
        "shell",
        "--budget",
        "changed_files=1000",
        "--model",
        &model,
        "Do it.",
    ];
    let outcome = env.run(arguments).expect_code(0);
    let result = parsed(&outcome);
    let run = result["run"].as_str().unwrap();
    run[run.len() - 8..].to_owned()
}

pub(crate) fn project() -> TestEnv {
    let env = scene();
    env.lay(|tree| {
        tree.file("a.txt", "one\ntwo\n")
            .file("b.txt", "b\n")
            .file("d/x", "x\n");
    });
    env
}

/// Everything in the workspace with its content.
pub(crate) fn snapshot(env: &TestEnv) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![env.workspace()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let content = match path.is_dir() {
                true => {
                    folders.push(path.clone());
                    Vec::new()
                }
                false => fs::read(&path).unwrap(),
            };
            found.insert(path, content);
        }
    }
    found
}

fn read(env: &TestEnv, path: &str) -> String {
    fs::read_to_string(env.workspace().join(path)).unwrap()
}

/// Asserts that a command was refused with this code, in JSON, with a fix.
#[track_caller]
pub(crate) fn refused(outcome: &Outcome, code: &str) {
    let told = parsed(outcome);
    assert_eq!(told["error"]["code"], code, "{outcome}");
    assert_eq!(outcome.code(), Some(2), "{outcome}");
    assert!(!told["error"]["fix"].as_str().unwrap().is_empty());
}

/// A command that does what it should, and has nothing to say that a test looks at.
#[track_caller]
pub(crate) fn well(env: &TestEnv, arguments: &[&str]) {
    let outcome = env.run(arguments);
    assert_eq!(outcome.code(), Some(0), "{outcome}");
}

fn kinds(run: &Path) -> Vec<String> {
    events(run)
        .iter()
        .map(|event| event["kind"].as_str().unwrap().to_owned())
        .collect()
}

/// C2, C4: the whole way: looked at, applied as reviewed, taken back, thrown away; each in the ledger.
#[test]
fn a_copy_is_looked_at_applied_taken_back_and_thrown_away() {
    let env = project();
    let before = snapshot(&env);
    let run = after(
        &env,
        "echo three >> a.txt; rm b.txt; mkdir n; echo new > n/new; chmod +x d/x",
    );
    assert_eq!(snapshot(&env), before);

    let shown = env.run(["diff", &run]).expect_code(0);
    let text = shown.out();
    for line in [
        "changed file: a.txt",
        "+three",
        "deleted file: b.txt",
        "-b",
        "+new",
        "permissions",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    let manifest = text
        .lines()
        .last()
        .unwrap()
        .strip_prefix("manifest ")
        .unwrap()
        .to_owned();
    let names = env.run(["diff", &run, "--name-only"]).expect_code(0);
    assert_eq!(names.out(), "a.txt\nb.txt\nd/x\nn\nn/new\n");
    let stat = env.run(["diff", &run, "--stat", "a.txt"]).expect_code(0);
    assert!(stat.out().starts_with("~ a.txt  +1 -0\n"), "{stat}");
    let told = parsed(&env.run(["diff", &run, "--json"]).expect_code(0));
    assert_eq!(
        (&told["manifest"], &told["state"]),
        (&json!(manifest), &json!("unapplied"))
    );
    assert_eq!(told["changes"][0]["path"], "a.txt");

    let applied = env
        .run(["apply", &run, "--yes", "--manifest", &manifest, "--json"])
        .expect_code(0);
    assert_eq!(parsed(&applied)["status"], "applied");
    assert_eq!(read(&env, "a.txt"), "one\ntwo\nthree\n");
    assert_eq!(read(&env, "n/new"), "new\n");
    assert!(!env.workspace().join("b.txt").exists());
    let again = env.run(["apply", &run, "--yes"]).expect_code(0);
    assert!(
        again.out().starts_with("Everything is applied already."),
        "{again}"
    );

    let undone = env.run(["undo", &run, "--yes", "--json"]).expect_code(0);
    assert_eq!(parsed(&undone)["status"], "undone");
    assert_eq!(snapshot(&env), before);
    refused(
        &env.run(["undo", &run, "--yes", "--json"]),
        "nothing_to_undo",
    );

    well(&env, &["discard", &run, "--yes"]);
    assert!(!only_run(&env).join("copy").exists());
    for command in ["diff", "apply", "undo", "discard"] {
        let mut arguments = vec![command, &run, "--json"];
        arguments.extend((command != "diff").then_some("--yes"));
        refused(&env.run(arguments), "no_copy");
    }
    assert_eq!(snapshot(&env), before);
    let kinds = kinds(&only_run(&env));
    let decided: Vec<&str> = kinds
        .iter()
        .filter_map(|kind| kind.strip_prefix("copy."))
        .collect();
    assert_eq!(
        decided.join(" "),
        "made apply_begun applied apply_begun applied undo_begun undone discarded"
    );
    well(&env, &["audit", "verify", &run]);
}

/// C2: without a terminal nothing happens unless it was said; on one the default is No.
#[test]
fn nothing_happens_without_a_yes() {
    let env = project();
    let run = after(&env, "echo three >> a.txt");
    let before = snapshot(&env);
    for command in ["apply", "discard"] {
        refused(&env.run([command, &run, "--json"]), "needs_yes");
        let outcome = env.run([command, &run]).expect_code(2);
        assert!(outcome.err().contains("[needs_yes, yes]"), "{outcome}");
    }
    for (typed, code) in [("\n", 2), ("n\n", 2), ("y\n", 0)] {
        let command = env.call(["apply", &run]).into_command();
        let mut terminal = Terminal::start(
            command,
            Size {
                rows: 24,
                columns: 80,
            },
        );
        terminal.until_shown("[y/N]");
        let screen = terminal.screen();
        assert!(
            screen.contains("~ a.txt") && screen.contains("manifest"),
            "{screen}"
        );
        terminal.press(typed.as_bytes());
        let status = terminal.wait();
        assert_eq!(status.code(), Some(code), "{typed:?}");
        assert_eq!(snapshot(&env) == before, code == 2, "{typed:?}");
    }
}

/// C2: held entries are listed with their reason, come by name only; what is refused never comes.
#[test]
fn held_and_refused_entries_stay_in_the_copy() {
    let env = project();
    let run = after(
        &env,
        "mkdir .claude; echo x > .claude/settings.json; mkfifo pipe; ln -s /etc/passwd out; \
         mkdir -p v/.git; echo ref: x > v/.git/HEAD; echo fine > fine",
    );
    let shown = env.run(["diff", &run, "--stat"]).expect_code(0);
    for line in [
        "+ .claude/settings.json  +1 -0  (held back: ",
        "+ pipe  (never applied: it is a FIFO)",
        "+ out  (never applied: it is a link that leads out of the workspace)",
        "+ v/.git/HEAD  +1 -0  (held back: ",
        "+ fine  +1 -0\n",
    ] {
        assert!(shown.out().contains(line), "no {line:?} in\n{shown}");
    }
    well(&env, &["apply", &run, "--yes"]);
    assert_eq!(read(&env, "fine"), "fine\n");
    for path in [".claude", "pipe", "out", "v/.git"] {
        let found = fs::symlink_metadata(env.workspace().join(path));
        assert!(found.is_err(), "{path}");
    }
    for path in ["pipe", "out"] {
        let outcome = env.run(["apply", &run, "--yes", "--include", path, "--json"]);
        refused(&outcome, "include_refused");
    }
    well(&env, &["apply", &run, "--yes", "--include", ".claude"]);
    assert_eq!(read(&env, ".claude/settings.json"), "x\n");
}

/// C2, C3: conflicts are listed, nothing is touched; `--partial` does the rest and says so.
#[test]
fn conflicts_are_refused_or_left_out() {
    let env = project();
    let run = after(&env, "echo child > a.txt; echo child > b.txt");
    fs::write(env.workspace().join("a.txt"), "person\n").unwrap();
    let before = snapshot(&env);
    let outcome = env.run(["apply", &run, "--yes", "--json"]);
    refused(&outcome, "conflicts");
    assert_eq!(parsed(&outcome)["conflicts"][0]["path"], "a.txt");
    assert_eq!(snapshot(&env), before);
    let part = env
        .run(["apply", &run, "--yes", "--partial", "--json"])
        .expect_code(4);
    assert_eq!(parsed(&part)["status"], "partly_applied");
    assert_eq!(parsed(&part)["left"], json!(["a.txt"]));
    assert_eq!(
        (read(&env, "a.txt"), read(&env, "b.txt")),
        ("person\n".into(), "child\n".into())
    );
    well(&env, &["undo", &run, "--yes"]);
    assert_eq!(snapshot(&env), before);
}

/// C2: a manifest that isn't the reviewed one is refused.
#[test]
fn only_the_reviewed_manifest_is_applied() {
    let env = project();
    let run = after(&env, "echo child > a.txt");
    let told = parsed(&env.run(["diff", &run, "--json"]));
    let reviewed = told["manifest"].as_str().unwrap().to_owned();
    let upper = only_run(&env).join("copy/layers/upper");
    if upper.exists() {
        fs::write(upper.join("a.txt"), "swapped\n").unwrap();
    } else {
        fs::write(only_run(&env).join("copy/tree/a.txt"), "swapped\n").unwrap();
    }
    let before = snapshot(&env);
    let outcome = env.run(["apply", &run, "--yes", "--manifest", &reviewed, "--json"]);
    refused(&outcome, "manifest_changed");
    assert_eq!(snapshot(&env), before);
}

/// C2: what a child wrote can't steer the terminal that shows it.
#[test]
fn a_diff_shows_foreign_text_escaped() {
    let env = project();
    let run = after(
        &env,
        "printf 'x\\033]0;owned\\007\\342\\200\\256y\\n' > \"$(printf 'n\\033[31m')\"",
    );
    for arguments in [
        vec!["diff", &run],
        vec!["diff", &run, "--stat"],
        vec!["diff", &run, "--json"],
    ] {
        let shown = env.run(arguments).expect_code(0);
        assert!(
            !shown.stdout.contains(&0x1b) && !shown.out().contains('\u{202e}'),
            "{shown}"
        );
    }
    let coloured = env.call(["diff", &run]).into_command();
    let mut terminal = Terminal::start(
        coloured,
        Size {
            rows: 30,
            columns: 80,
        },
    );
    terminal.until_shown("manifest");
    assert!(
        terminal.screen().contains("\\u{1b}]0;owned\\u{7}"),
        "{}",
        terminal.screen()
    );
}

/// C2: a living run's copy can be looked at, and nothing else.
#[test]
fn a_living_runs_copy_is_only_looked_at() {
    let env = project();
    let wait = env.root().join("go");
    let bash = call("bash", json!({ "command": "echo child > a.txt; sleep 60" }));
    let model = script(&env, &json!({ "turns": [bash, say("Done.")] }));
    let mut running = env
        .call([
            "run", "--json", "--allow", "shell", "--model", &model, "Do it.",
        ])
        .start();
    let run = until("the child writes", || {
        let run = fs::read_dir(env.state().join("deputize/runs"))
            .ok()?
            .next()?
            .ok()?;
        let name = run.file_name().into_string().unwrap();
        let diff = env.run(["diff", &name, "--name-only"]);
        (diff.out() == "a.txt\n").then_some(name)
    });
    for command in ["apply", "discard", "undo"] {
        refused(&env.run([command, &run, "--yes", "--json"]), "run_lives");
    }
    let swept = parsed(
        &env.run(["gc", "--json", "--older-than", "0", "--unapplied"])
            .expect_code(0),
    );
    assert_eq!(swept["copies"], json!([]));
    running.signal(Signal::KILL);
    assert!(running.wait().signal().is_some() && !wait.exists());
    // The supervisor is gone, and with it everything inside: now it can be applied.
    until("the copy is free", || {
        let outcome = env.run(["apply", &run, "--yes", "--json"]);
        (outcome.code() == Some(0)).then_some(())
    });
    assert_eq!(read(&env, "a.txt"), "child\n");
}

/// A2, C2: without its ledger a copy isn't applied; it can still be looked at, and thrown away.
#[test]
fn a_copy_without_its_ledger_is_not_applied() {
    let env = project();
    let run = after(&env, "echo child > a.txt");
    let ledger = only_run(&env).join("ledger.jsonl");
    let mut text = fs::read(&ledger).unwrap();
    text[40] ^= 1;
    fs::write(&ledger, text).unwrap();
    let before = snapshot(&env);
    let outcome = env.run(["apply", &run, "--yes", "--json"]);
    assert_eq!(parsed(&outcome)["error"]["code"], "ledger_failed");
    assert_eq!(outcome.code(), Some(1), "{outcome}");
    assert_eq!(snapshot(&env), before);
    well(&env, &["diff", &run]);
    well(&env, &["discard", &run, "--yes"]);
}

/// C2: gc takes what nobody needs, never unapplied changes without a word.
#[test]
fn gc_keeps_what_was_not_applied() {
    let env = project();
    let first = after(&env, "echo first > first");
    let second = after(&env, "echo second > second");
    well(&env, &["apply", &first, "--yes"]);
    let dry = parsed(&env.run(["gc", "--dry-run", "--json"]).expect_code(0));
    let fates = |told: &Value| -> BTreeMap<String, String> {
        let rows = told["copies"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        rows.map(|row| {
            let run = text(&row["run"]);
            (run[run.len() - 8..].to_owned(), text(&row["fate"]))
        })
        .collect()
    };
    let expected = BTreeMap::from([
        (first.clone(), "removed".to_owned()),
        (second.clone(), "kept".to_owned()),
    ]);
    assert_eq!(fates(&dry), expected);
    well(&env, &["diff", &first]);
    assert_eq!(fates(&parsed(&env.run(["gc", "--json"]))), expected);
    refused(&env.run(["undo", &first, "--yes", "--json"]), "no_copy");
    well(&env, &["gc", "--older-than", "0"]);
    well(&env, &["gc", "--keep-bytes", "0"]);
    well(&env, &["diff", &second]);
    let shown = env
        .run(["gc", "--older-than", "0", "--unapplied"])
        .expect_code(0);
    assert!(shown.out().contains("gone"), "{shown}");
    refused(&env.run(["diff", &second, "--json"]), "no_copy");
    assert_eq!(read(&env, "first"), "first\n");
}

/// C2: kill -9 at any moment of an apply or an undo: the next command finishes it or takes it back.
#[test]
fn a_killed_apply_is_finished_or_taken_back() {
    let env = scene();
    env.lay(|tree| {
        for index in 0..200 {
            tree.file(format!("old{index}"), format!("old {index}\n"));
        }
    });
    let run = after(
        &env,
        "for i in $(seq 0 199); do echo new $i > old$i; echo $i > new$i; done; mkdir d; echo x > d/x",
    );
    let old = snapshot(&env);
    let mut outcomes = [0, 0];
    well(&env, &["apply", &run, "--yes"]);
    let new = snapshot(&env);
    well(&env, &["undo", &run, "--yes"]);
    let stage = || {
        let names = fs::read_dir(env.workspace()).unwrap();
        let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.find(|name| name.starts_with(".deputize-apply-"))
    };
    for round in 0..12 {
        let mut running = env.call(["apply", &run, "--yes"]).start();
        // Later and later: at the staging, and among the exchanges.
        until("it stages, or ends", || {
            let staged = stage().map(|name| {
                let listed = fs::read_dir(env.workspace().join(name));
                listed.map_or(0, Iterator::count)
            });
            let far = staged.is_some_and(|count| count >= round * 40);
            (far || env.workspace().join("d/x").exists()).then_some(())
        });
        kill(&mut running);
        let _: Outcome = running.wait();
        // Whatever comes next deals with it; a look doesn't.
        let state = parsed(&env.run(["diff", &run, "--json"]).expect_code(0));
        let undone = env.run(["undo", &run, "--yes", "--json"]);
        if undone.code() == Some(0) {
            outcomes[1] += 1;
        } else {
            refused(&undone, "nothing_to_undo");
            outcomes[0] += 1;
        }
        assert_eq!(snapshot(&env), old, "round {round}: {}", state["state"]);
        assert_eq!(stage(), None);
    }
    assert!(outcomes[0] > 0 && outcomes[1] > 0, "{outcomes:?}");
    well(&env, &["apply", &run, "--yes"]);
    assert_eq!(snapshot(&env), new);
    well(&env, &["audit", "verify", &run]);
}

/// C2: an apply that was killed is dealt with before another run's copy is applied, and told.
#[test]
fn another_runs_apply_deals_with_a_killed_one() {
    let env = project();
    let first = after(
        &env,
        "for i in $(seq 0 299); do echo $i > new$i; done; echo first > a.txt",
    );
    let second = after(&env, "echo second > b.txt");
    let mut running = env.call(["apply", &first, "--yes"]).start();
    until("it stages", || {
        let names = fs::read_dir(env.workspace()).unwrap();
        let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .any(|name| name.starts_with(".deputize-apply-"))
            .then_some(())
    });
    kill(&mut running);
    let _: Outcome = running.wait();
    well(&env, &["apply", &second, "--yes"]);
    assert_eq!(read(&env, "b.txt"), "second\n");
    let whole = env.workspace().join("new299").exists();
    let count = fs::read_dir(env.workspace()).unwrap().count();
    assert_eq!(count, if whole { 303 } else { 3 });
    let text = if whole { "first\n" } else { "one\ntwo\n" };
    assert_eq!(read(&env, "a.txt"), text);
    let ledger = runs(&env).into_iter().find(|run| {
        let name = run.file_name().unwrap().to_str().unwrap();
        name.ends_with(&first)
    });
    let kinds = kinds(&ledger.unwrap());
    let has = |kind: &str| kinds.iter().any(|one| one == kind);
    // Where it was quicker than the kill, nothing was left to deal with.
    assert_ne!(has("copy.recovered"), has("copy.applied"), "{kinds:?}");
}

/// Kills a program that may have ended by itself.
fn kill(running: &mut deputize_testkit::Running) {
    let id = rustix::process::Pid::from_raw(i32::try_from(running.id()).unwrap()).unwrap();
    // It isn't waited for yet, so the id is still its own.
    let _ = rustix::process::kill_process(id, Signal::KILL);
}

/// C2: as an ordinary user all of it works too, with files that stay that user's.
#[test]
fn an_ordinary_user_applies_too() {
    use std::os::unix::fs::MetadataExt as _;
    let Some(env) = ordinary() else { return };
    env.lay(|tree| {
        tree.file("a.txt", "one\n");
    });
    let run = after(&env, "echo two >> a.txt; echo n > new");
    well(&env, &["apply", &run, "--yes"]);
    assert_eq!(read(&env, "a.txt"), "one\ntwo\n");
    let owner = |path: &str| fs::metadata(env.workspace().join(path)).unwrap().uid();
    assert_eq!((owner("a.txt"), owner("new")), (owner(""), owner("")));
    assert_ne!(owner(""), 0);
    well(&env, &["undo", &run, "--yes"]);
    assert_eq!(read(&env, "a.txt"), "one\n");
    well(&env, &["discard", &run, "--yes"]);
}

/// C2, C4: folders that are closed to their own owner, the person's and the child's, are applied and
/// taken back all the same, and have their own permissions in the end.
#[test]
fn folders_closed_to_their_owner_are_applied_and_taken_back() {
    let Some(env) = ordinary() else { return };
    env.lay(|tree| {
        tree.file("closed/old", "old\n").file("opens/old", "old\n");
    });
    let mode = |path: &str| {
        let meta = fs::metadata(env.workspace().join(path)).unwrap();
        meta.permissions().mode() & 0o777
    };
    for path in ["closed", "opens", ""] {
        set_mode(&env.workspace().join(path), 0o555);
    }
    let before = snapshot(&env);
    let run = after(
        &env,
        "chmod 755 . closed opens; echo new > opens/new; echo new > closed/new; rm closed/old; \
         mkdir -p n/m; echo f > n/m/f; chmod 555 n/m n closed .",
    );
    well(&env, &["apply", &run, "--yes"]);
    assert_eq!(read(&env, "n/m/f"), "f\n");
    assert_eq!(read(&env, "opens/new"), "new\n");
    assert!(!env.workspace().join("closed/old").exists());
    let modes = ["", "closed", "opens", "n", "n/m"].map(mode);
    assert_eq!(modes, [0o555, 0o555, 0o755, 0o555, 0o555]);
    well(&env, &["undo", &run, "--yes"]);
    assert_eq!(snapshot(&env), before);
    assert_eq!(["", "closed", "opens"].map(mode), [0o555; 3]);
}

/// C2, H3: a folder that is closed and isn't one's own is named, with whom to ask; nothing is touched.
#[test]
fn a_closed_folder_of_somebody_else_is_named() {
    let Some(env) = ordinary() else { return };
    env.lay(|tree| {
        tree.file("a.txt", "a\n").file("theirs/old", "old\n");
    });
    let run = after(&env, "echo b > a.txt; echo new > theirs/new");
    let before = snapshot(&env);
    std::os::unix::fs::chown(env.workspace().join("theirs"), Some(0), Some(0)).unwrap();
    for how in ["--dry-run", "--yes"] {
        let outcome = env.run(["apply", &run, how, "--json"]);
        refused(&outcome, "folder_closed");
        let error = &parsed(&outcome)["error"];
        assert!(error["reason"].as_str().unwrap().contains("`theirs`"));
        assert!(error["fix"].as_str().unwrap().contains("owner"));
    }
    assert_eq!(snapshot(&env), before);
}

/// C2, C4: throwing a copy away says what stays applied and can't be undone any more, before and after.
#[test]
fn throwing_an_applied_copy_away_says_that_it_stays_applied() {
    let env = project();
    let run = after(&env, "echo child > a.txt");
    well(&env, &["apply", &run, "--yes"]);
    let applied = snapshot(&env);
    let dry = env.run(["gc", "--dry-run"]).expect_code(0);
    assert!(
        dry.out().contains("can't be undone once it is gone"),
        "{dry}"
    );
    let size = Size {
        rows: 24,
        columns: 100,
    };
    let mut terminal = Terminal::start(env.call(["discard", &run]).into_command(), size);
    terminal.until_shown("[y/N]");
    let screen = terminal.screen();
    assert!(screen.contains("they stay in your folder"), "{screen}");
    terminal.press(b"n\n");
    assert_eq!(terminal.wait().code(), Some(2));
    let gone = env.run(["discard", &run, "--yes"]).expect_code(0);
    assert!(gone.out().contains("what was applied stays"), "{gone}");
    assert!(!gone.out().contains("as it was"), "{gone}");
    assert_eq!(snapshot(&env), applied);

    let second = after(&env, "echo child > b.txt");
    let gone = env.run(["discard", &second, "--yes"]).expect_code(0);
    assert!(
        gone.out().contains("nothing of it is in your folder"),
        "{gone}"
    );
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A workspace of somebody who isn't root; `None` where nobody else can be had, or can't run this.
pub(crate) fn ordinary() -> Option<TestEnv> {
    let program = env!("CARGO_BIN_EXE_deputize");
    let user = OrdinaryUser::for_root()?;
    let runs = fs::metadata(program).unwrap().permissions().mode() & 0o001 != 0;
    runs.then(|| TestEnv::for_user(program, user))
}
