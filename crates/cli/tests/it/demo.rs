//! `deputize demo` (X3): what it shows is so.

use std::fs;

use deputize_testkit::{Missing, cage};

use crate::scene::{parsed, scene};

/// X3: the recorded child repairs the test in a copy; what it tries beside that fails, nothing of it is
/// left, and a changed byte of its ledger is found. The demo leaves nothing behind.
#[test]
fn the_demo_shows_what_it_claims() {
    let env = scene();
    let outcome = env.run(["demo"]).expect_code(0);
    let shown = outcome.out();
    for part in [
        "RECORDING",
        "Your yes covers, for this whole run",
        "Read-only file system",
        "Network is unreachable",
        "write.protected_git",
        "path.outside",
        "left: 0",
        "passed: sh test.sh",
        "exactly as it was",
        "+    printf",
        "the chain holds",
        "one byte changed: ",
    ] {
        assert!(shown.contains(part), "no {part:?} in {outcome}");
    }
    assert!(!shown.contains('\u{1b}'), "{outcome}");
    let left: Vec<_> = fs::read_dir(env.temporary()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// X3: for scripts the same as one object.
#[test]
fn the_demo_as_an_object() {
    let env = scene();
    let seen = parsed(&env.run(["demo", "--json"]).expect_code(0));
    assert_eq!(seen["holds"], true);
    assert_eq!(seen["survivors"], 0);
    assert_eq!(seen["result"]["checks"][0]["outcome"], "passed");
    assert_eq!(seen["attempts"].as_array().unwrap().len(), 6);
}

/// X3, S12: where the machine can't enforce it, the demo fails and says why; it shows nothing that
/// isn't so.
#[test]
fn without_the_full_boundary_the_demo_fails() {
    let env = scene();
    let outcome = env
        .call(["demo"])
        .with(|command| cage(command, &[Missing::Namespaces]))
        .run();
    assert_eq!(outcome.code(), Some(1), "{outcome}");
    assert!(outcome.out().contains("boundary_failed"), "{outcome}");
}
