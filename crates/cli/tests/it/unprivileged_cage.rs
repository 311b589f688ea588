//! A machine without namespaces, as most containers are: what still works, what says that it is less,
//! and what is refused (B3).

use crate::scene::{parsed, project, refused_code, runs};
use deputize_testkit::{Missing, Outcome, TestEnv, cage};

#[track_caller]
fn caged<'a>(
    env: &TestEnv,
    missing: &[Missing],
    arguments: impl IntoIterator<Item = &'a str>,
) -> Outcome {
    env.call(arguments)
        .with(|command| cage(command, missing))
        .run()
}

const QUESTION: [&str; 6] = [
    "run",
    "--model",
    "scout",
    "--preset",
    "read-only",
    "Where is the weight limit enforced?",
];

/// B3: a read-only child works at the lesser level, and its receipt says which that is.
#[test]
fn a_read_only_child_works_at_the_lesser_level_and_says_so() {
    let env = project();
    let json = QUESTION.into_iter().chain(["--json"]);
    let outcome = caged(&env, &[Missing::Namespaces], json).expect_code(0);
    let result = parsed(&outcome);
    assert_eq!(result["status"], "ok");
    assert!(!result["evidence"].as_array().unwrap().is_empty());
    let enforced = &result["receipt"]["enforced"];
    assert_eq!(enforced["level"], "landlock+seccomp");
    let probes = enforced["self_test"].as_array().unwrap();
    assert!(
        probes.iter().all(|probe| probe["outcome"] == "stopped"),
        "{enforced:#}"
    );
    let words = caged(&env, &[Missing::Namespaces], QUESTION).expect_code(0);
    assert!(
        words.err().contains("boundary landlock+seccomp\n"),
        "{words}"
    );
    assert!(words.err().contains("weaker than it could be: "), "{words}");
}

/// B3, S12: a read-only command runs, and what isn't promised is said before it begins.
#[test]
fn a_read_only_command_runs_and_what_is_not_promised_is_said() {
    let env = project();
    let outcome = caged(&env, &[Missing::Namespaces], ["exec", "--", "ls"]).expect_code(0);
    assert!(outcome.out().contains("README.md"), "{outcome}");
    let told = outcome.err();
    assert!(
        told.contains("deputize: boundary landlock+seccomp: "),
        "{told}"
    );
    let missing = told
        .lines()
        .find(|line| line.contains("not promised: "))
        .unwrap();
    for promise in ["process_kill", "secrets", "memory", "pids"] {
        assert!(missing.contains(promise), "{missing}");
    }
    assert!(told.contains("  fix: "), "{told}");
}

/// B3: JSON calls a command contained only where the boundary holds all that it can.
#[test]
fn a_command_at_the_lesser_level_is_not_called_contained() {
    let env = project();
    let json = ["exec", "--json", "--", "true"];
    let weaker = caged(&env, &[Missing::Namespaces], json).expect_code(0);
    let full = env.run(json).expect_code(0);
    for outcome in [weaker, full] {
        let told = outcome.err().lines().last().unwrap();
        let told: serde_json::Value = serde_json::from_str(told).unwrap();
        let is_full = told["level"] == "namespaces+landlock+seccomp";
        assert_eq!(told["contained"], is_full, "{outcome}");
    }
}

