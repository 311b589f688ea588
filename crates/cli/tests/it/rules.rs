//! `deputize rules`: the rules about command lines are data, and their examples run (G6).

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;

use crate::allowances::own_rules as write;
use crate::scene::{call, parsed, project, say, scene, script, texts};

/// G6: each rule has a class, a reason, a safer way, and examples.
#[test]
fn each_rule_says_why_and_what_to_do_instead() {
    let env = scene();
    let json = parsed(&env.run(["rules", "list", "--json"]).expect_code(0));
    let rules = json["rules"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    for rule in rules {
        for key in ["id", "class", "answer", "reason", "safer"] {
            assert!(!rule[key].as_str().unwrap().is_empty(), "{rule}");
        }
        assert!(ids.insert(rule["id"].as_str().unwrap()), "{rule}");
        assert!(
            rule["matches"].is_array() && !texts(&rule["spares"]).is_empty(),
            "{rule}"
        );
    }
    let classes: BTreeSet<_> = rules
        .iter()
        .map(|rule| rule["class"].as_str().unwrap())
        .collect();
    for class in [
        "destructive",
        "privilege",
        "network",
        "persistence",
        "package",
        "secret",
    ] {
        assert!(classes.contains(class), "{class} in {classes:?}");
    }
    let words = env.run(["rules", "list"]).expect_code(0);
    for id in ids {
        assert!(words.out().lines().any(|line| line.starts_with(id)), "{id}");
    }
}

/// G6: the examples hold, and there are many of them.
#[test]
fn the_examples_of_every_rule_hold() {
    let env = scene();
    let outcome = env.run(["rules", "test", "--json"]).expect_code(0);
    let json = parsed(&outcome);
    assert_eq!(json["failures"].as_array().unwrap().len(), 0, "{json:#}");
    assert!(json["examples"].as_u64().unwrap() > 100, "{json:#}");
    let words = env.run(["rules", "test"]).expect_code(0);
    assert!(words.out().ends_with(" 0 failed\n"), "{words}");
}

const OWN: &str = "\
[[allow]]
exact = \"cargo test\"
matches = [\"cargo test\"]
spares = [\"cargo test --release\"]
reason = \"I wrote them\"

[[deny]]
command = \"git push\"
";

/// G6: the person's own rules stand in the list, run their examples, and are named by verdicts with
/// file and line.
#[test]
fn own_rules_are_listed_tested_and_named() {
    let env = scene();
    write(&env, OWN);
    let json = parsed(&env.run(["rules", "list", "--json"]).expect_code(0));
    let own = json["own"].as_array().unwrap();
    assert_eq!(own.len(), 2);
    assert_eq!(
        (own[0]["answer"].as_str(), own[0]["line"].as_u64()),
        (Some("allow"), Some(1))
    );
    assert_eq!(own[1]["about"], "command git push");
    let words = env.run(["rules", "list"]).expect_code(0);
    assert!(
        words
            .out()
            .contains("allow exact cargo test: I wrote them\n"),
        "{words}"
    );
    let json = parsed(&env.run(["rules", "test", "--json"]).expect_code(0));
    assert_eq!(json["own_failures"], json!([]));
    for (line, verdict, rule) in [
        ("cargo test", "allow", "rule.allow"),
        ("cargo test --release", "ask", "package.hooks"),
        ("git -C . push", "deny", "rule.deny"),
    ] {
        let json = parsed(&env.run(["explain", "--json", line]).expect_code(0));
        assert_eq!(
            (json["verdict"].as_str(), json["rule"].as_str()),
            (Some(verdict), Some(rule))
        );
        if rule.starts_with("rule.") {
            let origin = json["origin"].as_str().unwrap();
            assert!(origin.contains(".config/deputize/rules.toml:"), "{json:#}");
        }
    }
}

/// G6: a file is checked: every fault with line and column, rules that never count, examples that
/// don't hold.
#[test]
fn a_file_of_rules_is_checked() {
    let env = scene();
    let none = env.run(["rules", "lint"]).expect_code(0);
    assert!(none.out().contains("no rules.toml"), "{none}");
    write(&env, OWN);
    let well = env.run(["rules", "lint"]).expect_code(0);
    assert!(
        well.out().ends_with("2 rules, 0 faults, 0 that are odd\n"),
        "{well}"
    );
    write(
        &env,
        "[[allow]]\ncommand = \"sudo\"\n[[deny]]\nhost = \"*\"\n",
    );
    let bad = parsed(&env.run(["rules", "lint", "--json"]).expect_code(1));
    let faults = bad["faults"].as_array().unwrap();
    let told: Vec<_> = faults
        .iter()
        .map(|fault| {
            (
                fault["code"].as_str().unwrap(),
                fault["reason"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!((told[0].0, told[1].0), ("rule_open_ended", "rules_invalid"));
    assert!(
        told[0].1.contains("rules.toml:2:11: ") && told[1].1.contains(":4:8: "),
        "{told:?}"
    );
    let file = env.workspace().join("r.toml");
    fs::write(
        &file,
        "[[allow]]\nexact = \"a\"\n[[deny]]\ncommand = \"a\"\nmatches = [\"b\"]\n",
    )
    .unwrap();
    env.give();
    let odd = parsed(
        &env.run(["rules", "lint", "--json", "r.toml"])
            .expect_code(1),
    );
    let kinds: Vec<_> = odd["oddities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|odd| &odd["kind"])
        .collect();
    assert_eq!(kinds, ["shadowed", "example"]);
    let words = env.run(["rules", "lint", "r.toml"]).expect_code(1);
    assert!(words.out().contains("r.toml:1: it never counts"), "{words}");
}

/// G6, G1: a file at fault says nothing less than it should: explanations are refused, and the hook
/// blocks. A project's file is never read.
#[test]
fn faulty_rules_hold_everything_up() {
    let env = scene();
    for planted in [".deputize/rules.toml", "rules.toml"] {
        env.lay(|tree| {
            tree.file(planted, "[[allow]]\nexact = \"cargo test\"\n");
        });
    }
    let explained = parsed(&env.run(["explain", "--json", "cargo test"]).expect_code(0));
    assert_eq!(explained["verdict"], "ask");
    write(&env, "[[deni]]\ncommand = \"x\"\n");
    let refused = env.run(["explain", "ls"]);
    assert_ne!(refused.code(), Some(0), "{refused}");
    assert!(refused.err().contains("rules.toml:1:3: "), "{refused}");
    let call = json!({
        "hook_event_name": "PreToolUse", "cwd": env.workspace(), "tool_name": "Bash",
        "tool_input": { "command": "ls" },
    });
    let blocked = env
        .call(["gate"])
        .stdin(call.to_string())
        .run()
        .expect_code(2);
    assert!(blocked.err().contains("rules_invalid"), "{blocked}");
    write(&env, "[[deny]]\ncommand = \"ls\"\nreason = \"not here\"\n");
    let answered = env
        .call(["gate"])
        .stdin(call.to_string())
        .run()
        .expect_code(0);
    assert!(
        answered.out().contains("\"deny\"") && answered.out().contains("not here"),
        "{answered}"
    );
    assert!(answered.out().contains("rules.toml:1"), "{answered}");
}

/// G6: a running child obeys them, inside a full boundary on a copy too.
#[test]
fn a_child_obeys_the_persons_rules() {
    let env = project();
    write(
        &env,
        "[[deny]]\ncommand = \"touch\"\nreason = \"no new files\"\n",
    );
    let turns = [
        call("bash", json!({ "command": "touch made" })),
        call("bash", json!({ "command": "ls" })),
        say("Done."),
    ];
    let model = script(&env, &json!({ "turns": turns }));
    let arguments = [
        "run", "--json", "--allow", "shell", "--model", &model, "Go.",
    ];
    let result = parsed(&env.run(arguments));
    assert_eq!(result["changes"], json!([]), "{result:#}");
    let told = result.to_string();
    assert!(told.contains("rule.deny"), "{result:#}");
}
