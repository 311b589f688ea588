//! `deputize rules`: the rules about command lines are data, and their examples run (G6).

use std::collections::BTreeSet;

use crate::scene::{parsed, scene, texts};

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