/// B1, B3: what is promised at the lesser level holds: no write, no read outside, no network.
#[test]
fn what_is_promised_at_the_lesser_level_holds() {
    let env = project();
    let mine = env.home().join("mine.txt");
    std::fs::write(&mine, "mine\n").unwrap();
    env.give();
    for script in [
        "echo x > new",
        "echo x >> README.md",
        "rm README.md",
        "chmod 777 README.md",
        "touch README.md",
        "echo x > /tmp/deputize-e2e-caged",
        &format!("cat {}", mine.display()),
        "ls ..",
        "cat /proc/1/environ",
    ] {
        let outcome = caged(
            &env,
            &[Missing::Namespaces],
            ["exec", "--", "sh", "-c", script],
        );
        assert_ne!(outcome.code(), Some(0), "{script}: {outcome}");
        assert!(!outcome.out().contains("mine"), "{outcome}");
    }
    if std::path::Path::new("/usr/bin/python3").exists() {
        let script = "import socket\nsocket.socket()";
        let outcome = caged(
            &env,
            &[Missing::Namespaces],
            ["exec", "--", "/usr/bin/python3", "-c", script],
        )
        .expect_code(1);
        assert!(
            outcome.err().contains("Permission") || outcome.err().contains("not permitted"),
            "{outcome}"
        );
    }
    let outcome = caged(&env, &[Missing::Namespaces], ["exec", "--", "id", "-u"]).expect_code(0);
    assert_ne!(outcome.out(), "0\n");
}

/// B1, B3: neither flags nor attributes of a file that is readable only can be changed, by an old
/// call or a new one.
#[test]
fn flags_and_attributes_of_a_file_stay_at_the_lesser_level() {
    if !std::path::Path::new("/usr/bin/python3").exists() {
        println!("there is no /usr/bin/python3");
        return;
    }
    let env = project();
    // FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, setxattrat, removexattrat, file_setattr: each asks for
    // nothing that would change the file, and must be refused all the same.
    let script = "import ctypes, errno, fcntl, os\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        fd = os.open('README.md', os.O_RDONLY)\n\
        refused = (errno.EPERM, errno.EACCES, errno.ENOSYS)\n\
        for request in (0x40086602, 0x401c5820):\n\
        \ttry:\n\t\tfcntl.ioctl(fd, request, bytearray(32))\n\t\tprint('ioctl', hex(request))\n\
        \texcept OSError as error:\n\t\tif error.errno not in refused: print('ioctl', hex(request), error)\n\
        value = ctypes.create_string_buffer(b'v')\n\
        class Arguments(ctypes.Structure):\n\
        \t_fields_ = [('value', ctypes.c_uint64), ('size', ctypes.c_uint32), ('flags', ctypes.c_uint32)]\n\
        arguments = Arguments(ctypes.addressof(value), 1, 0)\n\
        for number, rest in ((463, (b'user.x', ctypes.byref(arguments), 16)), (466, (b'user.x',)), (469, (ctypes.byref(arguments), 24, 0))):\n\
        \tctypes.set_errno(0)\n\
        \tfirst = (-100, b'README.md') if number == 469 else (-100, b'README.md', 0)\n\
        \tresult = libc.syscall(number, *first, *rest)\n\
        \tif result == 0 or ctypes.get_errno() not in refused: print(number, result, ctypes.get_errno())\n";
    let arguments = ["exec", "--", "/usr/bin/python3", "-c", script];
    let outcome = caged(&env, &[Missing::Namespaces], arguments).expect_code(0);
    assert_eq!(outcome.out(), "", "{outcome}");
}

/// B3: a command that may write needs promises that the lesser level doesn't hold: it is refused with
/// the fix for this machine, and nothing is run.
#[test]
fn a_command_that_may_write_is_refused_with_the_fix() {
    let env = project();
    let outcome = caged(
        &env,
        &[Missing::Namespaces],
        ["exec", "--write", ".", "--", "touch", "new"],
    )
    .expect_code(126);
    assert_eq!(refused_code(&outcome), "boundary_too_weak");
    assert!(
        outcome.err().contains("--security-opt")
            || outcome.err().contains("sysctl")
            || outcome.err().contains("AppArmor"),
        "{outcome}"
    );
    assert!(!env.workspace().join("new").exists());
}

