//! The tool `edit`.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::world::{Outcome, World};

fn one(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "edits": [{"old": old, "new": new}]})
}

/// The code and the message of a failure.
#[track_caller]
fn failure(world: &mut World, arguments: Value) -> (String, String) {
    match world.call("edit", arguments) {
        Outcome::Failed(failure) => (failure.code, failure.message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_answer_shows_what_changed() {
    let mut world = World::changing();
    world.file(
        "src/a.rs",
        "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n",
    );
    let Outcome::Output(output) = world.call(
        "edit",
        json!({"path": "src/a.rs", "edits": [
            {"old": "    one();\n", "new": "    one();\n    more();\n"},
            {"old": "two", "new": "three"},
        ]}),
    ) else {
        panic!("no output");
    };
    assert_snapshot!(output.text.raw(), @r"
    edited src/a.rs: 2 places, 2 lines added, 1 line removed
    @ line 3
    +    more();
    @ line 7
    -    two();
    +    three();
    ");
    assert_eq!(output.changed, ["src/a.rs"]);
    assert!(output.notes[0].starts_with("content sha256:"), "{output:?}");
    assert_eq!(
        world.content("src/a.rs"),
        b"fn a() {\n    one();\n    more();\n}\n\nfn b() {\n    three();\n}\n"
    );
}

#[test]
fn line_ends_and_the_mark_at_the_start_stay() {
    let mut world = World::changing();
    let mut edited = |content: &[u8], old: &str, new: &str| {
        world.file("a", content);
        world.text("read", json!({"path": "a"}));
        world.text("edit", one("a", old, new));
        world.content("a")
    };
    assert_eq!(
        edited(
            b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n",
            "one\ntwo\n",
            "1\n2\n2.5\n"
        ),
        b"\xef\xbb\xbf1\r\n2\r\n2.5\r\nthree\r\n"
    );
    // Whoever quotes the line ends gets the same.
    assert_eq!(
        edited(b"one\r\ntwo\r\n", "one\r\ntwo", "1\r\n2"),
        b"1\r\n2\r\n"
    );
    // A mixture stays one, line by line.
    assert_eq!(
        edited(b"a\r\nb\nc\r\nd\n", "b\nc", "b\nx\nc"),
        b"a\r\nb\nx\nc\r\nd\n"
    );
    assert_eq!(
        edited(b"a\r\nb\r\nc", "c", "c\nd\n"),
        b"a\r\nb\r\nc\r\nd\r\n"
    );
    assert_eq!(edited(b"no end", "end", "end\n"), b"no end\n");
    assert_eq!(edited(b"old mac\rline\r", "mac", "pc"), b"old pc\rline\r");
}

#[test]
fn the_old_text_must_be_there_once() {
    let mut world = World::changing();
    world.file("a", "x = 1\ny = 1\n\tz = 2\naaa\n");
    let (code, message) = failure(&mut world, one("a", "= 1", "= 3"));
    assert_eq!(code, "ambiguous");
    assert_eq!(
        message,
        "the old text is there 2 times, at the lines 1, 2: give more of the text around it, or set \
         `all`"
    );
    // Two places that overlap are two.
    assert_eq!(failure(&mut world, one("a", "aa", "b")).0, "ambiguous");
    let (code, message) = failure(&mut world, one("a", "    z = 2\n", "z = 3\n"));
    assert_eq!(code, "not_found");
    assert!(
        message.contains(r"line 3 differs only in the space around it: `\tz = 2`"),
        "{message}"
    );
    assert_eq!(failure(&mut world, one("a", "nowhere", "x")).0, "not_found");
    assert_eq!(failure(&mut world, one("a", "aaa", "aaa")).0, "no_change");
    world.text(
        "edit",
        json!({"path": "a", "edits": [{"old": "= 1", "new": "= 3", "all": true}]}),
    );
    assert_eq!(world.content("a"), b"x = 3\ny = 3\n\tz = 2\naaa\n");
}

#[test]
fn edits_are_made_in_order_and_all_or_none() {
    let mut world = World::changing();
    world.file("a", "one two\n");
    world.text(
        "edit",
        json!({"path": "a", "edits": [
            {"old": "one", "new": "two"},
            {"old": "two two", "new": "three"},
        ]}),
    );
    assert_eq!(world.content("a"), b"three\n");
    let (code, message) = failure(
        &mut world,
        json!({"path": "a", "edits": [
            {"old": "three", "new": "four"},
            {"old": "three", "new": "five"},
        ]}),
    );
    assert_eq!(code, "not_found");
    assert!(
        message.starts_with("edit 2: ") && message.ends_with("; no edit was made"),
        "{message}"
    );
    assert_eq!(world.content("a"), b"three\n");
    assert_eq!(world.names(""), ["a"]);
}

#[test]
fn what_is_not_text_or_not_there_is_not_edited() {
    let mut world = World::changing();
    world.file("image", b"\x89PNG\r\n\x1a\n\0\0");
    world.file("latin", b"caf\xe9 one\n");
    world.file("large", format!("one{}", "x".repeat(4 << 20)));
    assert_eq!(failure(&mut world, one("image", "PNG", "x")).0, "not_text");
    assert_eq!(failure(&mut world, one("latin", "one", "x")).0, "not_text");
    assert_eq!(failure(&mut world, one("large", "one", "x")).0, "too_large");
    assert_eq!(
        failure(&mut world, one("none/such", "one", "x")).0,
        "not_found"
    );
    assert_eq!(
        world.refused("edit", one(".git/config", "a", "b")),
        "write.protected_git"
    );
    assert_eq!(
        world.refused("edit", one("../out/x", "a", "b")),
        "write.outside"
    );
}

/// G10: many places, or places that grow, cost neither time nor memory.
#[test]
fn g10_a_change_everywhere_is_bounded() {
    let mut world = World::changing();
    world.file("a", "x".repeat(1 << 20));
    let everywhere = |new: &str| json!({"path": "a", "old": "x", "new": new, "all": true});
    let (code, _) = failure(&mut world, everywhere(&"y".repeat(1000)));
    assert_eq!(code, "too_large");
    let begun = std::time::Instant::now();
    let text = world.text("edit", everywhere("y"));
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    assert!(text.len() < 30_000, "{}", text.len());
    assert_eq!(world.content("a"), "y".repeat(1 << 20).as_bytes());
}
