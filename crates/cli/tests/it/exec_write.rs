//! Commands that may write: what they can change, what stays as it is, and what is left behind.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use deputize_testkit::TestEnv;

use crate::scene::{project, scene, shell, waiting};

/// A repository as git lays it, by hand: git itself may not be there.
fn repository(env: &TestEnv) {
    env.lay(|tree| {
        tree.file(".git/HEAD", "ref: refs/heads/main\n")
            .file(".git/config", "[core]\n\trepositoryformatversion = 0\n")
            .folder(".git/hooks")
            .folder(".git/objects")
            .folder(".git/refs/heads")
            .file("AGENTS.md", "Be kind.\n")
            .file("src/main.rs", "fn main() {}\n");
    });
}

/// Every name below a folder.
fn names(folder: &Path) -> BTreeSet<PathBuf> {
    let mut names = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
            names.insert(entry.path().strip_prefix(folder).unwrap().to_owned());
        }
    }
    names
}

/// B8: `--write .` lets a command do its work, and what it makes belongs to the person.
#[test]
fn a_command_that_may_write_works() {
    let env = project();
    let script = "echo new > new && mkdir -p a/b && mv README.md a/b/ && rm Cargo.toml && \
                  chmod 755 new && ln -s new link && cp -r src src2 && sed -i s/Sends/Takes/ src/lib.rs";
    let _ = shell(&env, &["--write", "."], script).expect_code(0);
    let workspace = env.workspace();
    assert!(workspace.join("a/b/README.md").exists() && !workspace.join("Cargo.toml").exists());
    assert!(
        fs::read_to_string(workspace.join("src/lib.rs"))
            .unwrap()
            .contains("Takes parcels")
    );
    let owner = fs::metadata(&workspace).unwrap().uid();
    for name in ["new", "a/b", "src2/lib.rs"] {
        let meta = fs::metadata(workspace.join(name)).unwrap();
        assert_eq!(meta.uid(), owner, "{name}");
    }
    // Outside stays outside.
    let outcome = shell(
        &env,
        &["--write", "."],
        "echo x > ../x; echo x > /usr/x; echo x > /etc/x",
    );
    assert_ne!(outcome.code(), Some(0), "{outcome}");
    assert!(!env.root().join("x").exists());
}

/// B8: a subfolder alone can be made writable.
#[test]
fn one_folder_can_be_writable_alone() {
    let env = project();
    let outcome = shell(&env, &["--write", "src"], "echo x > src/new; echo x > new");
    assert_ne!(outcome.code(), Some(0), "{outcome}");
    assert!(env.workspace().join("src/new").exists() && !env.workspace().join("new").exists());
}

/// B2: what configures later runs stays as it is, also where it doesn't exist yet; afterwards no
/// placeholder is left.
#[test]
fn protected_paths_stay_as_they_are_and_no_placeholder_is_left() {
    let env = scene();
    repository(&env);
    let workspace = env.workspace();
    let before = names(&workspace);
    let tries = [
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "mv .git/hooks .git/h2 && mkdir .git/hooks && echo x > .git/hooks/post-checkout",
        "rm -rf .git/hooks; mkdir .git/hooks && echo x > .git/hooks/pre-push",
        "mv .git g && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
        "echo x > .git/config.worktree",
        "echo /elsewhere > .git/commondir",
        "mkdir -p .git/info && echo x > .git/info/attributes",
        "mkdir -p .git/modules/m && echo x > .git/modules/m/config",
        "echo x > .envrc",
        "echo x >> AGENTS.md",
        "rm AGENTS.md && echo x > AGENTS.md",
        "mv src/main.rs AGENTS.md",
        "echo x > CLAUDE.md",
        "echo x > .mcp.json",
        "mkdir -p .vscode && echo x > .vscode/tasks.json",
        "mkdir -p .claude && echo x > .claude/settings.json",
        "mkdir -p .husky && echo x > .husky/pre-commit",
        "ln -sf /tmp/x .envrc",
        "rm -rf .cursor && ln -s src .cursor",
        "chmod 777 .git/config",
    ];
    for script in tries {
        let outcome = shell(&env, &["--write", "."], script);
        assert!(
            outcome.code().is_some_and(|code| (1..125).contains(&code)),
            "{script}: {outcome}"
        );
        assert_eq!(names(&workspace), before, "{script}");
    }
    assert_eq!(
        fs::read_to_string(workspace.join("AGENTS.md")).unwrap(),
        "Be kind.\n"
    );
    assert!(
        fs::read_to_string(workspace.join(".git/config"))
            .unwrap()
            .ends_with("= 0\n")
    );
    // Work inside the repository goes on.
    let _ = shell(
        &env,
        &["--write", "."],
        "echo x > .git/objects/x && echo y > .git/refs/heads/main && echo z > .git/index",
    )
    .expect_code(0);
}

