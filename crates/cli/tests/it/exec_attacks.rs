//! Ways out that were tried and are closed: each of these once reached something that the grant
//! doesn't give.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use deputize_testkit::{Missing, TestEnv, cage, processes_naming, until};
use rustix::process::Signal;

use crate::scene::{beside, project, refused_code, scene, shell, waiting};

/// Whether Python is there to make calls that no shell tool makes.
fn python() -> bool {
    let there = Path::new("/usr/bin/python3").exists();
    if !there {
        println!("there is no /usr/bin/python3");
    }
    there
}

/// A repository as git lays it, without a work tree of its own.
fn bare(env: &TestEnv, at: &str) {
    env.lay(|tree| {
        tree.file(format!("{at}/HEAD"), "ref: refs/heads/main\n")
            .file(format!("{at}/config"), "[core]\n")
            .folder(format!("{at}/objects"))
            .folder(format!("{at}/refs"))
            .folder(format!("{at}/hooks"));
    });
}

#[track_caller]
fn fails(env: &TestEnv, script: &str) {
    let outcome = shell(env, &["--write", "."], script);
    let failed = outcome.code().is_some_and(|code| (1..125).contains(&code));
    assert!(failed, "{script}: {outcome}");
}

/// B2: a program that a command leaves in the workspace can't take over its owner's rights: no
/// setuid or setgid bit is ever set, by whichever call.
#[test]
fn no_file_gets_a_setuid_or_setgid_bit() {
    let env = project();
    for script in [
        "cp /bin/true t && chmod 4755 t",
        "cp /bin/true t && chmod 2755 t",
        "cp /bin/true t && chmod u+s t",
        "mkdir -p d && chmod g+s d",
        "mkdir -m 2755 e",
        "install -m 4755 /bin/true u",
    ] {
        fails(&env, script);
    }
    if python() {
        // Made with the bit; by the newest calls, past what a filter can look into; a device.
        let script = "import ctypes, os, struct\n\
            libc = ctypes.CDLL(None, use_errno=True)\n\
            for flags in (os.O_CREAT | os.O_WRONLY, os.O_CREAT | os.O_EXCL | os.O_RDWR):\n\
            \ttry: os.open('v%d' % flags, flags, 0o4755)\n\
            \texcept PermissionError: pass\n\
            for mode in (0o4755, 0o2745):\n\
            \ttry: os.link('/proc/self/fd/%d' % os.open('.', os.O_TMPFILE | os.O_RDWR, mode), 'z%d' % mode, follow_symlinks=True)\n\
            \texcept PermissionError: pass\n\
            how = struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o4755, 0)\n\
            libc.syscall(437, -100, b'w', how, 24)\n\
            open('x', 'w').close()\n\
            libc.syscall(452, -100, b'x', 0o4755, 0)\n\
            libc.mknod(b'y', 0o104755, 0)\n\
            libc.umask(0)\n\
            print(sorted(n for n in os.listdir('.') if os.stat(n).st_mode & 0o6000))\n";
        let run = [
            "exec",
            "--write",
            ".",
            "--",
            "/usr/bin/python3",
            "-c",
            script,
        ];
        let outcome = env.run(run).expect_code(0);
        assert_eq!(outcome.out(), "[]\n", "{outcome}");
    }
    for entry in fs::read_dir(env.workspace()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().mode();
        assert_eq!(mode & 0o6000, 0, "{:?}", entry.file_name());
    }
    // Ordinary modes are set as ever, the sticky bit too.
    let script = "cp /bin/true a && chmod 755 a && mkdir -m 1777 b && install -m 700 a c && ./a";
    let _ = shell(&env, &["--write", "."], script).expect_code(0);
}

