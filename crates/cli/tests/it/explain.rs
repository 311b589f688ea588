//! `deputize explain`: the gate's verdict and its chain, for any call (G2).

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::scene::{parsed, project, refused_code, scene, texts};

/// G2: each call that exists, with verdict, rule, and its effects.
#[test]
fn every_call_is_explained() {
    let env = project();
    symlink("/etc", env.workspace().join("out")).unwrap();
    env.give();
    for (arguments, verdict, rule) in [
        (
            &["--tool", "read", "--path", "src/lib.rs"][..],
            "allow",
            "read.allowed",
        ),
        (
            &["--tool", "read", "--path", "nowhere.rs"],
            "allow",
            "read.allowed",
        ),
        (
            &["--tool", "read", "--path", ".env"],
            "deny",
            "secret.denied",
        ),
        (
            &["--tool", "read", "--path", "~/.ssh/id_rsa"],
            "deny",
            "path.outside",
        ),
        (
            &["--tool", "read", "--path", "../x"],
            "deny",
            "path.outside",
        ),
        (
            &["--tool", "read", "--path", "out/passwd"],
            "deny",
            "path.escapes",
        ),
        (
            &["--tool", "read", "--path", "src"],
            "deny",
            "path.not_a_file",
        ),
        (&["--tool", "ls"], "allow", "read.allowed"),
        (&["--tool", "ls", "--path", "/"], "deny", "path.outside"),
        (
            &["--tool", "find", "--pattern", "*.rs"],
            "allow",
            "read.allowed",
        ),
        (
            &["--tool", "grep", "--pattern", "x", "--path", "src"],
            "allow",
            "read.allowed",
        ),
        (
            &["--tool", "grep", "--args", r#"{"terms": ["limit"]}"#],
            "allow",
            "read.allowed",
        ),
        (&["--tool", "grep"], "deny", "arguments.invalid"),
        (
            &["--tool", "read", "--args", "[1]"],
            "deny",
            "arguments.invalid",
        ),
        (
            &["--tool", "read", "--args", r#"{"path": "x", "more": 1}"#],
            "deny",
            "arguments.unknown",
        ),
        (
            &["--tool", "write", "--path", "x"],
            "allow",
            "write.contained",
        ),
        (
            &["--tool", "edit", "--path", ".git/hooks/pre-commit"],
            "deny",
            "write.protected_git",
        ),
        (
            &["--tool", "write", "--path", "x", "--preset", "read-only"],
            "deny",
            "tool.not_granted",
        ),
        (
            &["--tool", "git", "--args", r#"{"op": "log"}"#],
            "allow",
            "git.read",
        ),
        (&["--tool", "rm", "--path", "x"], "deny", "tool.unknown"),
        (
            &["--tool", "exec", "--", "ls", "-la"],
            "allow",
            "exec.contained",
        ),
        (
            &["--tool", "exec", "--", "deputize", "run"],
            "deny",
            "admin.denied",
        ),
        (
            &["--preset", "general", "rm -rf /"],
            "allow",
            "bash.contained",
        ),
        (&["rm -rf /"], "deny", "destructive.outside"),
        (&["ls src"], "allow", "bash.proven"),
        (&["true; deputize approve 1"], "deny", "admin.denied"),
        (
            &["--preset", "read-only", "rm -rf /"],
            "deny",
            "tool.not_granted",
        ),
    ] {
        let call = |more: &[&str]| {
            env.run(["explain"].iter().chain(more).chain(arguments))
                .expect_code(0)
        };
        let json = parsed(&call(&["--json"]));
        assert_eq!(
            (&json["verdict"], &json["rule"]),
            (&verdict.into(), &rule.into()),
            "{arguments:?} {json:#}"
        );
        for key in ["reasons", "effects", "steps"] {
            assert!(json[key].is_array(), "{key} in {json:#}");
        }
        assert!(!texts(&json["reasons"]).is_empty(), "{json:#}");
        let words = call(&[]);
        let first = words.out().lines().next().unwrap();
        assert!(
            first.starts_with(verdict) && first.ends_with(&format!(" by {rule} (built-in)")),
            "{words}"
        );
        if verdict == "deny" {
            assert!(
                words.out().contains(&format!("\n  stop    {rule}: ")),
                "{words}"
            );
            assert!(words.out().contains("\n  told    Denied"), "{words}");
        }
    }
    // Nothing was run and nothing is kept.
    assert!(!env.state().exists());
}

/// G11: a command in a full boundary is allowed because it is contained, and that is said.
#[test]
fn contained_commands_say_so() {
    let env = project();
    let words = env
        .run(["explain", "--tool", "exec", "--", "rm", "-rf", "/"])
        .expect_code(0);
    assert!(
        words
            .out()
            .starts_with("allow (contained) by exec.contained"),
        "{words}"
    );
    assert!(words.out().contains("\n  effect  runs /"), "{words}");
}

/// G2, G10: one answer a line, whatever the line holds, and no line disturbs the next.
#[test]
fn one_answer_for_every_line_whatever_it_holds() {
    let env = project();
    let long = "x".repeat(1 << 20);
    let lines: Vec<Vec<u8>> = vec![
        json!({ "tool": "read", "path": "src/lib.rs" })
            .to_string()
            .into(),
        b"garbage".to_vec(),
        b"{".to_vec(),
        b"\xff\xfe\x00".to_vec(),
        b"".to_vec(),
        b"[1, 2]".to_vec(),
        b"null".to_vec(),
        json!({ "path": "x" }).to_string().into(),
        json!({ "tool": 5 }).to_string().into(),
        json!({ "tool": "read", "path": long }).to_string().into(),
        vec![b'['; 100_000],
        json!({ "tool": "read", "path": ".env" }).to_string().into(),
        json!({ "tool": "read", "path": "a\u{1b}[31m\n" })
            .to_string()
            .into(),
        vec![b'x'; 5 << 20],
        json!({ "tool": "ls", "cwd": env.workspace(), "mode": "explore" })
            .to_string()
            .into(),
        json!({ "tool": "ls" }).to_string().into(),
    ];
    let input = lines.join(&b'\n');
    let outcome = env
        .call(["explain", "--stdin", "--json"])
        .stdin(input)
        .run()
        .expect_code(0);
    let answers: Vec<Value> = outcome
        .out()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let verdicts: Vec<&str> = answers
        .iter()
        .map(|answer| answer["verdict"].as_str().unwrap())
        .collect();
    let mut expected = vec!["deny"; lines.len()];
    expected[0] = "allow";
    // Nothing is there: the tool will say so, and the name is shown escaped.
    expected[12] = "allow";
    let end = lines.len();
    expected[end - 2..].fill("allow");
    assert_eq!(verdicts, expected);
    for answer in &answers {
        for key in ["rule", "reasons", "effects"] {
            assert!(!answer[key].is_null(), "{answer}");
        }
    }
    assert_eq!(answers[11]["rule"], "secret.denied");
    assert!(
        outcome.stdout.len() < 1 << 20,
        "answers repeat what was absurd"
    );
}

/// G2: what is missing or malformed on the command line is refused with the fix.
#[test]
fn what_can_not_be_explained_is_refused() {
    let env = project();
    for (arguments, code) in [
        (&[][..], "usage"),
        (&["--tool", "read", "--args", "{"], "usage"),
        (
            &["--tool", "read", "--path", "x", "--workdir", "nowhere"],
            "folder_missing",
        ),
        (
            &["--tool", "read", "--path", "x", "--preset", "root"],
            "unknown_preset",
        ),
        (&["--tool", "exec"], "command_missing"),
    ] {
        let outcome = env.run(["explain"].iter().chain(arguments)).expect_code(2);
        assert_eq!(refused_code(&outcome), code, "{arguments:?}");
    }
}

/// G4: what is explained is what is decided: the folder counts, not the caller's.
#[test]
fn another_folder_is_another_grant() {
    let env = scene();
    env.lay(|tree| {
        tree.file("a/x", "").file("b/y", "");
    });
    let verdict = |workdir: &str, path: &str| {
        let outcome = env
            .run([
                "explain",
                "--json",
                "--tool",
                "read",
                "--workdir",
                workdir,
                "--path",
                path,
            ])
            .expect_code(0);
        parsed(&outcome)["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict("a", "x"), "allow");
    assert_eq!(verdict("a", "../b/y"), "deny");
    assert_eq!(verdict(".", "b/y"), "allow");
    fs::remove_dir_all(env.workspace().join("a")).unwrap();
}

/// H1: a command has a grant of its own: a preset beside it is refused, not ignored.
#[test]
fn a_preset_beside_a_command_is_refused() {
    let env = project();
    let run = [
        "explain",
        "--tool",
        "exec",
        "--preset",
        "read-only",
        "--",
        "ls",
    ];
    let outcome = env.run(run);
    assert!(outcome.err().contains("leave --preset out"), "{outcome}");
    assert_eq!(outcome.code(), Some(2), "{outcome}");
}