/// B2: while a command runs, a protected path that doesn't exist looks empty and can't be filled.
#[test]
fn repositories_in_subfolders_are_protected_too() {
    let env = scene();
    env.lay(|tree| {
        tree.folder("vendor/dep/.git/hooks")
            .file("vendor/dep/.git/config", "[core]\n")
            .file("vendor/dep/.git/HEAD", "ref: x\n");
    });
    let before = names(&env.workspace());
    for script in [
        "echo x > vendor/dep/.git/hooks/pre-commit",
        "echo x > vendor/dep/.git/config",
        "mv vendor/dep/.git vendor/dep/g",
    ] {
        let outcome = shell(&env, &["--write", "."], script);
        assert_ne!(outcome.code(), Some(0), "{script}: {outcome}");
    }
    assert_eq!(names(&env.workspace()), before);
}

/// B2: nor does moving a folder above such a repository away make room for another in its place.
#[test]
fn a_repository_in_a_subfolder_can_not_be_replaced_by_moving_what_holds_it() {
    let env = scene();
    env.lay(|tree| {
        tree.folder("vendor/dep/.git/hooks")
            .file("vendor/dep/.git/config", "[core]\n");
    });
    let plant = "mkdir -p vendor/dep/.git/hooks && echo x > vendor/dep/.git/hooks/pre-commit";
    for away in ["mv vendor/dep gone", "mv vendor gone"] {
        let outcome = shell(&env, &["--write", "."], &format!("{away}; {plant}"));
        assert_ne!(outcome.code(), Some(0), "{away}: {outcome}");
        let hook = env.workspace().join("vendor/dep/.git/hooks/pre-commit");
        assert!(!hook.exists(), "{away}");
    }
}

/// B2: in a folder that is no repository, a command can't make one whose hooks and configuration
/// the person's own git would then obey.
#[test]
fn no_repository_can_be_planted_in_the_workspace_itself() {
    let env = scene();
    for script in [
        "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
        "mkdir -p .git && printf '[core]\n\tfsmonitor = evil\n' > .git/config",
        "echo 'gitdir: /tmp/evil' > .git",
        "ln -s /tmp/evil .git",
    ] {
        let outcome = shell(&env, &["--write", "."], script);
        assert_ne!(outcome.code(), Some(0), "{script}: {outcome}");
    }
    assert_eq!(names(&env.workspace()), BTreeSet::new());
}

/// B2: git works inside, and the placeholders never get into what it adds.
#[test]
fn git_inside_adds_no_placeholder() {
    let env = scene();
    let git = |arguments: &[&str]| env.command("git").args(arguments).output();
    if !git(&["init", "-q", "."]).is_ok_and(|output| output.status.success()) {
        println!("there is no git");
        return;
    }
    env.give();
    let script = "echo x > x && git add -A && \
                  git -c user.name=n -c user.email=n@example.org commit -qm x";
    let _ = shell(&env, &["--write", "."], script).expect_code(0);
    let listed = git(&["ls-files"]).unwrap();
    assert_eq!(String::from_utf8_lossy(&listed.stdout), "x\n");
}

/// B2: a protected name that is a link can't be turned into something else, nor written through.
#[test]
fn protected_names_that_are_links_stay_links() {
    let env = scene();
    repository(&env);
    let workspace = env.workspace();
    symlink("AGENTS.md", workspace.join("CLAUDE.md")).unwrap();
    fs::create_dir(workspace.join("agents")).unwrap();
    symlink("agents", workspace.join(".claude")).unwrap();
    env.give();
    for script in [
        "rm CLAUDE.md && echo evil > CLAUDE.md",
        "echo evil >> CLAUDE.md",
        "rm .claude && mkdir .claude && echo evil > .claude/settings.json",
        "mv .claude c && ln -s src .claude",
    ] {
        let outcome = shell(&env, &["--write", "."], script);
        assert_ne!(outcome.code(), Some(0), "{script}: {outcome}");
    }
    assert_eq!(
        fs::read_link(workspace.join("CLAUDE.md")).unwrap(),
        Path::new("AGENTS.md")
    );
    assert_eq!(
        fs::read_link(workspace.join(".claude")).unwrap(),
        Path::new("agents")
    );
    assert_eq!(
        fs::read_to_string(workspace.join("AGENTS.md")).unwrap(),
        "Be kind.\n"
    );
}

