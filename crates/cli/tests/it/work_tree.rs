//! A child that works in a private clone of its workspace's repository (C2).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use deputize_testkit::{OrdinaryUser, Outcome, TestEnv, Tree};
use serde_json::{Value, json};

use crate::scene::{call, events, only_run, parsed, say, scene, script};

/// Runs git as the person does, outside of everything.
#[track_caller]
pub(crate) fn git(env: &TestEnv, arguments: &[&str]) {
    let output = env
        .command("git")
        .args(["-c", "user.name=P", "-c", "user.email=p@example.org"])
        .args([
            "-c",
            "init.defaultBranch=main",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// A repository with one commit, an edit that isn't committed and a file that git doesn't know.
pub(crate) fn lay(env: &TestEnv) {
    env.lay(|tree| {
        tree.file("a.txt", "one\n")
            .file("b.txt", "committed\n")
            .file("d/x", "x\n")
            .program("run.sh", "#!/bin/sh\necho ran\n");
    });
    git(env, &["init", "-q"]);
    git(env, &["add", "."]);
    git(env, &["commit", "-q", "-m", "first"]);
    env.lay(|tree| {
        tree.file("b.txt", "edited, not committed\n")
            .file("unknown.txt", "untracked\n");
    });
}

pub(crate) fn repository() -> TestEnv {
    let env = scene();
    lay(&env);
    env
}

/// Plays these turns in a run that works in a clone.
#[track_caller]
pub(crate) fn play(env: &TestEnv, turns: Value) -> Outcome {
    let model = script(env, &json!({ "turns": turns }));
    env.run([
        "run",
        "--json",
        "--allow",
        "shell",
        "--budget",
        "changed_files=1000",
        "--workspace",
        "worktree",
        "--model",
        &model,
        "Do it.",
    ])
}

pub(crate) fn bash(command: &str) -> Value {
    call("bash", json!({ "command": command }))
}

/// A run whose child ran these commands in its clone; what it was told, and the run's short name.
#[track_caller]
fn after(env: &TestEnv, commands: &str) -> (String, String) {
    let outcome = play(env, json!([bash(commands), say("Done.")])).expect_code(0);
    let result = parsed(&outcome);
    let id = result["run"].as_str().unwrap();
    let folder = env.state().join("deputize/runs").join(id);
    let text = fs::read_to_string(folder.join("transcript.json")).unwrap();
    let messages: Vec<Value> = serde_json::from_str(&text).unwrap();
    let told: Vec<&str> = messages
        .iter()
        .filter_map(|message| message["tool_result"]["content"].as_str())
        .collect();
    (told.join("\n"), id[id.len() - 8..].to_owned())
}

/// Everything in the workspace, the repository included: content, permissions, identity and time.
type Snapshot = BTreeMap<PathBuf, (Vec<u8>, u32, u64, i128)>;

fn snapshot(env: &TestEnv) -> Snapshot {
    let mut found = BTreeMap::new();
    let mut folders = vec![env.workspace()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = match meta.is_file() {
                true => fs::read(&path).unwrap(),
                false => Vec::new(),
            };
            if meta.is_dir() {
                folders.push(path.clone());
            }
            let modified = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
            found.insert(path, (content, meta.mode(), meta.ino(), modified));
        }
    }
    found
}

/// The paths that aren't as they were.
fn differing(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let changed = paths
        .iter()
        .filter(|path| before.get(**path) != after.get(**path));
    changed.map(|path| path.display().to_string()).collect()
}

fn read(env: &TestEnv, path: &str) -> String {
    fs::read_to_string(env.workspace().join(path)).unwrap()
}

#[track_caller]
pub(crate) fn well(env: &TestEnv, arguments: &[&str]) {
    let outcome = env.run(arguments);
    assert_eq!(outcome.code(), Some(0), "{outcome}");
}

/// As root and, where the test is root, as an ordinary user.
fn everyone() -> Vec<TestEnv> {
    let ordinary = OrdinaryUser::for_root()
        .map(|user| TestEnv::for_user(env!("CARGO_BIN_EXE_deputize"), user));
    let all: Vec<TestEnv> = [Some(scene()), ordinary].into_iter().flatten().collect();
    all.iter().for_each(lay);
    all
}

/// C2: the child sees HEAD, not what isn't committed; it commits on top of the person's history, and
/// nothing of the person's folder or repository changes, nor can it be written.
#[test]
fn a_child_commits_in_a_fresh_checkout_of_head() {
    for env in everyone() {
        let before = snapshot(&env);
        let (told, run) = after(
            &env,
            "cat b.txt; ls; git status --short; echo new > new.txt; git add new.txt; \
             git -c user.name=C -c user.email=c@example.org commit -q -m second; \
             git log --format=%s; git cat-file -p HEAD:d/x; git fsck --connectivity-only && echo sound; \
             cat .git/objects/info/alternates; \
             touch .git/origin-objects/planted || echo kept-out; \
             echo x > .git/config || echo pinned; ls -A .git/origin-objects | grep -c .",
        );
        assert!(
            told.contains("\ncommitted\na.txt\nb.txt\nd\nrun.sh\nsecond\nfirst\nx\n"),
            "{told}"
        );
        for part in [
            "second\nfirst\nx\n",
            "sound\n",
            "../origin-objects\n",
            "kept-out\n",
            "pinned\n",
        ] {
            assert!(told.contains(part), "no {part:?} in {told}");
        }
        assert!(!told.contains("??") && !told.contains(" M "), "{told}");
        assert_eq!(differing(&before, &snapshot(&env)), [""; 0]);
        let made = events(&only_run(&env));
        let made = made
            .iter()
            .find(|event| event["kind"] == "copy.made")
            .unwrap();
        assert_eq!(made["data"]["method"], "worktree");
        let notes = made["data"]["notes"].to_string();
        assert!(
            notes.contains("a fresh checkout of HEAD (4 files)"),
            "{notes}"
        );
        // The commit is the clone's; the file that it brought can be had.
        let all = parsed(&env.run(["diff", &run, "--json"]).expect_code(0));
        let changes = all["changes"].as_array().unwrap();
        let plain: Vec<&Value> = changes
            .iter()
            .filter(|change| !change["path"].as_str().unwrap().starts_with(".git/"))
            .collect();
        assert_eq!(plain.len(), 1, "{all}");
        assert_eq!(plain[0]["path"], "new.txt");
        // What git keeps for itself is one line for people, until it is named.
        let shown = env.run(["diff", &run]).expect_code(0);
        assert!(
            shown
                .out()
                .contains("changed: .git (the repository itself, "),
            "{shown}"
        );
        assert!(!shown.out().contains(".git/"), "{shown}");
        let named = env.run(["diff", &run, ".git"]).expect_code(0);
        assert!(named.out().contains(".git/refs/heads/"), "{named}");
        well(&env, &["apply", &run, "--yes"]);
        assert_eq!(read(&env, "new.txt"), "new\n");
        let mut changed = differing(&before, &snapshot(&env));
        changed.retain(|path| path.contains("/.git"));
        assert_eq!(changed, [""; 0]);
    }
}

/// C2, S2: whoever is asked sees that what isn't committed isn't there, before anything starts.
#[test]
fn the_card_says_what_is_not_there() {
    let env = repository();
    let model = script(&env, &json!({ "turns": [say("Never said.")] }));
    let options = [
        "--allow",
        "shell",
        "--workspace",
        "worktree",
        "--model",
        &model,
        "Do it.",
    ];
    let card = env
        .run(["run", "--dry-run"].iter().chain(&options))
        .expect_code(0);
    let row =
        "(in a private clone of HEAD, without what isn't committed: the folder stays as it is";
    assert!(card.unwrapped().contains(row), "{card}");
    assert!(!env.state().join("deputize/runs").exists());
}

/// C2, D1: the check runs on the same clone, with the person's history in it.
#[test]
fn a_check_sees_the_clone() {
    let env = repository();
    let model = script(
        &env,
        &json!({ "turns": [bash("echo new > new.txt"), say("Done.")] }),
    );
    let outcome = env
        .run([
            "run",
            "--json",
            "--allow",
            "shell",
            "--workspace",
            "worktree",
            "--check",
            "grep -q new new.txt && grep -q committed b.txt && git log --format=%s | grep -qx first",
            "--model",
            &model,
            "Do it.",
        ])
        .expect_code(0);
    assert_eq!(
        parsed(&outcome)["checks"][0]["outcome"],
        "passed",
        "{outcome}"
    );
    assert!(!env.workspace().join("new.txt").exists());
}

/// C2, C4: a clone's changes come, go back and are thrown away as any copy's; permissions that git
/// knows nothing of stay the person's.
#[test]
fn a_clone_is_looked_at_applied_taken_back_and_thrown_away() {
    for env in everyone() {
        let a = env.workspace().join("a.txt");
        fs::set_permissions(&a, fs::Permissions::from_mode(0o640)).unwrap();
        let before = snapshot(&env);
        let (_, run) = after(
            &env,
            "echo two >> a.txt; rm -r d; chmod -x run.sh; mkdir n; echo n > n/n",
        );
        let shown = env.run(["diff", &run]).expect_code(0);
        for line in [
            "changed file: a.txt",
            "+two",
            "deleted file: d/x",
            "new file: n/n",
            "copy: a fresh checkout of HEAD",
        ] {
            assert!(shown.out().contains(line), "no {line}: {shown}");
        }
        well(&env, &["apply", &run, "--yes"]);
        assert_eq!(read(&env, "a.txt"), "one\ntwo\n");
        assert_eq!(read(&env, "n/n"), "n\n");
        assert_eq!(read(&env, "b.txt"), "edited, not committed\n");
        assert!(!env.workspace().join("d").exists());
        assert_eq!(fs::metadata(&a).unwrap().mode() & 0o777, 0o640);
        assert_eq!(
            fs::metadata(env.workspace().join("run.sh")).unwrap().mode() & 0o111,
            0
        );
        well(&env, &["undo", &run, "--yes"]);
        let contents = |all: &Snapshot| -> Vec<_> {
            all.iter()
                .map(|(path, (content, mode, ..))| (path.clone(), content.clone(), *mode))
                .collect()
        };
        assert!(
            contents(&snapshot(&env)) == contents(&before),
            "the undo left something"
        );
        well(&env, &["discard", &run, "--yes"]);
        assert!(!only_run(&env).join("copy").exists());
    }
}

/// C2: an edit that isn't committed, and a file that git doesn't know, are in nobody's way until the
/// child changes the same ones; then they are conflicts, and stay.
#[test]
fn what_is_not_committed_is_a_conflict_where_the_child_worked() {
    let env = repository();
    let (_, run) = after(
        &env,
        "echo mine > b.txt; echo mine > unknown.txt; echo two >> a.txt",
    );
    let refused = env.run(["apply", &run, "--yes", "--json"]).expect_code(2);
    assert_eq!(parsed(&refused)["error"]["code"], "conflicts", "{refused}");
    assert_eq!(read(&env, "a.txt"), "one\n");
    let partly = env
        .run(["apply", &run, "--yes", "--partial"])
        .expect_code(4);
    assert!(
        partly
            .out()
            .contains("conflict: b.txt (it was changed since)"),
        "{partly}"
    );
    assert_eq!(read(&env, "a.txt"), "one\ntwo\n");
    assert_eq!(read(&env, "b.txt"), "edited, not committed\n");
    assert_eq!(read(&env, "unknown.txt"), "untracked\n");
}

/// S6, C2: whatever a repository names for git to run, by configuration, attributes, hooks, templates
/// or submodules: none of it runs, on the host or where the clone is made.
#[test]
fn a_hostile_repository_runs_nothing() {
    let env = repository();
    let canary = env.root().join("canary");
    let evil = env.workspace().join(".git/evil.sh");
    let shown = evil.display();
    // Whoever runs it is told, and doesn't survive it.
    let body = format!(
        "#!/bin/sh\ntouch '{}'\ntouch ran\nkill -9 $PPID\n",
        canary.display()
    );
    let outside = env.root().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    git(&env, &["init", "-q", outside.to_str().unwrap()]);
    env.lay(|tree| {
        tree.program(".git/evil.sh", &body)
            .program(".git/hooks/post-checkout", &body)
            .program(".git/hooks/reference-transaction", &body)
            .program(".git/hooks/post-index-change", &body)
            .file(".gitattributes", "* filter=evil diff=evil merge=evil\n")
            .file(
                ".gitmodules",
                format!(
                    "[submodule \"s\"]\n\tpath = s\n\turl = file://{}\n",
                    outside.display()
                ),
            );
    });
    // The same settings in the person's own configuration, which git would take before a repository's.
    let settings = format!(
        "[filter \"evil\"]\n\tsmudge = {shown}\n\tclean = {shown}\n\tprocess = {shown}\n\trequired = true\n\
         [diff \"evil\"]\n\tcommand = {shown}\n\ttextconv = {shown}\n\
         [core]\n\tfsmonitor = {shown}\n\thooksPath = {hooks}\n\tsshCommand = {shown}\n\
         \talternateRefsCommand = {shown}\n\tgitProxy = {shown}\n\tpager = {shown}\n\
         [uploadpack]\n\tpackObjectsHook = {shown}\n[submodule]\n\trecurse = true\n\
         [submodule \"s\"]\n\tactive = true\n\tupdate = !{shown}\n[protocol]\n\tallow = always\n\
         [credential]\n\thelper = !{shown}\n[init]\n\ttemplateDir = {template}\n",
        hooks = env.workspace().join(".git/hooks").display(),
        template = env.home().join("template").display(),
    );
    Tree::at(&env.home()).program("template/hooks/post-checkout", &body);
    // The commit is made before any of it counts.
    let link = "160000,0123456789012345678901234567890123456789,s";
    git(
        &env,
        &[
            "-c",
            "core.hooksPath=/dev/null",
            "add",
            ".gitattributes",
            ".gitmodules",
        ],
    );
    git(
        &env,
        &[
            "-c",
            "core.hooksPath=/dev/null",
            "update-index",
            "--add",
            "--cacheinfo",
            link,
        ],
    );
    git(
        &env,
        &[
            "-c",
            "core.hooksPath=/dev/null",
            "commit",
            "-q",
            "-m",
            "trap",
        ],
    );
    let _ = fs::remove_file(&canary);
    Tree::at(&env.home()).file(".gitconfig", &settings);
    let config = env.workspace().join(".git/config");
    let own = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{own}{settings}")).unwrap();
    env.give();
    // Who is careless runs it.
    let careless = env.root().join("careless");
    let _ = env
        .command("git")
        .args(["clone", "-q", "--shared", "."])
        .arg(&careless)
        .output()
        .unwrap();
    assert!(canary.exists(), "the trap is no trap");
    fs::remove_file(&canary).unwrap();
    let before = snapshot(&env);
    let (told, _) = after(
        &env,
        "ls -A; ls -A s .git/hooks; cat a.txt; git log -1 --format=%s",
    );
    assert!(!told.contains("ran\n"), "{told}");
    assert!(told.contains("one\n") && told.contains("trap\n"), "{told}");
    assert!(!canary.exists(), "something ran on the host");
    assert_eq!(differing(&before, &snapshot(&env)), [""; 0]);
}
