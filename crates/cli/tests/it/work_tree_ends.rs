//! A private clone that can't be made, or whose making is cut off (C2, B5).

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use deputize_testkit::{OrdinaryUser, Outcome, OverlayDisk, TestEnv, Tree, alive, until};
use rustix::process::Signal;
use serde_json::json;

use crate::scene::{descendants, only_run, parsed, refused_code, say, scene, script};
use crate::work_tree::{bash, git, lay, play, repository, well};

/// C2: what can't be cloned is refused before a model is asked, with what to do instead.
#[test]
fn what_cannot_be_cloned_is_refused() {
    let env = repository();
    env.lay(|tree| {
        tree.folder("d/inner");
    });
    let root = env.root().to_owned();
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    fs::create_dir(root.join("plain")).unwrap();
    git(&env, &["worktree", "add", "-q", "--detach", &at("linked")]);
    git(&env, &["clone", "-q", "--shared", ".", &at("borrowing")]);
    let file = format!("file://{}", env.workspace().display());
    git(&env, &["clone", "-q", "--depth=1", &file, &at("shallow")]);
    let filter = ["-c", "uploadpack.allowFilter=true"];
    git(
        &env,
        &[
            &filter[..],
            &["clone", "-q", "--filter=blob:none", &file, &at("partial")],
        ]
        .concat(),
    );
    let model = script(&env, &json!({ "turns": [say("Never said.")] }));
    let refusal = |folder: &str| {
        let outcome = env.run([
            "run",
            "--allow",
            "shell",
            "--workspace",
            "worktree",
            "--model",
            &model,
            "--workdir",
            folder,
            "Do it.",
        ]);
        assert_eq!(outcome.code(), Some(2), "{outcome}");
        refused_code(&outcome)
    };
    for (folder, code) in [
        (at("plain"), "worktree_needs_repository"),
        ("d".to_owned(), "worktree_needs_repository"),
        (at("linked"), "worktree_linked"),
        (at("borrowing"), "worktree_alternates"),
        (at("shallow"), "worktree_incomplete"),
    ] {
        assert_eq!(refusal(&folder), code, "{folder}");
    }
    // Whether git honours a filter depends on the side that serves.
    let pack = root.join("partial/.git/objects/pack");
    let promised = |entry: &fs::DirEntry| {
        entry
            .path()
            .extension()
            .is_some_and(|end| end == "promisor")
    };
    assert!(
        fs::read_dir(pack)
            .unwrap()
            .flatten()
            .any(|entry| promised(&entry))
    );
    assert_eq!(refusal(&at("partial")), "worktree_incomplete");
    assert!(!env.state().join("deputize/runs").exists());
}

/// C2: a repository without a commit, and one that git can't read, end the run with what git said; no
/// copy is left.
#[test]
fn what_git_cannot_clone_ends_the_run() {
    let env = scene();
    git(&env, &["init", "-q"]);
    let code = |outcome: &Outcome| {
        let result = parsed(outcome);
        assert_ne!(result["status"], "ok", "{outcome}");
        result.to_string()
    };
    let empty = play(&env, json!([bash("echo never"), say("Done.")]));
    let told = code(&empty);
    assert!(
        told.contains("worktree_needs_commit") || told.contains("HEAD is no commit"),
        "{told}"
    );
    lay(&env);
    fs::write(env.workspace().join(".git/HEAD"), "nothing of git's\n").unwrap();
    let broken = play(&env, json!([bash("echo never"), say("Done.")]));
    let told = code(&broken);
    assert!(told.contains("couldn't be cloned: git said:"), "{told}");
    for run in crate::scene::runs(&env) {
        assert!(!run.join("copy").exists());
    }
}

/// B5, C2: kill -9 while git clones leaves no process; what it left on the disk goes with `discard`
/// or with `gc`.
#[test]
fn a_kill_during_the_clone_leaves_nothing_behind() {
    let env = repository();
    // Git waits for a writer that never comes.
    Tree::at(&env.workspace()).fifo(".git/packed-refs");
    env.give();
    let model = script(&env, &json!({ "turns": [bash("true"), say("Done.")] }));
    let killed = |way: &dyn Fn(&Path)| {
        let mut running = env
            .call([
                "run",
                "--allow",
                "shell",
                "--workspace",
                "worktree",
                "--model",
                &model,
                "Go.",
            ])
            .start();
        let below = until("git waits", || {
            let below = descendants(running.id());
            below.iter().any(|id| is_upload_pack(*id)).then_some(below)
        });
        running.signal(Signal::KILL);
        let outcome = running.wait();
        assert_eq!(outcome.signal(), Some(9));
        assert!(!outcome.streams_held, "something outlived it");
        until("everything below it is gone", || {
            below.iter().all(|id| !alive(*id)).then_some(())
        });
        let run = crate::scene::runs(&env).pop().unwrap();
        assert!(run.join("copy/tree").exists() && !run.join("copy/copy.json").exists());
        way(&run);
        assert!(!run.join("copy").exists());
    };
    killed(&|run| {
        let id = run.file_name().unwrap().to_str().unwrap();
        well(&env, &["discard", id, "--yes"]);
    });
    killed(&|_| well(&env, &["gc"]));
}

/// B5, C2: a run that is ended while git clones ends in order: no process outlives its end, and
/// nothing of a copy is left.
#[test]
fn an_end_during_the_clone_is_in_order() {
    let env = repository();
    Tree::at(&env.workspace()).fifo(".git/packed-refs");
    env.give();
    let model = script(&env, &json!({ "turns": [bash("true"), say("Done.")] }));
    let mut running = env
        .call([
            "run",
            "--allow",
            "shell",
            "--workspace",
            "worktree",
            "--model",
            &model,
            "Go.",
        ])
        .start();
    let below = until("git waits", || {
        let below = descendants(running.id());
        below.iter().any(|id| is_upload_pack(*id)).then_some(below)
    });
    running.signal(Signal::TERM);
    let outcome = running.wait().expect_code(130);
    assert!(below.iter().all(|id| !alive(*id)), "{outcome}");
    assert!(!outcome.err().contains("not proven") && !outcome.out().contains("not proven"));
    assert!(!only_run(&env).join("copy").exists());
}

/// C2: the clone lies on the disk of runs, whatever that is; as root it has to be one that can map
/// owners, and that is said.
#[test]
fn a_clone_stands_on_any_disk_that_can_show_it() {
    let (Some(disk), Some(user)) = (OverlayDisk::mount(), OrdinaryUser::for_root()) else {
        println!("only root can mount such a disk");
        return;
    };
    let run = |env: &TestEnv, state: &str| {
        lay(env);
        let state = disk.path().join(state);
        fs::create_dir(&state).unwrap();
        if env.root().metadata().unwrap().uid() != 0 {
            user.give(&state);
        }
        let model = script(env, &json!({ "turns": [bash("cat b.txt"), say("Done.")] }));
        env.call([
            "run",
            "--json",
            "--allow",
            "shell",
            "--workspace",
            "worktree",
            "--model",
            &model,
            "Go.",
        ])
        .env("XDG_STATE_HOME", &state)
        .run()
    };
    let theirs = TestEnv::for_user(env!("CARGO_BIN_EXE_deputize"), user);
    let _ = run(&theirs, "theirs").expect_code(0);
    let outcome = run(&scene(), "ours");
    let result = parsed(&outcome).to_string();
    assert!(
        result.contains("no copy of the folder can be shown inside"),
        "{outcome}"
    );
}

/// Whether a process is the side of a clone that serves.
fn is_upload_pack(id: u32) -> bool {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains("upload-pack")
}