/// B2: a further writable folder keeps its protected paths as the workspace does.
#[test]
fn protected_paths_of_a_further_writable_folder_stay_too() {
    let env = scene();
    let other = env.root().join("other");
    fs::create_dir_all(other.join(".git/hooks")).unwrap();
    fs::write(other.join(".git/config"), "[core]\n").unwrap();
    env.give();
    let before = names(&other);
    for script in [
        "echo x > ../other/.git/hooks/pre-commit",
        "echo x > ../other/AGENTS.md",
        "echo x > ../other/.git/config",
    ] {
        let outcome = shell(&env, &["--write", "../other"], script);
        assert_ne!(outcome.code(), Some(0), "{script}: {outcome}");
    }
    assert_eq!(names(&other), before);
    assert_eq!(
        fs::read_to_string(other.join(".git/config")).unwrap(),
        "[core]\n"
    );
    let _ = shell(&env, &["--write", "../other"], "echo x > ../other/plain").expect_code(0);
}

/// B2: a protected path below a writable subfolder of a read-only workspace is kept as well.
#[test]
fn protected_paths_of_a_writable_subfolder_stay_too() {
    let env = scene();
    env.lay(|tree| {
        tree.folder("sub/.git/hooks")
            .file("sub/.git/config", "[core]\n");
    });
    for script in [
        "echo x > sub/.git/hooks/pre-commit",
        "echo x > sub/.git/config",
    ] {
        let outcome = shell(&env, &["--write", "sub"], script);
        assert_ne!(outcome.code(), Some(0), "{script}: {outcome}");
    }
}

/// B2: placeholders that a killed start left are cleaned by the next one; what a person has put
/// there since stays.
#[test]
fn placeholders_of_a_killed_run_are_cleaned_by_the_next() {
    let env = scene();
    repository(&env);
    let workspace = env.workspace();
    let before = names(&workspace);
    let mut running = env
        .call([
            "exec",
            "--write",
            ".",
            "--",
            "sh",
            "-c",
            "echo ready; exec sleep 300",
        ])
        .start();
    running
        .until_said("ready")
        .signal(rustix::process::Signal::KILL);
    let killed = running.wait();
    assert_eq!(killed.signal(), Some(9));
    assert_ne!(
        names(&workspace),
        before,
        "nothing was left, so nothing is tested"
    );
    let _ = shell(&env, &["--write", "."], "true").expect_code(0);
    assert_eq!(names(&workspace), before);
}

/// B2: of two commands at once in one workspace, the end of the first doesn't unprotect the second.
#[test]
fn the_end_of_one_command_does_not_unprotect_another() {
    let env = scene();
    repository(&env);
    let workspace = env.workspace();
    let before = names(&workspace);
    let waiting = |go: &str, rest: &str| {
        let script = format!("echo ready; while [ ! -e {go} ]; do sleep 0.02; done; {rest}");
        let mut running = env
            .call(["exec", "--write", ".", "--", "sh", "-c", &script])
            .start();
        running.until_said("ready");
        running
    };
    let first = waiting("go1", "true");
    let second = waiting(
        "go2",
        "echo x > .envrc; mkdir -p .claude; echo x > .claude/settings.json; echo x > .git/info/attributes",
    );
    fs::write(workspace.join("go1"), "").unwrap();
    let _ = first.wait().expect_code(0);
    fs::write(workspace.join("go2"), "").unwrap();
    let outcome = second.wait();
    assert_ne!(outcome.code(), Some(0), "{outcome}");
    for name in ["go1", "go2"] {
        fs::remove_file(workspace.join(name)).unwrap();
    }
    let left = |name: &str| fs::read_to_string(workspace.join(name)).unwrap_or_default();
    for name in [".envrc", ".claude/settings.json", ".git/info/attributes"] {
        assert_eq!(left(name), "", "{name}");
    }
    assert_eq!(names(&workspace), before);
}

/// B2: boundaries that overlap on one folder leave nothing, in whichever order they end.
#[test]
fn boundaries_that_overlap_leave_no_placeholder() {
    let env = scene();
    for round in 0..6 {
        let start = |script: &str| {
            let mut running = env
                .call(["exec", "--write", ".", "--", "sh", "-c", script])
                .stdin(Vec::new())
                .start();
            let _ = running.until_said("up");
            running
        };
        let first = start("echo up; sleep 0.4");
        let second = start("echo up; sleep 0.2");
        let _ = first.wait().expect_code(0);
        let _ = second.wait().expect_code(0);
        assert_eq!(names(&env.workspace()), BTreeSet::new(), "{round}");
    }
}

/// B2: what a killed supervisor left is cleaned up by the next command, also one that writes nothing.
#[test]
fn the_next_command_cleans_up_after_a_killed_one() {
    let env = scene();
    let mut running = waiting(&env, &["--write", "."]);
    running.signal(rustix::process::Signal::KILL);
    let _ = running.wait();
    assert!(!names(&env.workspace()).is_empty());
    deputize_testkit::until("the record is free", || {
        let _ = env.run(["exec", "--", "true"]).expect_code(0);
        names(&env.workspace()).is_empty().then_some(())
    });
}