/// B2: a submodule's repository and a bare one are protected as the first one is.
#[test]
fn repositories_of_every_kind_are_protected() {
    let env = project();
    bare(&env, ".git");
    bare(&env, ".git/modules/one");
    bare(&env, "mirror.git");
    for repository in [".git/modules/one", "mirror.git"] {
        let work = format!("echo x > {repository}/objects/x");
        let _ = shell(&env, &["--write", "."], &work).expect_code(0);
        fails(&env, &format!("echo x > {repository}/hooks/post-checkout"));
        fails(&env, &format!("echo x >> {repository}/config"));
        fails(&env, &format!("mv {repository} away"));
        let kept = fs::read_to_string(env.workspace().join(repository).join("config"));
        assert_eq!(kept.unwrap(), "[core]\n", "{repository}");
    }
}

/// B2: hooks that git was told to look for in the work tree, and configuration that is included from
/// there, stay as they are.
#[test]
fn what_a_repository_is_told_to_run_is_protected() {
    let env = project();
    bare(&env, ".git");
    env.lay(|tree| {
        tree.file(
            ".git/config",
            "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../shared.cfg\n",
        )
        .file("shared.cfg", "[alias]\n")
        .file("tools/hooks/pre-commit", "#!/bin/sh\n")
        .file("tools/other", "x\n");
    });
    fails(&env, "echo x > tools/hooks/pre-commit");
    fails(&env, "echo x > tools/hooks/post-commit");
    fails(&env, "mv tools/hooks away");
    fails(&env, "mv tools away");
    fails(&env, "echo x >> shared.cfg");
    let _ = shell(&env, &["--write", "."], "echo y > tools/other").expect_code(0);
}

/// B2: instructions for agents that lie beside a nested repository are protected, too.
#[test]
fn instructions_beside_a_nested_repository_are_protected() {
    let env = project();
    bare(&env, "vendor/dep/.git");
    env.lay(|tree| {
        tree.file("vendor/dep/AGENTS.md", "Be kind.\n");
    });
    fails(&env, "echo x >> vendor/dep/AGENTS.md");
    fails(&env, "rm vendor/dep/AGENTS.md");
}

/// B2: a protected name that is a link is kept along its whole way; one that can't be kept so is
/// refused before anything starts.
#[test]
fn a_protected_link_is_kept_along_its_whole_way_or_refused() {
    let env = project();
    env.lay(|tree| {
        tree.file("docs/rules/agents.md", "Be kind.\n")
            .link("docs/agents.md", "rules/agents.md")
            .link("AGENTS.md", "docs/agents.md");
    });
    fails(&env, "echo x >> AGENTS.md");
    fails(&env, "echo x >> docs/rules/agents.md");
    fails(&env, "ln -sf /tmp/x docs/agents.md");
    fails(&env, "mv docs/rules docs/r2");
    fails(&env, "mv docs d2");
    let kept = fs::read_to_string(env.workspace().join("AGENTS.md")).unwrap();
    assert_eq!(kept, "Be kind.\n");

    for target in ["not-there", "docs/not-there", "via/agents.md"] {
        let env = project();
        env.lay(|tree| {
            tree.file("docs/agents.md", "Be kind.\n")
                .link("via", "docs")
                .link("AGENTS.md", target);
        });
        let outcome = shell(&env, &["--write", "."], "touch ran");
        let refused = outcome.code().is_some_and(|code| code >= 125);
        assert!(refused && outcome.err().contains("AGENTS.md"), "{outcome}");
        assert!(!env.workspace().join("ran").exists(), "{target}");
    }
    // Where it leads out of the workspace nothing can be made: no reason to refuse.
    let env = project();
    env.lay(|tree| {
        tree.link("AGENTS.md", "/usr/share/not-there");
    });
    let _ = shell(&env, &["--write", "."], "touch ran").expect_code(0);
}

/// B10: a secret is no less one where its name is a link to another file of the workspace.
#[test]
fn a_secret_behind_a_link_is_not_readable_under_its_other_name() {
    let env = scene();
    env.lay(|tree| {
        tree.file("config/prod.txt", "TOKEN=canary\n")
            .file("config/plain.txt", "plain\n")
            .link(".env", "config/prod.txt");
    });
    let script = "cat .env config/prod.txt; cat config/plain.txt";
    let outcome = shell(&env, &[], script).expect_code(0);
    assert_eq!(outcome.out(), "plain\n", "{outcome}");
}

