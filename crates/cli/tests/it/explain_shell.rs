//! `deputize explain` of shell commands: what a line means to an unconfined agent, and to a child
//! (G2, G5, G6, G11, H1).

use deputize_testkit::TestEnv;
use serde_json::{Value, json};

use crate::scene::{parsed, project, scene, texts};

fn asked(env: &TestEnv, lines: &[Value]) -> Vec<Value> {
    let input: Vec<String> = lines.iter().map(Value::to_string).collect();
    let outcome = env
        .call(["explain", "--stdin", "--json"])
        .stdin(input.join("\n"))
        .run()
        .expect_code(0);
    outcome
        .out()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn line(command: &str, more: Value) -> Value {
    let mut call = json!({
        "tool": "bash", "command": command, "cwd": "/w", "root": "/w", "home": "/home/u",
    });
    let more = more.as_object().unwrap().clone();
    call.as_object_mut().unwrap().extend(more);
    call
}

/// H1: one answer a line, in order, in a world that doesn't exist here: nothing is looked up.
#[test]
fn each_line_is_judged_in_the_world_that_it_names() {
    let env = scene();
    let lines = [
        line("ls src", json!({})),
        line("rm -rf ../x", json!({ "cwd": "/w/src" })),
        line("rm -rf ../../x", json!({ "cwd": "/w/src" })),
        line("cargo test", json!({})),
        line("cat ~/.ssh/id_rsa", json!({})),
        line("cat /home/v/.ssh/id_rsa", json!({ "home": "/home/v" })),
        line("git commit -m 'rm -rf /'", json!({})),
        line("echo x > /w/a", json!({ "root": "/v", "cwd": "/v" })),
    ];
    let answers = asked(&env, &lines);
    let found: Vec<_> = answers
        .iter()
        .map(|answer| {
            (
                answer["verdict"].as_str().unwrap(),
                answer["rule"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("allow", "bash.proven"),
            ("ask", "destructive.tree"),
            ("deny", "destructive.outside"),
            ("ask", "package.hooks"),
            ("deny", "secret.read"),
            ("deny", "secret.read"),
            ("allow", "bash.proven"),
            ("deny", "place.write-outside"),
        ]
    );
    for answer in &answers {
        assert!(!texts(&answer["reasons"]).is_empty(), "{answer}");
        assert!(
            !answer["effects"].as_array().unwrap().is_empty(),
            "{answer}"
        );
    }
}

/// G3, G11: a mode and a boundary make of the same line what a child is told.
#[test]
fn mode_and_boundary_bind_the_same_line() {
    let env = scene();
    let rows = [
        ("make", "explore", "full", "deny", "mode.explore"),
        ("make", "auto-edit", "full", "allow", "bash.contained"),
        (
            "rm -rf /",
            "auto-edit",
            "namespaces+landlock+seccomp",
            "allow",
            "bash.contained",
        ),
        ("make", "auto-edit", "landlock+seccomp", "ask", "bash.ask"),
        ("ls", "auto-edit", "none", "ask", "bash.ask"),
        (
            "rm -rf /",
            "auto-edit",
            "none",
            "deny",
            "destructive.outside",
        ),
        ("ls", "ask", "full", "ask", "bash.ask"),
        ("make", "auto-all", "none", "allow", "bash.auto"),
        ("ls", "auto-all", "none", "allow", "bash.proven"),
        (
            "rm -rf /",
            "auto-all",
            "none",
            "deny",
            "destructive.outside",
        ),
    ];
    let lines: Vec<Value> = rows
        .iter()
        .map(|(command, mode, boundary, ..)| {
            line(command, json!({ "mode": mode, "boundary": boundary }))
        })
        .collect();
    for (answer, (command, mode, boundary, verdict, rule)) in asked(&env, &lines).iter().zip(rows) {
        assert_eq!(
            (answer["verdict"].as_str(), answer["rule"].as_str()),
            (Some(verdict), Some(rule)),
            "{command} in {mode}, {boundary}: {answer:#}"
        );
        let contained = if rule == "bash.contained" {
            "yes"
        } else {
            "no"
        };
        assert_eq!(answer["contained"], contained, "{answer:#}");
        assert!(
            !answer["effects"].as_array().unwrap().is_empty(),
            "{answer:#}"
        );
    }
}

/// G10: a line that says more or other than it may is an error, and never an allowance.
#[test]
fn a_line_that_is_not_exactly_a_call_is_an_error() {
    let env = scene();
    let lines = [
        line("ls", json!({ "more": 1 })),
        line("ls", json!({ "mode": "yolo" })),
        line("ls", json!({ "boundary": "strong" })),
        line("ls", json!({ "root": 5 })),
        line("ls", json!({ "root": "w" })),
        line("ls", json!({ "cwd": "../w" })),
        json!({ "tool": "bash" }),
        json!({ "tool": "bash", "command": ["ls"] }),
        line("ls", json!({})),
    ];
    let answers = asked(&env, &lines);
    let (last, bad) = answers.split_last().unwrap();
    for answer in bad {
        assert_eq!(answer["verdict"], "deny", "{answer}");
        assert_eq!(answer["rule"], "call.unreadable", "{answer}");
        assert!(answer["error"]["fix"].is_string(), "{answer}");
    }
    assert_eq!(last["verdict"], "allow");
}

/// G2, G3: an explanation names what it judged by, and another mode can be asked for.
#[test]
fn the_mode_that_was_judged_by_is_shown_and_can_be_chosen() {
    let env = scene();
    for (options, judged) in [
        (
            &["make"][..],
            "judged  mode unconfined, boundary none, workspace direct",
        ),
        (
            &["--mode", "auto_all", "--boundary", "full", "make"],
            "judged  mode auto-all, boundary namespaces+landlock+seccomp, workspace copy-on-write",
        ),
        (
            &["--mode", "ask", "--preset", "general", "make"],
            "judged  mode ask, boundary ",
        ),
        (
            &["--mode", "explore", "--tool", "write", "--path", "a"],
            "judged  mode explore, boundary ",
        ),
    ] {
        let arguments = ["explain"].iter().chain(options);
        let outcome = env.run(arguments).expect_code(0);
        assert!(outcome.out().contains(judged), "{options:?}: {outcome}");
    }
    let answer = parsed(&env.run(["explain", "--json", "--mode", "explore", "ls"]));
    assert_eq!(answer["judged"]["mode"], "explore");
    assert_eq!(answer["rule"], "mode.explore");
    for (option, word) in [("--mode", "yolo"), ("--boundary", "strong")] {
        let outcome = env.run(["explain", option, word, "ls"]).expect_code(2);
        assert!(outcome.err().contains("  fix: use "), "{outcome}");
    }
}

/// G10: hostile lines are answered, in bounded time, and none of them with an allowance.
#[test]
fn hostile_lines_are_never_allowed() {
    let env = scene();
    let lines = [
        line(&"$(".repeat(10_000), json!({})),
        line(&"(".repeat(10_000), json!({})),
        line(&"ls;".repeat(300_000), json!({})),
        line("ls \u{0} x", json!({})),
        line("\u{202e}ls", json!({})),
        line(&format!("ls {}", "{a,b}".repeat(5_000)), json!({})),
        line(&"rm -rf / #".repeat(100_000), json!({})),
    ];
    for answer in asked(&env, &lines) {
        assert_ne!(answer["verdict"], "allow", "{answer:#}");
    }
}

/// H1: a folder that holds the home folder is no workspace.
#[test]
fn a_home_folder_is_no_workspace() {
    let env = scene();
    for root in ["/", "/home", "/home/u"] {
        let answers = asked(
            &env,
            &[
                line(
                    "echo x > .bashrc",
                    json!({ "root": root, "cwd": "/home/u" }),
                ),
                line("ls", json!({ "root": root, "cwd": "/home/u" })),
            ],
        );
        assert_eq!(answers[0]["verdict"], "deny", "{root}");
        assert_eq!(answers[1]["verdict"], "ask", "{root}");
        let reasons = texts(&answers[1]["reasons"]).join("\n");
        assert!(reasons.contains("no workspace"), "{reasons}");
    }
}

/// G2: the words show the commands, where paths land, the rule with its place, and the safer way.
#[test]
fn words_show_tree_effects_rule_and_the_safer_way() {
    let env = project();
    let words = env
        .run(["explain", "cd / && bash -c 'rm -rf opt/x'"])
        .expect_code(0);
    let out = words.out();
    assert!(
        out.starts_with("deny by destructive.outside (built-in)\n"),
        "{words}"
    );
    assert!(out.contains("\n  runs    cd /\n"), "{words}");
    assert!(out.contains("\n  runs      rm -rf opt/x\n"), "{words}");
    assert!(
        out.contains("\n  effect  deletes all of /opt/x (outside the workspace), by rm\n"),
        "{words}"
    );
    assert!(
        out.contains("\n  safer   Remove only what lies in the workspace"),
        "{words}"
    );
    assert!(
        out.contains("\n  told    Denied (destructive.outside): "),
        "{words}"
    );

    let json = parsed(
        &env.run(["explain", "--json", "cat .env; FOO=1 make"])
            .expect_code(0),
    );
    assert_eq!(json["verdict"], "ask", "{json:#}");
    let rules: Vec<_> = json["shell"]["rules"].as_array().unwrap().iter().collect();
    let about = |id: &str| rules.iter().find(|rule| rule["id"] == id).copied();
    let secret = about("secret.inside").unwrap();
    assert_eq!(secret["span"], json!([0, 8]), "{secret}");
    assert!(secret["safer"].is_string(), "{secret}");
    assert_eq!(json["shell"]["understood"], "complete");
}

/// G11: a child's command is contained whatever it does, and what it does is listed.
#[test]
fn a_contained_command_lists_what_it_would_do() {
    let env = project();
    let words = env
        .run(["explain", "--preset", "general", "rm -rf /etc; make"])
        .expect_code(0);
    assert!(
        words
            .out()
            .starts_with("allow (contained) by bash.contained"),
        "{words}"
    );
    assert!(
        words.out().contains("\n  effect  deletes all of /etc"),
        "{words}"
    );
    assert!(
        words.out().contains("\n  rule    destructive.outside: "),
        "{words}"
    );
}
