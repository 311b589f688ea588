//! `deputize doctor`: what this machine can enforce, proven by trying (B8).

use deputize_testkit::{Missing, OrdinaryUser, TestEnv, cage};
use serde_json::Value;

use crate::scene::{parsed, scene, texts};

fn feature<'r>(report: &'r Value, name: &str) -> &'r Value {
    let features = report["features"].as_array().unwrap();
    features
        .iter()
        .find(|feature| feature["name"] == name)
        .unwrap_or_else(|| panic!("no feature {name} in {report:#}"))
}

/// Holds on this machine: every level was tried and every attempt of a self-test was refused.
#[track_caller]
fn holds(env: &TestEnv) {
    let outcome = env.run(["doctor", "--json"]).expect_code(0);
    let report = parsed(&outcome);
    assert_eq!(report["level"], "namespaces+landlock+seccomp");
    for feature in report["features"].as_array().unwrap() {
        for key in ["name", "detail"] {
            assert!(
                feature[key].as_str().is_some_and(|text| !text.is_empty()),
                "{feature}"
            );
        }
        assert!(feature["available"].is_boolean(), "{feature}");
    }
    let trials = report["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2);
    for trial in trials {
        assert_eq!(trial["holds"], true, "{trial:#}");
        for who in ["worker", "command"] {
            let test = &trial[who];
            for attempt in ["write", "read", "connect", "signal"] {
                assert!(
                    test[attempt]["refused"].is_number(),
                    "{who} {attempt}: {trial:#}"
                );
            }
        }
    }
    let text = env.run(["doctor"]).expect_code(0);
    let first = text.out().lines().next().unwrap();
    assert!(
        first.starts_with("boundary level: namespaces+landlock+seccomp (as uid "),
        "{text}"
    );
    assert!(
        text.out()
            .contains("tried namespaces+landlock+seccomp: holds"),
        "{text}"
    );
    assert!(text.out().contains("write refused ("), "{text}");
    assert!(!text.out().contains("SUCCEEDED"), "{text}");
    // It leaves nothing behind.
    assert!(!env.state().exists());
    assert_eq!(std::fs::read_dir(env.temporary()).unwrap().count(), 0);
}

/// B8: the strongest level holds for whoever runs the tests.
#[test]
fn the_strongest_level_holds() {
    holds(&scene());
}

/// B2, B8: root's tests look once more as somebody else.
#[test]
fn the_strongest_level_holds_for_an_ordinary_user() {
    if let Some(user) = OrdinaryUser::for_root() {
        let env = TestEnv::for_user(env!("CARGO_BIN_EXE_deputize"), user);
        holds(&env);
        let report = parsed(&env.run(["doctor", "--json"]));
        assert_eq!(report["uid"], user.id());
    }
}

/// B3: where namespaces are refused, the lesser level is found, and the fix for this machine is named.
#[test]
fn without_namespaces_the_lesser_level_is_found_and_the_fix_named() {
    let env = scene();
    let doctor = |arguments: &[&str]| {
        env.call(arguments)
            .with(|command| cage(command, &[Missing::Namespaces]))
            .run()
            .expect_code(0)
    };
    let report = parsed(&doctor(&["doctor", "--json"]));
    assert_eq!(report["level"], "landlock+seccomp");
    let namespaces = feature(&report, "namespaces");
    assert_eq!(namespaces["available"], false);
    assert!(
        namespaces["fix"].as_str().unwrap().contains("seccomp"),
        "{namespaces}"
    );
    let trials = report["trials"].as_array().unwrap();
    assert_eq!(
        (&trials[0]["holds"], &trials[1]["holds"]),
        (&Value::Bool(false), &Value::Bool(true))
    );
    assert!(!trials[0]["failure"].as_str().unwrap().is_empty());
    let text = doctor(&["doctor"]);
    assert!(
        text.out()
            .starts_with("boundary level: landlock+seccomp (as uid "),
        "{text}"
    );
    assert!(text.out().contains("fix: "), "{text}");
}

/// B3: without Landlock there is no boundary: the code says so, and so does the last line.
#[test]
fn without_landlock_there_is_no_level() {
    let env = scene();
    for missing in [
        &[Missing::Namespaces, Missing::Landlock][..],
        &[Missing::Landlock],
    ] {
        let doctor = |arguments: &[&str]| {
            env.call(arguments)
                .with(|command| cage(command, missing))
                .run()
                .expect_code(1)
        };
        let report = parsed(&doctor(&["doctor", "--json"]));
        assert_eq!(report["level"], "none", "{report:#}");
        let landlock = feature(&report, "landlock");
        assert_eq!(landlock["available"], false);
        assert!(!landlock["fix"].as_str().unwrap().is_empty());
        let text = doctor(&["doctor"]);
        assert!(
            text.out()
                .ends_with("No boundary can be built here: nothing will be run.\n"),
            "{text}"
        );
    }
}

/// B9: the toolchains that commands will see are named.
#[test]
fn toolchains_are_named() {
    let env = scene();
    std::fs::create_dir_all(env.home().join(".cargo/bin")).unwrap();
    env.give();
    let report = parsed(&env.run(["doctor", "--json"]).expect_code(0));
    assert_eq!(texts(&report["toolchains"]), ["cargo"]);
}