/// B2: what is cleaned up afterwards is cleaned up in the workspace only, whatever a command has put in
/// the place of a folder on the way.
#[test]
fn cleaning_up_never_follows_a_link() {
    let env = scene();
    env.lay(|tree| {
        tree.folder("vendor/.git/hooks")
            .file("vendor/.git/config", "");
    });
    let elsewhere = beside(&env, "elsewhere");
    fs::write(elsewhere.join("commondir"), "").unwrap();
    fs::write(elsewhere.join("config.worktree"), "").unwrap();
    env.give();
    // A command that is shot leaves its placeholders; then the folder that holds them is swapped.
    let mut running = waiting(&env, &["--write", "."]);
    running.signal(Signal::KILL);
    let _ = running.wait();
    let git = env.workspace().join("vendor/.git");
    until("the folder is free", || {
        fs::rename(&git, env.workspace().join("moved")).ok()
    });
    symlink(&elsewhere, &git).unwrap();
    let _ = shell(&env, &[], "true").expect_code(0);
    assert!(elsewhere.join("commondir").exists() && elsewhere.join("config.worktree").exists());
}

/// B3: without a pid namespace other processes have numbers that can be named: their limits,
/// priorities and processors stay theirs.
#[test]
fn other_processes_are_left_alone_at_the_lesser_level() {
    if !python() {
        return;
    }
    let env = project();
    let mut sleeper = Command::new("sleep");
    let meta = fs::metadata(env.workspace()).unwrap();
    // The same user as the command's.
    let mut sleeper = sleeper
        .arg("60")
        .uid(meta.uid())
        .gid(meta.gid())
        .spawn()
        .unwrap();
    let script = format!(
        "import os, resource\n\
         p = {}\n\
         tries = [lambda: resource.prlimit(p, resource.RLIMIT_NOFILE, (3, 3)),\n\
         \tlambda: os.setpriority(os.PRIO_PROCESS, p, 19),\n\
         \tlambda: os.sched_setaffinity(p, {{0}}),\n\
         \tlambda: os.sched_setscheduler(p, os.SCHED_IDLE, os.sched_param(0)),\n\
         \tlambda: os.kill(p, 9)]\n\
         for number, one in enumerate(tries):\n\
         \ttry:\n\t\tone()\n\t\tprint('done', number)\n\
         \texcept PermissionError: pass\n\
         resource.prlimit(0, resource.RLIMIT_NOFILE)\n\
         os.sched_setaffinity(0, {{0}})\n",
        sleeper.id()
    );
    let arguments = ["exec", "--", "/usr/bin/python3", "-c", &script];
    let outcome = env
        .call(arguments)
        .with(|command| cage(command, &[Missing::Namespaces]))
        .run();
    sleeper.kill().unwrap();
    let _ = sleeper.wait().unwrap();
    let outcome = outcome.expect_code(0);
    assert_eq!(outcome.out(), "", "{outcome}");
}

/// B3: nor does it share memory, queues or watches with the user's other programs there.
#[test]
fn nothing_is_shared_with_other_programs_at_the_lesser_level() {
    if !python() {
        return;
    }
    let env = project();
    let script = "import ctypes\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        fd = libc.inotify_init()\n\
        calls = {'shmget': lambda: libc.shmget(0, 4096, 0o1600), 'msgget': lambda: libc.msgget(0, 0o1600),\n\
        \t'semget': lambda: libc.semget(0, 1, 0o1600), 'shmat': lambda: libc.shmat(0, None, 0),\n\
        \t'inotify': lambda: libc.inotify_add_watch(fd, b'/', 0x100)}\n\
        for name, call in calls.items():\n\
        \tctypes.set_errno(0)\n\
        \tif call() >= 0 or ctypes.get_errno() != 1: print(name, ctypes.get_errno())\n";
    let arguments = ["exec", "--", "/usr/bin/python3", "-c", script];
    let outcome = env
        .call(arguments)
        .with(|command| cage(command, &[Missing::Namespaces]))
        .run()
        .expect_code(0);
    assert_eq!(outcome.out(), "", "{outcome}");
}

