//! The tool `grep`.

use insta::assert_snapshot;
use serde_json::json;

use crate::world::{Outcome, World};

fn world() -> World {
    let world = World::new();
    world.file(
        "src/a.rs",
        "fn one() {}\nfn two() {}\n// Two\nfn three() {}\n",
    );
    world.file("src/b.rs", "let x = two();\n");
    world.file("notes.md", "two and two\n");
    world.file("image.png", b"two\0two");
    world
}

#[test]
fn matches_stand_in_order_with_file_and_line() {
    let mut world = world();
    assert_snapshot!(world.text("grep", json!({"pattern": "two"})), @r"
    notes.md:1:two and two
    src/a.rs:2:fn two() {}
    src/a.rs:3:// Two
    src/b.rs:1:let x = two();
    (1 file that isn't text was skipped)
    ");
    assert_snapshot!(world.text("grep", json!({"pattern": "Two", "path": "src"})), @"src/a.rs:3:// Two");
    assert_snapshot!(
        world.text("grep", json!({"pattern": "two", "case": "sensitive", "glob": "*.rs"})),
        @r"
    src/a.rs:2:fn two() {}
    src/b.rs:1:let x = two();
    "
    );
    assert_snapshot!(
        world.text("grep", json!({"pattern": "two()", "literal": true, "path": "src/b.rs"})),
        @"src/b.rs:1:let x = two();"
    );
    assert_snapshot!(world.text("grep", json!({"pattern": "^fn t.*\\}$"})), @r"
    src/a.rs:2:fn two() {}
    src/a.rs:4:fn three() {}
    (1 file that isn't text was skipped)
    ");
}

#[test]
fn context_files_and_counts() {
    let mut world = world();
    assert_snapshot!(
        world.text("grep", json!({"pattern": "(one|three)\\(", "path": "src", "context": 1})),
        @r"
    src/a.rs:1:fn one() {}
    src/a.rs-2-fn two() {}
    src/a.rs-3-// Two
    src/a.rs:4:fn three() {}
    "
    );
    assert_snapshot!(
        world.text("grep", json!({"pattern": "two", "output": "files", "glob": "!*.md"})),
        @r"
    src/a.rs
    src/b.rs
    (1 file that isn't text was skipped)
    "
    );
    assert_snapshot!(
        world.text("grep", json!({"pattern": "two", "output": "count", "path": "src"})),
        @r"
    src/a.rs:2
    src/b.rs:1
    "
    );
}

#[test]
fn results_are_bounded_and_say_so() {
    let mut world = World::new();
    world.file("many", "hit\n".repeat(500));
    let text = world.text("grep", json!({"pattern": "hit"}));
    assert_eq!(text.lines().count(), 101);
    assert!(text.ends_with(
        "many:100:hit\n(100 matches shown, and there may be more: use a narrower pattern, `path` \
         or `glob`, or a higher limit)\n"
    ));
    let text = world.text("grep", json!({"pattern": "hit", "limit": 2}));
    assert!(text.starts_with("many:1:hit\nmany:2:hit\n(2 matches shown"));
    world.file(
        "wide",
        format!("{}hit{}\n", "x".repeat(3_000), "y".repeat(3_000)).repeat(300),
    );
    let text = world.text(
        "grep",
        json!({"pattern": "hit", "path": "wide", "limit": 5_000}),
    );
    assert!(text.len() < 55_000, "{}", text.len());
    let line = text.lines().next().unwrap();
    assert!(line.starts_with("wide:1:…x") && line.contains("hit") && line.ends_with("y…"));
}

#[test]
fn many_files_are_searched_by_several_threads_in_order() {
    let mut world = World::in_memory();
    for number in 0..1_500 {
        world.file(
            format!("d{}/f{number:04}", number % 7),
            format!("needle {number}\n"),
        );
    }
    let first = world.text("grep", json!({"pattern": "needle", "limit": 5_000}));
    let numbers: Vec<&str> = first
        .lines()
        .map(|line| line.split(':').next().unwrap())
        .collect();
    assert_eq!(numbers.len(), 1_500);
    assert!(numbers.is_sorted());
    assert_eq!(
        first,
        world.text("grep", json!({"pattern": "needle", "limit": 5_000}))
    );
}

#[test]
fn nothing_found_says_where_it_looked() {
    let mut world = world();
    assert_snapshot!(world.text("grep", json!({"pattern": "absent"})), @r"
    (nothing matches in 4 files)
    (1 file that isn't text was skipped)
    ");
}

#[test]
fn an_invalid_pattern_is_an_error_with_a_hint() {
    let mut world = world();
    let Outcome::Failed(failure) = world.call("grep", json!({"pattern": "two("})) else {
        panic!("not failed");
    };
    assert_eq!(failure.code, "invalid_pattern");
    assert!(
        failure.message.contains("unclosed group"),
        "{}",
        failure.message
    );
    assert!(
        failure
            .message
            .ends_with("to search for plain text, set `literal` to true")
    );
}

/// G10: a line that is longer than any text has is skipped, not held.
#[test]
fn g10_huge_lines_are_skipped_with_a_note() {
    let mut world = World::new();
    world.file("min.js", "x".repeat(9 << 20));
    world.file("z.js", "hit\n");
    let text = world.text("grep", json!({"pattern": "hit"}));
    assert_eq!(text, "z.js:1:hit\n(1 file with a huge line was skipped)\n");
}

#[test]
fn odd_bytes_are_searched_and_shown_as_they_can_be() {
    let mut world = World::new();
    world.file("a", b"caf\xe9 hit\r\n\x1b[31mhit\n");
    assert_eq!(
        world.text("grep", json!({"pattern": "hit"})),
        "a:1:caf\u{fffd} hit\na:2:\\u{1b}[31mhit\n"
    );
}

/// A ranked search passes the same gate and the same walk.
#[test]
fn g9_a_ranked_search_finds_the_place_and_no_secret() {
    let mut world = world();
    world.file(".env", "budget_limit=1\n");
    world.file(
        "src/budget.rs",
        "/// Limits.\npub fn check_budget(limit: u64) {}\n",
    );
    let arguments = json!({"terms": ["budget", "limit"], "limit": 3});
    let Outcome::Output(output) = world.call("grep", arguments) else {
        panic!("no output");
    };
    let lines: Vec<&str> = output.text.raw().lines().collect();
    let best: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!(best["path"], "src/budget.rs");
    assert_eq!(best["line"], 2);
    assert!(!output.text.raw().contains(".env"), "{}", output.text.raw());
    assert_eq!(
        world.refused("grep", json!({"terms": ["a"], "path": ".env"})),
        "secret.denied"
    );
}