/// B12, S12: a limit that can't be held at the lesser level is refused or said, never taken silently.
#[test]
fn a_memory_limit_that_is_not_held_is_not_taken_silently() {
    let env = project();
    let outcome = caged(
        &env,
        &[Missing::Namespaces],
        ["exec", "--limit", "memory=64m", "--", "true"],
    );
    if outcome.code() == Some(0) {
        assert!(outcome.err().contains("memory limit"), "{outcome}");
    } else {
        assert_eq!(refused_code(&outcome), "boundary_too_weak");
    }
    // Nor does `doctor` claim that it watches what it can't see.
    let report = parsed(&caged(&env, &[Missing::Namespaces], ["doctor", "--json"]));
    let promises = report["trials"][1]["promises"].as_array().unwrap();
    let memory = promises.iter().find(|one| one["promise"] == "memory");
    let limit = memory.unwrap()["limit"].as_str().unwrap();
    assert!(limit.contains("not even watched"), "{limit}");
}

/// B3: a folder that only its owner can enter is no obstacle, also where root has to give up being
/// root first; or it is one that is named with its fix.
#[test]
fn a_private_folder_works_or_is_refused_with_the_fix() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = project();
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(env.workspace(), private).unwrap();
    let read = caged(&env, &[Missing::Namespaces], QUESTION);
    let exec = caged(&env, &[Missing::Namespaces], ["exec", "--", "ls"]);
    for outcome in [&read, &exec] {
        if outcome.code() != Some(0) {
            let told = format!("{}{}", outcome.out(), outcome.err()).replace("\n  ", " ");
            assert!(told.contains("run it as an ordinary user"), "{outcome}");
        }
    }
}

/// B3: without Landlock, or without seccomp, nothing is run: neither a child nor a command.
#[test]
fn without_a_mechanism_nothing_is_run() {
    for missing in [
        &[Missing::Landlock][..],
        &[Missing::Namespaces, Missing::Landlock],
        &[Missing::Seccomp],
        &[Missing::Namespaces, Missing::Seccomp],
    ] {
        let env = project();
        let outcome = caged(&env, missing, QUESTION).expect_code(2);
        assert_eq!(
            refused_code(&outcome),
            "boundary_unavailable",
            "{missing:?}"
        );
        let outcome = caged(&env, missing, ["exec", "--", "touch", "/tmp/x"]).expect_code(126);
        assert_eq!(
            refused_code(&outcome),
            "boundary_unavailable",
            "{missing:?}"
        );
        let outcome = caged(
            &env,
            missing,
            ["exec", "--write", ".", "--", "touch", "new"],
        )
        .expect_code(126);
        assert_eq!(
            refused_code(&outcome),
            "boundary_unavailable",
            "{missing:?}"
        );
        assert!(!env.workspace().join("new").exists());
        for run in runs(&env) {
            let events = crate::scene::events(&run);
            let decided = events.iter().any(|event| event["kind"] == "call.decided");
            assert!(!decided, "{missing:?}");
        }
    }
}

/// B5: what a command leaves behind is hunted at the lesser level too.
#[test]
fn what_a_command_leaves_behind_is_hunted() {
    let env = project();
    let mark = format!("54323.{}", std::process::id());
    let script = format!(
        "sleep {mark} & setsid sleep {mark} & (setsid setsid sleep {mark} &); (trap '' TERM; sleep {mark}) & true"
    );
    let outcome = caged(
        &env,
        &[Missing::Namespaces],
        ["exec", "--", "sh", "-c", &script],
    )
    .expect_code(0);
    assert!(!outcome.streams_held);
    assert_eq!(deputize_testkit::processes_naming(&mark), [0; 0]);
}

/// G2: a dry run and an explanation at the lesser level don't promise the stronger one... once tried.
#[test]
fn a_dry_run_says_that_its_level_is_planned_only() {
    let env = project();
    let outcome = caged(
        &env,
        &[Missing::Namespaces],
        ["exec", "--dry-run", "--", "true"],
    )
    .expect_code(0);
    assert!(
        outcome.out().contains("(planned; proven when it starts)"),
        "{outcome}"
    );
}