/// B13: what a command left running in the background ends with it also where there is no pid
/// namespace, and also when it is cancelled.
#[test]
fn a_cancelled_command_leaves_nothing_at_the_lesser_level() {
    let env = project();
    let mark = format!("97531{}", std::process::id());
    let script = format!("(setsid sleep {mark} &) ; echo up; sleep {mark}");
    let mut running = env
        .call(["exec", "--", "sh", "-c", &script])
        .with(|command| cage(command, &[Missing::Namespaces]))
        .start();
    let _ = running.until_said("up");
    running.signal(Signal::TERM);
    let _ = running.wait().expect_code(143);
    until("everything has ended", || {
        processes_naming(&format!("sleep\0{mark}"))
            .is_empty()
            .then_some(())
    });
}

/// B12: what is written over a toolchain's cache is memory, and counts as memory.
#[test]
fn what_is_written_over_a_cache_counts_as_memory() {
    let env = project();
    fs::create_dir_all(env.home().join(".cargo/registry")).unwrap();
    env.give();
    let script = "head -c 300m /dev/zero > ~/.cargo/registry/big; sleep 5; echo still";
    let outcome = shell(&env, &["--limit", "memory=100m"], script);
    assert!(!outcome.out().contains("still"), "{outcome}");
    assert_ne!(outcome.code(), Some(0), "{outcome}");
}

/// B1: a program in a cache that is overlaid is the one that was judged: it runs.
#[test]
fn a_program_in_an_overlaid_cache_runs() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = project();
    let cache = env.home().join(".cargo/registry");
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join("tool"), "#!/bin/sh\necho ran\n").unwrap();
    fs::set_permissions(cache.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    env.give();
    let tool = cache.join("tool");
    let outcome = env.run(["exec", "--", tool.to_str().unwrap()]);
    let outcome = outcome.expect_code(0);
    assert_eq!(outcome.out(), "ran\n", "{outcome}");
}

/// S12: a reason that is longer than a report holds doesn't turn a failed start into a success.
#[test]
fn a_failed_start_with_a_long_reason_is_a_failed_start() {
    let env = project();
    let long = "é".repeat(120);
    let deep = format!("{long}/{long}/{long}");
    env.lay(|tree| {
        tree.program(format!("{deep}/tool"), "#!/not/there\n");
    });
    let outcome = env.run(["exec", "--", &format!("./{deep}/tool")]);
    assert!(matches!(outcome.code(), Some(125..=127)), "{outcome}");
    assert!(!outcome.err().is_empty(), "{outcome}");
    if outcome.code() == Some(126) {
        let _ = refused_code(&outcome);
    }
}

/// B2: hooks are found in every way in which a configuration can name them, also in what it includes,
/// and where they don't exist yet.
#[test]
fn hooks_are_found_however_they_are_named() {
    for (config, beside) in [
        ("[core] hooksPath = gh # why\n".to_owned(), ""),
        ("[core]\n\thooksPath = \"g\"h\n".to_owned(), ""),
        ("[core]\n\thooksPath = WORKSPACE/gh\n".to_owned(), ""),
        (
            "[include]\n\tpath = ../one.cfg\n".to_owned(),
            "[include]\n\tpath = two.cfg\n",
        ),
    ] {
        let env = project();
        bare(&env, ".git");
        let here = env.workspace().display().to_string();
        let mut config = config.replace("WORKSPACE", &here).into_bytes();
        config.extend(b"[user]\n\tname = \xff\n");
        env.lay(|tree| {
            tree.file(".git/config", config)
                .file("one.cfg", beside)
                .file("two.cfg", "[core]\n\thooksPath = gh\n")
                .file("gh/pre-commit", "#!/bin/sh\n");
        });
        fails(&env, "echo x > gh/pre-commit");
        fails(&env, "echo x > gh/post-commit");
    }
    let env = project();
    bare(&env, ".git");
    env.lay(|tree| {
        tree.file(".git/config", "[core]\n\thooksPath = gh\n");
    });
    fails(&env, "mkdir -p gh && echo x > gh/pre-commit");
    assert!(!env.workspace().join("gh").exists());
}

