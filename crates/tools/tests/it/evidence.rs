//! D2: claims are checked against the files.

use deputize_tools::{Claim, ClaimCheck, Request, Response};

use crate::world::{World, ask};

fn check(world: &mut World, path: &str, line: Option<u64>, quote: Option<&str>) -> ClaimCheck {
    let claim = Claim {
        path: path.to_owned(),
        line,
        quote: quote.map(str::to_owned),
    };
    match ask(&mut world.worker, &Request::Evidence(vec![claim])) {
        Response::Evidence(mut checks) => checks.remove(0),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_holds(check: &ClaimCheck, path: &str, line: Option<u64>, claimed: Option<u64>) {
    let expected = ClaimCheck::Holds {
        path: path.to_owned(),
        line,
        claimed,
    };
    assert_eq!(check, &expected);
}

#[track_caller]
fn assert_missing(check: &ClaimCheck, expected: &str) {
    let ClaimCheck::Missing { code, why } = check else {
        panic!("{check:?}");
    };
    assert_eq!(code, expected, "{why}");
}

fn world() -> World {
    let world = World::new();
    let lines: Vec<String> = (1..=20)
        .map(|number| format!("    line {number};"))
        .collect();
    world.file("src/a.rs", lines.join("\n"));
    world
}

#[test]
fn d2_true_claims_hold() {
    let mut world = world();
    let path = "src/a.rs";
    assert_holds(
        &check(&mut world, "./src/../src/a.rs", None, None),
        path,
        None,
        None,
    );
    assert_holds(
        &check(&mut world, path, Some(20), None),
        path,
        Some(20),
        None,
    );
    assert_holds(
        &check(&mut world, path, Some(7), Some("line 7;")),
        path,
        Some(7),
        None,
    );
    assert_holds(
        &check(&mut world, path, None, Some("line 12;")),
        path,
        Some(12),
        None,
    );
    let several = "line 7;\n\tline 8;\n  line 9;\n";
    assert_holds(
        &check(&mut world, path, Some(7), Some(several)),
        path,
        Some(7),
        None,
    );
    assert_holds(&check(&mut world, "src", None, None), "src", None, None);
}

#[test]
fn d2_a_line_that_is_a_little_off_is_corrected() {
    let mut world = world();
    let path = "src/a.rs";
    for claimed in [4, 6, 8, 10] {
        let check = check(&mut world, path, Some(claimed), Some("line 7;"));
        assert_holds(&check, path, Some(7), Some(claimed));
    }
    let far = check(&mut world, path, Some(11), Some("line 7;"));
    assert_missing(&far, "quote_elsewhere");
    // The nearest of several places is the one that is meant.
    world.file("b", "x\ny\ny\nx\ny\ny\nx\n");
    let near = check(&mut world, "b", Some(5), Some("x"));
    assert_holds(&near, "b", Some(4), Some(5));
}

#[test]
fn d2_what_is_not_there_is_missing() {
    let mut world = world();
    world.file(".env", "TOKEN=1");
    world.link("../out", "link");
    std::fs::write(world.base().join("out/x"), "outside").unwrap();
    for (path, line, quote, code) in [
        ("src/b.rs", None, None, "not_found"),
        ("src/a.rs", Some(21), None, "no_such_line"),
        ("src/a.rs", Some(0), None, "no_such_line"),
        ("src/a.rs", Some(21), Some("line 20;"), "no_such_line"),
        ("src/a.rs", Some(3), Some("line 99;"), "quote_not_found"),
        (
            "src/a.rs",
            None,
            Some("line 7;\nline 9;"),
            "quote_not_found",
        ),
        ("src", Some(1), None, "not_a_file"),
        ("../out/x", None, None, "outside"),
        ("link/x", None, None, "outside"),
        ("/etc/passwd", Some(1), Some("root"), "outside"),
        (".env", Some(1), Some("TOKEN"), "secret"),
        ("", None, None, "bad_path"),
        ("~/x", None, None, "bad_path"),
    ] {
        let check = check(&mut world, path, line, quote);
        assert_missing(&check, code);
    }
    let long = "x".repeat(10_000);
    assert_missing(
        &check(&mut world, "src/a.rs", None, Some(&long)),
        "quote_too_long",
    );
}
