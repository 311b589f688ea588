//! Folders that nobody should work in, and folders that are not what they seem.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use deputize_testkit::{Outcome, TestEnv};

use crate::scene::{project, refused_code, runs, scene};

fn scout(env: &TestEnv, more: &[&str]) -> Outcome {
    let base = ["run", "--model", "scout", "--preset", "read-only"];
    env.run(base.iter().chain(more))
}

/// S2: folders that no child works in, each refused with its code before anything starts; the same
/// for a command.
#[test]
fn folders_that_are_refused() {
    let env = project();
    let home = env.home();
    for folder in [".config/tool", ".local/state/deputize", ".ssh"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    env.lay(|tree| {
        tree.link("out", "/usr")
            .link("up", "..")
            .link("dangling", "nowhere")
            .link_loop("loop")
            .folder(".claude/agents")
            .file("plain", "");
    });
    let state = home.join(".local/state/deputize");
    let state = state.to_str().unwrap();
    for (folder, code) in [
        ("nowhere", "folder_missing"),
        ("dangling", "folder_missing"),
        ("plain", "workdir_not_folder"),
        ("plain/x", "workdir_unreadable"),
        ("loop", "workdir_unreadable"),
        ("out", "workdir_link_out"),
        ("up", "workdir_link_out"),
        ("/", "root_is_everything"),
        ("/usr/..", "root_is_everything"),
        ("//", "root_is_everything"),
        ("~", "root_is_home"),
        (home.to_str().unwrap(), "root_is_home"),
        (env.root().to_str().unwrap(), "root_is_home"),
        ("..", "root_is_home"),
        ("~/.ssh", "root_is_reserved"),
        ("~/.config/tool", "root_is_reserved"),
        (state, "root_is_reserved"),
        (".claude/agents", "root_is_reserved"),
    ] {
        let outcome = scout(&env, &["--workdir", folder, "Look."]).expect_code(2);
        assert_eq!(refused_code(&outcome), code, "run in {folder:?}: {outcome}");
        let outcome = env
            .run(["exec", "--workdir", folder, "--", "true"])
            .expect_code(126);
        assert_eq!(refused_code(&outcome), code, "exec in {folder:?}");
    }
    assert!(runs(&env).is_empty());
}

/// S2: the same when it is the caller's own folder.
#[test]
fn the_callers_own_folder_is_judged_too() {
    let env = scene();
    for (folder, code) in [
        (env.home(), "root_is_home"),
        ("/".into(), "root_is_everything"),
        (env.root().to_owned(), "root_is_home"),
    ] {
        let outcome = env
            .call(["run", "--model", "scout", "--preset", "read-only", "Look."])
            .in_folder(&folder)
            .run()
            .expect_code(2);
        assert_eq!(refused_code(&outcome), code, "{}", folder.display());
        let outcome = env
            .call(["exec", "--", "true"])
            .in_folder(&folder)
            .run()
            .expect_code(126);
        assert_eq!(refused_code(&outcome), code, "{}", folder.display());
    }
}

/// S2: a folder that is a link is worked in where it leads, and that is noted; its name is shown
/// escaped.
#[test]
fn a_folder_behind_a_link_is_noted_and_shown_escaped() {
    let env = scene();
    let hostile = "a\u{1b}[31m\u{202e}b";
    let folder = env.root().join(hostile);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("x.rs"), "fn weight_limit() {}\n").unwrap();
    symlink(&folder, env.root().join("link")).unwrap();
    env.give();
    let outcome = scout(
        &env,
        &[
            "--workdir",
            "../link",
            "--dry-run",
            "Where is weight_limit?",
        ],
    )
    .expect_code(0);
    assert!(
        outcome.out().contains("note      the folder is a link"),
        "{outcome}"
    );
    let ran = scout(
        &env,
        &[
            "--workdir",
            "../link",
            "--receipt",
            "Where is weight_limit?",
        ],
    )
    .expect_code(0);
    let listed = env.run(["audit", "show"]).expect_code(0);
    let id = runs(&env)[0]
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let shown = env.run(["audit", "show", &id]).expect_code(0);
    let plan = env
        .run(["exec", "--workdir", "../link", "--dry-run", "--", "true"])
        .expect_code(0);
    let explained = env
        .run([
            "explain",
            "--workdir",
            "../link",
            "--tool",
            "read",
            "--path",
            "/x",
        ])
        .expect_code(0);
    for outcome in [&outcome, &ran, &listed, &shown, &plan, &explained] {
        for text in [outcome.out(), outcome.err()] {
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        }
    }
}