/// B2: a hook or a settings file that is a link is kept with what it leads to.
#[test]
fn links_inside_protected_folders_are_kept() {
    let env = project();
    bare(&env, ".git");
    env.lay(|tree| {
        tree.file("scripts/pre-commit", "#!/bin/sh\n")
            .file("scripts/other", "x\n")
            .file("scripts/settings.json", "{}\n")
            .link(".git/hooks/pre-commit", "../../scripts/pre-commit")
            .folder(".claude")
            .link(".claude/settings.json", "../scripts/settings.json");
    });
    fails(&env, "echo x > scripts/pre-commit");
    fails(&env, "echo x > scripts/settings.json");
    fails(&env, "mv scripts s2");
    let _ = shell(&env, &["--write", "."], "echo y > scripts/other").expect_code(0);
}

/// B2: a repository without configuration doesn't get one, nor old files that name remotes.
#[test]
fn a_repository_gets_no_configuration_from_inside() {
    let env = project();
    bare(&env, ".git");
    bare(&env, "mirror.git");
    fs::remove_file(env.workspace().join("mirror.git/config")).unwrap();
    fails(&env, "echo x > mirror.git/config");
    fails(
        &env,
        "mkdir -p .git/remotes && echo x > .git/remotes/origin",
    );
    fails(
        &env,
        "mkdir -p .git/branches && echo x > .git/branches/origin",
    );
}

/// B2, B10: a covered file that is replaced from outside would no longer be covered: the command ends.
#[test]
fn a_command_ends_when_its_cover_goes() {
    for (name, options) in [("AGENTS.md", &["--write", "."][..]), (".env", &[])] {
        let env = project();
        let file = env.workspace().join(name);
        fs::write(&file, "old\n").unwrap();
        env.give();
        let running = waiting(&env, options);
        let new = env.root().join("new");
        fs::write(&new, "new\n").unwrap();
        fs::rename(&new, &file).unwrap();
        let outcome = running.wait().expect_code(137);
        assert!(outcome.err().contains("replaced from outside"), "{outcome}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new\n");
    }
}

/// B2: a FIFO in the place of a file that is looked at at the start holds nothing up.
#[test]
fn a_fifo_for_configuration_holds_nothing_up() {
    let env = project();
    env.lay(|tree| {
        tree.folder("s/.git")
            .fifo("s/.git/config")
            .fifo("s/.git/HEAD");
    });
    let begun = std::time::Instant::now();
    let _ = shell(&env, &["--write", "."], "true").expect_code(0);
    assert!(begun.elapsed().as_secs() < 30);
}

/// B2: a linked work tree can be worked in, and stays linked to its own repository and configuration.
#[test]
fn a_linked_work_tree_stays_linked_and_can_be_worked_in() {
    let env = project();
    bare(&env, ".git");
    env.lay(|tree| {
        tree.file(".git/worktrees/in/HEAD", "ref: refs/heads/in\n")
            .file(".git/worktrees/in/commondir", "../..\n")
            .file(".git/worktrees/in/gitdir", "/x/in/.git\n")
            .file("in/.git", "gitdir: ../.git/worktrees/in\n");
    });
    let work =
        "echo x > .git/worktrees/in/index && echo y > .git/worktrees/in/HEAD && echo z > in/file";
    let _ = shell(&env, &["--write", "."], work).expect_code(0);
    for script in [
        "echo /tmp/evil > .git/worktrees/in/commondir",
        "echo /tmp/evil > .git/worktrees/in/gitdir",
        "echo evil > .git/worktrees/in/config.worktree",
        "mv .git/worktrees/in .git/worktrees/out",
        "mv .git/worktrees .git/w",
        "echo 'gitdir: /tmp/evil' > in/.git",
    ] {
        fails(&env, script);
    }
    assert!(
        !env.workspace()
            .join(".git/worktrees/in/config.worktree")
            .exists()
    );
}