/// S2: a folder that holds the state folder is refused as that: what runs in it could rewrite what is
/// recorded about it.
#[test]
fn a_folder_that_holds_the_state_is_refused() {
    let env = project();
    let state = env.workspace().join("inside");
    let call = |arguments: &[&str]| env.call(arguments).env("XDG_STATE_HOME", &state).run();
    let exec = call(&["exec", "--write", ".", "--", "true"]).expect_code(126);
    assert_eq!(refused_code(&exec), "root_is_reserved");
    let run = call(&[
        "run",
        "--model",
        "scout",
        "--preset",
        "read-only",
        "Where is it?",
    ]);
    let run = run.expect_code(2);
    assert_eq!(refused_code(&run), "root_is_reserved");
}

/// G10: a folder whose name isn't text works, or is refused with its field before anything starts.
#[test]
fn a_folder_whose_name_is_not_text() {
    let env = scene();
    let folder = env.root().join(OsStr::from_bytes(b"not\xff\xfetext"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("x.rs"), "fn weight_limit() {}\n").unwrap();
    env.give();
    let within = |arguments: &[&str]| env.call(arguments).in_folder(&folder).run();
    let run = within(&[
        "run",
        "--model",
        "scout",
        "--preset",
        "read-only",
        "Where is weight_limit?",
    ]);
    let exec = within(&["exec", "--", "ls"]);
    for (outcome, refused) in [(&run, 2), (&exec, 126)] {
        if outcome.code() != Some(0) {
            assert_eq!(outcome.code(), Some(refused), "{outcome}");
            assert!(outcome.err().contains(", workdir]"), "{outcome}");
        }
    }
}

/// The current folder is gone: a clear error from every command that needs one.
#[test]
fn a_folder_that_is_gone() {
    let env = project();
    let program = env!("CARGO_BIN_EXE_deputize");
    for arguments in [
        "run --model scout --preset read-only x",
        "exec -- true",
        "explain --tool ls",
    ] {
        let mut command = env.command("sh");
        let script =
            format!("mkdir gone && cd gone && rmdir ../gone && exec {program} {arguments}");
        let output = command.args(["-c", &script]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{arguments}");
        assert!(told.contains("  fix: "), "{arguments}: {told}");
    }
}

/// S2: a link that an earlier command put into the folder doesn't choose what the next one may write
/// or read: it is refused, and the target itself can be named.
#[test]
fn roots_behind_a_planted_link_are_refused() {
    let env = project();
    let target = crate::scene::beside(&env, "target");
    let planted = "ln -s \"$1\" build";
    let target = target.to_str().unwrap();
    let _ = env
        .run([
            "exec", "--write", ".", "--", "sh", "-c", planted, "sh", target,
        ])
        .expect_code(0);
    for option in ["--write", "--read"] {
        let base = ["exec", option, "build", "--", "sh", "-c"];
        let outcome = env
            .run(base.iter().chain(&["echo x > build/new"]))
            .expect_code(126);
        assert_eq!(refused_code(&outcome), "root_link_out");
        assert!(outcome.err().contains(target), "{outcome}");
        let from_beside = ["exec", "--workdir", ".", option, "./build/", "--", "true"];
        let outcome = env.run(from_beside).expect_code(126);
        assert_eq!(refused_code(&outcome), "root_link_out");
    }
    assert!(fs::read_dir(target).unwrap().next().is_none());
    let _ = env
        .run([
            "exec",
            "--write",
            target,
            "--",
            "sh",
            "-c",
            "echo x > build/new",
        ])
        .expect_code(0);
}
